package io.loopguard.client;

import io.loopguard.v1.Call;
import io.loopguard.v1.Outcome;
import io.loopguard.v1.Record;
import io.loopguard.v1.Status;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/** The newest calls of a run, so that a lost run can be told again, and those still open. */
final class Journal {
  /** How many calls may be open; the oldest one is forgotten first, as the server does. */
  private static final int OPEN_CALLS = 1024;

  private final long mostBytes;
  private final Deque<Told> newest = new ArrayDeque<>();

  /** By id, in the order in which they were asked. */
  private final Map<String, Told> open = new LinkedHashMap<>();

  private int size;
  private long bytes;
  private long numbered;

  /** A call with what is known of it. */
  static final class Told {
    private final Call call;
    private final boolean vetoed;
    private Outcome outcome;
    private boolean kept;

    /** The server knows nothing of it. */
    private boolean lost;

    private Told(Call call, boolean vetoed, boolean lost) {
      this.call = call;
      this.vetoed = vetoed;
      this.lost = lost;
    }

    String id() {
      return call.getCallId();
    }

    boolean isLost() {
      return lost;
    }

    Record record() {
      Status pending = vetoed ? Status.STATUS_LOOP_VETO : Status.STATUS_PENDING;
      return Frames.record(
          call, outcome == null ? Outcome.newBuilder().setStatus(pending).build() : outcome);
    }

    private long bytes() {
      return (long) call.getArgsJson().size() + (outcome == null ? 0 : outcome.getSerializedSize());
    }
  }

  Journal(int size, long mostBytes) {
    this.size = size;
    this.mostBytes = mostBytes;
  }

  void resize(int records) {
    size = records;
    trim();
  }

  /** What the numbering of calls is at. */
  long numbered() {
    return numbered;
  }

  void numberFrom(long before) {
    numbered = before;
  }

  /** Gives the calls without id the next {@code cN}. */
  List<Call> number(List<Call> calls) {
    Set<String> taken = new HashSet<>();
    calls.forEach(call -> taken.add(call.getCallId()));
    List<Call> named = new ArrayList<>(calls.size());
    for (Call call : calls) {
      String id = call.getCallId();
      while (id.isEmpty() || (call.getCallId().isEmpty() && taken.contains(id))) {
        numbered++;
        id = "c" + numbered;
      }
      named.add(call.toBuilder().setCallId(id).build());
    }
    return named;
  }

  /** Gives the numbers of a refused batch back, if no later batch has taken any. */
  void unnumber(long before, List<Call> calls) {
    String last = "c" + numbered;
    if (calls.stream().anyMatch(call -> call.getCallId().equals(last))) {
      numbered = before;
    }
  }

  /** Notes a batch with what was said of it. */
  void ask(List<Call> calls, List<Verdict> verdicts) {
    Call trigger = null;
    for (int i = 0; i < Math.min(calls.size(), verdicts.size()) && trigger == null; i++) {
      Verdict verdict = verdicts.get(i);
      trigger = verdict.isAllowed() || !verdict.blockedBy().isEmpty() ? null : calls.get(i);
    }
    for (Call call : calls) {
      Told asked = new Told(call, trigger != null, false);
      if (trigger == null || isSame(call, trigger)) {
        append(asked);
      }
      await(asked);
    }
  }

  private static boolean isSame(Call a, Call b) {
    return a.getTool().equals(b.getTool())
        && a.getArgsJson().equals(b.getArgsJson())
        && a.getArgsDigest().equals(b.getArgsDigest());
  }

  /**
   * Notes a batch that did not run and that the guard must not hear of, unless it runs all the
   * same.
   */
  void block(List<Call> calls) {
    calls.forEach(call -> await(new Told(call, true, true)));
  }

  private void await(Told asked) {
    open.remove(asked.id());
    open.put(asked.id(), asked);
    if (open.size() > OPEN_CALLS) {
      open.remove(oldest(any -> true));
    }
  }

  /** The id of the oldest open call that fits, empty for none. */
  private String oldest(Predicate<Told> fits) {
    return open.values().stream().filter(fits).map(Told::id).findFirst().orElse("");
  }

  /** Notes how a call ended and returns it; null if no such call is open. */
  Told settle(Outcome outcome) {
    String id =
        outcome.getCallId().isEmpty() ? oldest(asked -> !asked.vetoed) : outcome.getCallId();
    Told call = open.remove(id);
    if (call == null) {
      return null;
    }
    if (call.vetoed) {
      // It ran all the same: that is another record than the veto.
      call = new Told(call.call, false, call.lost);
    }
    long before = call.bytes();
    call.outcome = outcome;
    if (call.kept) {
      bytes += call.bytes() - before;
      trim();
    } else {
      append(call);
    }
    return call;
  }

  /** Notes that the server knows nothing of all this, and returns what it has to be told. */
  List<Record> lose() {
    open.values().forEach(asked -> asked.lost = true);
    return newest.stream()
        .filter(call -> call.outcome != null || call.vetoed)
        .map(Told::record)
        .toList();
  }

  private void append(Told call) {
    call.kept = true;
    newest.add(call);
    bytes += call.bytes();
    trim();
  }

  private void trim() {
    while (!newest.isEmpty() && (newest.size() > size || bytes > mostBytes)) {
      Told oldest = newest.remove();
      oldest.kept = false;
      bytes -= oldest.bytes();
    }
  }
}
