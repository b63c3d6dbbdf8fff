package io.loopguard.conformance;

import io.loopguard.client.Finding;
import io.loopguard.client.Level;
import io.loopguard.client.Scope;
import io.loopguard.client.Verdict;
import io.loopguard.digest.Digest;
import io.loopguard.digest.JsonFlag;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** What a vector expects of an answer, and whether it has it. */
final class Expected {
  private static final Set<String> VERDICT_KEYS =
      Set.of("callId", "action", "finding", "note", "blockedBy", "scope", "flags", "error");
  private static final Set<String> FINDING_KEYS =
      Set.of(
          "detector",
          "level",
          "count",
          "threshold",
          "pairedTool",
          "callIds",
          "argsDigest",
          "outcomeDigest",
          "stripped",
          "clearedBy");

  private Expected() {}

  /**
   * What is expected of each repetition of a step: of a repeated one it is a list of [verdict, n].
   */
  static List<Object> parse(String text, int times, boolean isRepeated) {
    Object entry = Json.value(text, "`expect`");
    if (!isRepeated) {
      return Collections.singletonList(entry);
    }
    if (entry == null) {
      return Collections.nCopies(times, null);
    }
    List<Object> expected = new ArrayList<>();
    for (Object run : entry instanceof List<?> runs ? runs : List.of()) {
      if (!(run instanceof List<?> pair)
          || pair.size() != 2
          || !(pair.get(1) instanceof Double count)
          || count < 1
          || count > times
          || count != Math.rint(count)) {
        throw new BadCaseException(
            "what is expected of a repeated step must be a list of [verdict, n]");
      }
      expected.addAll(Collections.nCopies(count.intValue(), pair.get(0)));
    }
    if (expected.size() != times) {
      throw new BadCaseException(
          "`expect` is for %d repetitions of a step that is repeated %d times"
              .formatted(expected.size(), times));
    }
    return Collections.unmodifiableList(expected);
  }

  /**
   * Refuses what could never be compared with the verdicts of so many calls; 0 for another frame.
   */
  static void check(Object expected, int calls) {
    if (!(expected instanceof List<?> entries) || calls == 0) {
      checkVerdict(expected);
      return;
    }
    if (entries.size() != calls) {
      throw new BadCaseException(
          "`expect` has %d verdicts, the step %d calls".formatted(entries.size(), calls));
    }
    entries.forEach(Expected::checkVerdict);
  }

  /** Refuses what could never be said of so many records. */
  static void checkLetters(Object expected, int records) {
    if (expected == null) {
      return;
    }
    if (!(expected instanceof Map<?, ?> entry)
        || entry.size() != 1
        || !(entry.get("equal") instanceof Map<?, ?> rows)
        || rows.isEmpty()) {
      throw new BadCaseException(
          "what is expected of `fingerprint` must be `equal` with `args` or `outcome`");
    }
    rows.forEach(
        (key, row) -> {
          boolean isKnown = key.equals("args") || key.equals("outcome");
          if (!isKnown || !(row instanceof List<?> letters) || letters.size() != records) {
            throw new BadCaseException(
                "`equal` must have a letter for each of %d records under `args` or `outcome`"
                    .formatted(records));
          }
        });
  }

  private static void checkVerdict(Object expected) {
    if (expected == null) {
      return;
    }
    if (!(expected instanceof Map<?, ?> verdict)) {
      throw new BadCaseException("an expected verdict must be an object or null, not " + expected);
    }
    checkKeys(verdict, VERDICT_KEYS);
    if (verdict.get("finding") instanceof Map<?, ?> finding) {
      checkKeys(finding, FINDING_KEYS);
    } else if (verdict.get("finding") != null) {
      throw new BadCaseException("`finding` must be an object");
    }
    if (verdict.containsKey("error")
        && !(verdict.get("error") instanceof Map<?, ?> error
            && error.keySet().equals(Set.of("reason")))) {
      throw new BadCaseException("`error` must be an object with `reason`");
    }
    if (verdict.get("flags") instanceof List<?> flags) {
      List<String> known = Arrays.stream(JsonFlag.values()).map(JsonFlag::name).toList();
      for (Object flag : flags) {
        if (!known.contains(flag)) {
          throw new BadCaseException("an expected verdict has `" + flag + "`, which is not known");
        }
      }
    }
  }

  private static void checkKeys(Map<?, ?> fields, Set<String> known) {
    for (Object key : fields.keySet()) {
      if (!known.contains(key)) {
        throw new BadCaseException("an expected verdict has `" + key + "`, which is not known");
      }
    }
  }

  /**
   * Whether an answer has all that is expected of it; null under a name says that the name is
   * absent.
   */
  static boolean matches(Object expected, Object got) {
    if (expected instanceof List<?> entries) {
      if (!(got instanceof List<?> answers) || answers.size() != entries.size()) {
        return false;
      }
      for (int i = 0; i < entries.size(); i++) {
        if (entries.get(i) != null && !matches(entries.get(i), answers.get(i))) {
          return false;
        }
      }
      return true;
    }
    Object answer = got instanceof List<?> list && list.size() == 1 ? list.get(0) : got;
    return expected instanceof Map<?, ?> wanted
        && answer instanceof Map<?, ?> fields
        && wanted.entrySet().stream()
            .allMatch(
                e -> memberMatches((String) e.getKey(), e.getValue(), fields.get(e.getKey())));
  }

  private static boolean memberMatches(String key, Object wanted, Object value) {
    if (wanted instanceof Map<?, ?>) {
      return matches(wanted, value);
    }
    if (key.equals("action") && wanted instanceof Collection<?> several) {
      return several.contains(value);
    }
    if (key.equals("flags")) {
      return setOf(wanted).equals(setOf(value));
    }
    return Objects.equals(wanted, value);
  }

  private static Set<Object> setOf(Object value) {
    return value instanceof Collection<?> items ? new HashSet<>(items) : Set.of();
  }

  /** A verdict as a vector writes it. */
  static Map<String, Object> shown(Verdict verdict) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("callId", verdict.callId());
    fields.put("action", verdict.action().name());
    verdict.finding().ifPresent(finding -> fields.put("finding", shown(finding)));
    putText(fields, "note", verdict.note());
    putText(fields, "blockedBy", verdict.blockedBy());
    if (verdict.scope() != Scope.NONE) {
      fields.put("scope", verdict.scope().name());
    }
    putList(fields, "flags", verdict.flags().stream().map(JsonFlag::name).toList());
    return fields;
  }

  private static Map<String, Object> shown(Finding finding) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("detector", finding.detector());
    if (finding.level() != Level.UNKNOWN) {
      fields.put("level", finding.level().name().toLowerCase(Locale.ROOT));
    }
    fields.put("count", (double) finding.count());
    fields.put("threshold", (double) finding.threshold());
    putText(fields, "pairedTool", finding.pairedTool());
    putText(fields, "argsDigest", finding.argumentsDigest().map(Digest::toString).orElse(""));
    putText(fields, "outcomeDigest", finding.outcomeDigest().map(Digest::toString).orElse(""));
    putText(fields, "clearedBy", finding.clearedBy());
    putList(fields, "callIds", finding.callIds());
    putList(fields, "stripped", finding.stripped());
    return fields;
  }

  private static void putText(Map<String, Object> fields, String key, String value) {
    if (!value.isEmpty()) {
      fields.put(key, value);
    }
  }

  private static void putList(Map<String, Object> fields, String key, List<String> values) {
    if (!values.isEmpty()) {
      fields.put(key, values);
    }
  }
}
