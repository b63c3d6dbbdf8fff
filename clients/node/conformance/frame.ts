/** Reads the frames of detection vectors, which are those of a trace. */
import type { Call, CallRecord, Outcome, Status } from "../src/index.js";
import { type Place, items, members, textOf } from "./vector.js";

export type Frame =
  | { kind: "calls" | "check"; calls: Call[] }
  | { kind: "outcome"; outcome: Outcome }
  | { kind: "history"; records: CallRecord[] }
  | { kind: "userMessage" | "compactionRetry" | "close" };

const KINDS = ["calls", "check", "outcome", "history", "userMessage", "compactionRetry", "close"];
const CALL_KEYS = ["callId", "tool", "args", "argsDigest", "action"];
const ENDING_KEYS = ["status", "result", "resultDigest", "error", "private"];
const OUTCOME_KEYS = ["callId", ...ENDING_KEYS];
const RECORD_KEYS = [...CALL_KEYS.slice(1), ...ENDING_KEYS];

/** Read one frame from its members, which hold nothing else but the time. */
export function readFrame(fields: ReadonlyMap<string, string>, place: Place): Frame {
  // The client stamps the time of every frame itself.
  const [found, ...more] = [...fields].filter(([key]) => key !== "at");
  if (found === undefined || more.length > 0) throw place.refuse(`a frame has exactly one of ${KINDS.join(", ")}`);
  const [kind, text] = found;
  switch (kind) {
    case "calls":
    case "check":
      return { kind, calls: items(text, `\`${kind}\``, place).map((call) => readCall(call, place)) };
    case "outcome":
      return { kind, outcome: readOutcome(text, place) };
    case "history":
      return { kind, records: items(text, "`history`", place).map((record) => readRecord(record, place)) };
    case "userMessage":
    case "compactionRetry":
    case "close":
      members(text, `\`${kind}\``, [], place);
      return { kind };
    default:
      throw place.refuse(`unknown frame \`${kind}\``);
  }
}

/** Read how a call ended. */
export function readOutcome(text: string, place: Place): Outcome {
  const fields = members(text, "an outcome", OUTCOME_KEYS, place);
  return { callId: textOf(fields, "callId", place), ...ending(fields, place) };
}

function readCall(text: string, place: Place): Call {
  const fields = members(text, "a call", CALL_KEYS, place);
  return { callId: textOf(fields, "callId", place), ...asked(fields, place) };
}

/** Read a call that already happened. */
export function readRecord(text: string, place: Place): CallRecord {
  const fields = members(text, "a record", RECORD_KEYS, place);
  return { ...asked(fields, place), ...ending(fields, place) };
}

function asked(fields: ReadonlyMap<string, string>, place: Place): Omit<Call, "callId"> {
  return {
    tool: textOf(fields, "tool", place, true),
    args: fields.get("args"),
    argsDigest: digest(fields, "argsDigest", place),
    action: textOf(fields, "action", place),
  };
}

function ending(fields: ReadonlyMap<string, string>, place: Place): Omit<Outcome, "callId"> {
  const status = textOf(fields, "status", place);
  return {
    status: status === "" ? undefined : (status as Status),
    result: fields.get("result"),
    resultDigest: digest(fields, "resultDigest", place),
    error: fields.get("error"),
    private: fields.get("private"),
  };
}

function digest(fields: ReadonlyMap<string, string>, key: string, place: Place): Uint8Array | undefined {
  if (!fields.has(key)) return undefined;
  const text = textOf(fields, key, place);
  if (!/^[0-9a-f]{32}$/i.test(text)) throw place.refuse(`\`${key}\` must be 32 hex digits`);
  return Buffer.from(text, "hex");
}
