package io.loopguard.digest;

import com.fasterxml.jackson.core.io.schubfach.DoubleToDecimal;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;

/**
 * Numbers in canonical form: an integer token by its digits, any other as ECMAScript writes the
 * double.
 */
final class CanonicalNumber {
  private static final String LARGEST_EXACT = "9007199254740991";

  private CanonicalNumber() {}

  /**
   * Returns the end of the number that starts at a place, or that place if there is none. Whatever
   * follows, a digit after a leading zero too, is refused by whoever looks for a comma or the end.
   */
  static int end(byte[] in, int start) {
    int at = start;
    if (at < in.length && in[at] == '-') {
      at++;
    }
    int whole = digitsFrom(in, at);
    if (whole == at) {
      return start;
    }
    at = in[at] == '0' ? at + 1 : whole;
    if (at < in.length && in[at] == '.') {
      int fraction = digitsFrom(in, at + 1);
      at = fraction > at + 1 ? fraction : at;
    }
    if (at < in.length && (in[at] | 0x20) == 'e') {
      boolean isSigned = at + 1 < in.length && (in[at + 1] == '+' || in[at + 1] == '-');
      int digits = isSigned ? at + 2 : at + 1;
      int exponent = digitsFrom(in, digits);
      at = exponent > digits ? exponent : at;
    }
    return at;
  }

  private static int digitsFrom(byte[] in, int start) {
    int at = start;
    while (at < in.length && in[at] >= '0' && in[at] <= '9') {
      at++;
    }
    return at;
  }

  static boolean isInteger(byte[] in, int start, int end) {
    for (int at = start; at < end; at++) {
      if (in[at] == '.' || (in[at] | 0x20) == 'e') {
        return false;
      }
    }
    return true;
  }

  /** Whether an integer token's magnitude is over 2^53 - 1. */
  static boolean isBig(byte[] in, int start, int end) {
    int first = in[start] == '-' ? start + 1 : start;
    int digits = end - first;
    if (digits != LARGEST_EXACT.length()) {
      return digits > LARGEST_EXACT.length();
    }
    for (int i = 0; i < digits; i++) {
      if (in[first + i] != LARGEST_EXACT.charAt(i)) {
        return in[first + i] > LARGEST_EXACT.charAt(i);
      }
    }
    return false;
  }

  /** Writes a finite double as Number::toString does: plain from 1e-6 up to 1e21. */
  static void write(ByteSink out, double value) {
    if (value == 0) {
      out.add('0');
      return;
    }
    if (value < 0) {
      out.add('-');
    }
    BigDecimal shortest = shortest(Math.abs(value));
    String digits = shortest.unscaledValue().toString();
    // The value is 0.digits times ten to the power of point.
    int point = shortest.precision() - shortest.scale();
    if (point > 21 || point <= -6) {
      writeScientific(out, digits, point - 1);
    } else if (point <= 0) {
      out.addAscii("0.");
      out.addAscii("0".repeat(-point));
      out.addAscii(digits);
    } else if (point >= digits.length()) {
      out.addAscii(digits);
      out.addAscii("0".repeat(point - digits.length()));
    } else {
      out.addAscii(digits.substring(0, point));
      out.add('.');
      out.addAscii(digits.substring(point));
    }
  }

  private static void writeScientific(ByteSink out, String digits, int exponent) {
    out.add(digits.charAt(0));
    if (digits.length() > 1) {
      out.add('.');
      out.addAscii(digits.substring(1));
    }
    out.add('e');
    if (exponent > 0) {
      out.add('+');
    }
    out.addAscii(Integer.toString(exponent));
  }

  /**
   * The shortest decimal that names a positive double; {@code Double.toString} is so from JDK 19 on
   * only.
   */
  private static BigDecimal shortest(double value) {
    BigDecimal found = new BigDecimal(DoubleToDecimal.toString(value)).stripTrailingZeros();
    if (found.precision() == 2) {
      // Java's rules ask for two digits where one would do: 4.9E-324.
      BigDecimal one = new BigDecimal(value).round(new MathContext(1, RoundingMode.HALF_EVEN));
      if (one.doubleValue() == value) {
        return one.stripTrailingZeros();
      }
    }
    return found;
  }
}
