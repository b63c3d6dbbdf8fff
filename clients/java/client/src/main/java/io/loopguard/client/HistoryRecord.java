package io.loopguard.client;

import java.util.Objects;

/**
 * A call that already happened, with its outcome; their ids are not used.
 *
 * @param call the call
 * @param outcome how it ended
 */
public record HistoryRecord(Call call, Outcome outcome) {
  /** Refuses null. */
  public HistoryRecord {
    Objects.requireNonNull(call, "call");
    Objects.requireNonNull(outcome, "outcome");
  }

  HistoryRecord hashed() {
    return new HistoryRecord(call.hashed(), outcome.hashed());
  }
}
