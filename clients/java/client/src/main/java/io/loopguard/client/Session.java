package io.loopguard.client;

import io.loopguard.v1.GuardRequest;
import io.loopguard.v1.GuardResponse;
import io.loopguard.v1.Limits;
import io.loopguard.v1.Opened;
import io.loopguard.v1.Record;
import io.loopguard.v1.RunEnded;
import io.loopguard.v1.RunOpen;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The protocol of one run towards the server: opening, answers, resume and rebuild. It does no I/O
 * and is guarded by its link's lock.
 */
final class Session {
  /** Where a run stands. */
  enum Phase {
    /** No stream, or none that has answered. */
    AWAY,
    /** RunOpen is to be sent or was sent. */
    OPENING,
    OPENED,
    /** Closed, or refused for good. */
    OVER
  }

  private static final Logger LOG = LoggerFactory.getLogger(GuardClient.class);

  /** How many calls are remembered until Opened tells the run's own number. */
  private static final int HISTORY_SIZE = 30;

  /** Nodes that send a run to each other would do so for ever. */
  private static final int MOST_REDIRECTS = 5;

  private final RunOpen request;
  private final Outbox outbox;
  private final Journal journal;
  private final Submissions submissions;

  private Phase phase = Phase.AWAY;
  private Opened opened;
  private Limits limits = FrameChecks.ASSUMED;
  private Refusal refusal;
  private CompletableFuture<Reply> opener;

  /** The answer to a frame is overdue. */
  private boolean isLate;

  /** The stream can't go on with this run. */
  private boolean wantsStream;

  /** The endpoint at which the run goes on; empty for none. */
  private String movesTo = "";

  /** How often it moved since the run was opened last. */
  private int redirects;

  private GuardRequest openFrame;
  private boolean abortStands;
  private boolean isRebuilding;

  Session(RunOpen request, Settings settings, CompletableFuture<Reply> opener) {
    this.request = request;
    this.opener = opener;
    outbox = new Outbox(settings.bufferFrames(), settings.bufferBytes());
    journal = new Journal(HISTORY_SIZE, settings.bufferBytes());
    submissions = new Submissions(this, outbox, journal, settings.nanoTime());
  }

  String id() {
    return request.getRunId();
  }

  /** The caller's side of the run. */
  Submissions submissions() {
    return submissions;
  }

  Phase phase() {
    return phase;
  }

  /** Why the run is over, null while it is not. */
  Refusal refusal() {
    return refusal;
  }

  /** The newest answer to the opening, null while there is none. */
  Opened opened() {
    return opened;
  }

  Limits limits() {
    return limits;
  }

  boolean isLate() {
    return isLate;
  }

  void noteLate() {
    isLate = true;
  }

  boolean wantsStream() {
    return wantsStream;
  }

  String movesTo() {
    return movesTo;
  }

  void stopOpening() {
    opener = null;
  }

  /** Gives the run up; everybody who waits or comes later is told why. */
  void end(Refusal why) {
    if (phase == Phase.OVER) {
      return;
    }
    phase = Phase.OVER;
    refusal = why;
    openFrame = null;
    resolveOpen(Reply.of(why));
    outbox.entries().forEach(entry -> entry.resolve(Reply.of(why)));
    outbox.clear();
  }

  private void resolveOpen(Reply reply) {
    if (opener != null) {
      opener.complete(reply);
      opener = null;
    }
  }

  /** Begins on a stream. */
  void connected() {
    if (phase == Phase.OVER) {
      return;
    }
    wantsStream = false;
    movesTo = "";
    phase = Phase.OPENING;
    RunOpen.Builder open = request.toBuilder().setRebuild(isRebuilding);
    open.setDecidedUnavailable(submissions.tellDecided());
    if (opened != null) {
      open.setResume(!isRebuilding);
    }
    openFrame = GuardRequest.newBuilder().setOpen(open).build();
  }

  /** Notes that the stream is gone; the run waits for another one. */
  void lost() {
    if (phase != Phase.OVER) {
      phase = Phase.AWAY;
      openFrame = null;
    }
  }

