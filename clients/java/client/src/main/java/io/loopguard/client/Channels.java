package io.loopguard.client;

import io.grpc.ClientInterceptor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A client's channels by endpoint, the empty one for its own target: one, and more where one has
 * too many streams. Each is shut down when nobody uses it.
 */
final class Channels {
  /** Fewer than the 1,000 that a server takes on one connection. */
  static final int STREAMS_PER_CHANNEL = 900;

  private static final long CLOSE_SECONDS = 5;
  private static final long KEEPALIVE_SECONDS = 10;
  private static final long KEEPALIVE_TIMEOUT_SECONDS = 5;

  private final String target;
  private final Settings settings;
  private final Map<String, List<Shared>> open = new HashMap<>();
  private final List<ManagedChannel> ending = new ArrayList<>();

  /** A channel with those who use it. */
  static final class Shared {
    private final String endpoint;
    private final ManagedChannel channel;
    private int users;

    private Shared(String endpoint, ManagedChannel channel) {
      this.endpoint = endpoint;
      this.channel = channel;
    }

    ManagedChannel channel() {
      return channel;
    }
  }

  Channels(String target, Settings settings) {
    this.target = target;
    this.settings = settings;
    // The client itself uses its target until it is closed. Connecting takes a cold JVM longer than
    // a call may wait.
    acquire("").channel().getState(true);
  }

  /** Returns a channel to an endpoint that takes one more stream, for {@link #release}. */
  synchronized Shared acquire(String endpoint) {
    List<Shared> all = open.getOrDefault(endpoint, List.of());
    Optional<Shared> free =
        all.stream().filter(shared -> shared.users < STREAMS_PER_CHANNEL).findFirst();
    Shared shared = free.orElseGet(() -> dial(endpoint));
    if (free.isEmpty()) {
      open.computeIfAbsent(endpoint, unused -> new ArrayList<>()).add(shared);
    }
    shared.users++;
    return shared;
  }

  synchronized void release(Shared shared) {
    if (--shared.users > 0) {
      return;
    }
    open.computeIfPresent(
        shared.endpoint,
        (unused, all) -> {
          all.remove(shared);
          return all.isEmpty() ? null : all;
        });
    ending.removeIf(ManagedChannel::isTerminated);
    ending.add(shared.channel.shutdown());
  }

  /** How many channels there are to an endpoint. */
  synchronized int count(String endpoint) {
    return open.getOrDefault(endpoint, List.of()).size();
  }

  /** Shuts all channels down and waits for their threads. */
  void close() throws InterruptedException {
    List<ManagedChannel> all;
    synchronized (this) {
      all = new ArrayList<>(ending);
      open.values().forEach(some -> some.forEach(shared -> all.add(shared.channel)));
      open.clear();
    }
    all.forEach(ManagedChannel::shutdownNow);
    for (ManagedChannel channel : all) {
      channel.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS);
    }
  }

  private Shared dial(String endpoint) {
    String place = endpoint.isEmpty() ? target : endpoint;
    boolean isPlain = settings.credentials() == null;
    ManagedChannelBuilder<?> builder =
        Grpc.newChannelBuilder(
            place, isPlain ? InsecureChannelCredentials.create() : settings.credentials());
    builder
        .maxInboundMessageSize(Integer.MAX_VALUE)
        .keepAliveTime(KEEPALIVE_SECONDS, TimeUnit.SECONDS)
        .keepAliveTimeout(KEEPALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
        .keepAliveWithoutCalls(true);
    if (settings.token() != null) {
      if (isPlain && !isLocal(place)) {
        throw new IllegalArgumentException(
            "a token would travel in the open to `" + place + "`: use tls()");
      }
      builder.intercept(header("authorization", "Bearer " + settings.token()));
    }
    settings.channel().accept(builder);
    return new Shared(endpoint, builder.build());
  }

  static ClientInterceptor header(String name, String value) {
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
    return MetadataUtils.newAttachHeadersInterceptor(headers);
  }

  /** Whether a target is on this machine. */
  static boolean isLocal(String target) {
    if (target.startsWith("unix:") || target.startsWith("unix-abstract:")) {
      return true;
    }
    String place = target.substring(target.lastIndexOf('/') + 1);
    String host = place.replaceFirst(":\\d+$", "");
    return host.equals("localhost")
        || host.equals("[::1]")
        || place.equals("::1")
        || host.matches("127(\\.\\d{1,3}){3}");
  }
}
