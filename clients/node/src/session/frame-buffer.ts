/** The frames of a run by their numbers: what is to be sent, what waits for its answer, what is kept for a lost server. */
import { type Entry } from "./entry.js";

/** Numbers from `first` up to, not including, `stop`. */
export interface Numbers {
  first: number;
  stop: number;
}

export class FrameBuffer {
  /** The newest frame, the next to send on this stream, the newest with an answer on this stream, and on any. */
  last = 0;
  nextSend = 1;
  confirmed = 0;
  answered = 0;
  #entries = new Map<number, Entry>();
  #bytes = 0;

  constructor(
    readonly mostFrames: number,
    readonly mostBytes: number,
  ) {}

  /** The oldest frame that is kept; the next number if there is none. */
  get oldest(): number {
    for (const seq of this.#entries.keys()) return seq;
    return this.last + 1;
  }

  get(seq: number): Entry | undefined {
    return this.#entries.get(seq);
  }

  entries(): IterableIterator<[number, Entry]> {
    return this.#entries.entries();
  }

  seqOf(entry: Entry): number | undefined {
    for (const [seq, kept] of this.#entries) if (kept === entry) return seq;
    return undefined;
  }

  /** The numbers of the frames that were sent on this stream and have no answer yet. */
  get awaited(): Numbers {
    return { first: this.confirmed + 1, stop: this.nextSend };
  }

  /** Take a frame; beyond the limits the oldest ones are forgotten, but for those that somebody still needs. */
  put(entry: Entry, sending: boolean): void {
    this.#entries.set(++this.last, entry);
    this.#bytes += entry.data.length;
    while (this.#entries.size > this.mostFrames || this.#bytes > this.mostBytes) {
      const oldest = this.oldest;
      if (this.get(oldest)?.waiter !== undefined || (sending && oldest >= this.nextSend)) break;
      this.forgetTo(oldest);
    }
  }

  forgetTo(seq: number): void {
    for (const [oldest, entry] of this.#entries) {
      if (oldest > seq) break;
      this.#entries.delete(oldest);
      this.#bytes -= entry.data.length;
    }
  }

  /** Put another frame in the place of one; the number stays used. */
  replace(entry: Entry, frame: Entry["frame"], data: Uint8Array): void {
    this.#bytes += data.length - entry.data.length;
    entry.frame = frame;
    entry.data = data;
  }

  /** Number frames anew; all of them are to be sent. */
  renumber(first: number, entries: readonly Entry[]): void {
    this.#entries = new Map(entries.map((entry, index) => [first + index, entry]));
    this.#bytes = entries.reduce((sum, entry) => sum + entry.data.length, 0);
    this.last = first + entries.length - 1;
    this.nextSend = first;
  }

  /** Go back to what a server that has seen `last` needs; `false` if that is no longer kept. */
  rewind(last: number): boolean {
    let start = Math.min(this.answered, last) + 1;
    if (this.oldest > start) {
      if (this.oldest > last + 1) return false;
      start = this.oldest;
    }
    this.nextSend = start;
    return true;
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }
}
