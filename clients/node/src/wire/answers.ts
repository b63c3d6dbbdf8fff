/** Translates the guard's answers. */
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";

import type { Refusal } from "../errors.js";
import { BadRequestSchema, ErrorInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "../gen/google/rpc/status_pb.js";
import * as pb from "../gen/loopguard/v1/guard_pb.js";
import { type JsonFlag, Flag } from "../json/flags.js";
import type { Logger } from "../options.js";
import type { Action, Finding, Level, Limits, Mode, Opened, Scope, Verdict } from "../model.js";
import { fromConfig } from "./config.js";

/** The domain of every `google.rpc.ErrorInfo` of the guard. */
const ERROR_DOMAIN = "loopguard";

export type EndReason = "SUPERSEDED" | "WRONG_NODE" | "PROTOCOL" | "EVICTED";

/** What the server says in answer to a frame, or by itself. */
export type Body =
  | { kind: "opened"; opened: Opened }
  | { kind: "verdicts"; verdicts: Verdict[] }
  | { kind: "verdict"; verdict: Verdict }
  | { kind: "ack" }
  | { kind: "error"; refusal: Refusal }
  | { kind: "needResend"; fromSeq: number }
  | { kind: "runEnded"; reason: EndReason | undefined; endpoint: string; refusal: Refusal }
  | { kind: "goAway" }
  /** What a newer server says. */
  | { kind: "unknown" };

export interface Answer {
  seq: number;
  durableSeq: number;
  body: Body;
}

/** Decode one answer. Throws for bytes that are none. */
export function decodeAnswer(data: Uint8Array, logger: Logger): Answer {
  return fromAnswer(fromBinary(pb.GuardResponseSchema, data), logger);
}

/** Decode a message of many runs. Throws for bytes that are none. */
export function decodeAnswers(
  data: Uint8Array,
  logger: Logger,
): { runs: { runId: string; answers: Answer[] }[]; goAway: boolean } {
  const message = fromBinary(pb.GuardManyResponseSchema, data);
  const runs = message.runs.map(({ runId, answers }) => ({
    runId,
    answers: answers.map((answer) => fromAnswer(answer, logger)),
  }));
  return { runs, goAway: message.goAway !== undefined };
}

function fromAnswer(message: pb.GuardResponse, logger: Logger): Answer {
  return { seq: Number(message.seq), durableSeq: Number(message.durableSeq), body: fromBody(message.answer, logger) };
}

function fromBody(answer: pb.GuardResponse["answer"], logger: Logger): Body {
  switch (answer.case) {
    case "opened":
      return { kind: "opened", opened: fromOpened(answer.value) };
    case "verdicts":
      return { kind: "verdicts", verdicts: answer.value.verdicts.map((verdict) => fromVerdict(verdict, logger)) };
    case "verdict":
      return { kind: "verdict", verdict: fromVerdict(answer.value, logger) };
    case "ack":
      return { kind: "ack" };
    case "error":
      return { kind: "error", refusal: fromStatus(answer.value.status) };
    case "needResend":
      return { kind: "needResend", fromSeq: Number(answer.value.fromSeq) };
    case "runEnded": {
      const { reason, endpoint, status } = answer.value;
      return {
        kind: "runEnded",
        reason: wordOf(pb.RunEndReason, reason) as EndReason | undefined,
        endpoint,
        refusal: fromStatus(status),
      };
    }
    case "goAway":
      return { kind: "goAway" };
    default:
      return { kind: "unknown" };
  }
}

/** The word for a number; `undefined` for none and for one that this version doesn't know. */
function wordOf(words: Readonly<Partial<Record<number, string>>>, number: number): string | undefined {
  return number === 0 ? undefined : words[number];
}

function fromVerdict(message: pb.Verdict, logger: Logger): Verdict {
  let action = wordOf(pb.Action, message.action) as Action | undefined;
  if (action === undefined) {
    logger.warn(`unknown action ${message.action} in a verdict of the guard: taken as ALLOW`);
    action = "ALLOW";
  }
  const verdict: Verdict = {
    callId: message.callId,
    action,
    note: message.note,
    blockedBy: message.blockedBy,
    flags: message.flags.flatMap((flag) => fromFlag(flag)),
  };
  if (message.finding !== undefined) verdict.finding = fromFinding(message.finding);
  const scope = wordOf(pb.Scope, message.scope) as Scope | undefined;
  if (scope !== undefined) verdict.scope = scope;
  return verdict;
}

function fromFlag(number: pb.JsonFlag): JsonFlag[] {
  const flag = wordOf(pb.JsonFlag, number);
  return flag !== undefined && flag in Flag ? [flag as JsonFlag] : [];
}

function fromFinding(message: pb.Finding): Finding {
  const level = wordOf(pb.Level, message.level)?.toLowerCase() ?? "warning";
  const { $typeName, $unknown, ...rest } = message;
  return { ...rest, level: level as Level };
}

function fromOpened(message: pb.Opened): Opened {
  return {
    runId: message.runId,
    epoch: message.epoch,
    lastSeq: message.lastSeq,
    config: message.config === undefined ? {} : fromConfig(message.config),
    profile: message.profile,
    mode: (wordOf(pb.Mode, message.mode) as Mode | undefined) ?? "ENFORCE",
    limits: fromLimits(message.limits),
    digestScheme: message.digestScheme,
    serverVersion: message.serverVersion,
    rebuilt: message.rebuilt,
  };
}

/** 0 where the server doesn't say. */
function fromLimits(limits: pb.Limits | undefined): Limits {
  return {
    messageBytes: Number(limits?.messageBytes ?? 0),
    frameBytes: Number(limits?.frameBytes ?? 0),
    callsPerBatch: limits?.callsPerBatch ?? 0,
    inFlight: limits?.inFlight ?? 0,
    historySize: limits?.historySize ?? 0,
    framesPerMessage: limits?.framesPerMessage ?? 0,
    recordsPerHistory: limits?.recordsPerHistory ?? 0,
  };
}

function fromStatus(status: Status | undefined): Refusal {
  const refusal: Refusal = { code: status?.code ?? 0, reason: "", message: status?.message ?? "", key: "" };
  for (const detail of status?.details ?? []) {
    const info = anyUnpack(detail, ErrorInfoSchema);
    if (info?.domain === ERROR_DOMAIN) refusal.reason = info.reason;
    const request = anyUnpack(detail, BadRequestSchema);
    refusal.key = request?.fieldViolations[0]?.field ?? refusal.key;
  }
  return refusal;
}

/** Decode the trailer that says why a stream has ended; `undefined` for bytes that are no status. */
export function decodeStatus(data: Uint8Array): Refusal | undefined {
  try {
    return fromStatus(fromBinary(StatusSchema, data));
  } catch {
    return undefined;
  }
}
