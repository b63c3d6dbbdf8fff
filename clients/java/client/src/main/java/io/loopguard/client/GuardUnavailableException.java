package io.loopguard.client;

/** The guard could not answer. Unless waiting is asked for, calls are decided instead. */
public final class GuardUnavailableException extends GuardException {
  private static final long serialVersionUID = 1L;

  GuardUnavailableException(String reason, String message) {
    super(reason, message);
  }
}
