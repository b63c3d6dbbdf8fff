package io.loopguard.client;

import io.loopguard.digest.Digest;
import java.util.List;
import java.util.Optional;

/**
 * What a detector says, with its evidence.
 *
 * @param detector names the detector
 * @param level is how sure it is
 * @param count is what was counted
 * @param threshold is the count from which on the detector speaks
 * @param pairedTool is the other tool of a ping-pong; empty for none
 * @param callIds are the calls that count, oldest first; records of a history have none
 * @param argumentsDigest is of the arguments that repeat; empty where they vary
 * @param outcomeDigest is of the outcome that repeats; empty where it varies
 * @param stripped are the kinds of volatile text that were left out to find outcomes equal
 * @param clearedBy says what would end the finding
 */
public record Finding(
    String detector,
    Level level,
    long count,
    long threshold,
    String pairedTool,
    List<String> callIds,
    Optional<Digest> argumentsDigest,
    Optional<Digest> outcomeDigest,
    List<String> stripped,
    String clearedBy) {
  /** Copies the lists. */
  public Finding {
    callIds = List.copyOf(callIds);
    stripped = List.copyOf(stripped);
  }
}
