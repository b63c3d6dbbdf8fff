/** One run as its client sees it: what comes of the guard's answers, resume and rebuild. No I/O in here. */
import { create } from "@bufbuild/protobuf";

import {
  GuardUnavailableError,
  InvalidFrameError,
  type LoopguardError,
  type Refusal,
  RunRefusedError,
  errorOf,
} from "../errors.js";
import * as pb from "../gen/loopguard/v1/guard_pb.js";
import type { Limits, Opened } from "../model.js";
import type { Settings } from "../options.js";
import type { Answer, Body } from "../wire/answers.js";
import { type Frame, encodeFrame, encodeOpen, numberFrame } from "../wire/frames.js";
import { type Entry, type OpenResult, type Result, allowed, resolve } from "./entry.js";
import { FrameBuffer, type Numbers } from "./frame-buffer.js";
import { Journal } from "./journal.js";
import { ASSUMED_LIMITS, NUMBER_BYTES, largestFrame, limitsOf, wrappingBytes } from "./limits.js";
import type { Waiter } from "./waiter.js";

const HISTORY_SIZE = 30;
/** Nodes that send a run to each other would do so for ever. */
const MOST_REDIRECTS = 5;

/**
 * Where a run stands: no stream or none that has answered; `open` is to be sent or was sent; open; closed or refused for
 * good.
 */
export type Phase = "away" | "opening" | "open" | "over";

/** The protocol of one run, the stream's side; the caller's is `Submissions`. */
export class RunSession {
  phase: Phase = "away";
  /** The newest `Opened`. */
  opened: Opened | undefined;
  /** Why the run is over. */
  error: LoopguardError | undefined;
  /** Calls decided here because the guard was away, and how many of them it has not been told of. */
  decided = 0;
  untold = 0;
  /** The stream can't go on with this run; a new one has to be opened. */
  wantsStream = false;
  /** Where the run belongs, as another node has said. */
  endpoint: string | undefined;
  /** How often that was said since the run was opened last. */
  #redirects = 0;
  /** The answer to a frame is overdue. */
  late = false;
  openWaiter: Waiter<OpenResult> | undefined;
  limits: Limits = ASSUMED_LIMITS;
  abortStands = false;
  readonly buffer: FrameBuffer;
  readonly journal: Journal;
  readonly runId: string;
  #openedAt: number;
  #told = 0;
  #rebuilding = false;
  #toSend: Uint8Array[] = [];
  #opensAhead = 0;
  #openingSent = false;
  #mayReopen = false;

  constructor(
    readonly request: pb.RunOpen,
    readonly settings: Settings,
  ) {
    this.runId = request.runId.trim();
    this.buffer = new FrameBuffer(settings.bufferFrames, settings.bufferBytes);
    this.journal = new Journal(HISTORY_SIZE, settings.bufferBytes);
    this.#openedAt = settings.now();
  }

  /** Milliseconds since the run's start. */
  get atMs(): number {
    return this.settings.now() - this.#openedAt;
  }

  encode(frame: Frame): Uint8Array {
    return encodeFrame(frame, this.atMs);
  }

  get wrappingBytes(): number {
    return wrappingBytes(this.request.runId);
  }

  get largestFrame(): number {
    return largestFrame(this.limits, this.request.runId, this.settings.many);
  }

  // The stream

  /** Begin on a stream, on which so many `open`s of the same run by others are still to be answered. */
  connected(opensAhead = 0): void {
    if (this.phase === "over") return;
    this.wantsStream = false;
    this.phase = "opening";
    this.#opensAhead = opensAhead;
    this.#openingSent = false;
    this.#mayReopen = this.settings.many;
    this.#toSend = [this.#openFrame()];
  }

  /** How many `open`s of this run were sent on this stream and have no answer yet. */
  get opensAwaited(): number {
    return this.#opensAhead + (this.#openingSent ? 1 : 0);
  }

  #openFrame(): Uint8Array {
    this.#told = this.untold;
    const resume = this.opened === undefined ? this.request.resume : !this.#rebuilding;
    return encodeOpen({
      ...this.request,
      resume,
      rebuild: this.#rebuilding,
      decidedUnavailable: BigInt(this.#told),
    });
  }

  /** Note that the stream is gone; the run waits for another one. */
  lost(): void {
    if (this.phase === "over") return;
    this.phase = "away";
    this.#toSend = [];
  }

  /** Let those who wait decide for themselves: the guard can't be reached. */
  giveUpWaiting(): void {
    this.#resolveOpen(undefined);
    for (const [, entry] of this.buffer.entries()) {
      resolve(entry, new GuardUnavailableError("the guard can't be reached"));
    }
  }

  /** Give the run up; everybody who waits or comes later gets `error`. */
  end(error: LoopguardError): void {
    if (this.phase === "over") return;
    this.phase = "over";
    this.error = error;
    this.#toSend = [];
    this.#resolveOpen(error);
    for (const [, entry] of this.buffer.entries()) resolve(entry, error);
    this.buffer.clear();
  }

