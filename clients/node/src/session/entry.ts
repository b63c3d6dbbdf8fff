/** A frame that waits to be sent, or is kept for resending. */
import type { LoopguardError } from "../errors.js";
import type { Opened, Verdict } from "../model.js";
import type { Frame } from "../wire/frames.js";
import type { Waiter } from "./waiter.js";

/** What a caller gets for a frame, or why not; `undefined` for a frame that carries no question. */
export type Result = Verdict[] | Verdict | LoopguardError | undefined;

export type OpenResult = Opened | LoopguardError | undefined;

export interface Entry {
  frame: Frame;
  /** The frame's encoding without its number. */
  data: Uint8Array;
  /** `undefined`: nobody waits for the answer. */
  waiter: Waiter<Result> | undefined;
  /** The id of a call whose outcome this is, also where it is sent as `history`. */
  report?: string;
  /** How far the numbers of calls went before this batch. */
  numberedBefore: number;
}

/** Give whoever waits what came of it; an outcome that was sent as `history` is answered like any other. */
export function resolve(entry: Entry, result: Result): void {
  const waiter = entry.waiter;
  entry.waiter = undefined;
  waiter?.settle(result === undefined && entry.report !== undefined ? allowed(entry.report) : result);
}

/** The verdict that has nothing to say. */
export function allowed(callId: string): Verdict {
  return { callId, action: "ALLOW", note: "", blockedBy: "", flags: [] };
}
