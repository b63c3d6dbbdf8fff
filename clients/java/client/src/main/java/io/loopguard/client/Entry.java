package io.loopguard.client;

import io.loopguard.v1.GuardRequest;
import java.util.concurrent.CompletableFuture;

/**
 * A frame that is kept for resending. Its request has no number, because a rebuilt run is numbered
 * anew.
 */
final class Entry {
  private GuardRequest request;
  private CompletableFuture<Reply> waiter;

  /** The call whose outcome this tells; empty for none. */
  private final String reported;

  /** What the numbering of calls was at before this batch. */
  private final long numberedBefore;

  Entry(
      GuardRequest request, CompletableFuture<Reply> waiter, String reported, long numberedBefore) {
    this.request = request;
    this.waiter = waiter;
    this.reported = reported;
    this.numberedBefore = numberedBefore;
  }

  GuardRequest request() {
    return request;
  }

  int bytes() {
    return request.getSerializedSize();
  }

  boolean isAwaited() {
    return waiter != null;
  }

  long numberedBefore() {
    return numberedBefore;
  }

  /** Whether this asks about calls that may run. */
  boolean asks() {
    return request.hasCalls() && !request.getCalls().getDryRun();
  }

  /** Whether this tells how a call ended, as an outcome or as history. */
  boolean tellsOutcome() {
    return request.hasOutcome() || !reported.isEmpty();
  }

  String outcomeOf() {
    return reported.isEmpty() ? request.getOutcome().getCallId() : reported;
  }

  void resolve(Reply reply) {
    if (waiter != null) {
      waiter.complete(reply);
      waiter = null;
    }
  }

  void stopWaiting() {
    waiter = null;
  }

  /** Puts another frame in this one's place; it keeps its time. */
  void replace(GuardRequest.Builder other) {
    request = other.setAt(request.getAt()).build();
  }
}
