/** What a caller tells a run: frames are checked, numbered and kept, or decided here while the guard is away. */
import { create } from "@bufbuild/protobuf";

import { InvalidFrameError } from "../errors.js";
import * as pb from "../gen/loopguard/v1/guard_pb.js";
import type { Verdict } from "../model.js";
import type { Frame } from "../wire/frames.js";
import { type Entry, type Result, allowed } from "./entry.js";
import type { RunSession } from "./session.js";
import type { Waiter } from "./waiter.js";

/** The caller's side of a run. */
export class Submissions {
  readonly #session: RunSession;

  constructor(session: RunSession) {
    this.#session = session;
  }

  /** Take a frame for sending. Throws `InvalidFrameError` for one that is refused, or the error that ended the run. */
  submit(frame: Frame, waiter: Waiter<Result>): Entry {
    if (this.#session.error !== undefined) throw this.#session.error;
    const entry = this.#checked(frame, waiter);
    this.#put(entry);
    return entry;
  }

  #checked(frame: Frame, waiter: Waiter<Result>): Entry {
    if (frame.case === "calls") return this.#batch(frame.value, waiter);
    const entry = this.#entry(frame, waiter);
    this.#checkSize(entry);
    return frame.case === "outcome" ? this.#outcome(frame.value, entry) : entry;
  }

  #entry(frame: Frame, waiter?: Waiter<Result>): Entry {
    return { frame, data: this.#session.encode(frame), waiter, numberedBefore: 0 };
  }

  #put(entry: Entry): void {
    this.#session.buffer.put(entry, this.#session.phase === "open");
  }

  #batch(batch: pb.CallBatch, waiter: Waiter<Result>): Entry {
    const { journal, limits, opened } = this.#session;
    const { calls, numbered } = journal.number(batch.calls);
    checkCalls(calls);
    if (opened !== undefined && calls.length > limits.callsPerBatch) {
      const message = `${calls.length} calls in one batch; the server takes ${limits.callsPerBatch}`;
      throw new InvalidFrameError("TOO_MANY_CALLS", message);
    }
    const entry = this.#entry({ case: "calls", value: { ...batch, calls } }, waiter);
    this.#checkSize(entry);
    if (!batch.dryRun) entry.numberedBefore = journal.useNumbers(numbered);
    return entry;
  }

  /** An outcome of a call that the server knows nothing of goes as `history`. */
  #outcome(outcome: pb.Outcome, entry: Entry): Entry {
    const settled = this.#session.journal.settle(outcome);
    if (settled === undefined) return entry;
    const report = settled.call.callId;
    if (!settled.lost) return { ...entry, report };
    const history = create(pb.HistorySchema, { records: [settled.record()] });
    return { ...this.#entry({ case: "history", value: history }, entry.waiter), report };
  }

  #checkSize(entry: Entry): void {
    const { largestFrame, limits } = this.#session;
    if (entry.data.length > largestFrame) {
      const message = `a frame of ${entry.data.length} bytes; the server takes ${largestFrame}`;
      throw new InvalidFrameError("TOO_LARGE", message);
    }
    if (entry.frame.case !== "history") return;
    const records = entry.frame.value.records.length;
    if (records > limits.recordsPerHistory) {
      throw new InvalidFrameError("TOO_LARGE", `${records} records; the server takes ${limits.recordsPerHistory}`);
    }
  }

  /** Answer a frame here, because the guard is away; the frame is still sent, so that the guard learns of it. */
  decide(entry: Entry, block: boolean): Result {
    entry.waiter = undefined;
    const frame = entry.frame;
    if (entry.report !== undefined) return allowed(entry.report);
    if (frame.case === "outcome") return allowed(frame.value.callId);
    if (frame.case !== "calls") return undefined;
    const verdicts = frame.value.calls.map(({ callId }) => (block ? blocked(callId) : allowed(callId)));
    if (frame.value.dryRun) return verdicts;
    this.#session.decided += verdicts.length;
    this.#session.untold += verdicts.length;
    if (block) this.withdraw(entry);
    else this.#session.journal.ask(frame.value.calls, verdicts);
    return verdicts;
  }

  /** Make the guard see that the calls of a batch did not run; other frames stay what they are. */
  withdraw(entry: Entry): void {
    entry.waiter = undefined;
    if (entry.frame.case !== "calls" || entry.frame.value.dryRun) return;
    const { buffer, journal } = this.#session;
    const calls = entry.frame.value.calls;
    if ((buffer.seqOf(entry) ?? 0) >= buffer.nextSend) {
      const dry: Frame = { case: "calls", value: { ...entry.frame.value, dryRun: true } };
      buffer.replace(entry, dry, this.#session.encode(dry));
    } else {
      for (const { callId } of calls) {
        const cancelled = create(pb.OutcomeSchema, { callId, status: pb.Status.CANCELLED });
        this.#put(this.#entry({ case: "outcome", value: cancelled }));
      }
    }
    journal.block(calls);
  }
}

function blocked(callId: string): Verdict {
  return { ...allowed(callId), action: "BLOCK", note: "The loop guard can't be reached." };
}

/** Refuse what the guard would refuse, so that a mistake shows also while the guard is away. */
function checkCalls(calls: readonly pb.Call[]): void {
  if (calls.length === 0) throw new InvalidFrameError("INVALID_FRAME", "a batch without calls");
  const unnamed = calls.find((call) => call.tool.trim() === "");
  if (unnamed !== undefined) throw new InvalidFrameError("EMPTY_TOOL", `call \`${unnamed.callId}\` names no tool`);
  if (new Set(calls.map((call) => call.callId)).size < calls.length) {
    throw new InvalidFrameError("DUPLICATE_CALL", "one batch holds the same call id twice");
  }
}