  /** Lets those who wait decide for themselves: the guard can't be reached. */
  void giveUpWaiting() {
    resolveOpen(Reply.EMPTY);
    Reply reply = Reply.of(Refusal.unavailable("the guard can't be reached"));
    outbox.entries().forEach(entry -> entry.resolve(reply));
  }

  /** Takes the next frame that may be sent now, null if there is none; it counts as sent. */
  GuardRequest takeFrame() {
    if (openFrame != null) {
      GuardRequest open = openFrame;
      openFrame = null;
      return open;
    }
    if (phase != Phase.OPENED) {
      return null;
    }
    return outbox.take(Integer.toUnsignedLong(limits.getInFlight()));
  }

  /** Whether an answer is outstanding on this stream. */
  boolean isInFlight() {
    return phase == Phase.OPENING || outbox.isInFlight();
  }

  /**
   * Gives the frame up for whose size the stream has ended; sent again, it would end the next one
   * too.
   */
  void refuseFirstInFlight() {
    if (phase == Phase.OPENED && outbox.isInFlight()) {
      refuse(outbox.firstInFlight(), "the server takes no message of this size");
    }
  }

  /** Gives up a frame that no server takes; something without effect is sent under its number. */
  private void refuse(long seq, String message) {
    Entry entry = outbox.at(seq);
    if (entry != null && !entry.request().hasClose()) {
      entry.resolve(Reply.of(Refusal.ofFrame(Refusal.TOO_LARGE, message)));
      outbox.replace(entry, Frames.history(List.of()));
    }
  }

  void receive(GuardResponse response) {
    if (phase == Phase.OVER) {
      return;
    }
    switch (response.getAnswerCase()) {
      case OPENED -> takeOpened(response.getOpened());
      case RUN_ENDED -> takeEnd(response.getRunEnded());
      case GO_AWAY -> {}
      default -> {
        if (phase == Phase.OPENING) {
          if (response.hasError() && response.getSeq() == 0) {
            takeRefusedOpen(Refusal.of(response.getError().getStatus()));
          }
        } else if (response.hasNeedResend()) {
          if (!outbox.sendFrom(response.getNeedResend().getFromSeq())) {
            startRebuild();
          }
        } else if (response.getSeq() > 0) {
          takeAnswer(response);
        }
      }
    }
    outbox.forgetDurable(response.getDurableSeq());
  }

  private void takeRefusedOpen(Refusal refused) {
    if (refused.reason().equals(Refusal.SHUTTING_DOWN)) {
      // GoAway has the whole stream begin anew elsewhere.
      lost();
    } else {
      end(refused);
    }
  }

  private void takeEnd(RunEnded ended) {
    switch (ended.getReason()) {
      case RUN_END_REASON_SUPERSEDED, RUN_END_REASON_PROTOCOL -> {
        String reason = ended.getReason().name().substring("RUN_END_REASON_".length());
        boolean isTold = ended.hasStatus();
        end(isTold ? Refusal.of(ended.getStatus()).ofRun() : Refusal.ofFrame(reason, "").ofRun());
      }
      case RUN_END_REASON_WRONG_NODE -> {
        if (redirects == MOST_REDIRECTS) {
          String message = "sent from node to node " + redirects + " times";
          end(Refusal.ofFrame("WRONG_NODE", message).ofRun());
        } else {
          redirects++;
          lost();
          wantsStream = true;
          movesTo = ended.getEndpoint();
        }
      }
      default -> {
        lost();
        wantsStream = true;
      }
    }
  }

  private void takeAnswer(GuardResponse response) {
    isLate = false;
    long seq = response.getSeq();
    Entry entry = outbox.isNews(seq) ? outbox.at(seq) : null;
    if (entry == null) {
      return;
    }
    if (response.hasError()) {
      takeRefusal(entry, Refusal.of(response.getError().getStatus()));
      return;
    }
    entry.resolve(Reply.of(takeAccepted(entry, response)));
    if (entry.request().hasClose()) {
      end(Refusal.closed("run `" + id() + "` is closed"));
    }
  }

