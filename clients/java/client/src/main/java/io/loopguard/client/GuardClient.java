package io.loopguard.client;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import io.grpc.ChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.TlsChannelCredentials;
import io.loopguard.v1.GuardRequest;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;

/**
 * Opens runs at one guard, each on a stream of its own.
 *
 * <p>Its methods may be called by several threads. Those that wait for the guard block; they may be
 * interrupted. {@link #close} ends the client's threads: one timer and those of its channels.
 */
public final class GuardClient implements AutoCloseable {
  private final Settings settings;
  private final Channels channels;
  private final ScheduledExecutorService timer;
  private final Set<Link> links = ConcurrentHashMap.newKeySet();
  private volatile boolean isClosed;

  GuardClient(String target, Settings settings) {
    this.settings = settings;
    channels = new Channels(target, settings);
    timer =
        Executors.newSingleThreadScheduledExecutor(
            work -> {
              Thread thread = new Thread(work, "loopguard-timer");
              thread.setDaemon(true);
              return thread;
            });
  }

  /**
   * Begins a client.
   *
   * @param target an address such as {@code 127.0.0.1:50051} or any other target of gRPC
   * @return its builder
   */
  public static Builder builder(String target) {
    return new Builder(target);
  }

  /**
   * Opens a run with the server's configuration.
   *
   * @param runId names the run
   * @return the run
   * @throws GuardException for a run that the guard refuses; that the guard is away is no mistake
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public GuardRun openRun(String runId) throws InterruptedException {
    return openRun(runId, RunOptions.defaults());
  }

  /**
   * Opens a run.
   *
   * @param runId names the run
   * @param options what it is opened with
   * @return the run
   * @throws GuardException for a configuration or a run that the guard refuses; that the guard is
   *     away is no mistake
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public GuardRun openRun(String runId, RunOptions options) throws InterruptedException {
    var request = options.request(runId);
    Frames.checkText(GuardRequest.newBuilder().setOpen(request));
    var opener = new CompletableFuture<Reply>();
    Session session = new Session(request, settings, opener);
    Link link = new Link(session, settings, channels, timer, links::remove);
    GuardRun run = new GuardRun(link, settings, options.hashes());
    start(link);
    try {
      Reply reply = run.await(opener, false);
      if (reply != null && reply.refusal() != null) {
        throw reply.refusal().toException();
      }
      return run;
    } catch (GuardException | InterruptedException e) {
      run.letGo();
      throw e;
    }
  }

  private void start(Link link) {
    links.add(link);
    link.lock().lock();
    try {
      if (isClosed) {
        link.cancel();
        throw new RunClosedException("the client is closed");
      }
      link.connect();
    } finally {
      link.lock().unlock();
    }
  }

  /**
   * Leaves the guard and waits for the client's threads. Runs that were not closed stay there for
   * resuming.
   */
  @Override
  public void close() {
    isClosed = true;
    for (Link link : links) {
      link.lock().lock();
      try {
        link.session().end(Refusal.closed("the client is closed"));
        link.cancel();
      } finally {
        link.lock().unlock();
      }
    }
    timer.shutdownNow();
    boolean wasInterrupted = Thread.interrupted();
    try {
      channels.close();
    } catch (InterruptedException e) {
      wasInterrupted = true;
    }
    if (wasInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Builds a {@link GuardClient}. */
  public static final class Builder {
    private static final Duration DEADLINE = Duration.ofMillis(250);
    private static final int BUFFER_FRAMES = 1000;
    private static final long BUFFER_BYTES = 8L << 20;

    private final String target;
    private Duration deadline = DEADLINE;
    private OnUnavailable onUnavailable = OnUnavailable.ALLOW;
    private ChannelCredentials credentials;
    private String token;
    private int bufferFrames = BUFFER_FRAMES;
    private long bufferBytes = BUFFER_BYTES;
    private Consumer<ManagedChannelBuilder<?>> channel = builder -> {};

    private Builder(String target) {
      this.target = Objects.requireNonNull(target, "target");
    }

    /**
     * Sets how long a call may wait for its verdict before {@link #onUnavailable} says what to do;
     * 250 ms unless this is used.
     *
     * @param limit the time
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder deadline(Duration limit) {
      deadline = Objects.requireNonNull(limit, "deadline");
      return this;
    }

    /**
     * Sets what happens to a call that gets no answer in time; it runs unless this is used.
     *
     * @param policy the policy
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder onUnavailable(OnUnavailable policy) {
      onUnavailable = Objects.requireNonNull(policy, "onUnavailable");
      return this;
    }

    /**
     * Secures the connection; the system's authorities are trusted.
     *
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder tls() {
      return credentials(TlsChannelCredentials.create());
    }

    /**
     * Secures the connection.
     *
     * @param transport such as {@link TlsChannelCredentials}, for own authorities or client
     *     certificates
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder credentials(ChannelCredentials transport) {
      credentials = Objects.requireNonNull(transport, "credentials");
      return this;
    }

    /**
     * Sends a bearer token with every stream. On a plain connection that is refused unless the
     * guard is on this machine.
     *
     * @param bearer the token
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder token(String bearer) {
      token = Objects.requireNonNull(bearer, "token");
      return this;
    }

    /**
     * Limits the frames kept for a guard that loses a run, for each run; 1,000 and 8 MiB unless
     * this is used.
     *
     * @param frames so many frames
     * @param bytes of so many bytes in all
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder buffer(int frames, long bytes) {
      bufferFrames = frames;
      bufferBytes = bytes;
      return this;
    }

    /**
     * Sets up the channels further, after the client's own settings.
     *
     * @param setup is called with each channel's builder
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder configureChannel(Consumer<ManagedChannelBuilder<?>> setup) {
      channel = Objects.requireNonNull(setup, "setup");
      return this;
    }

    /**
     * Returns the client. It does not wait for a connection.
     *
     * @return the client
     * @throws IllegalArgumentException for a target that gRPC does not know, or a token that would
     *     travel in the open
     */
    public GuardClient build() {
      return new GuardClient(
          target,
          new Settings(
              deadline,
              onUnavailable,
              credentials,
              token,
              bufferFrames,
              bufferBytes,
              channel,
              System::nanoTime,
              () -> ThreadLocalRandom.current().nextDouble()));
    }
  }
}
