package io.loopguard.client;

import java.nio.charset.StandardCharsets;

/** A run's id as proxies see it. */
final class RunId {
  /** How much of the id the metadata holds. */
  private static final int BYTES = 256;

  private RunId() {}

  /**
   * The id in UTF-8, all bytes but letters, digits and {@code -._~} percent-encoded, and of that
   * the first 256.
   */
  static String forProxies(String id) {
    StringBuilder encoded = new StringBuilder();
    for (byte b : id.getBytes(StandardCharsets.UTF_8)) {
      boolean isPlain =
          (b >= 'a' && b <= 'z')
              || (b >= 'A' && b <= 'Z')
              || (b >= '0' && b <= '9')
              || "-._~".indexOf(b) >= 0;
      if (isPlain) {
        encoded.append((char) b);
      } else {
        encoded.append(String.format("%%%02X", b));
      }
    }
    return encoded.substring(0, Math.min(encoded.length(), BYTES));
  }
}
