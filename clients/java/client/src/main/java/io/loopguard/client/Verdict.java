package io.loopguard.client;

import io.loopguard.digest.JsonFlag;
import java.util.Optional;
import java.util.Set;

/**
 * What the guard says of a call or of an outcome.
 *
 * @param callId names the call
 * @param action is what to do
 * @param finding is why; empty where there is nothing to say
 * @param note is text for the model, empty for none; it never quotes arguments or results
 * @param blockedBy is the call for whose sake this one was blocked; empty for none
 * @param scope is what an abort ends
 * @param flags are what was odd about the JSON: of the arguments for a call, of the result for an
 *     outcome
 */
public record Verdict(
    String callId,
    Action action,
    Optional<Finding> finding,
    String note,
    String blockedBy,
    Scope scope,
    Set<JsonFlag> flags) {
  /** Copies the flags. */
  public Verdict {
    flags = Set.copyOf(flags);
  }

  static Verdict of(String callId, Action action, String note) {
    return new Verdict(callId, action, Optional.empty(), note, "", Scope.NONE, Set.of());
  }

  /**
   * Tells whether the call may run.
   *
   * @return true for {@link Action#ALLOW} and {@link Action#WARN}
   */
  public boolean isAllowed() {
    return action == Action.ALLOW || action == Action.WARN;
  }
}
