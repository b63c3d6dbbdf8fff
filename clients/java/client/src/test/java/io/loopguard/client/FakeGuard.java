package io.loopguard.client;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.loopguard.v1.Ack;
import io.loopguard.v1.Action;
import io.loopguard.v1.Call;
import io.loopguard.v1.GoAway;
import io.loopguard.v1.GuardRequest;
import io.loopguard.v1.GuardResponse;
import io.loopguard.v1.Limits;
import io.loopguard.v1.LoopGuardServiceGrpc;
import io.loopguard.v1.NeedResend;
import io.loopguard.v1.Opened;
import io.loopguard.v1.RunOpen;
import io.loopguard.v1.Verdict;
import io.loopguard.v1.Verdicts;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Answers as a server does, and can be told to misbehave. Its hooks are called with its lock held.
 */
final class FakeGuard extends LoopGuardServiceGrpc.LoopGuardServiceImplBase
    implements AutoCloseable {
  private static final Context.Key<Metadata> HEADERS = Context.key("headers");

  /** How often to look for what happens outside the fake. */
  private static final long POLL_MILLIS = 20;

  /**
   * Says something in place of the service: null for nothing, an answer, or how the stream ends.
   */
  interface Hook {
    Object say(String runId, GuardRequest frame);
  }

  /** What the fake knows of a run. */
  private static final class Run {
    private long epoch;
    private final List<GuardRequest> frames = new ArrayList<>();
    private final Map<Long, GuardResponse> answers = new HashMap<>();
  }

  private final Map<String, Run> runs = new HashMap<>();
  private final List<RunOpen> openings = new ArrayList<>();
  private final List<Metadata> headers = new ArrayList<>();
  private final Server server;
  private final int port;

  /** Called before a frame is observed, and when its answer is still to be sent. */
  volatile Hook before = (runId, frame) -> null;

  volatile Hook after = (runId, frame) -> null;

  /** Answers a call. */
  volatile Function<Call, Verdict> verdict =
      call ->
          Verdict.newBuilder().setCallId(call.getCallId()).setAction(Action.ACTION_ALLOW).build();

  volatile Limits limits = FrameChecks.ASSUMED;

  /** Every frame survives. */
  volatile boolean isDurable;

  /** Calls are not answered. */
  private boolean isHolding;

  FakeGuard() throws IOException {
    this(0);
  }

  FakeGuard(int port) throws IOException {
    this(port, InsecureServerCredentials.create());
  }

  FakeGuard(int port, ServerCredentials credentials) throws IOException {
    server =
        Grpc.newServerBuilderForPort(port, credentials)
            .addService(this)
            .intercept(new KeepHeaders())
            .build()
            .start();
    this.port = server.getPort();
  }

  private static final class KeepHeaders implements ServerInterceptor {
    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      return Contexts.interceptCall(
          Context.current().withValue(HEADERS, headers), call, headers, next);
    }
  }

  int port() {
    return port;
  }

  String address() {
    return "127.0.0.1:" + port();
  }

  @Override
  public void close() {
    release();
    server.shutdownNow();
    try {
      server.awaitTermination(1, TimeUnit.MINUTES);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Holds calls back until {@link #release}. */
  synchronized void hold() {
    isHolding = true;
  }

  synchronized void release() {
    isHolding = false;
    notifyAll();
  }

  synchronized void forget(String runId) {
    runs.remove(runId);
  }

  synchronized List<RunOpen> openings() {
    return List.copyOf(openings);
  }

  /** The values of a header, of each stream. */
  synchronized List<String> headers(String name) {
    Metadata.Key<String> key = Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    return headers.stream().map(h -> String.valueOf(h.get(key))).toList();
  }

  /** The frames of a run that were observed, in order. */
  synchronized List<GuardRequest> frames(String runId) {
    Run run = runs.get(runId);
    return run == null ? List.of() : List.copyOf(run.frames);
  }

  /** The same in words. */
  List<String> observed(String runId) {
    return frames(runId).stream().map(FakeGuard::words).toList();
  }

  private static String words(GuardRequest frame) {
    return switch (frame.getFrameCase()) {
      case CALLS ->
          (frame.getCalls().getDryRun() ? "check " : "calls ")
              + frame.getCalls().getCallsList().stream()
                  .map(Call::getCallId)
                  .collect(Collectors.joining(","));
      case OUTCOME ->
          "outcome "
              + frame.getOutcome().getCallId()
              + " "
              + frame.getOutcome().getStatus().name().substring("STATUS_".length());
      case HISTORY ->
          "history "
              + frame.getHistory().getRecordsList().stream()
                  .map(io.loopguard.v1.Record::getTool)
                  .collect(Collectors.joining(","));
      default -> frame.getFrameCase().name();
    };
  }

  /** Waits until something has happened that is bound to. */
  synchronized void await(BooleanSupplier happened) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    while (!happened.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("it did not happen in a minute");
      }
      wait(POLL_MILLIS);
    }
  }

  @Override
  public StreamObserver<GuardRequest> guard(StreamObserver<GuardResponse> answers) {
    synchronized (this) {
      headers.add(HEADERS.get());
    }
    return new StreamObserver<>() {
      private String runId = "";
      private boolean isOver;

      @Override
      public void onNext(GuardRequest frame) {
        if (isOver) {
          return;
        }
        runId = frame.hasOpen() ? frame.getOpen().getRunId() : runId;
        for (Object said : take(runId, frame)) {
          if (said instanceof GuardResponse answer) {
            answers.onNext(answer);
          } else if (said instanceof Status status) {
            isOver = true;
            answers.onError(status.asRuntimeException());
            return;
          }
        }
      }

      @Override
      public void onError(Throwable error) {
        isOver = true;
      }

      @Override
      public void onCompleted() {
        if (!isOver) {
          answers.onCompleted();
        }
      }
    };
  }

  /**
   * Takes one frame by the protocol's rules for numbers; returns answers, and how the stream ends.
   */
  private synchronized List<Object> take(String runId, GuardRequest frame) {
    try {
      while (isHolding && frame.hasCalls()) {
        wait();
      }
    } catch (InterruptedException e) {
      return List.of(Status.UNAVAILABLE);
    }
    if (frame.hasOpen()) {
      openings.add(frame.getOpen());
    }
    try {
      Object instead = before.say(runId, frame);
      if (instead != null) {
        return List.of(instead);
      }
      GuardResponse answer = frame.hasOpen() ? open(frame.getOpen()) : answer(runId, frame);
      Object also = after.say(runId, frame);
      // How a stream ends comes in place of the answer.
      return also instanceof Status
          ? List.of(also)
          : also == null ? List.of(answer) : List.of(answer, also);
    } finally {
      notifyAll();
    }
  }

  private GuardResponse open(RunOpen open) {
    Run run = runs.get(open.getRunId());
    if (run == null || !open.getResume()) {
      Run fresh = new Run();
      fresh.epoch = run == null ? 0 : run.epoch;
      run = fresh;
      runs.put(open.getRunId(), run);
    }
    run.epoch++;
    long last = run.frames.size();
    return GuardResponse.newBuilder()
        .setAckedSeq(last)
        .setDurableSeq(isDurable ? last : 0)
        .setOpened(
            Opened.newBuilder()
                .setRunId(open.getRunId())
                .setEpoch(run.epoch)
                .setLastSeq(last)
                .setLimits(limits)
                .setRebuilt(open.getRebuild()))
        .build();
  }

  private GuardResponse answer(String runId, GuardRequest frame) {
    Run run = runs.computeIfAbsent(runId, id -> new Run());
    long last = run.frames.size();
    if (frame.getSeq() > last + 1) {
      return needResend(frame.getSeq(), last + 1);
    }
    if (frame.getSeq() == last + 1) {
      run.frames.add(frame);
      run.answers.put(frame.getSeq(), answerTo(frame));
    }
    long seen = run.frames.size();
    return run.answers.get(frame.getSeq()).toBuilder()
        .setSeq(frame.getSeq())
        .setAckedSeq(seen)
        .setDurableSeq(isDurable ? seen : 0)
        .build();
  }

  private GuardResponse answerTo(GuardRequest frame) {
    GuardResponse.Builder answer = GuardResponse.newBuilder();
    if (frame.hasCalls()) {
      answer.setVerdicts(
          Verdicts.newBuilder()
              .addAllVerdicts(frame.getCalls().getCallsList().stream().map(verdict).toList()));
    } else if (frame.hasOutcome()) {
      answer.setVerdict(
          Verdict.newBuilder()
              .setCallId(frame.getOutcome().getCallId())
              .setAction(Action.ACTION_ALLOW));
    } else {
      answer.setAck(Ack.getDefaultInstance());
    }
    return answer.build();
  }

  static GuardResponse needResend(long seq, long from) {
    return GuardResponse.newBuilder()
        .setSeq(seq)
        .setNeedResend(NeedResend.newBuilder().setFromSeq(from))
        .build();
  }

  static GuardResponse goAway(long seq) {
    return GuardResponse.newBuilder().setSeq(seq).setGoAway(GoAway.getDefaultInstance()).build();
  }

  /** A hook that says something about the frame of that number, one time. */
  static Hook once(long seq, Runnable first, Object said) {
    boolean[] isDone = new boolean[1];
    return (runId, frame) -> {
      if (isDone[0] || frame.hasOpen() || frame.getSeq() != seq) {
        return null;
      }
      isDone[0] = true;
      first.run();
      return said;
    };
  }
}
