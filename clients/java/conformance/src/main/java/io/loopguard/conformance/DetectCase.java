package io.loopguard.conformance;

import io.loopguard.client.Mode;
import io.loopguard.client.Outcome;
import io.loopguard.client.RunOptions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;

/**
 * A case of detect.jsonl.
 *
 * @param runId is the run of steps that name none
 * @param config overrides the configuration
 * @param fields are the case itself
 * @param refusedKey is the key for which the run is to be refused; empty: it is to be opened
 * @param needsServer says that it has a configuration file, or compares digests of records
 * @param steps are what is done
 */
record DetectCase(
    String runId,
    Optional<String> config,
    Fields fields,
    Optional<String> refusedKey,
    boolean needsServer,
    List<Step> steps) {
  private static final List<String> KEYS =
      List.of(
          "agentId",
          "config",
          "configFile",
          "digestScheme",
          "expect",
          "expectError",
          "mode",
          "name",
          "parentRunId",
          "profile",
          "rule",
          "runId",
          "steps");

  /**
   * What is done, once for each repetition, and what is expected each time; null is not asserted.
   */
  record Step(String runId, List<Act> acts, List<Object> expected) {}

  /**
   * A frame, or calls with the outcome of those that are not blocked.
   *
   * @param frame is null where records are compared
   * @param outcome is that of calls
   */
  record Act(Frame frame, Optional<Outcome> outcome) {}

  static DetectCase of(Fields fields) {
    fields.check(KEYS);
    String name = fields.text("name");
    String runId = fields.has("runId") ? fields.text("runId") : name;
    List<String> texts = Json.items(fields.raw("steps"), "`steps`");
    List<String> expected = Json.items(fields.raw("expect"), "`expect`");
    if (texts.size() != expected.size()) {
      throw new BadCaseException(
          "`expect` must have one entry for each of %d steps".formatted(texts.size()));
    }
    // Seeded by the name: fresh ids have to differ, not to be unpredictable.
    Random ids = new Random(name.hashCode());
    List<Step> steps = new ArrayList<>();
    for (int i = 0; i < texts.size(); i++) {
      steps.add(step(texts.get(i), expected.get(i), runId, ids));
    }
    Optional<String> refusedKey =
        Optional.ofNullable(fields.raw("expectError"))
            .map(text -> Fields.of(text, "`expectError`", List.of("key")).text("key"));
    if (steps.isEmpty() != refusedKey.isPresent()) {
      throw new BadCaseException("a vector has either steps or `expectError`");
    }
    boolean hasRecords =
        steps.stream().flatMap(step -> step.acts().stream()).anyMatch(act -> act.frame() == null);
    DetectCase made =
        new DetectCase(
            runId,
            Optional.ofNullable(fields.raw("config")),
            fields,
            refusedKey,
            fields.has("configFile") || hasRecords,
            steps);
    made.baseOptions();
    return made;
  }

  /** What the runs are opened with, but for the configuration. */
  RunOptions.Builder baseOptions() {
    RunOptions.Builder options =
        RunOptions.builder()
            .agent(fields.text("agentId"))
            .parentRun(fields.text("parentRunId"))
            .profile(fields.text("profile"));
    if (fields.has("digestScheme")) {
      options.digestScheme(fields.whole("digestScheme"));
    }
    if (fields.has("mode")) {
      String name = fields.text("mode");
      options.mode(
          Arrays.stream(Mode.values())
              .filter(mode -> mode.name().equals(name))
              .findFirst()
              .orElseThrow(
                  () -> new BadCaseException("`mode` is `" + name + "`, which is not known")));
    }
    return options;
  }

  private static Step step(String text, String expected, String runId, Random ids) {
    Fields fields = Fields.of(text, "a step");
    boolean isRepeated = fields.has("repeat");
    int times = isRepeated ? fields.whole("repeat") : 1;
    if (times < 1) {
      throw new BadCaseException("`repeat` must be a whole number of at least 1");
    }
    List<Object> wanted = Expected.parse(expected, times, isRepeated);
    List<Act> acts = new ArrayList<>();
    for (int index = 0; index < times; index++) {
      Fields spelled = spelledOut(fields, isRepeated, index, "%016x".formatted(ids.nextLong()));
      acts.add(act(spelled, wanted.get(index)));
    }
    return new Step(fields.has("runId") ? fields.text("runId") : runId, acts, wanted);
  }

  /** What a step says in one repetition. */
  private static Fields spelledOut(Fields fields, boolean isRepeated, int index, String fresh) {
    Map<String, String> values = new LinkedHashMap<>(fields.values());
    values.remove("runId");
    values.remove("repeat");
    if (isRepeated) {
      values.replaceAll((key, value) -> Sugar.spellOut(value, index, fresh));
    }
    return new Fields("a step", values);
  }

  private static Act act(Fields step, Object expected) {
    if (step.keys().equals(Set.of("fingerprint"))) {
      Expected.checkLetters(expected, Frame.records(step.raw("fingerprint")).length);
      return new Act(null, Optional.empty());
    }
    if (!step.has("run")) {
      Frame frame = Frame.of(step);
      Expected.check(expected, frame.calls());
      return new Act(frame, Optional.empty());
    }
    if (!step.keys().equals(Set.of("run", "outcome"))) {
      throw new BadCaseException(
          "a step with `run` has `run` and `outcome`, and may have `repeat` and `runId`");
    }
    Frame frame = Frame.of(Fields.of(step.raw("run"), "`run`"));
    if (!frame.kind().equals("calls")) {
      throw new BadCaseException("`run` must be a frame with `calls`");
    }
    Expected.check(expected, frame.calls());
    return new Act(frame, Optional.of(Frame.outcome(step.raw("outcome"))));
  }
}
