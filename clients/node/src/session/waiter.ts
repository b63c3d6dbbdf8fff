/** Somebody who waits for an answer, unless nobody does any more. */
export class Waiter<T> {
  readonly promise: Promise<T>;
  #resolve!: (value: T) => void;
  #settled = false;

  constructor() {
    this.promise = new Promise((resolve) => (this.#resolve = resolve));
  }

  get settled(): boolean {
    return this.#settled;
  }

  /** Give the answer; only the first one counts. */
  settle(value: T): void {
    this.#settled = true;
    this.#resolve(value);
  }
}

/** Wait until there is an answer, for at most `ms` (`undefined`: for ever), or until `signal` says to stop. */
export async function settledWithin(
  waiter: { readonly promise: Promise<unknown>; readonly settled: boolean },
  ms: number | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (waiter.settled || signal?.aborted) return;
  if (ms === 0) {
    // A caller that never waits for anything else must still let the streams be read and opened again.
    await new Promise<void>((resolve) => setImmediate(resolve));
    return;
  }
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  const given = new Promise<void>((resolve) => {
    stop = resolve;
    if (ms !== undefined) timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
  await Promise.race([waiter.promise, given]);
  clearTimeout(timer);
  if (stop !== undefined) signal?.removeEventListener("abort", stop);
}
