package io.loopguard.digest;

import com.google.protobuf.UnsafeByteOperations;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;

/**
 * Reads a JSON text once and writes its canonical form. Its methods return false for what is no
 * JSON.
 */
final class CanonicalWriter {
  /** How many containers may stand inside one another. */
  private static final int MAX_DEPTH = 256;

  private static final byte[] TRUE = {'t', 'r', 'u', 'e'};
  private static final byte[] FALSE = {'f', 'a', 'l', 's', 'e'};
  private static final byte[] NULL = {'n', 'u', 'l', 'l'};

  private final byte[] in;
  private final ByteSink out;
  private final String leftOut;
  private final EnumSet<JsonFlag> flags = EnumSet.noneOf(JsonFlag.class);
  private int at;
  private int depth;

  /** Where an object's member stands in the output. The key has its escapes resolved. */
  private record Member(String key, int start, int end) {}

  // Strings compare by UTF-16 code units, as RFC 8785 has it. Of equal keys the last one stays
  // last.
  private static final Comparator<Member> ORDER =
      Comparator.comparing(Member::key).thenComparingInt(Member::start);

  CanonicalWriter(byte[] in, String leftOut) {
    this.in = in;
    this.leftOut = leftOut;
    out = new ByteSink(in.length);
  }

  /** Returns the canonical form, null for what is no JSON. */
  byte[] write() {
    if (!UnsafeByteOperations.unsafeWrap(in).isValidUtf8() || !value()) {
      return null;
    }
    skipSpace();
    return at == in.length ? out.toBytes() : null;
  }

  EnumSet<JsonFlag> flags() {
    return flags;
  }

  private void skipSpace() {
    while (at < in.length
        && (in[at] == ' ' || in[at] == '\t' || in[at] == '\r' || in[at] == '\n')) {
      at++;
    }
  }

  /** Skips white space and returns the byte that follows, 0 at the end. */
  private byte peek() {
    skipSpace();
    return at < in.length ? in[at] : 0;
  }

  private boolean value() {
    return switch (peek()) {
      case '{' -> depth < MAX_DEPTH && object();
      case '[' -> depth < MAX_DEPTH && array();
      case '"' -> text();
      case 't' -> word(TRUE);
      case 'f' -> word(FALSE);
      case 'n' -> word(NULL);
      default -> number();
    };
  }

  private boolean word(byte[] word) {
    if (in.length - at < word.length) {
      return false;
    }
    for (int i = 0; i < word.length; i++) {
      if (in[at + i] != word[i]) {
        return false;
      }
    }
    at += word.length;
    out.add(word, 0, word.length);
    return true;
  }

  private boolean number() {
    int start = at;
    at = CanonicalNumber.end(in, start);
    if (at == start) {
      return false;
    }
    if (CanonicalNumber.isInteger(in, start, at)) {
      if (CanonicalNumber.isBig(in, start, at)) {
        flags.add(JsonFlag.BIGINT);
      }
      boolean isMinusZero = at - start == 2 && in[start] == '-' && in[start + 1] == '0';
      out.add(in, isMinusZero ? start + 1 : start, at);
      return true;
    }
    String token = new String(in, start, at - start, StandardCharsets.ISO_8859_1);
    double value = Double.parseDouble(token);
    if (Double.isInfinite(value)) {
      // The token's own text tells such numbers apart.
      flags.add(JsonFlag.OVERFLOW);
      out.addAscii(token.toLowerCase(Locale.ROOT).replace("+", ""));
    } else {
      CanonicalNumber.write(out, value);
    }
    return true;
  }

  private boolean array() {
    depth++;
    at++;
    out.add('[');
    for (boolean isFirst = true; peek() != ']'; isFirst = false) {
      if (!isFirst) {
        if (!comma()) {
          return false;
        }
        out.add(',');
      }
      if (!value()) {
        return false;
      }
    }
    at++;
    out.add(']');
    depth--;
    return true;
  }

  private boolean comma() {
    if (peek() != ',') {
      return false;
    }
    at++;
    return true;
  }

  private boolean object() {
    depth++;
    at++;
    out.add('{');
    int start = out.length();
    List<Member> members = new ArrayList<>();
    for (boolean isFirst = true; peek() != '}'; isFirst = false) {
      if ((!isFirst && !comma()) || !member(members)) {
        return false;
      }
    }
    at++;
    arrange(members, start);
    out.add('}');
    depth--;
    return true;
  }

  /** Writes one member, without comma. */
  private boolean member(List<Member> members) {
    if (peek() != '"') {
      return false;
    }
    int start = out.length();
    EnumSet<JsonFlag> before = leftOut == null ? null : flags.clone();
    int from = at;
    if (!text()) {
      return false;
    }
    String key = JsonText.decode(in, from + 1, at - 1);
    if (peek() != ':') {
      return false;
    }
    at++;
    out.add(':');
    if (!value()) {
      return false;
    }
    if (depth == 1 && key.equals(leftOut)) {
      out.cutTo(start);
      flags.retainAll(before);
    } else {
      members.add(new Member(key, start, out.length()));
    }
    return true;
  }

  /**
   * Puts the members of an object, which stand in the output from {@code start} on, in order, with
   * commas between.
   */
  private void arrange(List<Member> members, int start) {
    if (members.size() < 2) {
      return;
    }
    byte[] written = out.slice(start, out.length());
    members.sort(ORDER);
    out.cutTo(start);
    for (int i = 0; i < members.size(); i++) {
      Member member = members.get(i);
      if (i + 1 < members.size() && member.key().equals(members.get(i + 1).key())) {
        flags.add(JsonFlag.DUPLICATE_KEY);
        continue;
      }
      out.add(written, member.start() - start, member.end() - start);
      if (i + 1 < members.size()) {
        out.add(',');
      }
    }
  }

  /** Reads a string and writes it with the fewest escapes. */
  private boolean text() {
    at++;
    out.add('"');
    while (at < in.length) {
      int plain = at;
      while (at < in.length && isPlain(in[at])) {
        at++;
      }
      out.add(in, plain, at);
      if (at == in.length || (in[at] >= 0 && in[at] < ' ')) {
        return false;
      }
      if (in[at] == '"') {
        at++;
        out.add('"');
        return true;
      }
      int escaped = JsonText.unescape(in, at);
      if (escaped < 0) {
        return false;
      }
      at += JsonText.escapeLength(in, at, escaped);
      if (JsonText.write(out, escaped)) {
        flags.add(JsonFlag.SURROGATE);
      }
    }
    return false;
  }

  /** Bytes of longer characters are negative. */
  private static boolean isPlain(byte b) {
    return (b >= ' ' && b != '"' && b != '\\') || b < 0;
  }
}
