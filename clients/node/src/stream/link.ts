/** The runs that share one stream: what is written to it, who an answer is for, when to try again. No I/O in here. */
import {
  GuardUnavailableError,
  InvalidFrameError,
  type LoopguardError,
  type Refusal,
  RunRefusedError,
  errorOf,
} from "../errors.js";
import type { Settings } from "../options.js";
import type { Numbers } from "../session/frame-buffer.js";
import type { RunSession } from "../session/session.js";
import { type Answer, decodeAnswer, decodeAnswers } from "../wire/answers.js";
import { encodeRuns } from "../wire/frames.js";
import { Backoff } from "./backoff.js";

/** How much goes into one message of many runs, at most. */
const MESSAGE_FRAMES = 512;
/** So few bytes never hold more calls than a server takes in one message. */
const MESSAGE_BYTES = 256 << 10;
/** What goes before each frame of a run in such a message, at most. */
const FRAME_WRAPPING_BYTES = 6;

/**
 * gRPC's codes with which trying again is of no use: INVALID_ARGUMENT, PERMISSION_DENIED, FAILED_PRECONDITION, ABORTED,
 * UNIMPLEMENTED, UNAUTHENTICATED.
 */
const FINAL_CODES: ReadonlySet<number> = new Set([3, 7, 9, 10, 12, 16]);

/** Those of a server that is there and has too much to do: CANCELLED, RESOURCE_EXHAUSTED. */
const BUSY_CODES: ReadonlySet<number> = new Set([1, 8]);

/** The metadata by which a proxy keeps the streams of a run together, and how much of a run's id it holds at most. */
const RUN_ID_METADATA = "loopguard-run-id";
const RUN_ID_METADATA_BYTES = 256;

/** Some frames of a run that are under way; without numbers it is an `open`. */
interface Part {
  session: RunSession;
  numbers: Numbers;
}

/** A message that is under way, and how many frames it holds. */
interface Written {
  frames: number;
  parts: Part[];
}

/** One stream of `Guard` (with a single run) or of `GuardMany`, through all its reconnects. */
export class Link {
  /** Whether the last try failed. */
  down = false;
  readonly backoff: Backoff;
  readonly sessions = new Map<string, RunSession>();
  /** Runs that belong to another node; whoever owns the link moves them. */
  readonly moved: RunSession[] = [];
  #ready = new Set<RunSession>();
  #streaming = false;
  #answered = false;
  /** The server is there, but had no room for the stream. */
  #busy = false;
  #leaving = false;
  #restart = false;
  #error: LoopguardError | undefined;
  /** The messages of this stream that have no answer yet. */
  #written: Written[] = [];
  /** How many frames go into a message of many runs; fewer where a server refuses more. */
  #mostFrames = MESSAGE_FRAMES;

  constructor(private readonly settings: Settings) {
    this.backoff = new Backoff(settings.random);
  }

