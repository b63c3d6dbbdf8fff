package io.loopguard.client;

import io.loopguard.v1.CompactionRetry;
import io.loopguard.v1.GuardRequest;
import io.loopguard.v1.Opened;
import io.loopguard.v1.RunClose;
import io.loopguard.v1.UserMessage;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * One run of an agent, opened by {@link GuardClient#openRun}.
 *
 * <p>Its methods may be called by several threads. Each waits for the guard's answer, at most the
 * client's deadline unless waiting is asked for. When the thread is interrupted meanwhile, calls
 * that were asked are taken not to run.
 */
public final class GuardRun implements AutoCloseable {
  private final Link link;
  private final Session session;
  private final Settings settings;
  private final boolean hashes;

  GuardRun(Link link, Settings settings, boolean hashes) {
    this.link = link;
    session = link.session();
    this.settings = settings;
    this.hashes = hashes;
  }

  /**
   * Returns the run's id.
   *
   * @return the id
   */
  public String id() {
    return session.id();
  }

  /**
   * Returns the guard's newest answer to the opening of the run.
   *
   * @return the answer; empty while the guard was never reached
   */
  public Optional<Opened> opened() {
    link.lock().lock();
    try {
      return Optional.ofNullable(session.opened());
    } finally {
      link.lock().unlock();
    }
  }

  /**
   * Returns how many calls were decided by the client because the guard was away.
   *
   * @return their number
   */
  public long decidedUnavailable() {
    link.lock().lock();
    try {
      return session.submissions().decided();
    } finally {
      link.lock().unlock();
    }
  }

  /**
   * Asks about all calls of one model response before any of them runs.
   *
   * @param calls the calls
   * @return one verdict a call; a block is a verdict, never an exception
   * @throws GuardException for a batch that is refused, or a run that is over
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public List<Verdict> judge(List<Call> calls) throws InterruptedException {
    return exchange(batch(calls, false));
  }

  /**
   * Asks about the one call of a model response before it runs.
   *
   * @param call the call
   * @return the verdict
   * @throws GuardException for a call that is refused, or a run that is over
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public Verdict judge(Call call) throws InterruptedException {
    return judge(List.of(call)).get(0);
  }

  /**
   * Asks what {@link #judge} asks, without consequences.
   *
   * @param calls the calls
   * @return one verdict a call
   * @throws GuardException for a batch that is refused, or a run that is over
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public List<Verdict> check(List<Call> calls) throws InterruptedException {
    return exchange(batch(calls, true));
  }

  private GuardRequest.Builder batch(List<Call> calls, boolean dryRun) {
    return Frames.calls(
        calls.stream().map(call -> Frames.toCall(hashes ? call.hashed() : call)).toList(), dryRun);
  }

  /**
   * Tells how a call ended.
   *
   * @param outcome is how
   * @return a verdict that may end the turn or the run
   * @throws GuardException for an outcome that is refused, or a run that is over
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public Verdict report(Outcome outcome) throws InterruptedException {
    Outcome told = hashes ? outcome.hashed() : outcome;
    return exchange(Frames.outcome(Frames.toOutcome(told))).get(0);
  }

  /**
   * Tells of calls that already happened; they are judged by nobody.
   *
   * @param records the calls, in their order
   * @throws GuardException for records that are refused, or a run that is over
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public void record(HistoryRecord... records) throws InterruptedException {
    exchange(
        Frames.history(
            Arrays.stream(records)
                .map(record -> Frames.toRecord(hashes ? record.hashed() : record))
                .toList()));
  }

  /**
   * Tells that the user wrote.
   *
   * @throws GuardException for a run that is over
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public void userMessage() throws InterruptedException {
    exchange(GuardRequest.newBuilder().setUserMessage(UserMessage.getDefaultInstance()));
  }

  /**
   * Tells that the context was compacted and the run retries.
   *
   * @throws GuardException for a run that is over
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public void compactionRetry() throws InterruptedException {
    exchange(GuardRequest.newBuilder().setCompactionRetry(CompactionRetry.getDefaultInstance()));
  }

  /**
   * Ends the run. It does nothing for a run that is over, and does not wait for a guard that is
   * away.
   */
  @Override
  public void close() {
    // A thread that is being interrupted has to leave in good order too; nothing here waits for
    // long.
    boolean wasInterrupted = Thread.interrupted();
    try {
      exchange(GuardRequest.newBuilder().setClose(RunClose.getDefaultInstance()));
    } catch (InterruptedException e) {
      wasInterrupted = true;
    } catch (GuardException e) {
      // Over already, or the guard forgets the run by itself.
    }
    letGo();
    if (wasInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Sends a frame and returns what answers it. */
  private List<Verdict> exchange(GuardRequest.Builder frame) throws InterruptedException {
    Frames.checkText(frame);
    var waiter = new CompletableFuture<Reply>();
    Entry entry;
    link.lock().lock();
    try {
      entry = session.submissions().submit(frame, waiter);
      link.pump();
    } finally {
      link.lock().unlock();
    }
    Reply reply;
    try {
      reply = await(waiter, frame.hasClose());
    } catch (InterruptedException e) {
      abandon(entry);
      throw e;
    }
    return settle(entry, reply, waiter);
  }

  private void abandon(Entry entry) {
    link.lock().lock();
    try {
      session.submissions().abandon(entry);
      link.pump();
    } finally {
      link.lock().unlock();
    }
  }

  /** Returns the reply to a frame, or decides without. */
  private List<Verdict> settle(Entry entry, Reply awaited, CompletableFuture<Reply> waiter) {
    link.lock().lock();
    try {
      Reply reply = awaited == null ? waiter.getNow(null) : awaited;
      if (reply == null) {
        // What was not answered in time is no reason to wait as long for the next one.
        session.noteLate();
      } else if (reply.refusal() == null) {
        return reply.verdicts();
      } else if (settings.waits() || reply.refusal().family() != Refusal.Family.UNAVAILABLE) {
        throw reply.refusal().toException();
      }
      boolean blocks = settings.onUnavailable() == OnUnavailable.BLOCK;
      List<Verdict> verdicts = session.submissions().decide(entry, blocks);
      link.pump();
      return verdicts;
    } finally {
      link.lock().unlock();
    }
  }

  /** Waits for a reply as long as there is hope; null where there is none in time. */
  Reply await(CompletableFuture<Reply> waiter, boolean isClosing) throws InterruptedException {
    Optional<Duration> patience = patience(isClosing);
    try {
      return patience.isEmpty()
          ? waiter.get()
          : waiter.get(patience.get().toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      return null;
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    }
  }

  /** How long to wait for an answer; empty for as long as it takes. */
  private Optional<Duration> patience(boolean isClosing) {
    link.lock().lock();
    try {
      if (isClosing) {
        boolean isHopeful = session.phase() == Session.Phase.OPENED || settings.waits();
        return Optional.of(isHopeful ? settings.closeWait() : Duration.ZERO);
      }
      if (settings.waits()) {
        return Optional.empty();
      }
      return Optional.of(session.isLate() || link.isAway() ? Duration.ZERO : settings.deadline());
    } finally {
      link.lock().unlock();
    }
  }

  /** Gives the run up, and lets its stream end. */
  void letGo() {
    link.lock().lock();
    try {
      session.stopOpening();
      session.end(Refusal.closed("run `" + id() + "` is closed"));
      link.letGo();
    } finally {
      link.lock().unlock();
    }
    try {
      link.done().get(settings.closeWait().toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      // The stream does not end by itself.
    }
    link.lock().lock();
    try {
      link.cancel();
    } finally {
      link.lock().unlock();
    }
  }
}
