package io.loopguard.client;

import java.time.Duration;
import java.util.function.DoubleSupplier;

/** How long to wait before the next try: a random part of a span that doubles from try to try. */
final class Backoff {
  private static final long FIRST_NANOS = Duration.ofMillis(50).toNanos();
  private static final long LONGEST_NANOS = Duration.ofSeconds(2).toNanos();
  private static final int MOST_DOUBLINGS = 16;

  private final DoubleSupplier random;
  private int tries;

  Backoff(DoubleSupplier random) {
    this.random = random;
  }

  void reset() {
    tries = 0;
  }

  long nextNanos() {
    long span = Math.min(LONGEST_NANOS, FIRST_NANOS << tries);
    tries = Math.min(tries + 1, MOST_DOUBLINGS);
    return (long) (span * random.getAsDouble());
  }
}