  /** Take a run onto the stream. */
  add(session: RunSession): void {
    const older = this.sessions.get(session.runId);
    if (older !== undefined) {
      older.end(new RunRefusedError("SUPERSEDED", `run \`${session.runId}\` was opened again by this client`));
      this.#ready.delete(older);
    }
    if (this.#error !== undefined) {
      session.end(this.#error);
      return;
    }
    this.sessions.set(session.runId, session);
    if (this.#streaming) session.connected(older?.opensAwaited ?? 0);
    this.touch(session);
  }

  /** Drop a run that is over, or goes elsewhere. */
  remove(session: RunSession): void {
    if (this.sessions.get(session.runId) === session) this.sessions.delete(session.runId);
    this.#ready.delete(session);
  }

  /** Note that a run has something to send. */
  touch(session: RunSession): void {
    this.#ready.add(session);
  }

  /** What the stream tells a proxy on its way: which run it is for. A stream of many runs is for none. */
  get metadata(): Record<string, string> {
    if (this.settings.many) return {};
    const [runId] = [...this.sessions.values()].map((session) => session.request.runId);
    return runId === undefined ? {} : { [RUN_ID_METADATA]: percentEncoded(runId).slice(0, RUN_ID_METADATA_BYTES) };
  }

  /** Begin on a new stream. */
  connected(): void {
    this.#streaming = true;
    this.#answered = this.#busy = this.#leaving = this.#restart = false;
    this.#written = [];
    for (const session of this.sessions.values()) {
      session.connected();
      this.touch(session);
    }
  }

  /** Note that the stream was left for another one, as the server has said. */
  left(): void {
    this.down = this.#streaming = false;
    for (const session of this.sessions.values()) session.lost();
  }

  /** Note that the stream was lost; whoever waits decides for himself, unless the guard was there a moment ago. */
  lost(): void {
    this.left();
    this.down = !this.#answered && !this.#busy && !this.#leaving;
    if (this.settings.onUnavailable === "wait" || !this.down) return;
    for (const session of this.sessions.values()) session.giveUpWaiting();
  }

  /** Give all runs up. */
  fail(error: LoopguardError): void {
    this.down = true;
    this.#streaming = false;
    this.#error = error;
    for (const session of this.sessions.values()) session.end(error);
    this.sessions.clear();
  }

  /** Note how the stream ended; return whether to try again. */
  ended(refusal: Refusal): boolean {
    if (FINAL_CODES.has(refusal.code)) {
      this.fail(errorOf(refusal));
      return false;
    }
    this.#busy = BUSY_CODES.has(refusal.code);
    if (refusal.reason === "TOO_LARGE") this.#shrink();
    this.lost();
    return true;
  }

  /**
   * Make smaller messages than the one for whose size the stream has ended. A single frame is given up; sent again, it
   * would end the next stream too.
   */
  #shrink(): void {
    const message = this.#written.find(isAwaited);
    const part = message?.parts[0];
    if (message === undefined || part === undefined) return;
    if (message.frames > 1) {
      this.#mostFrames = Math.floor(message.frames / 2);
      return;
    }
    this.#mostFrames = MESSAGE_FRAMES;
    const error = new InvalidFrameError("TOO_LARGE", "the server takes no message of this size");
    if (part.numbers.stop > part.numbers.first) part.session.refuse(part.numbers, error);
    else part.session.end(error);
  }

  /** Whether the stream has no use any more. */
  get finished(): boolean {
    return !this.settings.many && [...this.sessions.values()].every((session) => session.phase === "over");
  }

  /** Whether to go on with a new stream. */
  get wantsStream(): boolean {
    return this.#restart || (this.#leaving && ![...this.sessions.values()].some((session) => session.inFlight));
  }

  /** Take the next message to write; `undefined` if there is none now. */
  take(): Uint8Array | undefined {
    if (this.#leaving || this.#restart) return undefined;
    return this.settings.many ? this.#takeMany() : this.#takeOne();
  }

  #takeOne(): Uint8Array | undefined {
    for (const session of this.#ready) {
      if (session.nextBytes > 0) {
        const first = session.buffer.nextSend;
        const frame = session.takeFrame();
        this.#note({ frames: 1, parts: [{ session, numbers: { first, stop: session.buffer.nextSend } }] });
        return frame;
      }
    }
    this.#ready.clear();
    return undefined;
  }

  #takeMany(): Uint8Array | undefined {
    const room = new MessageRoom(this.#mostFrames);
    const runs: { runId: string; frames: Uint8Array[] }[] = [];
    const parts: Part[] = [];
    for (const session of this.#ready) {
      if (room.full) break;
      room.enter(session);
      const first = session.buffer.nextSend;
      const frames: Uint8Array[] = [];
      let bytes = session.nextBytes;
      while (bytes > 0 && room.takes(bytes)) {
        const frame = session.takeFrame();
        frames.push(frame);
        room.fill(frame.length + FRAME_WRAPPING_BYTES);
        bytes = session.nextBytes;
      }
      if (frames.length > 0) {
        room.wrap(session.wrappingBytes);
        parts.push({ session, numbers: { first, stop: session.buffer.nextSend } });
        runs.push({ runId: session.request.runId, frames });
      }
      if (bytes > 0) break;
      this.#ready.delete(session);
    }
    if (runs.length === 0) return undefined;
    this.#note({ frames: room.frames, parts });
    return encodeRuns(runs);
  }

  #note(message: Written): void {
    for (let first = this.#written[0]; first !== undefined && !isAwaited(first); first = this.#written[0]) {
      this.#written.shift();
    }
    this.#written.push(message);
  }

