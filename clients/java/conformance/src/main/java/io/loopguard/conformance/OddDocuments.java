package io.loopguard.conformance;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Random JSON texts that are full of what canonical form has rules for, and some that are no JSON.
 */
final class OddDocuments implements Supplier<byte[]> {
  private static final String[] NUMBERS =
      ("0 -0 7 -1 9007199254740991 9007199254740992 123456789012345678901 0.1 -0.0 1.0 1e3 1E+2"
              + " 1e20 1e21 123456789012345680000.0 0.000001 0.0000001 5e-324 4.9e-324 2.5e-324"
              + " 2.4703282292062327e-324 2.4703282292062328e-324 1e-400 1.7976931348623157e308"
              + " 1.7976931348623159e308 1e400 -1E+400 1.50E+0400 9007199254740993.0 4.35 1e999999999999"
              + " 01 1. .5 - +1 1e 0x1 NaN Infinity")
          .split(" ");
  private static final String[] PIECES =
      ("a b Z / \\/ \\\" \\\\ \\b \\f \\n \\r \\t \\u0000 \\u001F \\u0041 \\u007f \\u00e9 \\u20AC"
              + " \\ud83d\\ude00 \\uD800 \\udc00 \u007f \u00e9 \u2028 \ud7ff \ue000 \uffff"
              + " \ud800\udc00 \ud83d\ude00")
          .split(" ");
  private static final String[] WORDS = {"true", "false", "null"};
  private static final String[] BLANKS = {" ", "\t", "\n", "\r", "  ", "", "", "", "", ""};
  private static final byte[] BYTES =
      "{}[],:\"\\0123e.- \0\u001f\u007f\u0080\u00c3\u00e2\u00ed\u00a0\u00f0\u00ff"
          .getBytes(StandardCharsets.ISO_8859_1);
  private static final int DEEPEST = 5;

  private final Random random;

  OddDocuments(long seed) {
    random = new Random(seed);
  }

  @Override
  public byte[] get() {
    String text = random.nextInt(40) == 0 ? deep() : blanks() + value(0) + blanks();
    String marked = random.nextInt(100) == 0 ? "\ufeff" + text : text;
    return damaged(marked.getBytes(StandardCharsets.UTF_8));
  }

  private String pick(String... from) {
    return from[random.nextInt(from.length)];
  }

  private String blanks() {
    return pick(BLANKS);
  }

  private String digits() {
    return random
        .ints(1 + random.nextInt(20), 0, 10)
        .mapToObj(Integer::toString)
        .collect(Collectors.joining());
  }

  private String number() {
    return switch (random.nextInt(4)) {
      case 0 -> pick(NUMBERS);
      case 1 -> Double.toString(Double.longBitsToDouble(random.nextLong()));
      case 2 -> (1 + random.nextInt(9)) + digits() + "." + digits();
      default -> digits() + pick("e", "E", "e+", "e-") + random.nextInt(400);
    };
  }

  private String text() {
    return Stream.generate(() -> pick(PIECES))
        .limit(random.nextInt(5))
        .collect(Collectors.joining("", "\"", "\""));
  }

  private String list(Supplier<String> one) {
    return Stream.generate(() -> blanks() + one.get() + blanks())
        .limit(random.nextInt(7))
        .collect(Collectors.joining(","));
  }

  private String value(int depth) {
    return switch (random.nextInt(depth < DEEPEST ? 9 : 5)) {
      case 0, 1 -> number();
      case 2, 3 -> text();
      case 4 -> pick(WORDS);
      case 5 -> "[" + list(() -> value(depth + 1)) + "]";
      default -> "{" + list(() -> text() + blanks() + ":" + blanks() + value(depth + 1)) + "}";
    };
  }

  private String deep() {
    int depth = 254 + random.nextInt(5);
    return random.nextBoolean()
        ? "[".repeat(depth) + "]".repeat(depth)
        : "{\"a\":".repeat(depth) + "1" + "}".repeat(depth);
  }

  /** Puts a byte into every tenth document, or takes some out. */
  private byte[] damaged(byte[] data) {
    if (random.nextInt(10) > 0) {
      return data;
    }
    int at = random.nextInt(data.length + 1);
    int rest = Math.min(data.length, at + random.nextInt(2));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(data, 0, at);
    out.write(BYTES, random.nextInt(BYTES.length), random.nextInt(2));
    out.write(data, rest, data.length - rest);
    return out.toByteArray();
  }
}
