package io.loopguard.conformance;

import io.loopguard.client.GuardClient;
import io.loopguard.client.GuardException;
import io.loopguard.client.GuardRun;
import io.loopguard.client.InvalidConfigException;
import io.loopguard.client.InvalidFrameException;
import io.loopguard.client.Outcome;
import io.loopguard.client.RunOptions;
import io.loopguard.client.Verdict;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Plays a case of detect.jsonl over streams. */
final class Player implements AutoCloseable {
  private final GuardClient client;
  private final DetectCase vector;
  private final Map<String, GuardRun> runs = new HashMap<>();

  Player(GuardClient client, DetectCase vector) {
    this.client = client;
    this.vector = vector;
  }

  List<String> play() throws InterruptedException {
    try {
      GuardRun first = open(vector.runId());
      if (vector.refusedKey().isPresent()) {
        return List.of(
            "`" + first.id() + "` was opened, expected a refusal of " + vector.refusedKey());
      }
    } catch (InvalidConfigException e) {
      boolean isWanted = vector.refusedKey().map(e.key()::equals).orElse(false);
      return isWanted ? List.of() : List.of("the run was not opened: " + e);
    } catch (GuardException e) {
      return List.of("the run was not opened: " + e);
    }
    List<String> problems = new ArrayList<>();
    for (int i = 0; i < vector.steps().size(); i++) {
      try {
        play(i, vector.steps().get(i), problems);
      } catch (GuardException e) {
        problems.add("step " + i + ": " + e);
        break;
      }
    }
    return problems;
  }

  private GuardRun open(String runId) throws InterruptedException {
    GuardRun run = runs.get(runId);
    if (run == null) {
      RunOptions.Builder options = vector.baseOptions();
      vector.config().ifPresent(options::config);
      run = client.openRun(runId, options.build());
      runs.put(runId, run);
    }
    return run;
  }

  private void play(int index, DetectCase.Step step, List<String> problems)
      throws InterruptedException {
    GuardRun run = open(step.runId());
    for (int i = 0; i < step.acts().size(); i++) {
      Object got = act(run, step.acts().get(i));
      Object expected = step.expected().get(i);
      if (expected != null && !Expected.matches(expected, got)) {
        problems.add(
            "step %d, repetition %d: expected %s, got %s".formatted(index, i, expected, got));
      }
    }
  }

  /** Does what a step says and returns the answer as a vector writes it. */
  private static Object act(GuardRun run, DetectCase.Act act) throws InterruptedException {
    List<Verdict> verdicts;
    try {
      verdicts = act.frame().sending().send(run);
    } catch (InvalidFrameException | InvalidConfigException e) {
      return Map.of("error", Map.of("reason", e.reason()));
    }
    if (act.outcome().isPresent()) {
      report(run, act.outcome().get(), verdicts);
    }
    List<Map<String, Object>> answers = verdicts.stream().map(Expected::shown).toList();
    return act.frame().kind().equals("outcome") ? answers.get(0) : answers;
  }

  /**
   * Tells the outcome of the calls that may run; of the first one only where the outcome names its
   * call.
   */
  private static void report(GuardRun run, Outcome outcome, List<Verdict> verdicts)
      throws InterruptedException {
    for (Verdict verdict : verdicts) {
      if (!verdict.isAllowed()) {
        continue;
      }
      if (!outcome.callId().isEmpty()) {
        run.report(outcome);
        return;
      }
      run.report(outcome.withCallId(verdict.callId()));
    }
  }

  @Override
  public void close() {
    runs.values().forEach(GuardRun::close);
  }
}