  /** Take a message of the server. */
  receive(data: Uint8Array): void {
    const { runs, goAway } = this.#decode(data);
    for (const { runId, answers } of runs) {
      const session = this.sessions.get(runId.trim());
      if (session !== undefined) this.#deliver(session, answers);
    }
    if (goAway) this.#leaving = true;
  }

  #decode(data: Uint8Array): { runs: { runId: string; answers: Answer[] }[]; goAway: boolean } {
    try {
      if (this.settings.many) return decodeAnswers(data, this.settings.logger);
      const answer = decodeAnswer(data, this.settings.logger);
      const runs = [...this.sessions.keys()].map((runId) => ({ runId, answers: [answer] }));
      return { runs, goAway: answer.body.kind === "goAway" };
    } catch {
      this.settings.logger.warn("the guard sent a message that can't be decoded; asking again");
      this.#restart = true;
      return { runs: [], goAway: false };
    }
  }

  #deliver(session: RunSession, answers: readonly Answer[]): void {
    for (const answer of answers) session.receive(answer);
    if (session.phase === "over") {
      if (this.settings.many) this.remove(session);
      return;
    }
    if (session.phase === "open") {
      this.down = false;
      this.#answered = true;
      this.backoff.reset();
    }
    if (!session.wantsStream) this.touch(session);
    else if (!this.settings.many) this.#restart = true;
    else if (session.endpoint !== undefined) {
      this.remove(session);
      this.moved.push(session);
    } else {
      session.connected();
      this.touch(session);
    }
  }

  /** Give away all runs, for another link to take them. */
  release(): RunSession[] {
    const sessions = [...this.sessions.values()];
    this.sessions.clear();
    this.#ready.clear();
    return sessions;
  }

  /** Give all runs up, since the client is done. */
  close(): void {
    this.fail(new GuardUnavailableError("the client is closed"));
  }
}

/** How much of one message of many runs is left. */
class MessageRoom {
  frames = 0;
  #bytes = 0;
  #mostBytes = 0;
  #mostFrames: number;

  constructor(mostFrames: number) {
    this.#mostFrames = mostFrames;
  }

  enter(session: RunSession): void {
    this.#mostFrames = Math.min(this.#mostFrames, session.limits.framesPerMessage);
    this.#mostBytes = session.limits.messageBytes - session.wrappingBytes;
  }

  get full(): boolean {
    return this.frames >= this.#mostFrames || this.#bytes >= MESSAGE_BYTES;
  }

  /** Whether a frame fits; one that doesn't fit into any message goes alone, for the server to refuse. */
  takes(bytes: number): boolean {
    return !this.full && (this.frames === 0 || this.#bytes + bytes <= this.#mostBytes);
  }

  fill(bytes: number): void {
    this.frames++;
    this.#bytes += bytes;
  }

  wrap(bytes: number): void {
    this.#bytes += bytes;
  }
}

function isAwaited({ parts }: Written): boolean {
  return parts.some(({ session, numbers }) => {
    if (numbers.stop === numbers.first) return session.phase === "opening" && session.opensAwaited > 0;
    if (session.phase === "over") return false;
    const { first, stop } = session.buffer.awaited;
    return numbers.stop > first && numbers.stop <= stop;
  });
}

/** All bytes but `A-Za-z0-9-._~` percent-encoded; lone surrogates, which UTF-8 doesn't have, as U+FFFD. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
