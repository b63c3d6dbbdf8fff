/** A guard in this process that keeps to the protocol, judges nothing, and fails where a test wants it to. */
import * as grpc from "@grpc/grpc-js";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";

import { BadRequestSchema, ErrorInfoSchema } from "../src/gen/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "../src/gen/google/rpc/status_pb.js";
import * as pb from "../src/gen/loopguard/v1/guard_pb.js";

type Call = grpc.ServerDuplexStream<Buffer, Uint8Array>;
type AnswerBody = pb.GuardResponse["answer"];

/** A run as the fake has it. */
export interface FakeRun {
  epoch: bigint;
  lastSeq: number;
  answers: Map<number, AnswerBody>;
}

/** What becomes of a frame: `lose` cuts the stream before it is taken, `cut` after, `hold` keeps its answer back. */
export type Fate = "answer" | "lose" | "cut" | "hold" | AnswerBody;

const LIMITS = { messageBytes: 1n << 20n, frameBytes: 1n << 20n, callsPerBatch: 8, inFlight: 4, historySize: 100 };

export class FakeGuard {
  readonly runs = new Map<string, FakeRun>();
  /** Every frame that came, also those that were seen before. */
  readonly frames: pb.GuardRequest[] = [];
  /** How many frames each message held, and the metadata of each stream. */
  readonly messages: number[] = [];
  readonly metadata: grpc.Metadata[] = [];
  /** Over how many connections they came. */
  readonly peers = new Set<string>();
  /** Numbers of frames that were observed, in order. */
  readonly observed: number[] = [];
  readonly streams = new Set<FakeStream>();
  /** Decides what becomes of a frame. */
  fate: (frame: pb.GuardRequest, runId: string) => Fate = () => "answer";
  /** Ends a stream as soon as it is begun. */
  refuseStream: (() => Partial<grpc.StatusObject> | undefined) | undefined;
  limits: Partial<pb.Limits> = {};
  /** How many frames a message may hold. */
  mostFrames = Number.POSITIVE_INFINITY;
  durable = false;
  address = "";
  #server = new grpc.Server({ "grpc.max_receive_message_length": -1 });

  /** Listen on a free port, or again on the one from before. */
  async start(credentials = grpc.ServerCredentials.createInsecure()): Promise<this> {
    this.#server = new grpc.Server({ "grpc.max_receive_message_length": -1 });
    this.#server.addService(
      { guard: definition("Guard"), guardMany: definition("GuardMany") },
      {
        guard: (call: Call) => {
          this.#begin(call, false);
        },
        guardMany: (call: Call) => {
          this.#begin(call, true);
        },
      },
    );
    const wanted = this.address === "" ? "127.0.0.1:0" : this.address;
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(wanted, credentials, (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    this.address = `127.0.0.1:${port}`;
    return this;
  }

  /** Be gone, with all connections. */
  stop(): void {
    this.#server.forceShutdown();
    this.streams.clear();
  }

  /** Cut all streams. */
  cut(code = grpc.status.UNAVAILABLE): void {
    for (const stream of this.streams) stream.end({ code, details: "cut" });
  }

  /** Say something by itself, to a run on whatever stream it is. */
  say(runId: string, answer: AnswerBody): void {
    for (const stream of this.streams) stream.answer(runId, 0, answer, this.runs.get(runId));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => {
      this.stop();
      setImmediate(resolve);
    });
  }

  #begin(call: Call, many: boolean): void {
    this.metadata.push(call.metadata);
    this.peers.add(call.getPeer());
    const stream = new FakeStream(call, many);
    const refusal = this.refuseStream?.();
    if (refusal !== undefined) {
      stream.end(refusal);
      return;
    }
    this.streams.add(stream);
    call.on("data", (data: Buffer) => {
      const runs = many
        ? fromBinary(pb.GuardManyRequestSchema, data).runs
        : [{ runId: stream.runId, frames: [fromBinary(pb.GuardRequestSchema, data)] }];
      const count = runs.reduce((sum, run) => sum + run.frames.length, 0);
      this.messages.push(count);
      if (count > this.mostFrames) stream.end(streamStatus(grpc.status.RESOURCE_EXHAUSTED, "TOO_LARGE", "too large"));
      for (const { runId, frames } of runs) for (const frame of frames) this.#take(stream, runId, frame);
    });
    call.on("error", () => undefined);
    call.on("close", () => this.streams.delete(stream));
    call.on("end", () => {
      this.streams.delete(stream);
      call.end();
    });
  }

  #take(stream: FakeStream, runId: string, frame: pb.GuardRequest): void {
    if (stream.ended) return;
    this.frames.push(frame);
    const name = frame.frame.case === "open" ? frame.frame.value.runId : runId;
    if (frame.frame.case === "open") stream.runId = name;
    const fate = this.fate(frame, name);
    if (fate === "lose") {
      stream.end({ code: grpc.status.UNAVAILABLE, details: "lost" });
      return;
    }
    const answer = frame.frame.case === "open" ? this.#open(frame.frame.value) : this.#observe(name, frame, fate);
    const run = this.runs.get(name);
    if (fate === "cut") stream.end({ code: grpc.status.UNAVAILABLE, details: "cut" });
    else if (fate === "hold")
      stream.held.push(() => {
        stream.answer(name, Number(frame.seq), answer, run, this.durable);
      });
    else stream.answer(name, Number(frame.seq), typeof fate === "object" ? fate : answer, run, this.durable);
    if (frame.frame.case === "close") this.runs.delete(name);
  }

  #open(open: pb.RunOpen): AnswerBody {
    const known = this.runs.get(open.runId);
    const kept = open.resume ? known : undefined;
    const run = { epoch: (known?.epoch ?? 0n) + 1n, lastSeq: kept?.lastSeq ?? 0, answers: kept?.answers ?? new Map() };
    this.runs.set(open.runId, run);
    const value = create(pb.OpenedSchema, {
      runId: open.runId,
      epoch: run.epoch,
      lastSeq: BigInt(run.lastSeq),
      rebuilt: open.rebuild,
      config: create(pb.LoopDetectionConfigSchema, { historySize: 30n }),
      limits: create(pb.LimitsSchema, { ...LIMITS, framesPerMessage: 100, recordsPerHistory: 100, ...this.limits }),
    });
    return { case: "opened", value };
  }

  #observe(runId: string, frame: pb.GuardRequest, fate: Fate): AnswerBody {
    const seq = Number(frame.seq);
    const run = this.runs.get(runId) ?? { epoch: 1n, lastSeq: 0, answers: new Map<number, AnswerBody>() };
    if (seq > run.lastSeq + 1) {
      return { case: "needResend", value: create(pb.NeedResendSchema, { fromSeq: BigInt(run.lastSeq + 1) }) };
    }
    const stored = run.answers.get(seq);
    if (stored !== undefined) return stored;
    const answer = typeof fate === "object" ? fate : answerTo(frame);
    if (answer.case !== "needResend") {
      run.lastSeq = seq;
      run.answers.set(seq, answer);
      this.observed.push(seq);
    }
    return answer;
  }
}

