/** One run, as its gateway uses it. */
import { create } from "@bufbuild/protobuf";

import { GuardUnavailableError, LoopguardError } from "./errors.js";
import * as pb from "./gen/loopguard/v1/guard_pb.js";
import type { Call, CallRecord, Opened, Outcome, Verdict } from "./model.js";
import type { Entry, Result } from "./session/entry.js";
import type { RunSession } from "./session/session.js";
import { Submissions } from "./session/submissions.js";
import { Waiter, settledWithin } from "./session/waiter.js";
import { type Frame, toCalls, toOutcome, toRecords } from "./wire/frames.js";

/** Options of everything that is asked. */
export interface CallOptions {
  /** Give up waiting. Calls given up so are told to the guard as ones that did not run. */
  signal?: AbortSignal;
}

/** What a run needs of its client. */
export interface RunHost {
  touch(session: RunSession): void;
  /** How long to wait for an answer in milliseconds: `undefined` for ever, 0 where there is no hope. */
  patienceMs(session: RunSession, closing: boolean): number | undefined;
  letGo(session: RunSession): Promise<void>;
}

/**
 * One run, opened by `GuardClient.openRun`.
 *
 * Several frames may be under way at once; they reach the guard in the order in which they were asked.
 */
export class GuardRun implements AsyncDisposable {
  readonly #host: RunHost;
  readonly #session: RunSession;
  readonly #submissions: Submissions;

  /** @internal */
  constructor(host: RunHost, session: RunSession) {
    this.#host = host;
    this.#session = session;
    this.#submissions = new Submissions(session);
  }

  /** The run's id. */
  get runId(): string {
    return this.#session.request.runId;
  }

  /** What the guard said when the run was last opened; `undefined` while it was never reached. */
  get opened(): Opened | undefined {
    return this.#session.opened;
  }

  /** How many calls were decided here because the guard was away. */
  get decidedUnavailable(): number {
    return this.#session.decided;
  }

  /**
   * Ask about all calls of one model response before any of them runs; one verdict a call, in order.
   *
   * Throws `InvalidFrameError` for a batch that is refused and `RunRefusedError` for a run that is.
   */
  async judge(calls: readonly Call[], options: CallOptions = {}): Promise<Verdict[]> {
    return (await this.#ask(calls, false, options)) as Verdict[];
  }

  /** Ask the same without consequences. */
  async check(calls: readonly Call[], options: CallOptions = {}): Promise<Verdict[]> {
    return (await this.#ask(calls, true, options)) as Verdict[];
  }

  async #ask(calls: readonly Call[], dryRun: boolean, options: CallOptions): Promise<Result> {
    const batch = create(pb.CallBatchSchema, { calls: toCalls(calls), dryRun });
    return this.#exchange({ case: "calls", value: batch }, options);
  }

  /** Tell how a call ended; the answer may end the turn or the run. */
  async report(outcome: Outcome, options: CallOptions = {}): Promise<Verdict> {
    return (await this.#exchange({ case: "outcome", value: toOutcome(outcome) }, options)) as Verdict;
  }

  /** Tell of calls that already happened, oldest first. */
  async record(records: readonly CallRecord[], options: CallOptions = {}): Promise<void> {
    const history = create(pb.HistorySchema, { records: toRecords(records) });
    await this.#exchange({ case: "history", value: history }, options);
  }

  /** Tell that the user wrote. */
  async userMessage(options: CallOptions = {}): Promise<void> {
    await this.#exchange({ case: "userMessage", value: create(pb.UserMessageSchema) }, options);
  }

  /** Tell that the context was compacted and the run retries. */
  async compactionRetry(options: CallOptions = {}): Promise<void> {
    await this.#exchange({ case: "compactionRetry", value: create(pb.CompactionRetrySchema) }, options);
  }

  /** End the run; does nothing when it is over already. */
  async close(): Promise<void> {
    try {
      if (this.#session.phase !== "over") {
        await this.#exchange({ case: "close", value: create(pb.RunCloseSchema) }, {});
      }
    } catch (error) {
      if (!(error instanceof GuardUnavailableError)) throw error;
    } finally {
      await this.#host.letGo(this.#session);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #exchange(frame: Frame, { signal }: CallOptions): Promise<Result> {
    signal?.throwIfAborted();
    const waiter = new Waiter<Result>();
    const entry = this.#submissions.submit(frame, waiter);
    this.#host.touch(this.#session);
    await settledWithin(waiter, this.#host.patienceMs(this.#session, frame.case === "close"), signal);
    if (!waiter.settled) return this.#unanswered(entry, signal);
    const answer = await waiter.promise;
    if (!(answer instanceof LoopguardError)) return answer;
    if (!(answer instanceof GuardUnavailableError) || this.#session.settings.onUnavailable === "wait") throw answer;
    return this.#decide(entry);
  }

  #unanswered(entry: Entry, signal: AbortSignal | undefined): Result {
    if (signal?.aborted) {
      this.#submissions.withdraw(entry);
      this.#host.touch(this.#session);
      signal.throwIfAborted();
    }
    // What wasn't answered in time is no reason to wait as long for the next one.
    this.#session.late = true;
    return this.#decide(entry);
  }

  #decide(entry: Entry): Result {
    const result = this.#submissions.decide(entry, this.#session.settings.onUnavailable === "block");
    this.#host.touch(this.#session);
    return result;
  }
}