  /** How large the next frame that may be sent now is at most, 0 if there is none. */
  get nextBytes(): number {
    const opening = this.#toSend[0];
    if (opening !== undefined) return opening.length;
    const { nextSend, last, confirmed } = this.buffer;
    if (this.phase !== "open" || nextSend > last || nextSend - confirmed > this.limits.inFlight) return 0;
    return (this.buffer.get(nextSend)?.data.length ?? 0) + NUMBER_BYTES;
  }

  /** Take the next frame, which `nextBytes` has told of; it counts as sent. */
  takeFrame(): Uint8Array {
    const opening = this.#toSend.shift();
    if (opening !== undefined) {
      this.#openingSent = this.#toSend.length === 0;
      return opening;
    }
    const seq = this.buffer.nextSend++;
    return numberFrame(seq, this.buffer.get(seq)?.data ?? new Uint8Array());
  }

  /** Whether an answer is outstanding on this stream. */
  get inFlight(): boolean {
    return this.phase === "opening" || this.buffer.nextSend - 1 > this.buffer.confirmed;
  }

  /** Give frames up that no server takes; something without effect is sent under their numbers. */
  refuse(numbers: Numbers, error: LoopguardError): void {
    for (let seq = numbers.first; seq < numbers.stop; seq++) {
      const entry = this.buffer.get(seq);
      if (entry === undefined || entry.frame.case === "close") continue;
      resolve(entry, error);
      const nothing: Frame = { case: "history", value: create(pb.HistorySchema) };
      this.buffer.replace(entry, nothing, this.encode(nothing));
    }
  }

  // Answers

  /** Take an answer of the server. */
  receive(answer: Answer): void {
    if (this.phase === "over" || this.#isOfOlder(answer)) return;
    const { seq, body } = answer;
    if (body.kind === "opened") this.#takeOpened(body.opened);
    else if (body.kind === "runEnded") this.#takeEnd(body);
    else if (this.phase === "opening") {
      if (body.kind === "error" && seq === 0) this.#takeRefusedOpen(body.refusal);
    } else if (body.kind === "needResend") this.#resend(body.fromSeq);
    else if (seq > 0 && body.kind !== "goAway") this.#takeAnswer(seq, body);
    // A frame whose answer is still to come is asked for again after a lost stream, durable or not.
    const { answered, nextSend } = this.buffer;
    this.buffer.forgetTo(Math.min(answer.durableSeq, answered, nextSend - 1));
  }

  /** Go back to a frame that the server waits for. */
  #resend(first: number): void {
    if (first < this.buffer.oldest) this.#startRebuild(Math.max(0, first - 1));
    else this.buffer.nextSend = Math.min(first, this.buffer.last + 1);
  }

  /**
   * Sort out what is said to those who had the run on this stream before; the newest has to have it in the end. The
   * server answers an `open` of a run that the stream has by taking it away, and then takes another one.
   */
  #isOfOlder({ seq, body }: Answer): boolean {
    if (!this.settings.many || this.phase !== "opening") return false;
    const ended = body.kind === "runEnded";
    if (ended && body.reason !== "PROTOCOL") {
      return this.opened === undefined && (!this.#openingSent || this.#opensAhead > 0);
    }
    if (!ended && body.kind !== "opened" && !(body.kind === "error" && seq === 0)) return false;
    if (this.#opensAhead > 0) {
      this.#opensAhead--;
      return true;
    }
    this.#openingSent = false;
    if (ended && this.#mayReopen) {
      this.#mayReopen = false;
      this.#toSend = [this.#openFrame()];
      return true;
    }
    return false;
  }

