package io.loopguard.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.loopguard.v1.Call;
import io.loopguard.v1.Outcome;
import io.loopguard.v1.Record;
import io.loopguard.v1.Status;
import java.util.List;
import org.junit.jupiter.api.Test;

class JournalTest {
  private final Journal journal = new Journal(4, 1000);

  private List<Call> ask(Action action, String... tools) {
    List<Call> calls =
        journal.number(
            List.of(tools).stream().map(tool -> Call.newBuilder().setTool(tool).build()).toList());
    journal.ask(
        calls, calls.stream().map(call -> Verdict.of(call.getCallId(), action, "")).toList());
    return calls;
  }

  private void settle(String id, String result) {
    journal.settle(
        Outcome.newBuilder()
            .setCallId(id)
            .setStatus(Status.STATUS_OK)
            .setResultJson(com.google.protobuf.ByteString.copyFromUtf8(result))
            .build());
  }

  private List<String> told() {
    return journal.lose().stream().map(Record::getTool).toList();
  }

  @Test
  void itTellsTheNewestCallsThatEnded() {
    ask(Action.ALLOW, "a", "b", "c", "d");
    settle("c2", "1");
    settle("c4", "1");
    assertEquals(List.of("b", "d"), told());
    // The oldest open call is meant where none is named.
    settle("", "1");
    assertEquals(List.of("a", "b", "d"), told());
  }

  @Test
  void ofABlockedBatchItTellsTheBlockedCall() {
    ask(Action.BLOCK, "a", "b");
    assertEquals(List.of("a"), told());
    assertEquals(Status.STATUS_LOOP_VETO, journal.lose().get(0).getStatus());
  }

  @Test
  void itIsLimitedInBytes() {
    ask(Action.ALLOW, "a", "b");
    settle("c1", "x".repeat(600));
    settle("c2", "x".repeat(600));
    assertEquals(List.of("b"), told());
  }

  @Test
  void numbersAreTakenOnceAndGivenBack() {
    List<Call> calls =
        journal.number(
            List.of(
                Call.newBuilder().setCallId("c1").build(),
                Call.getDefaultInstance(),
                Call.getDefaultInstance()));
    assertEquals(List.of("c1", "c2", "c3"), calls.stream().map(Call::getCallId).toList());
    journal.unnumber(0, calls);
    assertEquals(0, journal.numbered());
  }
}
