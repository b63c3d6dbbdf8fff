package io.loopguard.digest;

import java.util.Arrays;

/** Bytes that grow at their end. */
final class ByteSink {
  private byte[] bytes;
  private int length;

  ByteSink(int expected) {
    bytes = new byte[Math.max(expected, 16)];
  }

  int length() {
    return length;
  }

  void cutTo(int shorter) {
    length = shorter;
  }

  byte[] toBytes() {
    return Arrays.copyOf(bytes, length);
  }

  byte[] slice(int from, int to) {
    return Arrays.copyOfRange(bytes, from, to);
  }

  void add(int b) {
    reserve(1);
    bytes[length++] = (byte) b;
  }

  void add(byte[] from, int start, int end) {
    reserve(end - start);
    System.arraycopy(from, start, bytes, length, end - start);
    length += end - start;
  }

  /** Adds text that is all ASCII. */
  void addAscii(CharSequence text) {
    reserve(text.length());
    for (int i = 0; i < text.length(); i++) {
      bytes[length++] = (byte) text.charAt(i);
    }
  }

  /** Adds a character as UTF-8; it is no surrogate. */
  void addCodePoint(int c) {
    if (c < 0x80) {
      add(c);
    } else if (c < 0x800) {
      add(0xc0 | c >> 6);
      add(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
      add(0xe0 | c >> 12);
      add(0x80 | (c >> 6 & 0x3f));
      add(0x80 | (c & 0x3f));
    } else {
      add(0xf0 | c >> 18);
      add(0x80 | (c >> 12 & 0x3f));
      add(0x80 | (c >> 6 & 0x3f));
      add(0x80 | (c & 0x3f));
    }
  }

  private void reserve(int more) {
    if (bytes.length - length < more) {
      bytes =
          Arrays.copyOf(
              bytes, Math.max(Math.addExact(length, more), bytes.length + (bytes.length >> 1)));
    }
  }
}
