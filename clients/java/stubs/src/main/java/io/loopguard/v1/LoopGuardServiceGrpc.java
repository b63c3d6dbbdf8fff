package io.loopguard.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * LoopGuardService tells an agent gateway, call by call, whether an agent is stuck.
 * One run on one `Guard` stream is this conversation:
 *  1. The client sends `RunOpen` with seq 0. The server answers `Opened`: the effective configuration, the limits, the
 *     run's epoch, and `last_seq`, the last frame it has seen of this run. A refused `RunOpen` is answered by a
 *     `FrameError` with seq 0; the next frame then has to be a `RunOpen` again.
 *  2. Before it runs the tool calls of a model response, the client sends them all as one `CallBatch`. The server
 *     answers `Verdicts`, one for each call, in order. `ACTION_BLOCK` is an answer, never a status.
 *  3. After each call the client sends its `Outcome`. The server answers one `Verdict`: an outcome may end the turn or
 *     the run (`ACTION_ABORT`).
 *  4. `UserMessage`, `CompactionRetry` and `History` tell of what else happened. The server answers `Ack`.
 *  5. The client sends `RunClose`, the server answers `Ack` and forgets the run, then the client half-closes the stream
 *     and the server ends it with OK.
 * Every frame after `RunOpen` takes the next seq, from 1 on, also a refused one and a dry run; each answer names the
 * seq it answers. A frame seen before gets the stored answer and isn't observed twice; a frame behind a gap is dropped
 * and answered by `NeedResend`. A bad frame is answered by a `FrameError` and the run goes on.
 * A clean close is `RunClose`. A stream that merely ends, with or without an error, is an interruption: the run is kept
 * for a while and may be resumed by `RunOpen{resume: true}` on another stream. The server ends a stream by itself with
 * FAILED_PRECONDITION (a frame before `RunOpen`, a second `RunOpen`, a frame after `RunClose`), ABORTED (the run was
 * opened elsewhere, told by `RunEnded` before), UNAUTHENTICATED, RESOURCE_EXHAUSTED (limits) or UNAVAILABLE (drain,
 * announced by `GoAway`). All of them carry `google.rpc.ErrorInfo` with an `ErrorReason`.
 * The metadata `loopguard-run-id` of a `Guard` stream is for proxies that keep the streams of a run together: the run's
 * id, trimmed, in UTF-8 with all bytes but letters, digits and `-._~` percent-encoded, and of that the first 256 bytes.
 * A `GuardMany` stream goes to one server, so it carries there what all its runs have in common, if anything.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class LoopGuardServiceGrpc {

  private LoopGuardServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "loopguard.v1.LoopGuardService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.loopguard.v1.GuardRequest,
      io.loopguard.v1.GuardResponse> getGuardMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Guard",
      requestType = io.loopguard.v1.GuardRequest.class,
      responseType = io.loopguard.v1.GuardResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<io.loopguard.v1.GuardRequest,
      io.loopguard.v1.GuardResponse> getGuardMethod() {
    io.grpc.MethodDescriptor<io.loopguard.v1.GuardRequest, io.loopguard.v1.GuardResponse> getGuardMethod;
    if ((getGuardMethod = LoopGuardServiceGrpc.getGuardMethod) == null) {
      synchronized (LoopGuardServiceGrpc.class) {
        if ((getGuardMethod = LoopGuardServiceGrpc.getGuardMethod) == null) {
          LoopGuardServiceGrpc.getGuardMethod = getGuardMethod =
              io.grpc.MethodDescriptor.<io.loopguard.v1.GuardRequest, io.loopguard.v1.GuardResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Guard"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.loopguard.v1.GuardRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.loopguard.v1.GuardResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LoopGuardServiceMethodDescriptorSupplier("Guard"))
              .build();
        }
      }
    }
    return getGuardMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.loopguard.v1.GuardManyRequest,
      io.loopguard.v1.GuardManyResponse> getGuardManyMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GuardMany",
      requestType = io.loopguard.v1.GuardManyRequest.class,
      responseType = io.loopguard.v1.GuardManyResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<io.loopguard.v1.GuardManyRequest,
      io.loopguard.v1.GuardManyResponse> getGuardManyMethod() {
    io.grpc.MethodDescriptor<io.loopguard.v1.GuardManyRequest, io.loopguard.v1.GuardManyResponse> getGuardManyMethod;
    if ((getGuardManyMethod = LoopGuardServiceGrpc.getGuardManyMethod) == null) {
      synchronized (LoopGuardServiceGrpc.class) {
        if ((getGuardManyMethod = LoopGuardServiceGrpc.getGuardManyMethod) == null) {
          LoopGuardServiceGrpc.getGuardManyMethod = getGuardManyMethod =
              io.grpc.MethodDescriptor.<io.loopguard.v1.GuardManyRequest, io.loopguard.v1.GuardManyResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GuardMany"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.loopguard.v1.GuardManyRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.loopguard.v1.GuardManyResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LoopGuardServiceMethodDescriptorSupplier("GuardMany"))
              .build();
        }
      }
    }
    return getGuardManyMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.loopguard.v1.FingerprintRequest,
      io.loopguard.v1.FingerprintResponse> getFingerprintMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Fingerprint",
      requestType = io.loopguard.v1.FingerprintRequest.class,
      responseType = io.loopguard.v1.FingerprintResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.loopguard.v1.FingerprintRequest,
      io.loopguard.v1.FingerprintResponse> getFingerprintMethod() {
    io.grpc.MethodDescriptor<io.loopguard.v1.FingerprintRequest, io.loopguard.v1.FingerprintResponse> getFingerprintMethod;
    if ((getFingerprintMethod = LoopGuardServiceGrpc.getFingerprintMethod) == null) {
      synchronized (LoopGuardServiceGrpc.class) {
        if ((getFingerprintMethod = LoopGuardServiceGrpc.getFingerprintMethod) == null) {
          LoopGuardServiceGrpc.getFingerprintMethod = getFingerprintMethod =
              io.grpc.MethodDescriptor.<io.loopguard.v1.FingerprintRequest, io.loopguard.v1.FingerprintResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Fingerprint"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.loopguard.v1.FingerprintRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.loopguard.v1.FingerprintResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LoopGuardServiceMethodDescriptorSupplier("Fingerprint"))
              .build();
        }
      }
    }
    return getFingerprintMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.loopguard.v1.WatchRequest,
      io.loopguard.v1.WatchResponse> getWatchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Watch",
      requestType = io.loopguard.v1.WatchRequest.class,
      responseType = io.loopguard.v1.WatchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.loopguard.v1.WatchRequest,
      io.loopguard.v1.WatchResponse> getWatchMethod() {
    io.grpc.MethodDescriptor<io.loopguard.v1.WatchRequest, io.loopguard.v1.WatchResponse> getWatchMethod;
    if ((getWatchMethod = LoopGuardServiceGrpc.getWatchMethod) == null) {
      synchronized (LoopGuardServiceGrpc.class) {
        if ((getWatchMethod = LoopGuardServiceGrpc.getWatchMethod) == null) {
          LoopGuardServiceGrpc.getWatchMethod = getWatchMethod =
              io.grpc.MethodDescriptor.<io.loopguard.v1.WatchRequest, io.loopguard.v1.WatchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Watch"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.loopguard.v1.WatchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.loopguard.v1.WatchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LoopGuardServiceMethodDescriptorSupplier("Watch"))
              .build();
        }
      }
    }
    return getWatchMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static LoopGuardServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LoopGuardServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LoopGuardServiceStub>() {
        @java.lang.Override
        public LoopGuardServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LoopGuardServiceStub(channel, callOptions);
        }
      };
    return LoopGuardServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static LoopGuardServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LoopGuardServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LoopGuardServiceBlockingV2Stub>() {
        @java.lang.Override
        public LoopGuardServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LoopGuardServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return LoopGuardServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static LoopGuardServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LoopGuardServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LoopGuardServiceBlockingStub>() {
        @java.lang.Override
        public LoopGuardServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LoopGuardServiceBlockingStub(channel, callOptions);
        }
      };
    return LoopGuardServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static LoopGuardServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LoopGuardServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LoopGuardServiceFutureStub>() {
        @java.lang.Override
        public LoopGuardServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LoopGuardServiceFutureStub(channel, callOptions);
        }
      };
    return LoopGuardServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * LoopGuardService tells an agent gateway, call by call, whether an agent is stuck.
   * One run on one `Guard` stream is this conversation:
   *  1. The client sends `RunOpen` with seq 0. The server answers `Opened`: the effective configuration, the limits, the
   *     run's epoch, and `last_seq`, the last frame it has seen of this run. A refused `RunOpen` is answered by a
   *     `FrameError` with seq 0; the next frame then has to be a `RunOpen` again.
   *  2. Before it runs the tool calls of a model response, the client sends them all as one `CallBatch`. The server
   *     answers `Verdicts`, one for each call, in order. `ACTION_BLOCK` is an answer, never a status.
   *  3. After each call the client sends its `Outcome`. The server answers one `Verdict`: an outcome may end the turn or
   *     the run (`ACTION_ABORT`).
   *  4. `UserMessage`, `CompactionRetry` and `History` tell of what else happened. The server answers `Ack`.
   *  5. The client sends `RunClose`, the server answers `Ack` and forgets the run, then the client half-closes the stream
   *     and the server ends it with OK.
   * Every frame after `RunOpen` takes the next seq, from 1 on, also a refused one and a dry run; each answer names the
   * seq it answers. A frame seen before gets the stored answer and isn't observed twice; a frame behind a gap is dropped
   * and answered by `NeedResend`. A bad frame is answered by a `FrameError` and the run goes on.
   * A clean close is `RunClose`. A stream that merely ends, with or without an error, is an interruption: the run is kept
   * for a while and may be resumed by `RunOpen{resume: true}` on another stream. The server ends a stream by itself with
   * FAILED_PRECONDITION (a frame before `RunOpen`, a second `RunOpen`, a frame after `RunClose`), ABORTED (the run was
   * opened elsewhere, told by `RunEnded` before), UNAUTHENTICATED, RESOURCE_EXHAUSTED (limits) or UNAVAILABLE (drain,
   * announced by `GoAway`). All of them carry `google.rpc.ErrorInfo` with an `ErrorReason`.
   * The metadata `loopguard-run-id` of a `Guard` stream is for proxies that keep the streams of a run together: the run's
   * id, trimmed, in UTF-8 with all bytes but letters, digits and `-._~` percent-encoded, and of that the first 256 bytes.
   * A `GuardMany` stream goes to one server, so it carries there what all its runs have in common, if anything.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Guard watches one run.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<io.loopguard.v1.GuardRequest> guard(
        io.grpc.stub.StreamObserver<io.loopguard.v1.GuardResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getGuardMethod(), responseObserver);
    }

    /**
     * <pre>
     * GuardMany watches many runs on one stream. Each message holds frames of any number of runs and is answered by one
     * message with the answers in order for each run. What would end a `Guard` stream for one run's sake is a `RunEnded`
     * here and touches no other run.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<io.loopguard.v1.GuardManyRequest> guardMany(
        io.grpc.stub.StreamObserver<io.loopguard.v1.GuardManyResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getGuardManyMethod(), responseObserver);
    }

    /**
     * <pre>
     * Fingerprint returns the canonical digest of JSON, for checking a client's own hashing.
     * </pre>
     */
    default void fingerprint(io.loopguard.v1.FingerprintRequest request,
        io.grpc.stub.StreamObserver<io.loopguard.v1.FingerprintResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getFingerprintMethod(), responseObserver);
    }

    /**
     * <pre>
     * Watch streams findings and the start and end of runs as they happen: from now on, or from any event on that is still
     * kept. A watcher that reads too slowly, or resumes too late, loses events and is told how many.
     * </pre>
     */
    default void watch(io.loopguard.v1.WatchRequest request,
        io.grpc.stub.StreamObserver<io.loopguard.v1.WatchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service LoopGuardService.
   * <pre>
   * LoopGuardService tells an agent gateway, call by call, whether an agent is stuck.
   * One run on one `Guard` stream is this conversation:
   *  1. The client sends `RunOpen` with seq 0. The server answers `Opened`: the effective configuration, the limits, the
   *     run's epoch, and `last_seq`, the last frame it has seen of this run. A refused `RunOpen` is answered by a
   *     `FrameError` with seq 0; the next frame then has to be a `RunOpen` again.
   *  2. Before it runs the tool calls of a model response, the client sends them all as one `CallBatch`. The server
   *     answers `Verdicts`, one for each call, in order. `ACTION_BLOCK` is an answer, never a status.
   *  3. After each call the client sends its `Outcome`. The server answers one `Verdict`: an outcome may end the turn or
   *     the run (`ACTION_ABORT`).
   *  4. `UserMessage`, `CompactionRetry` and `History` tell of what else happened. The server answers `Ack`.
   *  5. The client sends `RunClose`, the server answers `Ack` and forgets the run, then the client half-closes the stream
   *     and the server ends it with OK.
   * Every frame after `RunOpen` takes the next seq, from 1 on, also a refused one and a dry run; each answer names the
   * seq it answers. A frame seen before gets the stored answer and isn't observed twice; a frame behind a gap is dropped
   * and answered by `NeedResend`. A bad frame is answered by a `FrameError` and the run goes on.
   * A clean close is `RunClose`. A stream that merely ends, with or without an error, is an interruption: the run is kept
   * for a while and may be resumed by `RunOpen{resume: true}` on another stream. The server ends a stream by itself with
   * FAILED_PRECONDITION (a frame before `RunOpen`, a second `RunOpen`, a frame after `RunClose`), ABORTED (the run was
   * opened elsewhere, told by `RunEnded` before), UNAUTHENTICATED, RESOURCE_EXHAUSTED (limits) or UNAVAILABLE (drain,
   * announced by `GoAway`). All of them carry `google.rpc.ErrorInfo` with an `ErrorReason`.
   * The metadata `loopguard-run-id` of a `Guard` stream is for proxies that keep the streams of a run together: the run's
   * id, trimmed, in UTF-8 with all bytes but letters, digits and `-._~` percent-encoded, and of that the first 256 bytes.
   * A `GuardMany` stream goes to one server, so it carries there what all its runs have in common, if anything.
   * </pre>
   */
  public static abstract class LoopGuardServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return LoopGuardServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service LoopGuardService.
   * <pre>
   * LoopGuardService tells an agent gateway, call by call, whether an agent is stuck.
   * One run on one `Guard` stream is this conversation:
   *  1. The client sends `RunOpen` with seq 0. The server answers `Opened`: the effective configuration, the limits, the
   *     run's epoch, and `last_seq`, the last frame it has seen of this run. A refused `RunOpen` is answered by a
   *     `FrameError` with seq 0; the next frame then has to be a `RunOpen` again.
   *  2. Before it runs the tool calls of a model response, the client sends them all as one `CallBatch`. The server
   *     answers `Verdicts`, one for each call, in order. `ACTION_BLOCK` is an answer, never a status.
   *  3. After each call the client sends its `Outcome`. The server answers one `Verdict`: an outcome may end the turn or
   *     the run (`ACTION_ABORT`).
   *  4. `UserMessage`, `CompactionRetry` and `History` tell of what else happened. The server answers `Ack`.
   *  5. The client sends `RunClose`, the server answers `Ack` and forgets the run, then the client half-closes the stream
   *     and the server ends it with OK.
   * Every frame after `RunOpen` takes the next seq, from 1 on, also a refused one and a dry run; each answer names the
   * seq it answers. A frame seen before gets the stored answer and isn't observed twice; a frame behind a gap is dropped
   * and answered by `NeedResend`. A bad frame is answered by a `FrameError` and the run goes on.
   * A clean close is `RunClose`. A stream that merely ends, with or without an error, is an interruption: the run is kept
   * for a while and may be resumed by `RunOpen{resume: true}` on another stream. The server ends a stream by itself with
   * FAILED_PRECONDITION (a frame before `RunOpen`, a second `RunOpen`, a frame after `RunClose`), ABORTED (the run was
   * opened elsewhere, told by `RunEnded` before), UNAUTHENTICATED, RESOURCE_EXHAUSTED (limits) or UNAVAILABLE (drain,
   * announced by `GoAway`). All of them carry `google.rpc.ErrorInfo` with an `ErrorReason`.
   * The metadata `loopguard-run-id` of a `Guard` stream is for proxies that keep the streams of a run together: the run's
   * id, trimmed, in UTF-8 with all bytes but letters, digits and `-._~` percent-encoded, and of that the first 256 bytes.
   * A `GuardMany` stream goes to one server, so it carries there what all its runs have in common, if anything.
   * </pre>
   */
  public static final class LoopGuardServiceStub
      extends io.grpc.stub.AbstractAsyncStub<LoopGuardServiceStub> {
    private LoopGuardServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LoopGuardServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LoopGuardServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Guard watches one run.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<io.loopguard.v1.GuardRequest> guard(
        io.grpc.stub.StreamObserver<io.loopguard.v1.GuardResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getGuardMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * GuardMany watches many runs on one stream. Each message holds frames of any number of runs and is answered by one
     * message with the answers in order for each run. What would end a `Guard` stream for one run's sake is a `RunEnded`
     * here and touches no other run.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<io.loopguard.v1.GuardManyRequest> guardMany(
        io.grpc.stub.StreamObserver<io.loopguard.v1.GuardManyResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getGuardManyMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Fingerprint returns the canonical digest of JSON, for checking a client's own hashing.
     * </pre>
     */
    public void fingerprint(io.loopguard.v1.FingerprintRequest request,
        io.grpc.stub.StreamObserver<io.loopguard.v1.FingerprintResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getFingerprintMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Watch streams findings and the start and end of runs as they happen: from now on, or from any event on that is still
     * kept. A watcher that reads too slowly, or resumes too late, loses events and is told how many.
     * </pre>
     */
    public void watch(io.loopguard.v1.WatchRequest request,
        io.grpc.stub.StreamObserver<io.loopguard.v1.WatchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service LoopGuardService.
   * <pre>
   * LoopGuardService tells an agent gateway, call by call, whether an agent is stuck.
   * One run on one `Guard` stream is this conversation:
   *  1. The client sends `RunOpen` with seq 0. The server answers `Opened`: the effective configuration, the limits, the
   *     run's epoch, and `last_seq`, the last frame it has seen of this run. A refused `RunOpen` is answered by a
   *     `FrameError` with seq 0; the next frame then has to be a `RunOpen` again.
   *  2. Before it runs the tool calls of a model response, the client sends them all as one `CallBatch`. The server
   *     answers `Verdicts`, one for each call, in order. `ACTION_BLOCK` is an answer, never a status.
   *  3. After each call the client sends its `Outcome`. The server answers one `Verdict`: an outcome may end the turn or
   *     the run (`ACTION_ABORT`).
   *  4. `UserMessage`, `CompactionRetry` and `History` tell of what else happened. The server answers `Ack`.
   *  5. The client sends `RunClose`, the server answers `Ack` and forgets the run, then the client half-closes the stream
   *     and the server ends it with OK.
   * Every frame after `RunOpen` takes the next seq, from 1 on, also a refused one and a dry run; each answer names the
   * seq it answers. A frame seen before gets the stored answer and isn't observed twice; a frame behind a gap is dropped
   * and answered by `NeedResend`. A bad frame is answered by a `FrameError` and the run goes on.
   * A clean close is `RunClose`. A stream that merely ends, with or without an error, is an interruption: the run is kept
   * for a while and may be resumed by `RunOpen{resume: true}` on another stream. The server ends a stream by itself with
   * FAILED_PRECONDITION (a frame before `RunOpen`, a second `RunOpen`, a frame after `RunClose`), ABORTED (the run was
   * opened elsewhere, told by `RunEnded` before), UNAUTHENTICATED, RESOURCE_EXHAUSTED (limits) or UNAVAILABLE (drain,
   * announced by `GoAway`). All of them carry `google.rpc.ErrorInfo` with an `ErrorReason`.
   * The metadata `loopguard-run-id` of a `Guard` stream is for proxies that keep the streams of a run together: the run's
   * id, trimmed, in UTF-8 with all bytes but letters, digits and `-._~` percent-encoded, and of that the first 256 bytes.
   * A `GuardMany` stream goes to one server, so it carries there what all its runs have in common, if anything.
   * </pre>
   */
  public static final class LoopGuardServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<LoopGuardServiceBlockingV2Stub> {
    private LoopGuardServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LoopGuardServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LoopGuardServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Guard watches one run.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<io.loopguard.v1.GuardRequest, io.loopguard.v1.GuardResponse>
        guard() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getGuardMethod(), getCallOptions());
    }

    /**
     * <pre>
     * GuardMany watches many runs on one stream. Each message holds frames of any number of runs and is answered by one
     * message with the answers in order for each run. What would end a `Guard` stream for one run's sake is a `RunEnded`
     * here and touches no other run.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<io.loopguard.v1.GuardManyRequest, io.loopguard.v1.GuardManyResponse>
        guardMany() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getGuardManyMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Fingerprint returns the canonical digest of JSON, for checking a client's own hashing.
     * </pre>
     */
    public io.loopguard.v1.FingerprintResponse fingerprint(io.loopguard.v1.FingerprintRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getFingerprintMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Watch streams findings and the start and end of runs as they happen: from now on, or from any event on that is still
     * kept. A watcher that reads too slowly, or resumes too late, loses events and is told how many.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.loopguard.v1.WatchResponse>
        watch(io.loopguard.v1.WatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service LoopGuardService.
   * <pre>
   * LoopGuardService tells an agent gateway, call by call, whether an agent is stuck.
   * One run on one `Guard` stream is this conversation:
   *  1. The client sends `RunOpen` with seq 0. The server answers `Opened`: the effective configuration, the limits, the
   *     run's epoch, and `last_seq`, the last frame it has seen of this run. A refused `RunOpen` is answered by a
   *     `FrameError` with seq 0; the next frame then has to be a `RunOpen` again.
   *  2. Before it runs the tool calls of a model response, the client sends them all as one `CallBatch`. The server
   *     answers `Verdicts`, one for each call, in order. `ACTION_BLOCK` is an answer, never a status.
   *  3. After each call the client sends its `Outcome`. The server answers one `Verdict`: an outcome may end the turn or
   *     the run (`ACTION_ABORT`).
   *  4. `UserMessage`, `CompactionRetry` and `History` tell of what else happened. The server answers `Ack`.
   *  5. The client sends `RunClose`, the server answers `Ack` and forgets the run, then the client half-closes the stream
   *     and the server ends it with OK.
   * Every frame after `RunOpen` takes the next seq, from 1 on, also a refused one and a dry run; each answer names the
   * seq it answers. A frame seen before gets the stored answer and isn't observed twice; a frame behind a gap is dropped
   * and answered by `NeedResend`. A bad frame is answered by a `FrameError` and the run goes on.
   * A clean close is `RunClose`. A stream that merely ends, with or without an error, is an interruption: the run is kept
   * for a while and may be resumed by `RunOpen{resume: true}` on another stream. The server ends a stream by itself with
   * FAILED_PRECONDITION (a frame before `RunOpen`, a second `RunOpen`, a frame after `RunClose`), ABORTED (the run was
   * opened elsewhere, told by `RunEnded` before), UNAUTHENTICATED, RESOURCE_EXHAUSTED (limits) or UNAVAILABLE (drain,
   * announced by `GoAway`). All of them carry `google.rpc.ErrorInfo` with an `ErrorReason`.
   * The metadata `loopguard-run-id` of a `Guard` stream is for proxies that keep the streams of a run together: the run's
   * id, trimmed, in UTF-8 with all bytes but letters, digits and `-._~` percent-encoded, and of that the first 256 bytes.
   * A `GuardMany` stream goes to one server, so it carries there what all its runs have in common, if anything.
   * </pre>
   */
  public static final class LoopGuardServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<LoopGuardServiceBlockingStub> {
    private LoopGuardServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LoopGuardServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LoopGuardServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Fingerprint returns the canonical digest of JSON, for checking a client's own hashing.
     * </pre>
     */
    public io.loopguard.v1.FingerprintResponse fingerprint(io.loopguard.v1.FingerprintRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getFingerprintMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Watch streams findings and the start and end of runs as they happen: from now on, or from any event on that is still
     * kept. A watcher that reads too slowly, or resumes too late, loses events and is told how many.
     * </pre>
     */
    public java.util.Iterator<io.loopguard.v1.WatchResponse> watch(
        io.loopguard.v1.WatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service LoopGuardService.
   * <pre>
   * LoopGuardService tells an agent gateway, call by call, whether an agent is stuck.
   * One run on one `Guard` stream is this conversation:
   *  1. The client sends `RunOpen` with seq 0. The server answers `Opened`: the effective configuration, the limits, the
   *     run's epoch, and `last_seq`, the last frame it has seen of this run. A refused `RunOpen` is answered by a
   *     `FrameError` with seq 0; the next frame then has to be a `RunOpen` again.
   *  2. Before it runs the tool calls of a model response, the client sends them all as one `CallBatch`. The server
   *     answers `Verdicts`, one for each call, in order. `ACTION_BLOCK` is an answer, never a status.
   *  3. After each call the client sends its `Outcome`. The server answers one `Verdict`: an outcome may end the turn or
   *     the run (`ACTION_ABORT`).
   *  4. `UserMessage`, `CompactionRetry` and `History` tell of what else happened. The server answers `Ack`.
   *  5. The client sends `RunClose`, the server answers `Ack` and forgets the run, then the client half-closes the stream
   *     and the server ends it with OK.
   * Every frame after `RunOpen` takes the next seq, from 1 on, also a refused one and a dry run; each answer names the
   * seq it answers. A frame seen before gets the stored answer and isn't observed twice; a frame behind a gap is dropped
   * and answered by `NeedResend`. A bad frame is answered by a `FrameError` and the run goes on.
   * A clean close is `RunClose`. A stream that merely ends, with or without an error, is an interruption: the run is kept
   * for a while and may be resumed by `RunOpen{resume: true}` on another stream. The server ends a stream by itself with
   * FAILED_PRECONDITION (a frame before `RunOpen`, a second `RunOpen`, a frame after `RunClose`), ABORTED (the run was
   * opened elsewhere, told by `RunEnded` before), UNAUTHENTICATED, RESOURCE_EXHAUSTED (limits) or UNAVAILABLE (drain,
   * announced by `GoAway`). All of them carry `google.rpc.ErrorInfo` with an `ErrorReason`.
   * The metadata `loopguard-run-id` of a `Guard` stream is for proxies that keep the streams of a run together: the run's
   * id, trimmed, in UTF-8 with all bytes but letters, digits and `-._~` percent-encoded, and of that the first 256 bytes.
   * A `GuardMany` stream goes to one server, so it carries there what all its runs have in common, if anything.
   * </pre>
   */
  public static final class LoopGuardServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<LoopGuardServiceFutureStub> {
    private LoopGuardServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LoopGuardServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LoopGuardServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Fingerprint returns the canonical digest of JSON, for checking a client's own hashing.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.loopguard.v1.FingerprintResponse> fingerprint(
        io.loopguard.v1.FingerprintRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getFingerprintMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_FINGERPRINT = 0;
  private static final int METHODID_WATCH = 1;
  private static final int METHODID_GUARD = 2;
  private static final int METHODID_GUARD_MANY = 3;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_FINGERPRINT:
          serviceImpl.fingerprint((io.loopguard.v1.FingerprintRequest) request,
              (io.grpc.stub.StreamObserver<io.loopguard.v1.FingerprintResponse>) responseObserver);
          break;
        case METHODID_WATCH:
          serviceImpl.watch((io.loopguard.v1.WatchRequest) request,
              (io.grpc.stub.StreamObserver<io.loopguard.v1.WatchResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_GUARD:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.guard(
              (io.grpc.stub.StreamObserver<io.loopguard.v1.GuardResponse>) responseObserver);
        case METHODID_GUARD_MANY:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.guardMany(
              (io.grpc.stub.StreamObserver<io.loopguard.v1.GuardManyResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getGuardMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              io.loopguard.v1.GuardRequest,
              io.loopguard.v1.GuardResponse>(
                service, METHODID_GUARD)))
        .addMethod(
          getGuardManyMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              io.loopguard.v1.GuardManyRequest,
              io.loopguard.v1.GuardManyResponse>(
                service, METHODID_GUARD_MANY)))
        .addMethod(
          getFingerprintMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.loopguard.v1.FingerprintRequest,
              io.loopguard.v1.FingerprintResponse>(
                service, METHODID_FINGERPRINT)))
        .addMethod(
          getWatchMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.loopguard.v1.WatchRequest,
              io.loopguard.v1.WatchResponse>(
                service, METHODID_WATCH)))
        .build();
  }

  private static abstract class LoopGuardServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    LoopGuardServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.loopguard.v1.Guard.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("LoopGuardService");
    }
  }

  private static final class LoopGuardServiceFileDescriptorSupplier
      extends LoopGuardServiceBaseDescriptorSupplier {
    LoopGuardServiceFileDescriptorSupplier() {}
  }

  private static final class LoopGuardServiceMethodDescriptorSupplier
      extends LoopGuardServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    LoopGuardServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (LoopGuardServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new LoopGuardServiceFileDescriptorSupplier())
              .addMethod(getGuardMethod())
              .addMethod(getGuardManyMethod())
              .addMethod(getFingerprintMethod())
              .addMethod(getWatchMethod())
              .build();
        }
      }
    }
    return result;
  }
}
