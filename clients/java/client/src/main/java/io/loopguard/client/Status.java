package io.loopguard.client;

/** How a call ended. */
public enum Status {
  /** Nobody said. */
  UNSPECIFIED,
  /** The tool returned. */
  OK,
  /** The tool failed. */
  ERROR,
  /** There is no such tool. */
  UNKNOWN_TOOL,
  /** Rejected by argument validation, never ran. */
  INVALID_ARGUMENTS,
  /** Another policy refused it. */
  DENIED,
  /** The guard's own block. */
  LOOP_VETO,
  /** Given up without an outcome. */
  CANCELLED,
  /** No outcome yet; only in a history. */
  PENDING
}
