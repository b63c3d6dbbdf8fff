package io.loopguard.client;

/** How sure a detector is. */
public enum Level {
  /** One that this client does not know. */
  UNKNOWN,
  /** Looks like a loop. */
  WARNING,
  /** Is one. */
  CRITICAL
}
