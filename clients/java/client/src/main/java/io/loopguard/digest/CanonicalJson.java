package io.loopguard.digest;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** The canonical form of a JSON text, and what was odd about it. */
public final class CanonicalJson {
  private final byte[] bytes;
  private final Set<JsonFlag> flags;

  private CanonicalJson(byte[] bytes, EnumSet<JsonFlag> flags) {
    this.bytes = bytes;
    this.flags = Collections.unmodifiableSet(flags);
  }

  /**
   * Brings a JSON text into canonical form. Nothing is refused: what is no JSON stays as it is,
   * with the flag {@link JsonFlag#OPAQUE}.
   *
   * @param json the text, in UTF-8
   * @return its canonical form
   */
  public static CanonicalJson of(byte[] json) {
    return without(json, null);
  }

  /** Leaves out one member of the outermost object; null for none. */
  static CanonicalJson without(byte[] json, String key) {
    CanonicalWriter writer = new CanonicalWriter(json, key);
    byte[] written = writer.write();
    if (written == null) {
      return new CanonicalJson(json.clone(), EnumSet.of(JsonFlag.OPAQUE));
    }
    return new CanonicalJson(written, writer.flags());
  }

  /**
   * Returns the canonical form.
   *
   * @return a copy of its bytes
   */
  public byte[] toBytes() {
    return bytes.clone();
  }

  /**
   * Returns what was odd about the text.
   *
   * @return the flags, in their order
   */
  public Set<JsonFlag> flags() {
    return flags;
  }

  /**
   * Returns the digest of the canonical form.
   *
   * @return XXH3-128, with a seed of its own where the text is no JSON
   */
  public Digest digest() {
    return Digest.hash(bytes, flags.contains(JsonFlag.OPAQUE));
  }
}
