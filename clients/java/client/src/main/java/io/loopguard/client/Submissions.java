package io.loopguard.client;

import com.google.protobuf.Duration;
import io.loopguard.v1.Call;
import io.loopguard.v1.CallBatch;
import io.loopguard.v1.GuardRequest;
import io.loopguard.v1.Outcome;
import io.loopguard.v1.Status;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;

/**
 * What the caller says in a run, and what is decided for it while the guard is away. Guarded by its
 * link's lock.
 */
final class Submissions {
  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private final Session session;
  private final Outbox outbox;
  private final Journal journal;
  private final LongSupplier nanoTime;
  private final long began;

  /** Calls decided here because the guard was away, in all. */
  private long decided;

  /**
   * Those of them that the guard was not told of, and those that stand in the RunOpen under way.
   */
  private long untold;

  private long told;

  Submissions(Session session, Outbox outbox, Journal journal, LongSupplier nanoTime) {
    this.session = session;
    this.outbox = outbox;
    this.journal = journal;
    this.nanoTime = nanoTime;
    began = nanoTime.getAsLong();
  }

  /**
   * Takes a frame for sending. Throws for one that the server would refuse, and where the run is
   * over.
   */
  Entry submit(GuardRequest.Builder frame, CompletableFuture<Reply> waiter) {
    if (session.refusal() != null) {
      throw session.refusal().toException();
    }
    frame.setAt(sinceBegin());
    if (frame.hasCalls()) {
      return submitBatch(frame, waiter);
    }
    GuardRequest made = frame.build();
    FrameChecks.checkSize(made, session.limits());
    Journal.Told call = made.hasOutcome() ? journal.settle(made.getOutcome()) : null;
    if (call != null && call.isLost()) {
      made = Frames.history(List.of(call.record())).setAt(made.getAt()).build();
    }
    return put(new Entry(made, waiter, call == null ? "" : call.id(), 0));
  }

  private Entry submitBatch(GuardRequest.Builder frame, CompletableFuture<Reply> waiter) {
    long before = journal.numbered();
    boolean isTaken = false;
    try {
      CallBatch.Builder batch = frame.getCallsBuilder();
      List<Call> calls = journal.number(batch.getCallsList());
      batch.clearCalls().addAllCalls(calls);
      FrameChecks.checkBatch(
          calls, session.opened() == null ? 0 : session.limits().getCallsPerBatch());
      GuardRequest made = frame.build();
      FrameChecks.checkSize(made, session.limits());
      isTaken = !batch.getDryRun();
      return put(new Entry(made, waiter, "", before));
    } finally {
      if (!isTaken) {
        journal.numberFrom(before);
      }
    }
  }

  private Entry put(Entry entry) {
    return outbox.put(entry, session.phase() == Session.Phase.OPENED);
  }

  /**
   * Answers a frame here, because the guard is away. It is still sent, so that the guard learns of
   * it.
   */
  List<Verdict> decide(Entry entry, boolean blocks) {
    entry.stopWaiting();
    if (!entry.request().hasCalls()) {
      return List.of(Verdict.of(entry.outcomeOf(), Action.ALLOW, ""));
    }
    List<Call> calls = entry.request().getCalls().getCallsList();
    Action action = blocks ? Action.BLOCK : Action.ALLOW;
    String note = blocks ? "The loop guard can't be reached." : "";
    List<Verdict> verdicts =
        calls.stream().map(call -> Verdict.of(call.getCallId(), action, note)).toList();
    if (entry.asks()) {
      decided += calls.size();
      untold += calls.size();
      if (blocks) {
        withdraw(entry);
      } else {
        journal.ask(calls, verdicts);
      }
    }
    return verdicts;
  }

  /** Gives up on the answer to a frame: calls that were asked are taken not to run. */
  void abandon(Entry entry) {
    entry.stopWaiting();
    if (entry.asks() && session.phase() != Session.Phase.OVER) {
      withdraw(entry);
    }
  }

  /** Makes the guard see that the calls of a batch did not run. */
  private void withdraw(Entry entry) {
    List<Call> calls = entry.request().getCalls().getCallsList();
    if (outbox.isUnsent(entry)) {
      outbox.replace(entry, Frames.calls(calls, true));
    } else {
      for (Call call : calls) {
        Outcome.Builder cancelled = Outcome.newBuilder().setCallId(call.getCallId());
        cancelled.setStatus(Status.STATUS_CANCELLED);
        put(entryNow(Frames.outcome(cancelled.build())));
      }
    }
    journal.block(calls);
  }

  /** Wraps a frame that happens now, for which nobody waits. */
  Entry entryNow(GuardRequest.Builder frame) {
    return new Entry(frame.setAt(sinceBegin()).build(), null, "", 0);
  }

  private Duration sinceBegin() {
    long nanos = nanoTime.getAsLong() - began;
    return Duration.newBuilder()
        .setSeconds(nanos / NANOS_PER_SECOND)
        .setNanos((int) (nanos % NANOS_PER_SECOND))
        .build();
  }

  /** How many calls were decided here because the guard was away. */
  long decided() {
    return decided;
  }

  /** How many of them the guard is to be told of now. */
  long tellDecided() {
    told = untold;
    return told;
  }

  void decidedIsTold() {
    untold -= told;
    told = 0;
  }
}
