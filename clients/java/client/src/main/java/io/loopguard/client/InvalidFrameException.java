package io.loopguard.client;

/** The caller's mistake in one frame; the run goes on as if it had not come. */
public final class InvalidFrameException extends GuardException {
  private static final long serialVersionUID = 1L;

  InvalidFrameException(String reason, String message) {
    super(reason, message);
  }
}
