package io.loopguard.client;

import static io.loopguard.client.Clients.call;
import static io.loopguard.client.Clients.done;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import io.loopguard.digest.Digest;
import io.loopguard.digest.JsonFlag;
import io.loopguard.v1.FrameError;
import io.loopguard.v1.GuardRequest;
import io.loopguard.v1.GuardResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

class RunTest {
  private static GuardResponse refusal(long seq, String reason, String key) {
    return GuardResponse.newBuilder()
        .setSeq(seq)
        .setError(
            FrameError.newBuilder()
                .setStatus(
                    com.google.rpc.Status.newBuilder()
                        .setCode(3)
                        .setMessage("refused")
                        .addDetails(
                            Any.pack(
                                ErrorInfo.newBuilder()
                                    .setDomain("loopguard")
                                    .setReason(reason)
                                    .build()))
                        .addDetails(
                            Any.pack(
                                BadRequest.newBuilder()
                                    .addFieldViolations(
                                        BadRequest.FieldViolation.newBuilder().setField(key))
                                    .build()))))
        .build();
  }

  @Test
  void aRunFromOpenToClose() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).build()) {
      List<String> seen = new ArrayList<>();
      guard.before =
          (id, frame) -> {
            seen.add(frame.getFrameCase().name());
            return null;
          };
      RunOptions options =
          RunOptions.builder()
              .agent("coder")
              .parentRun("p")
              .mode(Mode.OBSERVE)
              .profile("balanced")
              .config("{\"historySize\": 10.0, \"detectors\": {\"pingPong\": false}}")
              .build();
      try (GuardRun run = client.openRun("r", options)) {
        assertEquals(1, run.opened().orElseThrow().getEpoch());
        List<Verdict> verdicts = run.judge(List.of(call("a").withCallId("x"), call("b")));
        assertEquals(List.of("x", "c1"), verdicts.stream().map(Verdict::callId).toList());
        verdicts.forEach(verdict -> assertTrue(verdict.isAllowed()));
        assertEquals("c2", run.check(List.of(call("a"))).get(0).callId());
        assertEquals("c1", run.report(done(verdicts.get(1))).callId());
        run.record(new HistoryRecord(call("a"), Outcome.ok("1")));
        run.userMessage();
        run.compactionRetry();
      }
      assertEquals(
          List.of(
              "OPEN",
              "CALLS",
              "CALLS",
              "OUTCOME",
              "HISTORY",
              "USER_MESSAGE",
              "COMPACTION_RETRY",
              "CLOSE"),
          seen);
      var open = guard.openings().get(0);
      assertEquals("coder", open.getAgentId());
      assertEquals(10, open.getConfig().getHistorySize());
      assertTrue(open.getConfig().getDetectors().hasPingPong());
      for (GuardRequest frame : guard.frames("r")) {
        assertTrue(frame.hasAt());
      }
    }
  }

  @Test
  void aRefusedFrameIsAnExceptionAndTheRunGoesOn() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).build()) {
      GuardRun run = client.openRun("r");
      guard.before =
          (id, frame) ->
              frame.hasOutcome() ? refusal(frame.getSeq(), "UNKNOWN_CALL", "call_id") : null;
      InvalidFrameException refused =
          assertThrows(
              InvalidFrameException.class,
              () -> run.report(Outcome.of(Status.OK).withCallId("nobody")));
      assertEquals("UNKNOWN_CALL", refused.reason());
    }
  }

  @Test
  void aRefusedRunIsAnException() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).build()) {
      guard.before = (id, frame) -> refusal(0, "INVALID_CONFIG", "historySize");
      InvalidConfigException refused =
          assertThrows(InvalidConfigException.class, () -> client.openRun("r"));
      assertEquals("historySize", refused.key());
      guard.before = (id, frame) -> refusal(0, "UNSUPPORTED_SCHEME", "digest_scheme");
      assertThrows(RunRefusedException.class, () -> client.openRun("r"));
    }
  }

  @Test
  void aVerdictArrivesWhole() throws Exception {
    Digest digest = Digest.of(new byte[] {'1'});
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).build()) {
      guard.verdict =
          asked ->
              io.loopguard.v1.Verdict.newBuilder()
                  .setCallId(asked.getCallId())
                  .setActionValue(99)
                  .setNote("note")
                  .setBlockedBy("c9")
                  .setScope(io.loopguard.v1.Scope.SCOPE_TURN)
                  .addFlags(io.loopguard.v1.JsonFlag.JSON_FLAG_OVERFLOW)
                  .addFlagsValue(77)
                  .setFinding(
                      io.loopguard.v1.Finding.newBuilder()
                          .setDetector("ping_pong")
                          .setLevel(io.loopguard.v1.Level.LEVEL_CRITICAL)
                          .setCount(20)
                          .setThreshold(10)
                          .addCallIds("c1")
                          .setArgsDigest(com.google.protobuf.ByteString.copyFrom(digest.toBytes())))
                  .build();
      Verdict verdict = client.openRun("r").judge(call("exec"));
      // An unknown action allows.
      assertEquals(Action.ALLOW, verdict.action());
      assertEquals(Scope.TURN, verdict.scope());
      assertEquals(Set.of(JsonFlag.OVERFLOW), verdict.flags());
      Finding finding = verdict.finding().orElseThrow();
      assertEquals(digest, finding.argumentsDigest().orElseThrow());
      assertTrue(finding.outcomeDigest().isEmpty());
      assertEquals(Level.CRITICAL, finding.level());
      assertEquals(List.of("c1"), finding.callIds());
    }
  }

  @Test
  void digestsTravelInPlaceOfPayloads() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).build()) {
      GuardRun run = client.openRun("r", RunOptions.builder().digests().build());
      String json = "{\"title\": \"x\", \"action\": \"poll\", \"n\": 1.0}";
      Verdict verdict = run.judge(Call.of("exec", json));
      run.report(Outcome.ok("[1]").withCallId(verdict.callId()));
      assertEquals(Digest.SCHEME, guard.openings().get(0).getDigestScheme());
      var asked = guard.frames("r").get(0).getCalls().getCalls(0);
      byte[] without = "{\"action\":\"poll\",\"n\":1}".getBytes(StandardCharsets.UTF_8);
      assertEquals(Digest.of(without), Digest.fromBytes(asked.getArgsDigest().toByteArray()));
      assertEquals("poll", asked.getAction());
      assertFalse(asked.hasArgsJson());
      assertTrue(guard.frames("r").get(1).getOutcome().hasResultDigest());
    }
  }

  @Test
  void manyThreadsMayUseARun() throws Exception {
    try (FakeGuard guard = new FakeGuard();
        GuardClient client = Clients.builder(guard).onUnavailable(OnUnavailable.WAIT).build()) {
      GuardRun run = client.openRun("r");
      List<CompletableFuture<Void>> threads = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        threads.add(
            CompletableFuture.runAsync(
                () -> {
                  for (int n = 0; n < 50; n++) {
                    try {
                      Verdict verdict = run.judge(call("exec"));
                      assertEquals(verdict.callId(), run.report(done(verdict)).callId());
                    } catch (InterruptedException e) {
                      throw new CompletionException(e);
                    }
                  }
                }));
      }
      threads.forEach(CompletableFuture::join);
      assertEquals(400, guard.frames("r").size());
    }
  }
}
