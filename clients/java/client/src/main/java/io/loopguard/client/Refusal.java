package io.loopguard.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import io.grpc.Status.Code;
import io.grpc.protobuf.StatusProto;
import java.util.Map;

/**
 * Why a frame, a run or a stream was refused; each thread that is told of it gets an exception of
 * its own.
 */
record Refusal(Family family, String reason, String key, String message) {
  enum Family {
    FRAME,
    CONFIG,
    RUN,
    UNAVAILABLE,
    CLOSED
  }

  static final String INVALID_FRAME = "INVALID_FRAME";
  static final String DUPLICATE_CALL = "DUPLICATE_CALL";
  static final String EMPTY_TOOL = "EMPTY_TOOL";
  static final String TOO_LARGE = "TOO_LARGE";
  static final String TOO_MANY_CALLS = "TOO_MANY_CALLS";
  static final String SHUTTING_DOWN = "SHUTTING_DOWN";
  static final String INVALID_CONFIG = "INVALID_CONFIG";

  /** Which mistake a reason is; any other one refuses the run. */
  private static final Map<String, Family> FAMILIES =
      Map.of(
          INVALID_FRAME,
          Family.FRAME,
          "UNKNOWN_CALL",
          Family.FRAME,
          DUPLICATE_CALL,
          Family.FRAME,
          EMPTY_TOOL,
          Family.FRAME,
          TOO_LARGE,
          Family.FRAME,
          TOO_MANY_CALLS,
          Family.FRAME,
          INVALID_CONFIG,
          Family.CONFIG,
          "INTERNAL",
          Family.UNAVAILABLE,
          "ANSWER_EXPIRED",
          Family.UNAVAILABLE);

  static Refusal ofFrame(String reason, String message) {
    return new Refusal(Family.FRAME, reason, "", message);
  }

  static Refusal unavailable(String message) {
    return new Refusal(Family.UNAVAILABLE, "", "", message);
  }

  static Refusal closed(String message) {
    return new Refusal(Family.CLOSED, "", "", message);
  }

  /** Reads a status of the wire. */
  static Refusal of(com.google.rpc.Status status) {
    String reason = "";
    String key = "";
    for (Any detail : status.getDetailsList()) {
      try {
        if (detail.is(ErrorInfo.class)) {
          ErrorInfo info = detail.unpack(ErrorInfo.class);
          reason = info.getDomain().equals("loopguard") ? info.getReason() : reason;
        } else if (detail.is(BadRequest.class) && key.isEmpty()) {
          BadRequest request = detail.unpack(BadRequest.class);
          key =
              request.getFieldViolationsCount() > 0 ? request.getFieldViolations(0).getField() : "";
        }
      } catch (InvalidProtocolBufferException e) {
        // The rest of the status is told all the same.
      }
    }
    Family family = FAMILIES.getOrDefault(reason, Family.RUN);
    String told =
        reason.isEmpty() ? io.grpc.Status.fromCodeValue(status.getCode()).getCode().name() : reason;
    return new Refusal(family, told, key, status.getMessage());
  }

  /** Reads how a stream ended. */
  static Refusal of(Throwable ended) {
    com.google.rpc.Status status = StatusProto.fromThrowable(ended);
    return status == null ? unavailable(String.valueOf(ended.getMessage())) : of(status);
  }

  /** The same, as one that refuses the run. */
  Refusal ofRun() {
    return new Refusal(Family.RUN, reason, key, message);
  }

  GuardException toException() {
    return switch (family) {
      case FRAME -> new InvalidFrameException(reason, message);
      case CONFIG -> new InvalidConfigException(key, message);
      case RUN -> new RunRefusedException(reason, message);
      case UNAVAILABLE -> new GuardUnavailableException(reason, message);
      case CLOSED -> new RunClosedException(message);
    };
  }

  /** Whether trying again is of no use after a stream that ended so. */
  static boolean isFinal(Code code) {
    return switch (code) {
      case INVALID_ARGUMENT,
          PERMISSION_DENIED,
          FAILED_PRECONDITION,
          ABORTED,
          UNIMPLEMENTED,
          UNAUTHENTICATED ->
          true;
      default -> false;
    };
  }
}
