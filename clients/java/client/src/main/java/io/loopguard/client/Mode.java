package io.loopguard.client;

/** Whether verdicts are held against the run. */
public enum Mode {
  /** Blocks are recorded as vetoes, a second block aborts. */
  ENFORCE,
  /** Verdicts are returned, nothing is held against the run. */
  OBSERVE
}
