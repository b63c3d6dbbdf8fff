package io.loopguard.conformance;

/** A file can't be run: it has no cases, or one that is not understood. */
final class BadCaseException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  BadCaseException(String message) {
    super(message);
  }

  BadCaseException(String message, Throwable cause) {
    super(message, cause);
  }
}
