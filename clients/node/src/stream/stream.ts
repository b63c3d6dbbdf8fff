/** A link with its I/O: one stream after the other, until there is no use for any. */
import * as grpc from "@grpc/grpc-js";

import { LoopguardError } from "../errors.js";
import type { RunSession } from "../session/session.js";
import type { Settings } from "../options.js";
import { type ByteStream, type Channels, refusalOf } from "./channel.js";
import { Link } from "./link.js";

/** What a stream tells its owner. */
export interface StreamOwner {
  /** These runs belong to another node. */
  moved(sessions: readonly RunSession[]): void;
  /** These runs have followed to a node that has gone; they need their first address again. */
  stranded(sessions: readonly RunSession[]): void;
}

export class GuardStream {
  readonly link: Link;
  #closing = false;
  #call: ByteStream | undefined;
  /** The stream takes no more for now. */
  #congested = false;
  #flushing = false;
  #wake: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #done = false;

  constructor(
    private readonly channels: Channels,
    private readonly settings: Settings,
    private readonly owner: StreamOwner,
    /** Where the stream goes, unless its run is to follow elsewhere. */
    readonly target: string,
    /** The stream is one to a node that a run was sent to, and has no use without it. */
    readonly following = false,
  ) {
    this.link = new Link(settings);
  }

  /** Whether it has ended for good; another one has to be made then. */
  get done(): boolean {
    return this.#done;
  }

  add(session: RunSession): void {
    this.link.add(session);
    this.#running ??= this.#run();
    this.#flushSoon();
  }

  touch(session: RunSession): void {
    this.link.touch(session);
    this.#flushSoon();
  }

  /** Leave the guard; waits up to `graceMs` for a stream whose run is closed to end cleanly. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    if (this.#running !== undefined && this.link.finished) {
      this.#flush();
      const timer = setTimeout(() => this.#call?.cancel(), graceMs);
      this.#wake?.();
      await this.#running;
      clearTimeout(timer);
    } else {
      this.#call?.cancel();
      this.#wake?.();
      await this.#running;
    }
    this.link.close();
  }

  async #run(): Promise<void> {
    try {
      while (!this.#closing && (await this.#serve())) await this.#sleep(this.link.backoff.nextMs());
    } catch (error) {
      // Metadata or an address that gRPC refuses: whoever waits has to be told.
      this.link.fail(new LoopguardError(`no stream can be opened: ${String(error)}`, { cause: error }));
    } finally {
      this.#done = true;
    }
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#closing) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  /** Run one stream to its end; return whether to begin another one. */
  async #serve(): Promise<boolean> {
    this.link.connected();
    const followed = this.#followed;
    const call = this.#open(followed);
    const status = call === undefined ? nowhere() : await this.#exchange(call);
    if (this.#call === call) this.#call = undefined;
    const refusal = status === undefined ? undefined : refusalOf(status);
    if (this.#closing || this.link.finished) return false;
    if (status === undefined) {
      // The stream can't go on; its runs can.
      this.link.left();
      return true;
    }
    if (refusal === undefined) this.link.lost();
    else if (!this.link.ended(refusal)) return false;
    if (followed !== undefined) for (const session of this.link.sessions.values()) session.endpoint = undefined;
    if (!this.following) return !this.link.finished;
    this.owner.stranded(this.link.release());
    return false;
  }

  /** Begin a stream; `undefined` if the address to which its run was sent can't be one. */
  #open(followed: string | undefined): ByteStream | undefined {
    try {
      return this.channels.open(followed ?? this.target, this.link.metadata);
    } catch (error) {
      if (followed === undefined && !this.following) throw error;
      this.settings.logger.warn(`no run can go on at \`${followed ?? this.target}\`: ${String(error)}`);
      return undefined;
    }
  }

  /** Where the only run of a `Guard` stream was sent. */
  get #followed(): string | undefined {
    if (this.settings.many) return undefined;
    for (const session of this.link.sessions.values()) return session.endpoint;
    return undefined;
  }

  /** Read and write until the stream has ended; `undefined` if it was given up for another one. */
  #exchange(call: ByteStream): Promise<grpc.StatusObject | undefined> {
    this.#call = call;
    this.#congested = false;
    return new Promise((resolve) => {
      call.on("data", (data: Buffer) => {
        if (this.#call !== call) return;
        this.link.receive(data);
        this.#hand();
        if (this.link.wantsStream) {
          this.#call = undefined;
          resolve(undefined);
          call.cancel();
        } else this.#flushSoon();
      });
      call.on("drain", () => {
        this.#congested = false;
        this.#flush();
      });
      // What went wrong is told by `status`, which follows.
      call.on("error", () => undefined);
      call.on("status", resolve);
      this.#flush();
    });
  }

  #hand(): void {
    if (this.link.moved.length > 0) this.owner.moved(this.link.moved.splice(0));
  }

  /** Write once everybody who is about to say something has said it: frames of many runs share a message. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    const flush = () => {
      this.#flushing = false;
      this.#flush();
    };
    if (this.settings.many) setImmediate(flush);
    else queueMicrotask(flush);
  }

  #flush(): void {
    const call = this.#call;
    while (call !== undefined && !this.#congested) {
      const message = this.link.take();
      if (message === undefined) break;
      this.#congested = !call.write(message);
    }
    if (this.link.finished && call?.writable === true) call.end();
  }
}

/** How a stream ends that was never begun. */
function nowhere(): grpc.StatusObject {
  return { code: grpc.status.UNAVAILABLE, details: "", metadata: new grpc.Metadata() };
}
