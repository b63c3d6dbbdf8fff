package io.loopguard.client;

/** The run or the client was closed. */
public final class RunClosedException extends GuardException {
  private static final long serialVersionUID = 1L;

  RunClosedException(String message) {
    super("", message);
  }
}
