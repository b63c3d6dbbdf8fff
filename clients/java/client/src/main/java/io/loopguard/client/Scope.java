package io.loopguard.client;

/** What an abort ends. */
public enum Scope {
  /** There is no abort. */
  NONE,
  /** Until the next user message. */
  TURN,
  /** The run. */
  RUN
}
