package io.loopguard.client;

import static io.loopguard.client.Clients.call;
import static io.loopguard.client.Clients.done;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.loopguard.v1.GuardResponse;
import io.loopguard.v1.RunEndReason;
import io.loopguard.v1.RunEnded;
import io.loopguard.v1.RunOpen;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ResumeTest {
  private static final List<String> STORY =
      List.of("calls c1", "outcome c1 OK", "calls c2", "outcome c2 OK", "USER_MESSAGE", "calls c3");
  private static final io.grpc.Status CUT = io.grpc.Status.UNAVAILABLE.withDescription("cut");

  /** Plays {@link #STORY}. */
  private static void tell(GuardRun run) throws InterruptedException {
    for (int i = 0; i < 2; i++) {
      run.report(done(run.judge(call("exec"))));
    }
    run.userMessage();
    run.judge(call("exec"));
  }

  @ParameterizedTest
  @CsvSource({
    "1,true", "2,true", "3,true", "4,true", "5,true", "6,true",
    "1,false", "2,false", "3,false", "4,false", "5,false", "6,false"
  })
  void aStreamCutAnywhereIsResumed(long seq, boolean isObserved) throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).onUnavailable(OnUnavailable.WAIT).build()) {
      FakeGuard.Hook cut = FakeGuard.once(seq, () -> {}, CUT);
      if (isObserved) {
        guard.after = cut;
      } else {
        guard.before = cut;
      }
      tell(client.openRun("r"));
      assertEquals(STORY, guard.observed("r"));
      assertEquals(2, guard.openings().size());
      RunOpen again = guard.openings().get(1);
      assertTrue(again.getResume() && !again.getRebuild());
    }
  }

  @Test
  void aLostRunIsToldAgain() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).onUnavailable(OnUnavailable.WAIT).build()) {
      guard.after = FakeGuard.once(4, () -> guard.forget("r"), CUT);
      tell(client.openRun("r"));
      assertEquals(STORY, guard.observed("r"));
      // The resent frames keep their time.
      for (int i = 1; i < guard.frames("r").size(); i++) {
        var earlier = guard.frames("r").get(i - 1).getAt();
        var later = guard.frames("r").get(i).getAt();
        assertTrue(
            later.getSeconds() > earlier.getSeconds()
                || (later.getSeconds() == earlier.getSeconds()
                    && later.getNanos() > earlier.getNanos()));
      }
    }
  }

  @Test
  void aRunWhoseFramesAreGoneIsRebuilt() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client =
            Clients.builder(guard).onUnavailable(OnUnavailable.WAIT).buffer(2, 1 << 20).build()) {
      GuardRun run = client.openRun("r");
      run.report(done(run.judge(call("one"))));
      Verdict open = run.judge(call("two"));
      run.judge(call("three"));
      guard.before = FakeGuard.once(5, () -> guard.forget("r"), CUT);
      assertEquals("c4", run.judge(call("four")).callId());
      // The guard does not know this call.
      assertEquals(open.callId(), run.report(done(open)).callId());
      assertEquals(List.of("history one", "calls c4", "history two"), guard.observed("r"));
      RunOpen last = guard.openings().get(guard.openings().size() - 1);
      assertTrue(last.getRebuild() && !last.getResume());
      assertTrue(run.opened().orElseThrow().getRebuilt());
    }
  }

  @Test
  void anAnswerIsAskedForAgainThoughItsFrameIsDurable() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).onUnavailable(OnUnavailable.WAIT).build()) {
      guard.isDurable = true;
      guard.verdict =
          asked ->
              io.loopguard.v1.Verdict.newBuilder()
                  .setCallId(asked.getCallId())
                  .setAction(io.loopguard.v1.Action.ACTION_WARN)
                  .build();
      guard.after = FakeGuard.once(3, () -> {}, CUT);
      GuardRun run = client.openRun("r");
      run.report(done(run.judge(call("exec"))));
      assertEquals(Action.WARN, run.judge(call("exec")).action());
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 5})
  void aFrameThatIsMissedIsSentAgain(long seq) throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).build()) {
      guard.before = FakeGuard.once(seq, () -> {}, FakeGuard.needResend(seq, seq));
      tell(client.openRun("r"));
      assertEquals(STORY, guard.observed("r"));
      assertEquals(1, guard.openings().size());
    }
  }

  @Test
  void aRunLeftByAnotherClientIsTakenUp() throws Exception {
    try (FakeGuard guard = new FakeGuard()) {
      try (GuardClient first = Clients.builder(guard).build()) {
        first.openRun("r").judge(call("exec"));
      }
      try (GuardClient second = Clients.builder(guard).build()) {
        GuardRun run = second.openRun("r", RunOptions.builder().resume().build());
        run.report(Outcome.of(Status.OK).withCallId("c1"));
        assertEquals(STORY.subList(0, 2), guard.observed("r"));
        assertEquals(1, run.opened().orElseThrow().getLastSeq());
      }
    }
  }

  @Test
  void aStreamThatIsCancelledBeforeOpenedIsTriedAgain() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).onUnavailable(OnUnavailable.WAIT).build()) {
      AtomicBoolean isBusy = new AtomicBoolean(true);
      guard.before = (id, frame) -> isBusy.getAndSet(false) ? io.grpc.Status.CANCELLED : null;
      assertTrue(client.openRun("r").opened().isPresent());
      assertEquals(2, guard.openings().size());
      // Nothing of the run was known yet, so it is no resumption.
      assertFalse(guard.openings().get(1).getResume());
    }
  }

  @Test
  void aRunThatWasTakenOverIsNotTakenBack() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).build()) {
      GuardRun run = client.openRun("r");
      guard.before =
          (id, frame) ->
              GuardResponse.newBuilder()
                  .setRunEnded(
                      RunEnded.newBuilder().setReason(RunEndReason.RUN_END_REASON_SUPERSEDED))
                  .build();
      RunRefusedException refused =
          assertThrows(RunRefusedException.class, () -> run.judge(call("exec")));
      assertEquals("SUPERSEDED", refused.reason());
      assertThrows(RunRefusedException.class, run::userMessage);
      assertEquals(1, guard.openings().size());
    }
  }

  @Test
  void aRunIsFollowedToItsNode() throws Exception {
    try (FakeGuard right = new FakeGuard();
        FakeGuard wrong = new FakeGuard();
        GuardClient client = Clients.builder(wrong).onUnavailable(OnUnavailable.WAIT).build()) {
      wrong.before =
          (id, frame) ->
              GuardResponse.newBuilder()
                  .setRunEnded(
                      RunEnded.newBuilder()
                          .setReason(RunEndReason.RUN_END_REASON_WRONG_NODE)
                          .setEndpoint(right.address()))
                  .build();
      tell(client.openRun("r"));
      assertEquals(STORY, right.observed("r"));
      assertEquals(1, wrong.openings().size());
    }
  }

  @Test
  void aCallWaitsWhileItsRunGoesElsewhere() throws Exception {
    try (FakeGuard right = new FakeGuard();
        FakeGuard wrong = new FakeGuard();
        GuardClient client = Clients.builder(wrong).onUnavailable(OnUnavailable.BLOCK).build()) {
      GuardRun run = client.openRun("r");
      wrong.before =
          (id, frame) ->
              GuardResponse.newBuilder()
                  .setRunEnded(
                      RunEnded.newBuilder()
                          .setReason(RunEndReason.RUN_END_REASON_WRONG_NODE)
                          .setEndpoint(right.address()))
                  .build();
      assertEquals(Action.ALLOW, run.judge(call("exec")).action());
      assertEquals(STORY.subList(0, 1), right.observed("r"));
      assertEquals(0, run.decidedUnavailable());
    }
  }

  @Test
  void aRunIsRebuiltWhereTheGuardAsksForFramesThatAreGone() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client =
            Clients.builder(guard).onUnavailable(OnUnavailable.BLOCK).buffer(2, 1 << 20).build()) {
      GuardRun run = client.openRun("r");
      run.report(done(run.judge(call("one"))));
      run.report(done(run.judge(call("two"))));
      guard.before = FakeGuard.once(5, () -> {}, FakeGuard.needResend(5, 1));
      assertEquals(Action.ALLOW, run.judge(call("three")).action());
      assertEquals(List.of("history one,two", "calls c3"), guard.observed("r"));
      assertEquals(0, run.decidedUnavailable());
    }
  }

  @Test
  void nodesThatSendARunToEachOtherDoNotDoSoForEver() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).onUnavailable(OnUnavailable.WAIT).build()) {
      guard.before =
          (id, frame) ->
              GuardResponse.newBuilder()
                  .setRunEnded(
                      RunEnded.newBuilder()
                          .setReason(RunEndReason.RUN_END_REASON_WRONG_NODE)
                          .setEndpoint(guard.address()))
                  .build();
      RunRefusedException refused =
          assertThrows(RunRefusedException.class, () -> client.openRun("r"));
      assertEquals("WRONG_NODE", refused.reason());
      assertEquals(6, guard.openings().size());
    }
  }

  @Test
  void whatHappenedBeforeTheGuardWasReachedIsToldOnce() throws Exception {
    FakeGuard gone = new FakeGuard();
    gone.close();
    try (GuardClient client = Clients.builder(gone).buffer(2, 1 << 20).build()) {
      GuardRun run = client.openRun("r");
      for (int i = 0; i < 2; i++) {
        run.report(done(run.judge(call("exec"))));
      }
      try (FakeGuard guard = new FakeGuard(gone.port())) {
        guard.await(() -> guard.observed("r").equals(List.of("history exec,exec")));
        assertTrue(guard.openings().get(guard.openings().size() - 1).getRebuild());
      }
    }
  }

  @Test
  void aRunGoesOnWhenItsServerGoesAway() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).onUnavailable(OnUnavailable.WAIT).build()) {
      guard.after = FakeGuard.once(2, () -> {}, FakeGuard.goAway(2));
      tell(client.openRun("r"));
      assertEquals(STORY, guard.observed("r"));
      assertEquals(2, guard.openings().size());
    }
  }

  @Test
  void aServerThatStartsAnewIsToldTheRun() throws Exception {
    FakeGuard first = new FakeGuard();
    int port = first.port();
    try (GuardClient client = Clients.builder(first).onUnavailable(OnUnavailable.WAIT).build()) {
      GuardRun run = client.openRun("r");
      run.report(done(run.judge(call("exec"))));
      first.close();
      try (FakeGuard second = new FakeGuard(port)) {
        run.judge(call("exec"));
        assertEquals(STORY.subList(0, 3), second.observed("r"));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void nothingIsLostOrSeenTwiceWhateverHappens(long seed) throws Exception {
    Random random = new Random(seed);
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).onUnavailable(OnUnavailable.WAIT).build()) {
      GuardRun run = client.openRun("r");
      FakeGuard.Hook unruly =
          (id, frame) -> {
            int chance = random.nextInt(30);
            if (chance == 0) {
              guard.forget(id);
            }
            return chance < 2 ? CUT : null;
          };
      guard.before = unruly;
      guard.after = unruly;
      List<String> told = new java.util.ArrayList<>();
      for (int turn = 1; turn <= 20; turn++) {
        Verdict verdict = run.judge(call("exec"));
        assertEquals("c" + turn, verdict.callId());
        run.report(done(verdict));
        told.add("calls c" + turn);
        told.add("outcome c" + turn + " OK");
      }
      // What the guard forgot at the very end it is told with the next frame.
      guard.before = (id, frame) -> null;
      guard.after = guard.before;
      run.userMessage();
      told.add("USER_MESSAGE");
      assertEquals(told, guard.observed("r"));
    }
  }
}
