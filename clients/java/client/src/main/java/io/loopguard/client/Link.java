package io.loopguard.client;

import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.loopguard.v1.GuardRequest;
import io.loopguard.v1.GuardResponse;
import io.loopguard.v1.LoopGuardServiceGrpc;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A run's streams, one after the other: what is written to them, when to try again. It has no
 * thread of its own; its lock guards the session too.
 */
final class Link {
  private static final Logger LOG = LoggerFactory.getLogger(GuardClient.class);

  private final ReentrantLock lock = new ReentrantLock();
  private final Session session;
  private final Settings settings;
  private final Channels channels;
  private final ScheduledExecutorService timer;
  private final Consumer<Link> forget;
  private final Backoff backoff;
  private final CompletableFuture<Void> done = new CompletableFuture<>();

  /** The node that the next stream goes to; empty for the client's target. */
  private String endpoint = "";

  private Stream stream;
  private ScheduledFuture<?> retry;

  /** The last try failed, and there is no new one yet that has come further. */
  private boolean isDown;

  /** The server takes nothing more on this stream. */
  private boolean isLeaving;

  Link(
      Session session,
      Settings settings,
      Channels channels,
      ScheduledExecutorService timer,
      Consumer<Link> forget) {
    this.session = session;
    this.settings = settings;
    this.channels = channels;
    this.timer = timer;
    this.forget = forget;
    backoff = new Backoff(settings.random());
  }

  ReentrantLock lock() {
    return lock;
  }

  Session session() {
    return session;
  }

  /** Completes when no stream follows. */
  CompletableFuture<Void> done() {
    return done;
  }

  /** Whether the guard is known to be away. */
  boolean isAway() {
    return isDown && session.phase() == Session.Phase.AWAY;
  }

  /** Begins a stream. The lock is held. */
  void connect() {
    if (isFinished()) {
      finish();
      return;
    }
    String where = endpoint;
    // The run goes back to its client's target after this stream.
    endpoint = "";
    isLeaving = false;
    try {
      stream = new Stream(where);
      stream.open();
    } catch (IllegalArgumentException e) {
      LOG.warn("run {} can't go on at {}", session.id(), where, e);
      ended(Status.UNAVAILABLE.withCause(e).asRuntimeException());
    }
  }

  /** Writes what there is to write. The lock is held. */
  void pump() {
    if (stream != null) {
      stream.pump();
    }
  }

  /** Gives the stream up, and lets none follow. The lock is held. */
  void cancel() {
    if (retry != null) {
      retry.cancel(false);
    }
    if (stream != null) {
      stream.drop();
    }
    finish();
  }

  /** Lets a stream in use end in good order, and gives up any other. The lock is held. */
  void letGo() {
    if (stream != null && stream.isStreaming) {
      stream.pump();
    } else {
      cancel();
    }
  }

  private void finish() {
    if (done.complete(null)) {
      forget.accept(this);
    }
  }

  private boolean isFinished() {
    return done.isDone() || session.phase() == Session.Phase.OVER;
  }

  /** Notes how a stream ended, null where this client ended it, and has another one follow. */
  private void ended(Throwable how) {
    Status.Code code = how == null ? Status.Code.OK : Status.fromThrowable(how).getCode();
    // A guard that was there a moment ago is waited for.
    boolean isThere =
        (stream != null && stream.isAnswered)
            || isLeaving
            || code == Status.Code.CANCELLED
            || code == Status.Code.RESOURCE_EXHAUSTED;
    if (stream != null) {
      stream.drop();
    }
    if (how != null && Refusal.isFinal(code)) {
      session.end(Refusal.of(how).ofRun());
    } else if (how != null && Refusal.of(how).reason().equals(Refusal.TOO_LARGE)) {
      session.refuseFirstInFlight();
    }
    if (isFinished()) {
      finish();
      return;
    }
    isDown = !isThere;
    session.lost();
    if (isDown && !settings.waits()) {
      session.giveUpWaiting();
    }
    retry = timer.schedule(this::tryAgain, backoff.nextNanos(), TimeUnit.NANOSECONDS);
  }

  private void tryAgain() {
    lock.lock();
    try {
      connect();
    } finally {
      lock.unlock();
    }
  }

  private void received(GuardResponse response) {
    session.receive(response);
    if (session.phase() == Session.Phase.OPENED) {
      isDown = false;
      backoff.reset();
    }
    stream.isAnswered |= session.phase() == Session.Phase.OPENED || session.wantsStream();
    isLeaving |= response.hasGoAway();
    if (session.wantsStream() || (isLeaving && !session.isInFlight())) {
      endpoint = session.movesTo();
      ended(null);
    } else {
      stream.pump();
    }
  }

  /** One stream. What it hears after it was dropped is of no interest. */
  private final class Stream implements ClientResponseObserver<GuardRequest, GuardResponse> {
    private final String where;
    private Channels.Shared shared;
    private ClientCallStreamObserver<GuardRequest> requests;
    private boolean isStreaming;

    /** The server has said something of the run. */
    private boolean isAnswered;

    private boolean isHalfClosed;

    private Stream(String where) {
      this.where = where;
    }

    private void open() {
      shared = channels.acquire(where);
      // gRPC's own back-off goes up to two minutes; ours decides when to try again.
      shared.channel().resetConnectBackoff();
      LoopGuardServiceGrpc.newStub(shared.channel())
          .withInterceptors(Channels.header("loopguard-run-id", RunId.forProxies(session.id())))
          .guard(this);
    }

    private void pump() {
      if (!isStreaming) {
        return;
      }
      while (!isLeaving && !isHalfClosed && requests.isReady()) {
        GuardRequest frame = session.takeFrame();
        if (frame == null) {
          break;
        }
        requests.onNext(frame);
      }
      if (isFinished() && !isHalfClosed) {
        isHalfClosed = true;
        requests.onCompleted();
      }
    }

    private void drop() {
      if (stream == this) {
        stream = null;
        if (shared != null) {
          channels.release(shared);
        }
        if (requests != null) {
          requests.cancel("the client is done with this stream", null);
        }
      }
    }

    /** Runs something that concerns this stream, unless it was dropped. */
    private void locked(Runnable action) {
      lock.lock();
      try {
        if (stream == this) {
          action.run();
        }
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<GuardRequest> observer) {
      requests = observer;
      requests.setOnReadyHandler(() -> locked(this::ready));
    }

    private void ready() {
      if (!isStreaming) {
        isStreaming = true;
        session.connected();
      }
      pump();
    }

    @Override
    public void onNext(GuardResponse response) {
      locked(() -> received(response));
    }

    @Override
    public void onError(Throwable error) {
      locked(() -> ended(error));
    }

    @Override
    public void onCompleted() {
      locked(() -> ended(null));
    }
  }
}
