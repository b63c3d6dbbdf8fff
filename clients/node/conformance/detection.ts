/** Detection vectors: reads one with all its sugar spelled out, as frames and what is expected of their answers. */
import { randomBytes } from "node:crypto";

import type { LoopDetectionConfig, Mode, Outcome, RunOptions } from "../src/index.js";
import { checkExpected } from "./expected.js";
import { type Frame, readFrame, readOutcome, readRecord } from "./frame.js";
import { type Place, items, members, parse, textOf } from "./vector.js";

/** A frame; with `outcome`, calls and for each one that is not blocked its outcome. */
export interface Act {
  frame: Frame;
  outcome?: Outcome;
}

export interface Step {
  runId: string;
  acts: Act[];
  /** One for each act; null is not asserted. */
  expected: unknown[];
}

export interface Detection {
  name: string;
  runId: string;
  options: RunOptions;
  /** The key that the refusal of the run has to name. */
  expectError: string | undefined;
  steps: Step[];
  /** Whether any server can play it: it needs no configuration file and compares no digests of records. */
  streams: boolean;
}

const KEYS = ["name", "rule", "runId", "configFile", "expectError", "steps", "expect"];
const OPEN_KEYS = ["agentId", "parentRunId", "config", "mode", "profile", "digestScheme"];

/** A counter is `$i`, or `$0Ni` with N digits; `"$#N"`, not as a key, is a number; `$hex16` is a fresh id. */
const SUGAR = /(?<!\\)"\$#(?<number>\d+)"(?!\s*:)|\$hex16|\$(?:0(?<digits>\d))?i/g;

/** Read one vector. Throws `BadVector` for anything that is not known. */
export function readDetection(text: string, place: Place): Detection {
  const fields = members(text, "a vector", [...KEYS, ...OPEN_KEYS], place);
  const name = textOf(fields, "name", place, true);
  const steps = items(fields.get("steps") ?? "", "`steps`", place);
  const expected = parse(fields.get("expect") ?? "null", "`expect`", place);
  if (!Array.isArray(expected) || expected.length !== steps.length) {
    throw place.refuse(`\`expect\` must be an array with one entry for each of ${steps.length} steps`);
  }
  const expectError = refusedKey(fields, place);
  if ((steps.length === 0) !== (expectError !== undefined)) {
    throw place.refuse("a vector has either steps, or `expectError`");
  }
  const runId = fields.has("runId") ? textOf(fields, "runId", place) : name;
  const read = steps.map((step, index) => readStep(step, expected[index], runId, place));
  return {
    name,
    runId,
    options: readOptions(fields, place),
    expectError,
    steps: read.filter((step) => step !== undefined),
    streams: !fields.has("configFile") && !read.includes(undefined),
  };
}

function refusedKey(fields: ReadonlyMap<string, string>, place: Place): string | undefined {
  const text = fields.get("expectError");
  return text === undefined ? undefined : textOf(members(text, "`expectError`", ["key"], place), "key", place, true);
}

function readOptions(fields: ReadonlyMap<string, string>, place: Place): RunOptions {
  const options: RunOptions = {
    agentId: textOf(fields, "agentId", place),
    parentRunId: textOf(fields, "parentRunId", place),
    profile: textOf(fields, "profile", place),
    digestScheme: Number(fields.get("digestScheme") ?? 0),
  };
  const config = fields.get("config");
  if (config !== undefined) options.config = parse(config, "`config`", place) as LoopDetectionConfig;
  if (fields.has("mode")) options.mode = textOf(fields, "mode", place) as Mode;
  return options;
}

/** Read a step; `undefined` for one that asks which records are equal, which no stream can answer. */
function readStep(text: string, entry: unknown, vectorRunId: string, place: Place): Step | undefined {
  const fields = members(text, "a step", undefined, place);
  const runId = fields.has("runId") ? textOf(fields, "runId", place) : vectorRunId;
  const repeat = fields.get("repeat");
  fields.delete("runId");
  fields.delete("repeat");
  const records = fields.get("fingerprint");
  if (records !== undefined) {
    for (const record of items(records, "`fingerprint`", place)) readRecord(record, place);
    return undefined;
  }
  if (repeat === undefined) {
    checkExpected(entry, place);
    return { runId, acts: [readAct(fields, place)], expected: [entry] };
  }
  if (!/^[1-9]\d{0,5}$/.test(repeat)) throw place.refuse("`repeat` must be a whole number of at least 1");
  const acts = Array.from({ length: Number(repeat) }, (_, index) => readAct(spellOut(fields, index), place));
  const expected = runLengths(entry, acts.length, place);
  for (const one of expected) checkExpected(one, place);
  return { runId, acts, expected };
}

function readAct(fields: ReadonlyMap<string, string>, place: Place): Act {
  const run = fields.get("run");
  if (run === undefined) return { frame: readFrame(fields, place) };
  const outcome = fields.get("outcome");
  if (outcome === undefined || fields.size !== 2) throw place.refuse("a step with `run` has `run` and `outcome`");
  const frame = readFrame(members(run, "`run`", undefined, place), place);
  if (frame.kind !== "calls") throw place.refuse("`run` must be a frame with `calls`");
  return { frame, outcome: readOutcome(outcome, place) };
}

function spellOut(fields: ReadonlyMap<string, string>, index: number): Map<string, string> {
  // A fresh id has to be fresh in each repetition, and the same within one.
  const fresh = randomBytes(8).toString("hex");
  return new Map([...fields].map(([key, text]) => [key, text.replace(SUGAR, sugar)]));

  function sugar(found: string, number: string | undefined, digits: string | undefined): string {
    if (number !== undefined) return String(BigInt(number) + BigInt(index));
    return found === "$hex16" ? fresh : String(index).padStart(Number(digits ?? 1), "0");
  }
}

function runLengths(entry: unknown, times: number, place: Place): unknown[] {
  if (entry === null) return Array.from({ length: times }, () => null);
  const expected = (Array.isArray(entry) ? (entry as unknown[]) : [entry]).flatMap((run) => {
    if (!Array.isArray(run) || run.length !== 2 || !Number.isInteger(run[1]) || (run[1] as number) < 1) {
      throw place.refuse("what is expected of a repeated step must be a list of [verdict, n]");
    }
    return Array.from({ length: run[1] as number }, () => run[0] as unknown);
  });
  if (expected.length === times) return expected;
  throw place.refuse(`\`expect\` is for ${expected.length} repetitions of a step that is repeated ${times} times`);
}
