package io.loopguard.client;

/** What to do with a call. One that this client does not know is taken as {@link #ALLOW}. */
public enum Action {
  /** Run it. */
  ALLOW,
  /** Run it, then append the note to its result. */
  WARN,
  /** Don't run it; give the note to the model as the call's error result. */
  BLOCK,
  /** Stop the turn or the run, as the verdict's scope says. */
  ABORT
}
