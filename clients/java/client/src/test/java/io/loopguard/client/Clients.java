package io.loopguard.client;

import java.time.Duration;

/** What the tests of the client have in common. */
final class Clients {
  /** More time than anything takes that happens at all, also on a busy machine. */
  static final Duration PLENTY = Duration.ofMinutes(1);

  /** A deadline that nothing meets which is held back. */
  static final Duration SOON = Duration.ofMillis(5);

  private Clients() {}

  static GuardClient.Builder builder(FakeGuard guard) {
    return GuardClient.builder(guard.address()).deadline(PLENTY);
  }

  /** What a client has that is built without anything said. */
  static Settings settings() {
    return new Settings(
        PLENTY, OnUnavailable.ALLOW, null, null, 1, 1, builder -> {}, System::nanoTime, () -> 0.5);
  }

  static Call call(String tool) {
    return Call.of(tool, "");
  }

  static Outcome done(Verdict verdict) {
    return Outcome.of(Status.OK).withCallId(verdict.callId());
  }
}
