/** Runs files of vectors, whatever their kinds. */
import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";

import { GuardClient } from "../src/index.js";
import { runCanon } from "./canon.js";
import { readDetection } from "./detection.js";
import { play } from "./play.js";
import { BadVector, type Outcome, Place, members, parse } from "./vector.js";
import { runWire } from "./wire.js";

/** A server that answers later than this is not there. */
const DEADLINE_MS = 10_000;

export interface Tally {
  passed: number;
  failed: number;
  leftOut: number;
}

/** Run files and print what differs, and the tally. Throws `BadVector` for what can't be run. */
export async function runFiles(
  paths: readonly string[],
  address: string | undefined,
  print: (line: string) => void,
): Promise<Tally> {
  if (paths.length === 0) throw new BadVector("no vector files are named");
  const tally: Tally = { passed: 0, failed: 0, leftOut: 0 };
  const client = new Lazy(() => connect(address));
  try {
    for (const path of paths) {
      let cases = 0;
      for await (const outcome of runFile(path, client)) {
        cases++;
        count(outcome, tally, print);
      }
      if (cases === 0) throw new BadVector(`${path}: no cases`);
    }
  } finally {
    await client.value?.close();
  }
  if (tally.leftOut > 0) print(`${tally.leftOut} left out (they need masks, or a server of their own)`);
  print(`${tally.passed} passed, ${tally.failed} failed`);
  return tally;
}

function count({ name, problems }: Outcome, tally: Tally, print: (line: string) => void): void {
  if (problems === "left out") {
    tally.leftOut++;
    return;
  }
  if (problems.length === 0) tally.passed++;
  else tally.failed++;
  for (const problem of problems) print(`FAIL ${name}: ${problem}`);
}

/** Something that is made when it is first needed. */
class Lazy<T> {
  value: T | undefined;

  constructor(private readonly make: () => Promise<T>) {}

  async get(): Promise<T> {
    return (this.value ??= await this.make());
  }
}

async function connect(address: string | undefined): Promise<GuardClient> {
  if (!address) throw new BadVector("detection vectors are played on a server: set LOOPGUARD_ADDRESS");
  const client = new GuardClient(address, { deadlineMs: DEADLINE_MS, onUnavailable: "block" });
  await using run = await client.openRun("conformance");
  if (run.opened !== undefined) return client;
  await client.close();
  throw new BadVector(`no service answers at ${address}`);
}

async function* runFile(path: string, client: Lazy<GuardClient>): AsyncGenerator<Outcome> {
  const data = await readFile(path);
  if (!isUtf8(data)) throw new BadVector(`${path}: not UTF-8`);
  const lines = data
    .toString()
    .replace(/^\ufeff/, "")
    .split("\n");
  for (const [index, line] of lines.entries()) {
    const text = line.trim();
    if (text !== "") yield await runCase(text, new Place(path, index + 1), client);
  }
}

/** Run one case, whose kind is told by its members. */
async function runCase(text: string, place: Place, client: Lazy<GuardClient>): Promise<Outcome> {
  parse(text, "a vector", place);
  const fields = members(text, "a vector", undefined, place);
  if (fields.has("input")) return runCanon(text, place);
  if (fields.has("bytes")) return runWire(text, place);
  if (!fields.has("steps")) {
    throw place.refuse("a case of no known kind: it has neither `steps` nor `input` nor `bytes`");
  }
  const vector = readDetection(text, place);
  if (!vector.streams) return { name: vector.name, problems: "left out" };
  const guard = await client.get();
  try {
    return { name: vector.name, problems: await play(vector, guard) };
  } catch (error) {
    return { name: vector.name, problems: [String(error)] };
  }
}
