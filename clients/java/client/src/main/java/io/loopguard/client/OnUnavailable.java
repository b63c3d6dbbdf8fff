package io.loopguard.client;

/** What a client does with a call that gets no answer in time. */
public enum OnUnavailable {
  /** The call runs. */
  ALLOW,
  /** The call does not run. */
  BLOCK,
  /** The call waits for the guard. */
  WAIT
}
