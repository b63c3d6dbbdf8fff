package io.loopguard.client;

import java.util.List;

/** What a frame's caller waits for: verdicts, or why there are none. */
record Reply(List<Verdict> verdicts, Refusal refusal) {
  static final Reply EMPTY = of(List.of());

  static Reply of(List<Verdict> verdicts) {
    return new Reply(verdicts, null);
  }

  static Reply of(Refusal refusal) {
    return new Reply(List.of(), refusal);
  }
}
