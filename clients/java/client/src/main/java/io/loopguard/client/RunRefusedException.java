package io.loopguard.client;

/** The guard refuses the run, or has it no longer for this client. */
public final class RunRefusedException extends GuardException {
  private static final long serialVersionUID = 1L;

  RunRefusedException(String reason, String message) {
    super(reason, message);
  }
}
