package io.loopguard.client;

import com.google.protobuf.UnsafeByteOperations;
import io.loopguard.digest.Digest;
import io.loopguard.v1.Call;
import io.loopguard.v1.CallBatch;
import io.loopguard.v1.GuardRequest;
import io.loopguard.v1.GuardRequestOrBuilder;
import io.loopguard.v1.History;
import io.loopguard.v1.Outcome;
import io.loopguard.v1.Record;
import io.loopguard.v1.RunOpen;
import io.loopguard.v1.Status;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** From the caller's types to the wire's. */
final class Frames {
  private Frames() {}

  static GuardRequest.Builder calls(List<Call> calls, boolean dryRun) {
    return GuardRequest.newBuilder()
        .setCalls(CallBatch.newBuilder().addAllCalls(calls).setDryRun(dryRun));
  }

  static GuardRequest.Builder history(List<Record> records) {
    return GuardRequest.newBuilder().setHistory(History.newBuilder().addAllRecords(records));
  }

  static GuardRequest.Builder outcome(Outcome outcome) {
    return GuardRequest.newBuilder().setOutcome(outcome);
  }

  static Call toCall(io.loopguard.client.Call call) {
    Call.Builder made =
        Call.newBuilder().setCallId(call.callId()).setTool(call.tool()).setAction(call.action());
    if (call.argumentsDigest().isPresent()) {
      made.setArgsDigest(UnsafeByteOperations.unsafeWrap(call.argumentsDigest().get().toBytes()));
    } else if (!call.arguments().isEmpty()) {
      made.setArgsJson(call.arguments());
    }
    return made.build();
  }

  static Outcome toOutcome(io.loopguard.client.Outcome outcome) {
    Outcome.Builder made =
        Outcome.newBuilder()
            .setCallId(outcome.callId())
            .setStatus(Status.valueOf("STATUS_" + outcome.status().name()))
            .setErrorJson(outcome.error())
            .setSemanticJson(outcome.semantic());
    Optional<Digest> digest = outcome.resultDigest();
    if (digest.isPresent()) {
      made.setResultDigest(UnsafeByteOperations.unsafeWrap(digest.get().toBytes()));
    } else if (!outcome.result().isEmpty()) {
      made.setResultJson(outcome.result());
    }
    return made.build();
  }

  static Record toRecord(HistoryRecord record) {
    return record(toCall(record.call()), toOutcome(record.outcome()));
  }

  /** Puts a call and its outcome together. */
  static Record record(Call call, Outcome outcome) {
    Record.Builder made =
        Record.newBuilder()
            .setTool(call.getTool())
            .setAction(call.getAction())
            .setStatus(outcome.getStatus())
            .setErrorJson(outcome.getErrorJson())
            .setSemanticJson(outcome.getSemanticJson());
    if (call.hasArgsJson()) {
      made.setArgsJson(call.getArgsJson());
    } else if (call.hasArgsDigest()) {
      made.setArgsDigest(call.getArgsDigest());
    }
    if (outcome.hasResultJson()) {
      made.setResultJson(outcome.getResultJson());
    } else if (outcome.hasResultDigest()) {
      made.setResultDigest(outcome.getResultDigest());
    }
    return made.build();
  }

  /** Refuses a frame whose text can't be written as UTF-8; protobuf would put question marks in. */
  static void checkText(GuardRequestOrBuilder frame) {
    Optional<String> broken = texts(frame).filter(Frames::hasLoneSurrogate).findFirst();
    if (broken.isPresent()) {
      String message = "`" + broken.get() + "` holds half of a surrogate pair";
      throw new InvalidFrameException(Refusal.INVALID_FRAME, message);
    }
  }

  private static Stream<String> texts(GuardRequestOrBuilder frame) {
    return switch (frame.getFrameCase()) {
      case OPEN -> {
        RunOpen open = frame.getOpen();
        yield Stream.of(
            open.getRunId(), open.getAgentId(), open.getParentRunId(), open.getProfile());
      }
      case CALLS ->
          frame.getCalls().getCallsList().stream()
              .flatMap(call -> Stream.of(call.getTool(), call.getCallId(), call.getAction()));
      case OUTCOME -> Stream.of(frame.getOutcome().getCallId());
      case HISTORY ->
          frame.getHistory().getRecordsList().stream()
              .flatMap(record -> Stream.of(record.getTool(), record.getAction()));
      default -> Stream.empty();
    };
  }

  private static boolean hasLoneSurrogate(String text) {
    return text.codePoints()
        .anyMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE);
  }
}
