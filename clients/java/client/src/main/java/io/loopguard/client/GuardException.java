package io.loopguard.client;

/** What is wrong with a frame, a run or the guard. A block is a verdict, never an exception. */
public abstract class GuardException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The wire's ErrorReason without its prefix; empty for none. */
  private final String reason;

  GuardException(String reason, String message) {
    super(reason.isEmpty() ? message : message.isEmpty() ? reason : message + " (" + reason + ")");
    this.reason = reason;
  }

  /**
   * Returns the guard's reason.
   *
   * @return the wire's ErrorReason without its prefix, such as {@code UNKNOWN_CALL}; empty for none
   */
  public String reason() {
    return reason;
  }
}
