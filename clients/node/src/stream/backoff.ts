/** How long to wait before the next try: a random part of a span that doubles from try to try. */
export class Backoff {
  #tries = 0;

  constructor(
    private readonly random: () => number,
    private readonly firstMs = 50,
    private readonly largestMs = 2000,
  ) {}

  nextMs(): number {
    const span = Math.min(this.largestMs, this.firstMs * 2 ** this.#tries);
    this.#tries = Math.min(this.#tries + 1, 16);
    return span * this.random();
  }

  /** Begin anew; the peer has answered. */
  reset(): void {
    this.#tries = 0;
  }
}
