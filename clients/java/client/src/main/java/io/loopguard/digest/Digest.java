package io.loopguard.digest;

import com.dynatrace.hash4j.hashing.HashValue128;
import com.dynatrace.hash4j.hashing.Hasher128;
import com.dynatrace.hash4j.hashing.Hashing;
import java.nio.ByteBuffer;
import java.util.Locale;

/**
 * The 128-bit digest of a JSON value.
 *
 * @param high the first eight bytes, big-endian
 * @param low the last eight bytes, big-endian
 */
public record Digest(long high, long low) {
  /**
   * The version of the canonical scheme: canonical form, hash and seeds. A run whose calls or
   * outcomes come as digests names it when it is opened.
   */
  public static final int SCHEME = 1;

  /** The length of a digest in bytes. */
  public static final int BYTES = 16;

  private static final Hasher128 CANONICAL = Hashing.xxh3_128(0);
  private static final Hasher128 OPAQUE = Hashing.xxh3_128(0x6c6f6f7067756172L);
  private static final byte[] NO_ARGUMENTS = {'{', '}'};

  /**
   * Returns the digest of a JSON text.
   *
   * @param json the text, in UTF-8
   * @return its digest
   */
  public static Digest of(byte[] json) {
    return CanonicalJson.of(json).digest();
  }

  /**
   * Returns the digest of a call's arguments as the guard computes it: absent arguments are <code>
   * {}</code>, and the title of an {@code exec} call is left out, because it is prose about the
   * call.
   *
   * @param tool the tool's name
   * @param arguments the arguments as JSON, in UTF-8; empty for none
   * @return their digest
   */
  public static Digest ofArguments(String tool, byte[] arguments) {
    byte[] given = arguments.length == 0 ? NO_ARGUMENTS : arguments;
    return CanonicalJson.without(given, isExec(tool) ? "title" : null).digest();
  }

  /**
   * Reads a digest.
   *
   * @param bytes its 16 bytes
   * @return the digest
   * @throws IllegalArgumentException if there are more or fewer
   */
  public static Digest fromBytes(byte[] bytes) {
    if (bytes.length != BYTES) {
      throw new IllegalArgumentException("a digest has 16 bytes, not " + bytes.length);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new Digest(buffer.getLong(), buffer.getLong());
  }

  /**
   * Returns the digest as it travels.
   *
   * @return its 16 bytes, big-endian
   */
  public byte[] toBytes() {
    return ByteBuffer.allocate(BYTES).putLong(high).putLong(low).array();
  }

  /** Returns the digest in hexadecimal. */
  @Override
  public String toString() {
    return String.format("%016x%016x", high, low);
  }

  static Digest hash(byte[] data, boolean isOpaque) {
    HashValue128 sum = (isOpaque ? OPAQUE : CANONICAL).hashBytesTo128Bits(data);
    return new Digest(sum.getMostSignificantBits(), sum.getLeastSignificantBits());
  }

  /** Whether the guard knows a tool as exec. */
  private static boolean isExec(String tool) {
    int start = 0;
    int end = tool.length();
    while (start < end && isSpace(tool.charAt(start))) {
      start++;
    }
    while (start < end && isSpace(tool.charAt(end - 1))) {
      end--;
    }
    String name = tool.substring(start, end).toLowerCase(Locale.ROOT);
    return name.equals("exec") || name.equals("bash");
  }

  /**
   * Whether the guard trims a character off names: Unicode's White_Space, and the byte order mark.
   */
  private static boolean isSpace(char c) {
    return (c >= '\t' && c <= '\r') || c == '\u0085' || c == '\ufeff' || Character.isSpaceChar(c);
  }
}
