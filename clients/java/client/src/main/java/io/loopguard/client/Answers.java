package io.loopguard.client;

import com.google.protobuf.ByteString;
import io.loopguard.digest.Digest;
import io.loopguard.digest.JsonFlag;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * From the wire's types to the caller's. What a newer server says and this client does not know is
 * left out.
 */
final class Answers {
  private static final Logger LOG = LoggerFactory.getLogger(GuardClient.class);

  private Answers() {}

  static Verdict verdict(io.loopguard.v1.Verdict verdict) {
    return new Verdict(
        verdict.getCallId(),
        action(verdict),
        verdict.hasFinding() ? Optional.of(finding(verdict.getFinding())) : Optional.empty(),
        verdict.getNote(),
        verdict.getBlockedBy(),
        switch (verdict.getScope()) {
          case SCOPE_TURN -> Scope.TURN;
          case SCOPE_RUN -> Scope.RUN;
          default -> Scope.NONE;
        },
        flags(verdict.getFlagsList()));
  }

  private static Action action(io.loopguard.v1.Verdict verdict) {
    return switch (verdict.getAction()) {
      case ACTION_ALLOW -> Action.ALLOW;
      case ACTION_WARN -> Action.WARN;
      case ACTION_BLOCK -> Action.BLOCK;
      case ACTION_ABORT -> Action.ABORT;
      default -> {
        LOG.warn(
            "the guard answers call {} with action {}, which this client does not know; it is allowed",
            verdict.getCallId(),
            verdict.getActionValue());
        yield Action.ALLOW;
      }
    };
  }

  private static Finding finding(io.loopguard.v1.Finding finding) {
    return new Finding(
        finding.getDetector(),
        switch (finding.getLevel()) {
          case LEVEL_WARNING -> Level.WARNING;
          case LEVEL_CRITICAL -> Level.CRITICAL;
          default -> Level.UNKNOWN;
        },
        Integer.toUnsignedLong(finding.getCount()),
        Integer.toUnsignedLong(finding.getThreshold()),
        finding.getPairedTool(),
        finding.getCallIdsList(),
        digest(finding.getArgsDigest()),
        digest(finding.getOutcomeDigest()),
        finding.getStrippedList(),
        finding.getClearedBy());
  }

  private static Optional<Digest> digest(ByteString bytes) {
    return bytes.size() == Digest.BYTES
        ? Optional.of(Digest.fromBytes(bytes.toByteArray()))
        : Optional.empty();
  }

  private static Set<JsonFlag> flags(List<io.loopguard.v1.JsonFlag> told) {
    Set<JsonFlag> flags = EnumSet.noneOf(JsonFlag.class);
    for (io.loopguard.v1.JsonFlag flag : told) {
      switch (flag) {
        case JSON_FLAG_BIGINT -> flags.add(JsonFlag.BIGINT);
        case JSON_FLAG_OVERFLOW -> flags.add(JsonFlag.OVERFLOW);
        case JSON_FLAG_DUPLICATE_KEY -> flags.add(JsonFlag.DUPLICATE_KEY);
        case JSON_FLAG_SURROGATE -> flags.add(JsonFlag.SURROGATE);
        case JSON_FLAG_OPAQUE -> flags.add(JsonFlag.OPAQUE);
        default -> {}
      }
    }
    return flags;
  }
}
