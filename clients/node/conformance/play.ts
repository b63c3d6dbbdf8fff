/** Plays detection vectors on a server and compares the answers. */
import { isDeepStrictEqual } from "node:util";

import { type GuardClient, type GuardRun, InvalidConfigError, InvalidFrameError, type Verdict } from "../src/index.js";
import type { Act, Detection } from "./detection.js";
import type { Frame } from "./frame.js";

type Fields = Record<string, unknown>;

/** Play one vector; return what differs. */
export async function play(vector: Detection, client: GuardClient): Promise<string[]> {
  const runs = new Map<string, GuardRun>();
  try {
    const refused = await openRun(vector, vector.runId, runs, client);
    if (refused !== undefined) return refused === vector.expectError ? [] : [`the run is refused for \`${refused}\``];
    if (vector.expectError !== undefined)
      return [`expected \`${vector.expectError}\` to be refused; the run was opened`];
    const problems: string[] = [];
    for (const [index, step] of vector.steps.entries()) {
      if (!runs.has(step.runId)) await openRun(vector, step.runId, runs, client);
      const run = runs.get(step.runId);
      if (run === undefined) throw new Error(`run \`${step.runId}\` is refused`);
      for (const [repetition, act] of step.acts.entries()) {
        const got = await answerTo(run, act);
        const expected = step.expected[repetition];
        if (expected !== null && !matches(expected, got)) {
          const where = `step ${index}${step.acts.length > 1 ? `, repetition ${repetition}` : ""}`;
          problems.push(`${where}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`);
        }
      }
    }
    return problems;
  } finally {
    for (const run of runs.values()) await run.close();
  }
}

/** Open a run of the vector; returns the key for which it is refused. */
async function openRun(
  vector: Detection,
  runId: string,
  runs: Map<string, GuardRun>,
  client: GuardClient,
): Promise<string | undefined> {
  try {
    runs.set(runId, await client.openRun(runId, vector.options));
    return undefined;
  } catch (error) {
    if (error instanceof InvalidConfigError) return error.key;
    throw error;
  }
}

async function answerTo(run: GuardRun, act: Act): Promise<Fields | Fields[]> {
  const got = await answer(run, act.frame);
  if (act.outcome === undefined || !Array.isArray(got)) return got;
  const admitted = got.filter((verdict) => verdict["action"] === "ALLOW" || verdict["action"] === "WARN");
  const { callId = "" } = act.outcome;
  for (const verdict of callId === "" ? admitted : admitted.slice(0, 1)) {
    await run.report({ ...act.outcome, callId: callId === "" ? (verdict["callId"] as string) : callId });
  }
  return got;
}

async function answer(run: GuardRun, frame: Frame): Promise<Fields | Fields[]> {
  try {
    const told = await tell(run, frame);
    if (told === undefined) return [];
    return Array.isArray(told) ? told.map(fieldsOf) : fieldsOf(told);
  } catch (error) {
    if (error instanceof InvalidFrameError) return { error: { reason: error.reason } };
    throw error;
  }
}

async function tell(run: GuardRun, frame: Frame): Promise<Verdict[] | Verdict | undefined> {
  switch (frame.kind) {
    case "calls":
      return run.judge(frame.calls);
    case "check":
      return run.check(frame.calls);
    case "outcome":
      return run.report(frame.outcome);
    case "history":
      await run.record(frame.records);
      return undefined;
    default:
      await run[frame.kind]();
      return undefined;
  }
}

/** A verdict as a trace writes it: without what is empty. */
function fieldsOf(verdict: Verdict): Fields {
  const { finding, ...rest } = verdict;
  const fields = withoutEmpty({ ...rest });
  if (finding !== undefined) {
    const { argsDigest, outcomeDigest, ...more } = finding;
    const digests = { argsDigest: hex(argsDigest), outcomeDigest: hex(outcomeDigest) };
    fields["finding"] = withoutEmpty({ ...more, ...digests });
  }
  return fields;
}

function withoutEmpty(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== "" && !(Array.isArray(value) && value.length === 0)),
  );
}

function hex(digest: Uint8Array): string {
  return Buffer.from(digest).toString("hex");
}

/** Tell whether an answer has all that is expected of it; null under a name says that the name is absent. */
function matches(expected: unknown, got: Fields | Fields[]): boolean {
  if (Array.isArray(expected)) {
    if (!Array.isArray(got) || got.length !== expected.length) return false;
    return expected.every((wanted, index) => wanted === null || matches(wanted, got[index] ?? {}));
  }
  const one = Array.isArray(got) ? got[0] : got;
  if (Array.isArray(got) && got.length !== 1) return false;
  return Object.entries(expected as Fields).every(([key, wanted]) => memberMatches(key, wanted, one?.[key]));
}

function memberMatches(key: string, wanted: unknown, value: unknown): boolean {
  if (wanted === null) return value === undefined;
  if (key === "action" && Array.isArray(wanted)) return wanted.includes(value);
  if (key === "flags")
    return isDeepStrictEqual([...(wanted as string[])].sort(), [...((value ?? []) as string[])].sort());
  if (typeof wanted === "object" && !Array.isArray(wanted)) {
    return typeof value === "object" && matches(wanted, value as Fields);
  }
  return isDeepStrictEqual(wanted, value);
}