class FakeStream {
  runId = "";
  ended = false;
  readonly held: (() => void)[] = [];

  constructor(
    readonly call: Call,
    private readonly many: boolean,
  ) {}

  answer(runId: string, seq: number, answer: AnswerBody, run: FakeRun | undefined, durable = false): void {
    const last = BigInt(run?.lastSeq ?? 0);
    const response = create(pb.GuardResponseSchema, {
      seq: BigInt(seq),
      ackedSeq: last,
      durableSeq: durable ? last : 0n,
      answer,
    });
    this.write(
      this.many
        ? toBinary(
            pb.GuardManyResponseSchema,
            create(pb.GuardManyResponseSchema, {
              runs: [create(pb.RunAnswersSchema, { runId, answers: [response] })],
            }),
          )
        : toBinary(pb.GuardResponseSchema, response),
    );
  }

  goAway(): void {
    const value = create(pb.GoAwaySchema);
    if (this.many) {
      this.write(toBinary(pb.GuardManyResponseSchema, create(pb.GuardManyResponseSchema, { goAway: value })));
    } else this.answer(this.runId, 0, { case: "goAway", value }, undefined);
  }

  write(data: Uint8Array): void {
    if (!this.ended) this.call.write(data);
  }

  end(status: Partial<grpc.StatusObject>): void {
    if (this.ended) return;
    this.ended = true;
    this.call.emit("error", status);
  }
}

function definition(name: string): grpc.MethodDefinition<Buffer, Uint8Array> {
  return {
    path: `/${pb.LoopGuardService.typeName}/${name}`,
    requestStream: true,
    responseStream: true,
    requestSerialize: (data) => data,
    requestDeserialize: (data) => data,
    responseSerialize: (data) => Buffer.from(data),
    responseDeserialize: (data) => data,
  };
}

/** What a guard answers that has nothing to say. */
export function answerTo(frame: pb.GuardRequest): AnswerBody {
  if (frame.frame.case === "calls") {
    const verdicts = frame.frame.value.calls.map(({ callId }) => verdict(callId));
    return { case: "verdicts", value: create(pb.VerdictsSchema, { verdicts }) };
  }
  if (frame.frame.case === "outcome") return { case: "verdict", value: verdict(frame.frame.value.callId) };
  return { case: "ack", value: create(pb.AckSchema) };
}

export function verdict(callId: string, action: pb.Action = pb.Action.ALLOW): pb.Verdict {
  return create(pb.VerdictSchema, { callId, action });
}

export function statusOf(code: number, reason: string, message: string, key?: string): Status {
  const details = [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason, domain: "loopguard" }))];
  if (key !== undefined) {
    const request = create(BadRequestSchema, { fieldViolations: [{ field: key, description: message }] });
    details.push(anyPack(BadRequestSchema, request));
  }
  return create(StatusSchema, { code, message, details });
}

/** The refusal of a frame. */
export function refused(code: number, reason: string, message: string, key?: string): AnswerBody {
  return { case: "error", value: create(pb.FrameErrorSchema, { status: statusOf(code, reason, message, key) }) };
}

/** The status of a stream with the details that the guard sends. */
export function streamStatus(code: grpc.status, reason: string, message: string): Partial<grpc.StatusObject> {
  const metadata = new grpc.Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(toBinary(StatusSchema, statusOf(code, reason, message))));
  return { code, details: message, metadata };
}

export function ended(reason: pb.RunEndReason, endpoint = ""): AnswerBody {
  const status = statusOf(10, pb.RunEndReason[reason], "this stream has the run no longer");
  return { case: "runEnded", value: create(pb.RunEndedSchema, { reason, endpoint, status }) };
}
