package io.loopguard.conformance;

import com.google.protobuf.ByteString;
import io.loopguard.client.Call;
import io.loopguard.client.GuardRun;
import io.loopguard.client.HistoryRecord;
import io.loopguard.client.Outcome;
import io.loopguard.client.Status;
import io.loopguard.client.Verdict;
import io.loopguard.digest.Digest;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * One frame of a run as it stands in a trace, ready to be sent.
 *
 * @param kind is its key
 * @param calls are how many calls it asks about
 * @param sending sends it
 */
record Frame(String kind, int calls, Sending sending) {
  private static final List<String> KINDS =
      List.of("calls", "check", "outcome", "history", "userMessage", "compactionRetry", "close");
  private static final List<String> CALL_KEYS =
      List.of("action", "args", "argsDigest", "callId", "tool");
  private static final List<String> OUTCOME_KEYS =
      List.of("callId", "error", "private", "result", "resultDigest", "status");
  private static final List<String> RECORD_KEYS =
      Stream.concat(CALL_KEYS.stream(), OUTCOME_KEYS.stream())
          .filter(key -> !key.equals("callId"))
          .toList();

  /** Sends a frame and returns the verdicts that answer it; none for what carries no question. */
  interface Sending {
    List<Verdict> send(GuardRun run) throws InterruptedException;
  }

  /** Sends a frame that carries no question. */
  private interface Signal {
    void send(GuardRun run) throws InterruptedException;
  }

  /** Reads a frame; {@code at} is checked, the client stamps its own. */
  static Frame of(Fields fields) {
    Set<String> keys = new TreeSet<>(fields.keys());
    if (keys.remove("at") && !(Json.value(fields.raw("at"), "`at`") instanceof Double)) {
      throw new BadCaseException("`at` must be a number of seconds");
    }
    String kind = keys.size() == 1 ? keys.iterator().next() : "";
    if (!KINDS.contains(kind)) {
      throw new BadCaseException(
          "a frame has exactly one of " + KINDS + "; here: " + fields.keys());
    }
    String text = fields.raw(kind);
    return switch (kind) {
      case "calls" -> ofCalls(kind, text, GuardRun::judge);
      case "check" -> ofCalls(kind, text, GuardRun::check);
      case "outcome" -> {
        Outcome outcome = outcome(text);
        yield new Frame(kind, 0, run -> List.of(run.report(outcome)));
      }
      case "history" -> {
        HistoryRecord[] records = records(text);
        yield signal(kind, run -> run.record(records));
      }
      default -> {
        Fields.of(text, "`" + kind + "`", List.of());
        yield signal(
            kind,
            switch (kind) {
              case "userMessage" -> GuardRun::userMessage;
              case "compactionRetry" -> GuardRun::compactionRetry;
              default -> GuardRun::close;
            });
      }
    };
  }

  private static Frame signal(String kind, Signal signal) {
    return new Frame(
        kind,
        0,
        run -> {
          signal.send(run);
          return List.of();
        });
  }

  /** A way to ask about calls. */
  private interface Asking {
    List<Verdict> ask(GuardRun run, List<Call> calls) throws InterruptedException;
  }

  private static Frame ofCalls(String kind, String text, Asking asking) {
    List<Call> calls =
        Json.items(text, "`" + kind + "`").stream()
            .map(item -> call(Fields.of(item, "a call", CALL_KEYS)))
            .toList();
    return new Frame(kind, calls.size(), run -> asking.ask(run, calls));
  }

  private static Call call(Fields fields) {
    if (!fields.has("tool")) {
      throw new BadCaseException("`tool` is missing");
    }
    return new Call(
        fields.text("tool"),
        json(fields, "args"),
        digest(fields, "args"),
        fields.text("callId"),
        fields.text("action"));
  }

  static Outcome outcome(String text) {
    return outcome(Fields.of(text, "an outcome", OUTCOME_KEYS));
  }

  private static Outcome outcome(Fields fields) {
    return new Outcome(
        fields.text("callId"),
        status(fields),
        json(fields, "result"),
        digest(fields, "result"),
        json(fields, "error"),
        json(fields, "private"));
  }

  private static Status status(Fields fields) {
    if (!fields.has("status")) {
      return Status.UNSPECIFIED;
    }
    String name = fields.text("status");
    return Arrays.stream(Status.values())
        .filter(status -> status != Status.UNSPECIFIED && status.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new BadCaseException("`status` is `" + name + "`, which is not known"));
  }

  static HistoryRecord[] records(String text) {
    return Json.items(text, "`history`").stream()
        .map(item -> Fields.of(item, "a record", RECORD_KEYS))
        .map(fields -> new HistoryRecord(call(fields), outcome(fields)))
        .toArray(HistoryRecord[]::new);
  }

  private static ByteString json(Fields fields, String key) {
    return fields.has(key)
        ? ByteString.copyFrom(fields.raw(key), StandardCharsets.UTF_8)
        : ByteString.EMPTY;
  }

  /** The digest that stands in place of a value. */
  private static Optional<Digest> digest(Fields fields, String key) {
    String name = key + "Digest";
    if (!fields.has(name)) {
      return Optional.empty();
    }
    if (fields.has(key)) {
      throw new BadCaseException("`" + key + "` and `" + name + "` exclude each other");
    }
    byte[] bytes = fields.hex(name);
    if (bytes.length != Digest.BYTES) {
      throw new BadCaseException("`" + name + "` must be " + 2 * Digest.BYTES + " hex digits");
    }
    return Optional.of(Digest.fromBytes(bytes));
  }
}
