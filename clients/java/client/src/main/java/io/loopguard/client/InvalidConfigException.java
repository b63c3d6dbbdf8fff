package io.loopguard.client;

/** A configuration that is refused. */
public final class InvalidConfigException extends GuardException {
  private static final long serialVersionUID = 1L;

  /** Names the mistake. */
  private final String key;

  InvalidConfigException(String key, String message) {
    super(Refusal.INVALID_CONFIG, message);
    this.key = key;
  }

  /**
   * Returns where the mistake is.
   *
   * @return the key, such as {@code detectors.pingPong}; empty where there is none
   */
  public String key() {
    return key;
  }
}
