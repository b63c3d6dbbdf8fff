package io.loopguard.client;

import static io.loopguard.client.Clients.call;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class UnavailableTest {
  private static final io.grpc.Status CUT = io.grpc.Status.UNAVAILABLE.withDescription("cut");

  /** Opens a run and waits for the guard longer than the client does. */
  private static GuardRun openPatiently(FakeGuard guard, GuardClient client)
      throws InterruptedException {
    GuardRun run = client.openRun("r");
    guard.await(() -> run.opened().isPresent());
    return run;
  }

  @Test
  void aCallWithoutAnswerInTimeRuns() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).deadline(Clients.SOON).build()) {
      GuardRun run = openPatiently(guard, client);
      int before = guard.openings().size();
      guard.hold();
      for (int i = 0; i < 2; i++) {
        Verdict verdict = run.judge(call("exec"));
        assertEquals(Action.ALLOW, verdict.action());
        assertEquals("", verdict.note());
      }
      assertEquals(2, run.decidedUnavailable());
      // The guard learns of the calls, and at the next opening of how many it did not decide.
      guard.after = FakeGuard.once(2, () -> {}, CUT);
      guard.release();
      guard.await(() -> guard.openings().size() == before + 1);
      assertEquals(2, guard.openings().get(before).getDecidedUnavailable());
      assertEquals(List.of("calls c1", "calls c2"), guard.observed("r"));
    }
  }

  @Test
  void aCallWithoutAnswerInTimeIsBlocked() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client =
            Clients.builder(guard)
                .deadline(Clients.SOON)
                .onUnavailable(OnUnavailable.BLOCK)
                .build()) {
      GuardRun run = openPatiently(guard, client);
      guard.hold();
      Verdict verdict = run.judge(call("exec"));
      assertEquals(Action.BLOCK, verdict.action());
      assertFalse(verdict.note().isEmpty());
      guard.release();
      // The call did not run, and the guard is told so.
      List<String> told = List.of("calls c1", "outcome c1 CANCELLED");
      guard.await(() -> guard.observed("r").equals(told));
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = io.grpc.Status.Code.class,
      names = {"CANCELLED", "RESOURCE_EXHAUSTED"})
  void aGuardThatIsBusyIsWaitedFor(io.grpc.Status.Code busy) throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).onUnavailable(OnUnavailable.BLOCK).build()) {
      AtomicInteger left = new AtomicInteger(3);
      guard.before = (id, frame) -> left.getAndDecrement() > 0 ? busy.toStatus() : null;
      GuardRun run = client.openRun("r");
      assertEquals(Action.ALLOW, run.judge(call("exec")).action());
      assertEquals(0, run.decidedUnavailable());
    }
  }

  @Test
  void aCallWaitsForTheGuard() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client =
            Clients.builder(guard)
                .deadline(Clients.SOON)
                .onUnavailable(OnUnavailable.WAIT)
                .build()) {
      GuardRun run = client.openRun("r");
      guard.hold();
      var later = CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS);
      CompletableFuture<Void> released = CompletableFuture.runAsync(guard::release, later);
      assertEquals("c1", run.judge(call("exec")).callId());
      assertEquals(0, run.decidedUnavailable());
      released.join();
    }
  }

  @Test
  void aThreadThatIsInterruptedHasNotRunItsCalls() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).onUnavailable(OnUnavailable.WAIT).build()) {
      GuardRun run = client.openRun("r");
      guard.hold();
      Thread.currentThread().interrupt();
      assertThrows(InterruptedException.class, () -> run.judge(call("exec")));
      guard.release();
      List<String> told = List.of("calls c1", "outcome c1 CANCELLED");
      guard.await(() -> guard.observed("r").equals(told));
    }
  }

  @Test
  void aThreadThatIsInterruptedLeavesInGoodOrder() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).build()) {
      GuardRun run = client.openRun("r");
      Thread.currentThread().interrupt();
      run.close();
      assertTrue(Thread.interrupted());
      assertEquals(List.of("CLOSE"), guard.observed("r"));
    }
  }

  private static GuardClient.Builder ofNobody() throws Exception {
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return GuardClient.builder("127.0.0.1:" + free.getLocalPort()).deadline(Clients.PLENTY);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = OnUnavailable.class,
      names = {"ALLOW", "BLOCK"})
  void aGuardThatIsAwayIsNotWaitedFor(OnUnavailable policy) throws Exception {
    try (GuardClient client = ofNobody().onUnavailable(policy).build()) {
      GuardRun run = client.openRun("r");
      assertTrue(run.opened().isEmpty());
      for (int i = 0; i < 10; i++) {
        assertEquals(policy.name(), run.judge(call("exec")).action().name());
      }
      assertEquals(10, run.decidedUnavailable());
      run.close();
    }
  }

  @Test
  void mistakesShowWhileTheGuardIsAway() throws Exception {
    try (GuardClient client = ofNobody().build()) {
      GuardRun run = client.openRun("r");
      assertThrows(InvalidFrameException.class, () -> run.judge(List.of()));
      assertThrows(InvalidFrameException.class, () -> run.judge(call(" \u00a0")));
      assertThrows(InvalidFrameException.class, () -> run.judge(call("\ud83d")));
      List<Call> twice = List.of(call("a").withCallId("x"), call("b").withCallId("x"));
      InvalidFrameException refused =
          assertThrows(InvalidFrameException.class, () -> run.judge(twice));
      assertEquals("DUPLICATE_CALL", refused.reason());
      // They use no numbers up.
      assertEquals("c1", run.judge(call("exec")).callId());
    }
  }

  @Test
  void aBatchBlockedWhileTheGuardIsAwayIsOnlyAsked() throws Exception {
    GuardClient.Builder builder = ofNobody().onUnavailable(OnUnavailable.BLOCK);
    try (GuardClient client = builder.build()) {
      GuardRun run = client.openRun("r");
      Verdict blocked = run.judge(call("exec"));
      // It ran all the same, which the guard is told as history.
      assertEquals(
          blocked.callId(),
          run.report(Outcome.of(Status.OK).withCallId(blocked.callId())).callId());
    }
  }

  @Test
  void aStreamThatMayNotBeIsAnError() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).build()) {
      guard.before = (id, frame) -> io.grpc.Status.UNAUTHENTICATED.withDescription("no token");
      RunRefusedException refused =
          assertThrows(RunRefusedException.class, () -> client.openRun("r"));
      assertEquals("UNAUTHENTICATED", refused.reason());
    }
  }

  @Test
  void aClosedClientOpensNothingAndLeavesNoThread() throws Exception {
    try (FakeGuard guard = new FakeGuard()) {
      GuardClient client = Clients.builder(guard).build();
      GuardRun run = client.openRun("r");
      client.close();
      assertThrows(RunClosedException.class, () -> client.openRun("s"));
      assertThrows(RunClosedException.class, () -> run.judge(call("exec")));
      for (Thread thread : Thread.getAllStackTraces().keySet()) {
        if (thread.getName().equals("loopguard-timer")) {
          thread.join(Clients.PLENTY.toMillis());
          assertFalse(thread.isAlive());
        }
      }
    }
  }

  @Test
  void aTokenDoesNotTravelInTheOpen() {
    GuardClient.Builder open = GuardClient.builder("guard.example:50051").token("secret");
    assertThrows(IllegalArgumentException.class, open::build);
    GuardClient.builder("guard.example:50051").token("secret").tls().build().close();
    assertTrue(Channels.isLocal("dns:///localhost:1"));
    assertTrue(Channels.isLocal("127.8.0.1"));
    assertTrue(Channels.isLocal("[::1]:50051"));
    assertTrue(Channels.isLocal("unix:/run/guard"));
    assertFalse(Channels.isLocal("127.0.0.1.example:1"));
    assertFalse(Channels.isLocal("10.0.0.1:1"));
  }

  @Test
  void aStreamTellsItsTokenAndItsRun() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).token("secret").build()) {
      client.openRun("r/1 \u00e9").close();
      assertEquals(List.of("Bearer secret"), guard.headers("authorization"));
      assertEquals(List.of("r%2F1%20%C3%A9"), guard.headers("loopguard-run-id"));
    }
  }
}
