package io.loopguard.conformance;

import java.util.List;

/** How one case went: what differs, or that it was not run. */
record Result(String name, List<String> problems, boolean isLeftOut) {
  static Result of(String name, List<String> problems) {
    return new Result(name, List.copyOf(problems), false);
  }

  static Result leftOut(String name) {
    return new Result(name, List.of(), true);
  }

  boolean isPassed() {
    return !isLeftOut && problems.isEmpty();
  }
}
