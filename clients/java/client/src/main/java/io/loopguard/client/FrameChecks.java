package io.loopguard.client;

import io.loopguard.v1.Call;
import io.loopguard.v1.GuardRequest;
import io.loopguard.v1.Limits;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Refuses what the guard would refuse, so that a mistake shows also while the guard is away. */
final class FrameChecks {
  /** The server's limits until Opened tells them. */
  static final Limits ASSUMED =
      Limits.newBuilder()
          .setMessageBytes(16L << 20)
          .setFrameBytes(16L << 20)
          .setCallsPerBatch(256)
          .setInFlight(16)
          .setFramesPerMessage(4096)
          .setRecordsPerHistory(1024)
          .build();

  private FrameChecks() {}

  /** Throws for a batch that is wrong; the limit is 0 where no server has told one. */
  static void checkBatch(List<Call> calls, int most) {
    if (calls.isEmpty()) {
      throw refused(Refusal.INVALID_FRAME, "a batch without calls");
    }
    Set<String> ids = new HashSet<>();
    for (Call call : calls) {
      if (isBlank(call.getTool())) {
        throw refused(Refusal.EMPTY_TOOL, "call `" + call.getCallId() + "` names no tool");
      }
      if (!ids.add(call.getCallId())) {
        String message = "one batch holds the call id `" + call.getCallId() + "` twice";
        throw refused(Refusal.DUPLICATE_CALL, message);
      }
    }
    if (most > 0 && calls.size() > most) {
      String message = calls.size() + " calls in one batch; the server takes " + most;
      throw refused(Refusal.TOO_MANY_CALLS, message);
    }
  }

  static void checkSize(GuardRequest frame, Limits limits) {
    if (isTooLarge(frame, limits)) {
      String message = "a frame of " + frame.getSerializedSize() + " bytes; the server takes ";
      throw refused(Refusal.TOO_LARGE, message + limits.getFrameBytes());
    }
    int records = frame.getHistory().getRecordsCount();
    if (records > limits.getRecordsPerHistory()) {
      String message = records + " records; the server takes " + limits.getRecordsPerHistory();
      throw refused(Refusal.TOO_LARGE, message);
    }
  }

  static boolean isTooLarge(GuardRequest frame, Limits limits) {
    return Long.compareUnsigned(frame.getSerializedSize(), limits.getFrameBytes()) > 0;
  }

  private static InvalidFrameException refused(String reason, String message) {
    return new InvalidFrameException(reason, message);
  }

  /** Whether nothing is left of a name that the guard trims. */
  private static boolean isBlank(String name) {
    return name.chars()
        .allMatch(
            c ->
                (c >= '\t' && c <= '\r')
                    || c == '\u0085'
                    || c == '\ufeff'
                    || Character.isSpaceChar(c));
  }
}
