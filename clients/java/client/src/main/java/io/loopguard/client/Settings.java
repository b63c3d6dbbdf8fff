package io.loopguard.client;

import io.grpc.ChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;

/**
 * What a client is made with. Credentials are null for a plain connection, the token is for none.
 */
record Settings(
    Duration deadline,
    OnUnavailable onUnavailable,
    ChannelCredentials credentials,
    String token,
    int bufferFrames,
    long bufferBytes,
    Consumer<ManagedChannelBuilder<?>> channel,
    LongSupplier nanoTime,
    DoubleSupplier random) {
  private static final Duration CLOSE_WAIT = Duration.ofSeconds(5);

  boolean waits() {
    return onUnavailable == OnUnavailable.WAIT;
  }

  /** How long closing waits for the guard, also where everything else waits for ever. */
  Duration closeWait() {
    return waits() ? CLOSE_WAIT : deadline;
  }
}
