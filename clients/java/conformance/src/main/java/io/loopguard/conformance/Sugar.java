package io.loopguard.conformance;

import java.math.BigInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Spells a repeated step out: {@code $i}, {@code $0Ni}, {@code "$#N"} and {@code $hex16}. */
final class Sugar {
  private static final Pattern WORDS =
      Pattern.compile("\"\\$#([0-9]+)\"(?:\\s*:)?|\\$hex16|\\$(?:0([0-9]))?i");

  private Sugar() {}

  /**
   * A counter is written {@code $i}, or {@code $0Ni} with N digits; {@code "$#N"}, not as a key, is
   * a number; {@code $hex16} is a fresh id.
   */
  static String spellOut(String text, int index, String fresh) {
    StringBuilder spelled = new StringBuilder();
    Matcher word = WORDS.matcher(text);
    int at = 0;
    while (word.find()) {
      spelled.append(text, at, word.start());
      at = word.end();
      String found = word.group();
      boolean isEscaped = word.start() > 0 && text.charAt(word.start() - 1) == '\\';
      if (found.equals("$hex16")) {
        spelled.append(fresh);
      } else if (found.startsWith("$")) {
        int digits = word.group(2) == null ? 1 : Math.max(1, Integer.parseInt(word.group(2)));
        spelled.append(String.format("%0" + digits + "d", index));
      } else if (found.endsWith(":") || isEscaped) {
        spelled.append(found);
      } else {
        spelled.append(new BigInteger(word.group(1)).add(BigInteger.valueOf(index)));
      }
    }
    return spelled.append(text, at, text.length()).toString();
  }
}