  #takeRefusedOpen(refusal: Refusal): void {
    // `GoAway` has the whole stream begin anew elsewhere.
    if (refusal.reason === "SHUTTING_DOWN") this.lost();
    else this.end(errorOf(refusal));
  }

  #takeEnd(ended: Body & { kind: "runEnded" }): void {
    if (ended.reason === "SUPERSEDED" || ended.reason === "PROTOCOL") {
      this.end(new RunRefusedError(ended.refusal.reason || ended.reason, ended.refusal.message));
      return;
    }
    const goesOn = ended.reason === "WRONG_NODE" && ended.endpoint !== "";
    if (goesOn && this.#redirects === MOST_REDIRECTS) {
      this.end(new RunRefusedError("WRONG_NODE", `sent from node to node ${MOST_REDIRECTS} times`));
      return;
    }
    this.lost();
    this.wantsStream = true;
    if (!goesOn) return;
    this.#redirects++;
    this.endpoint = ended.endpoint;
  }

  #takeAnswer(seq: number, body: Body): void {
    this.late = false;
    this.buffer.confirmed = Math.max(this.buffer.confirmed, seq);
    if (seq <= this.buffer.answered) return;
    this.buffer.answered = seq;
    const entry = this.buffer.get(seq);
    if (entry === undefined) return;
    if (body.kind === "error") this.#takeRefusal(entry, body.refusal);
    else if (entry.frame.case === "close") {
      resolve(entry, undefined);
      this.end(new RunRefusedError("", `run \`${this.runId}\` is closed`));
    } else resolve(entry, this.#noted(entry, body));
  }

  /** Note what an answer means for the run, and return what the caller gets. */
  #noted(entry: Entry, body: Body): Result {
    const frame = entry.frame;
    if (frame.case === "userMessage") this.abortStands = false;
    if (body.kind === "verdict") {
      this.abortStands ||= body.verdict.action === "ABORT";
      return body.verdict;
    }
    if (body.kind !== "verdicts") return undefined;
    if (frame.case === "calls" && !frame.value.dryRun) {
      if (entry.waiter !== undefined && !this.abortStands) this.journal.ask(frame.value.calls, body.verdicts);
      this.abortStands ||= body.verdicts.some((verdict) => verdict.action === "ABORT");
    }
    return body.verdicts;
  }

  #takeRefusal(entry: Entry, refusal: Refusal): void {
    if (entry.frame.case === "calls" && !entry.frame.value.dryRun) {
      this.journal.unnumber(entry.numberedBefore, entry.frame.value.calls);
    }
    if (entry.waiter === undefined) {
      this.settings.logger.warn(`a frame of run \`${this.runId}\` was refused: ${refusal.message}`);
    }
    resolve(entry, errorOf(refusal));
  }

  // Resuming

  #takeOpened(opened: Opened): void {
    const first = this.opened === undefined;
    this.opened = opened;
    this.untold -= this.#told;
    this.#told = 0;
    this.#redirects = 0;
    this.limits = limitsOf(opened.limits);
    this.journal.resize(Number(opened.config.historySize ?? HISTORY_SIZE));
    this.phase = "open";
    this.late = false;
    const last = Number(opened.lastSeq);
    if (first && this.buffer.oldest === 1) {
      this.buffer.renumber(
        last + 1,
        [...this.buffer.entries()].map(([, entry]) => entry),
      );
      this.buffer.answered = last;
    } else if (opened.rebuilt) {
      this.#rebuild();
    } else if (first || !this.buffer.rewind(last)) {
      // A first `open` that came too late for the oldest frames has numbered none of them yet.
      this.#startRebuild(last);
      return;
    }
    this.buffer.confirmed = this.buffer.nextSend - 1;
    this.#refuseLarge();
    this.#resolveOpen(opened);
  }

  /** Give up what was taken before this server told what it takes. */
  #refuseLarge(): void {
    const most = this.largestFrame;
    for (const [seq, entry] of this.buffer.entries()) {
      if (entry.data.length <= most) continue;
      this.refuse({ first: seq, stop: seq + 1 }, new InvalidFrameError("TOO_LARGE", `a frame of over ${most} bytes`));
    }
  }

  /** Ask for an empty run in place of the one that the server doesn't have and we can't repeat. */
  #startRebuild(last: number): void {
    this.#rebuilding = true;
    if (this.settings.many) {
      // On a stream of many runs an open run has to be closed before its id can be opened again.
      const close = this.encode({ case: "close", value: create(pb.RunCloseSchema) });
      this.phase = "opening";
      this.#toSend = [numberFrame(last + 1, close), this.#openFrame()];
    } else {
      this.lost();
      this.wantsStream = true;
    }
  }

  #rebuild(): void {
    this.#rebuilding = false;
    const records = this.journal.lose().slice(-this.limits.recordsPerHistory);
    let history = this.#historyEntry(records);
    while (records.length > 0 && history.data.length > this.largestFrame) {
      records.shift();
      history = this.#historyEntry(records);
    }
    const kept = [history];
    for (const [seq, entry] of this.buffer.entries()) {
      if (seq <= this.buffer.answered) continue;
      // An outcome's call belongs to the lost run, and the history tells of it.
      if (entry.frame.case === "outcome") resolve(entry, allowed(entry.report ?? entry.frame.value.callId));
      else if (entry.report !== undefined) resolve(entry, undefined);
      else if (entry.waiter !== undefined || entry.frame.case !== "calls") kept.push(entry);
    }
    this.abortStands = false;
    this.buffer.answered = 0;
    this.buffer.renumber(1, kept);
  }

  #historyEntry(records: pb.Record[]): Entry {
    const frame: Frame = { case: "history", value: create(pb.HistorySchema, { records: [...records] }) };
    return { frame, data: this.encode(frame), waiter: undefined, numberedBefore: 0 };
  }

  #resolveOpen(result: OpenResult): void {
    const waiter = this.openWaiter;
    this.openWaiter = undefined;
    waiter?.settle(result);
  }
}