  /** Notes what an answer means for the run, and returns it. */
  private List<Verdict> takeAccepted(Entry entry, GuardResponse response) {
    if (response.hasVerdicts()) {
      List<Verdict> verdicts =
          response.getVerdicts().getVerdictsList().stream().map(Answers::verdict).toList();
      if (entry.asks()) {
        if (entry.isAwaited() && !abortStands) {
          journal.ask(entry.request().getCalls().getCallsList(), verdicts);
        }
        verdicts.forEach(this::noteAbort);
      }
      return verdicts;
    }
    if (response.hasVerdict()) {
      Verdict verdict = Answers.verdict(response.getVerdict());
      noteAbort(verdict);
      return List.of(verdict);
    }
    if (entry.request().hasUserMessage()) {
      abortStands = false;
    }
    return List.of(Verdict.of(entry.outcomeOf(), Action.ALLOW, ""));
  }

  private void noteAbort(Verdict verdict) {
    abortStands |= verdict.action() == Action.ABORT;
  }

  private void takeRefusal(Entry entry, Refusal refused) {
    if (entry.asks()) {
      journal.unnumber(entry.numberedBefore(), entry.request().getCalls().getCallsList());
    }
    if (!entry.isAwaited()) {
      LOG.warn("the guard refused a frame of run {}: {}", id(), refused.toException().getMessage());
    }
    entry.resolve(Reply.of(refused));
  }

  private void takeOpened(Opened answer) {
    boolean isFirst = opened == null;
    opened = answer;
    submissions.decidedIsTold();
    limits = FrameChecks.ASSUMED.toBuilder().mergeFrom(answer.getLimits()).build();
    if (answer.getConfig().getHistorySize() > 0) {
      journal.resize((int) Math.min(answer.getConfig().getHistorySize(), Integer.MAX_VALUE));
    }
    phase = Phase.OPENED;
    isLate = false;
    redirects = 0;
    long last = answer.getLastSeq();
    if (isFirst && outbox.isWhole()) {
      outbox.renumber(last + 1, last, outbox.entries());
    } else if (answer.getRebuilt()) {
      rebuild();
    } else if (isFirst || !outbox.resume(last)) {
      // Numbers that were given before the server told its own mean nothing to a run that it knows.
      startRebuild();
      return;
    }
    for (long seq = outbox.first(); seq <= outbox.last(); seq++) {
      // Taken before this server told what it takes.
      if (FrameChecks.isTooLarge(outbox.at(seq).request(), limits)) {
        refuse(seq, "a frame of over " + limits.getFrameBytes() + " bytes");
      }
    }
    resolveOpen(Reply.EMPTY);
  }

  /** Asks for an empty run in place of the one that the server doesn't have and we can't repeat. */
  private void startRebuild() {
    isRebuilding = true;
    lost();
    wantsStream = true;
  }

  /** Tells an empty run what is remembered, and numbers on from there. */
  private void rebuild() {
    isRebuilding = false;
    List<Entry> entries = new ArrayList<>();
    entries.add(rememberedHistory());
    for (Entry entry : outbox.unanswered()) {
      if (entry.tellsOutcome()) {
        // Its call belongs to a lost run, and the history tells of it.
        entry.resolve(Reply.of(List.of(Verdict.of(entry.outcomeOf(), Action.ALLOW, ""))));
      } else if (entry.isAwaited() || !entry.request().hasCalls()) {
        entries.add(entry);
      }
    }
    abortStands = false;
    outbox.renumber(1, 0, entries);
  }

  private Entry rememberedHistory() {
    List<Record> records = journal.lose();
    int most = limits.getRecordsPerHistory();
    records = records.subList(Math.max(0, records.size() - most), records.size());
    Entry history = submissions.entryNow(Frames.history(records));
    while (!records.isEmpty() && FrameChecks.isTooLarge(history.request(), limits)) {
      records = records.subList(1, records.size());
      history = submissions.entryNow(Frames.history(records));
    }
    return history;
  }
}
