package io.loopguard.digest;

import java.nio.charset.StandardCharsets;

/** Escapes in JSON strings. */
final class JsonText {
  private static final String HEX = "0123456789abcdef";

  private JsonText() {}

  /**
   * Returns the character of the escape at a place, -1 for none. Two escapes that are a pair of
   * surrogates are one character, one that has no other half is returned as it is.
   */
  static int unescape(byte[] in, int at) {
    if (at + 1 >= in.length) {
      return -1;
    }
    return switch (in[at + 1]) {
      case '"', '\\', '/' -> in[at + 1];
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      default -> unescapeUnits(in, at);
    };
  }

  private static int unescapeUnits(byte[] in, int at) {
    int high = unit(in, at);
    if (high >= 0 && Character.isHighSurrogate((char) high)) {
      int low = unit(in, at + 6);
      if (low >= 0 && Character.isLowSurrogate((char) low)) {
        return Character.toCodePoint((char) high, (char) low);
      }
    }
    return high;
  }

  /** The length of the escape at a place, of which {@link #unescape} returned the character. */
  static int escapeLength(byte[] in, int at, int character) {
    if (in[at + 1] != 'u') {
      return 2;
    }
    return character > 0xffff ? 12 : 6;
  }

  /** The code unit of the escape of a backslash, u and four digits, -1 for none. */
  private static int unit(byte[] in, int at) {
    if (at + 6 > in.length || in[at] != '\\' || in[at + 1] != 'u') {
      return -1;
    }
    int unit = 0;
    for (int i = at + 2; i < at + 6; i++) {
      int digit = in[i] < 0 ? -1 : Character.digit(in[i], 16);
      if (digit < 0) {
        return -1;
      }
      unit = unit << 4 | digit;
    }
    return unit;
  }

  /** Writes a character that was escaped; returns whether it is half of a pair of surrogates. */
  static boolean write(ByteSink out, int c) {
    switch (c) {
      case '"', '\\' -> escape(out, c);
      case '\b' -> escape(out, 'b');
      case '\t' -> escape(out, 't');
      case '\n' -> escape(out, 'n');
      case '\f' -> escape(out, 'f');
      case '\r' -> escape(out, 'r');
      default -> {
        if (c >= ' ' && (c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE)) {
          out.addCodePoint(c);
          return false;
        }
        escape(out, 'u');
        for (int shift = 12; shift >= 0; shift -= 4) {
          out.add(HEX.charAt(c >> shift & 15));
        }
        return c >= ' ';
      }
    }
    return false;
  }

  private static void escape(ByteSink out, int c) {
    out.add('\\');
    out.add(c);
  }

  /** Returns the text between the quotes of a valid string. */
  static String decode(byte[] in, int start, int end) {
    int escape = start;
    while (escape < end && in[escape] != '\\') {
      escape++;
    }
    String plain = new String(in, start, escape - start, StandardCharsets.UTF_8);
    if (escape == end) {
      return plain;
    }
    StringBuilder text = new StringBuilder(plain);
    int at = escape;
    while (at < end) {
      if (in[at] == '\\') {
        int c = unescape(in, at);
        text.appendCodePoint(c);
        at += escapeLength(in, at, c);
        continue;
      }
      int from = at;
      while (at < end && in[at] != '\\') {
        at++;
      }
      text.append(new String(in, from, at - from, StandardCharsets.UTF_8));
    }
    return text.toString();
  }
}
