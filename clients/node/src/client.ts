/** The client: opens runs, and keeps their streams going. */
import { GuardUnavailableError, LoopguardError } from "./errors.js";
import type { RunOptions } from "./model.js";
import { type GuardClientOptions, type Settings, settingsOf } from "./options.js";
import { type CallOptions, GuardRun, type RunHost } from "./run.js";
import type { OpenResult } from "./session/entry.js";
import { RunSession } from "./session/session.js";
import { Waiter, settledWithin } from "./session/waiter.js";
import { Backoff } from "./stream/backoff.js";
import { Channels } from "./stream/channel.js";
import { GuardStream, type StreamOwner } from "./stream/stream.js";
import { toOpen } from "./wire/frames.js";

/** How long `close` waits for the guard where everything else waits for ever. */
const CLOSE_MS = 5000;

/**
 * A client of the guard at `target` (`host:port`).
 *
 * It connects when the first run is opened, and again whenever the connection or the guard is lost; runs are taken up
 * where they were. It never holds its gateway up: a call without an answer in time is decided by `onUnavailable`.
 */
export class GuardClient implements AsyncDisposable {
  readonly #target: string;
  readonly #settings: Settings;
  readonly #channels: Channels;
  /** The stream that each run is on now. */
  readonly #streams = new Map<RunSession, GuardStream>();
  /** With `many`: the stream to each address. */
  readonly #shared = new Map<string, GuardStream>();
  readonly #moves = new WeakMap<RunSession, Backoff>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #host: RunHost;
  readonly #owner: StreamOwner;
  #closed = false;

  constructor(target: string, options: GuardClientOptions = {}) {
    this.#target = target;
    this.#settings = settingsOf(options);
    this.#channels = new Channels(target, options);
    this.#host = {
      touch: (session) => this.#streams.get(session)?.touch(session),
      patienceMs: (session, closing) => this.#patienceMs(session, closing),
      letGo: (session) => this.#letGo(session),
    };
    this.#owner = {
      moved: (sessions) => {
        sessions.forEach((session) => {
          this.#move(session, session.endpoint);
        });
      },
      stranded: (sessions) => {
        sessions.forEach((session) => {
          this.#move(session, undefined);
        });
      },
    };
  }

  /**
   * Open a run. It is usable at once when the guard is away: its frames are kept and sent later.
   *
   * Throws `InvalidConfigError` for a configuration and `RunRefusedError` for a run that is refused.
   */
  async openRun(runId: string, options: RunOptions & CallOptions = {}): Promise<GuardRun> {
    const { signal, ...opening } = options;
    signal?.throwIfAborted();
    if (this.#closed) throw new GuardUnavailableError("the client is closed");
    const session = new RunSession(toOpen(runId, opening), this.#settings);
    const waiter = (session.openWaiter = new Waiter<OpenResult>());
    this.#add(session, this.#settings.many ? this.#sharedStream(this.#target) : this.#stream(this.#target));
    await settledWithin(waiter, this.#patienceMs(session, false), signal);
    const answer = waiter.settled ? await waiter.promise : undefined;
    if (answer instanceof LoopguardError) {
      await this.#letGo(session);
      throw answer;
    }
    if (signal?.aborted) {
      await this.#letGo(session);
      signal.throwIfAborted();
    }
    return new GuardRun(this.#host, session);
  }

  /** Leave the guard; runs that were not closed stay there for resuming. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    const streams = new Set([...this.#streams.values(), ...this.#shared.values()]);
    await Promise.all([...streams].map((stream) => stream.close(this.#closeMs)));
    for (const session of this.#streams.keys()) session.end(new GuardUnavailableError("the client is closed"));
    this.#streams.clear();
    this.#shared.clear();
    this.#channels.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #stream(target: string, following = false): GuardStream {
    return new GuardStream(this.#channels, this.#settings, this.#owner, target, following);
  }

  #sharedStream(target: string): GuardStream {
    let stream = this.#shared.get(target);
    if (stream === undefined || stream.done) {
      stream = this.#stream(target, target !== this.#target);
      this.#shared.set(target, stream);
    }
    return stream;
  }

  #add(session: RunSession, stream: GuardStream): void {
    this.#streams.set(session, stream);
    stream.add(session);
  }

  /** Take a run to another node's stream, or back; one that is sent to and fro goes slower and slower. */
  #move(session: RunSession, endpoint: string | undefined): void {
    const backoff = this.#moves.get(session) ?? new Backoff(this.#settings.random);
    this.#moves.set(session, backoff);
    session.endpoint = undefined;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (session.phase !== "over") this.#add(session, this.#sharedStream(endpoint ?? this.#target));
    }, backoff.nextMs());
    this.#timers.add(timer);
  }

  get #closeMs(): number {
    return this.#settings.onUnavailable === "wait" ? CLOSE_MS : this.#settings.deadlineMs;
  }

  #patienceMs(session: RunSession, closing: boolean): number | undefined {
    const waits = this.#settings.onUnavailable === "wait";
    if (closing) return session.phase === "open" || waits ? this.#closeMs : 0;
    if (waits) return undefined;
    const down = this.#streams.get(session)?.link.down ?? true;
    return session.late || (down && session.phase === "away") ? 0 : this.#settings.deadlineMs;
  }

  async #letGo(session: RunSession): Promise<void> {
    session.end(new GuardUnavailableError(`run \`${session.runId}\` is closed`));
    const stream = this.#streams.get(session);
    this.#streams.delete(session);
    if (stream === undefined) return;
    if (this.#settings.many) stream.link.remove(session);
    else await stream.close(this.#closeMs);
  }
}
