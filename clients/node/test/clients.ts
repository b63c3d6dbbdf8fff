/** What the tests of the client share. */
import { describe } from "node:test";

import { type Call, GuardClient, type GuardClientOptions } from "../src/index.js";

/** Long enough that a busy machine answers in time. */
export const PATIENT_MS = 20_000;

export const MAKE: Call = { tool: "exec", args: '{"command": "make"}' };

/** A client that tries again at once and is patient; what it warns of is collected. */
export function clientOf(address: string, options: GuardClientOptions = {}): GuardClient & { warnings: string[] } {
  const warnings: string[] = [];
  const logger = { warn: (message: string) => void warnings.push(message) };
  const client = new GuardClient(address, { deadlineMs: PATIENT_MS, random: () => 0.1, logger, ...options });
  return Object.assign(client, { warnings });
}

/** Run the same tests for both kinds of streams. */
export function onBothStreams(what: string, tests: (many: boolean) => void): void {
  for (const many of [false, true]) {
    describe(`${what}, ${many ? "many runs" : "one run"} a stream`, () => {
      tests(many);
    });
  }
}

/** Wait until something is so; a test that waits in vain is ended by its time limit. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}
