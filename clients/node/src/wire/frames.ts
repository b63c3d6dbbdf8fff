/** Translates what a gateway tells into frames, and frames into bytes. */
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";

import { DIGEST_BYTES } from "../digest.js";
import { InvalidFrameError } from "../errors.js";
import * as pb from "../gen/loopguard/v1/guard_pb.js";
import { type JsonText, jsonBytes } from "../json/text.js";
import type { Call, CallRecord, Outcome, RunOptions } from "../model.js";
import { toConfig } from "./config.js";

/** Everything that can be told to an open run. */
export type Frame = Exclude<pb.GuardRequest["frame"], { case: "open" } | { case: undefined }>;

const SEQ_FIELD = pb.GuardRequestSchema.field.seq.number;
const RUNS_FIELD = pb.GuardManyRequestSchema.field.runs.number;
const RUN_ID_FIELD = pb.RunFramesSchema.field.runId.number;
const FRAMES_FIELD = pb.RunFramesSchema.field.frames.number;

/** How to open a run, as messages of the wire take it. */
export function toOpen(runId: string, options: RunOptions): pb.RunOpen {
  const { config, mode, ...rest } = options;
  const open = create(pb.RunOpenSchema, {
    runId,
    agentId: rest.agentId ?? "",
    parentRunId: rest.parentRunId ?? "",
    profile: rest.profile ?? "",
    digestScheme: rest.digestScheme ?? 0,
    resume: rest.resume ?? false,
  });
  if (config !== undefined) open.config = toConfig(config);
  if (mode !== undefined) open.mode = numberOf(pb.Mode, "mode", mode);
  return open;
}

/** Translate a batch of calls. Throws `InvalidFrameError` or `TypeError` naming what is wrong. */
export function toCalls(calls: readonly Call[]): pb.Call[] {
  return calls.map((call, index) => {
    const where = `calls[${index}]`;
    return create(pb.CallSchema, {
      callId: call.callId ?? "",
      tool: toolOf(call, where),
      arguments: toArguments(call, where),
      action: call.action ?? "",
    });
  });
}

/** Translate how a call ended. */
export function toOutcome(outcome: Outcome): pb.Outcome {
  if (outcome.status === "PENDING") {
    throw new InvalidFrameError("INVALID_FRAME", "status PENDING stands only in `record`");
  }
  return create(pb.OutcomeSchema, { callId: outcome.callId ?? "", ...toEnding(outcome, "outcome") });
}

/** Translate calls that already happened. */
export function toRecords(records: readonly CallRecord[]): pb.Record[] {
  return records.map((record, index) => {
    const where = `records[${index}]`;
    return create(pb.RecordSchema, {
      tool: toolOf(record, where),
      arguments: toArguments(record, where),
      action: record.action ?? "",
      ...toEnding(record, where),
    });
  });
}

function toolOf(call: { tool: string }, where: string): string {
  if (typeof call.tool !== "string") throw new TypeError(`\`${where}.tool\` has to be a string`);
  return call.tool;
}

function toArguments(call: Call | CallRecord, where: string): pb.Call["arguments"] {
  if (call.argsDigest !== undefined) {
    return { case: "argsDigest", value: toDigest(call.argsDigest, `${where}.argsDigest`) };
  }
  const json = toJson(call.args, `${where}.args`);
  return json === undefined ? { case: undefined } : { case: "argsJson", value: json };
}

function toEnding(ending: Outcome | CallRecord, where: string) {
  return {
    status: ending.status === undefined ? pb.Status.UNSPECIFIED : numberOf(pb.Status, "status", ending.status),
    output: toOutput(ending, where),
    errorJson: toJson(ending.error, `${where}.error`) ?? new Uint8Array(),
    semanticJson: toJson(ending.private, `${where}.private`) ?? new Uint8Array(),
  };
}

function toOutput(ending: Outcome | CallRecord, where: string): pb.Outcome["output"] {
  if (ending.resultDigest !== undefined) {
    return { case: "resultDigest", value: toDigest(ending.resultDigest, `${where}.resultDigest`) };
  }
  const json = toJson(ending.result, `${where}.result`);
  return json === undefined ? { case: undefined } : { case: "resultJson", value: json };
}

/** Set but empty text is absent. */
function toJson(text: JsonText | undefined, where: string): Uint8Array | undefined {
  if (text === undefined || text.length === 0) return undefined;
  return jsonBytes(text, where);
}

function toDigest(digest: Uint8Array, where: string): Uint8Array {
  if (digest.length === DIGEST_BYTES) return digest;
  throw new InvalidFrameError("INVALID_FRAME", `\`${where}\` has ${digest.length} bytes, not ${DIGEST_BYTES}`);
}

function numberOf<Number extends number>(words: Record<string, string | Number>, what: string, name: string): Number {
  const number = Object.hasOwn(words, name) ? words[name] : undefined;
  if (typeof number === "number" && number !== 0) return number;
  const known = Object.entries(words).filter(([, value]) => typeof value === "number" && value !== 0);
  const names = known.map(([word]) => word).join(", ");
  throw new InvalidFrameError("INVALID_FRAME", `\`${name}\` is no ${what}: ${names}`);
}

/** Encode the frame that opens a run. */
export function encodeOpen(open: pb.RunOpen): Uint8Array {
  return toBinary(pb.GuardRequestSchema, create(pb.GuardRequestSchema, { frame: { case: "open", value: open } }));
}

/** Encode any other frame without its number, which a rebuilt run gives anew. `atMs` counts from the run's start. */
export function encodeFrame(frame: Frame, atMs: number): Uint8Array {
  return toBinary(pb.GuardRequestSchema, create(pb.GuardRequestSchema, { at: toDuration(atMs), frame }));
}

function toDuration(ms: number): Duration {
  const micros = Math.round(ms * 1000);
  const seconds = Math.trunc(micros / 1e6);
  return create(DurationSchema, { seconds: BigInt(seconds), nanos: (micros - seconds * 1e6) * 1000 });
}

/** Put a frame's number before it; fields may stand in any order. */
export function numberFrame(seq: number, frame: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(SEQ_FIELD, WireType.Varint).uint64(seq).raw(frame).finish();
}

/** Encode a message of many runs from the frames of each. */
export function encodeRuns(runs: readonly { runId: string; frames: readonly Uint8Array[] }[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const { runId, frames } of runs) {
    writer.tag(RUNS_FIELD, WireType.LengthDelimited).fork();
    writer.tag(RUN_ID_FIELD, WireType.LengthDelimited).string(runId);
    for (const frame of frames) writer.tag(FRAMES_FIELD, WireType.LengthDelimited).bytes(frame);
    writer.join();
  }
  return writer.finish();
}
