/** What a client remembers of a run's calls, so that a lost run can be told again as `history`. */
import { create } from "@bufbuild/protobuf";

import * as pb from "../gen/loopguard/v1/guard_pb.js";
import type { Verdict } from "../model.js";

/** How many calls may be open; the oldest one is forgotten first, as the server does. */
const OPEN_CALLS = 1024;

/** One call. */
export class JournalEntry {
  outcome: pb.Outcome | undefined;
  /** Whether it is still among the newest. */
  kept = false;

  constructor(
    readonly call: pb.Call,
    /** It was blocked. */
    public vetoed = false,
    /** The server knows nothing of it. */
    public lost = false,
  ) {}

  get bytes(): number {
    const outcome = this.outcome;
    const ending =
      outcome === undefined
        ? 0
        : (outcome.output.value?.length ?? 0) + outcome.errorJson.length + outcome.semanticJson.length;
    return (this.call.arguments.value?.length ?? 0) + ending;
  }

  /** The call as `history` tells it. */
  record(): pb.Record {
    const { tool, arguments: args, action } = this.call;
    const record = create(pb.RecordSchema, { tool, arguments: args, action });
    if (this.outcome === undefined) {
      record.status = this.vetoed ? pb.Status.LOOP_VETO : pb.Status.PENDING;
    } else {
      const { status, output, errorJson, semanticJson } = this.outcome;
      Object.assign(record, { status, output, errorJson, semanticJson });
    }
    return record;
  }
}

/** The newest calls of a run in the order in which they were asked, and those still open. */
export class Journal {
  #entries: JournalEntry[] = [];
  #bytes = 0;
  #open = new Map<string, JournalEntry>();
  #numbered = 0;

  constructor(
    private size: number,
    private readonly mostBytes: number,
  ) {}

  resize(size: number): void {
    this.size = size;
    this.#trim();
  }

  /** Give the calls without id the next `cN`; the numbers aren't used up yet. */
  number(calls: readonly pb.Call[]): { calls: pb.Call[]; numbered: number } {
    const taken = new Set(calls.map((call) => call.callId));
    let count = this.#numbered;
    const numbered = calls.map((call) => {
      if (call.callId !== "") return call;
      do count++;
      while (taken.has(`c${count}`));
      return { ...call, callId: `c${count}` };
    });
    return { calls: numbered, numbered: count };
  }

  /** Use up the numbers that `number` gave; return how far they went before, for `unnumber`. */
  useNumbers(numbered: number): number {
    const before = this.#numbered;
    this.#numbered = numbered;
    return before;
  }

  /** Give the numbers of a refused batch back, if no later batch has taken any. */
  unnumber(before: number, calls: readonly pb.Call[]): void {
    if (calls.some((call) => call.callId === `c${this.#numbered}`)) this.#numbered = before;
  }

  /** Note a batch with what was said of it. */
  ask(calls: readonly pb.Call[], verdicts: readonly Verdict[]): void {
    const trigger = calls.find((_, index) => isBlocked(verdicts[index]));
    for (const call of calls) {
      const entry = new JournalEntry(call, trigger !== undefined);
      if (trigger === undefined || isSame(call, trigger)) this.#append(entry);
      this.#await(entry);
    }
  }

  /** Note a batch that was blocked without the guard, which therefore must not hear of it unless it runs. */
  block(calls: readonly pb.Call[]): void {
    for (const call of calls) this.#await(new JournalEntry(call, true, true));
  }

  /** Note how a call ended and return it; `undefined` if no such call is open. */
  settle(outcome: pb.Outcome): JournalEntry | undefined {
    const callId = outcome.callId || this.#oldestAdmitted();
    const open = this.#open.get(callId);
    if (open === undefined) return undefined;
    this.#open.delete(callId);
    // A call that was blocked and ran in spite of it is a call of its own.
    const entry = open.vetoed ? new JournalEntry(open.call, false, open.lost) : open;
    const before = entry.bytes;
    entry.outcome = outcome;
    if (entry.kept) {
      this.#bytes += entry.bytes - before;
      this.#trim();
    } else {
      this.#append(entry);
    }
    return entry;
  }

  /** Note that the server knows nothing of all this, and return what it has to be told. */
  lose(): pb.Record[] {
    for (const entry of this.#open.values()) entry.lost = true;
    return this.#entries.filter((entry) => entry.outcome !== undefined || entry.vetoed).map((entry) => entry.record());
  }

  #oldestAdmitted(): string {
    for (const [callId, entry] of this.#open) if (!entry.vetoed) return callId;
    return "";
  }

  #await(entry: JournalEntry): void {
    this.#open.delete(entry.call.callId);
    this.#open.set(entry.call.callId, entry);
    if (this.#open.size <= OPEN_CALLS) return;
    for (const oldest of this.#open.keys()) {
      this.#open.delete(oldest);
      return;
    }
  }

  #append(entry: JournalEntry): void {
    entry.kept = true;
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
    this.#trim();
  }

  #trim(): void {
    while (this.#entries.length > this.size || this.#bytes > this.mostBytes) {
      const oldest = this.#entries.shift();
      if (oldest === undefined) return;
      oldest.kept = false;
      this.#bytes -= oldest.bytes;
    }
  }
}

function isBlocked(verdict: Verdict | undefined): boolean {
  return (
    verdict !== undefined && (verdict.action === "BLOCK" || verdict.action === "ABORT") && verdict.blockedBy === ""
  );
}

function isSame(one: pb.Call, other: pb.Call): boolean {
  const [left, right] = [one.arguments, other.arguments];
  if (one.tool !== other.tool || left.case !== right.case) return false;
  return Buffer.compare(left.value ?? new Uint8Array(), right.value ?? new Uint8Array()) === 0;
}
