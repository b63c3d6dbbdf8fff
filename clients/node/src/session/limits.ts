/** What a server takes. */
import type { Limits } from "../model.js";

/** What goes around frames: a frame's number, and a message of many runs around one run with one frame, at most. */
export const NUMBER_BYTES = 11;
const WRAPPING_BYTES = 24;

/** Until `Opened` tells the server's own. */
export const ASSUMED_LIMITS: Limits = {
  messageBytes: 16 << 20,
  frameBytes: 16 << 20,
  callsPerBatch: 256,
  inFlight: 16,
  historySize: 0,
  framesPerMessage: 4096,
  recordsPerHistory: 1024,
};

/** Fill in what the server doesn't say. */
export function limitsOf(told: Limits): Limits {
  const limits = { ...ASSUMED_LIMITS };
  for (const key of Object.keys(limits) as (keyof Limits)[]) limits[key] = told[key] || limits[key];
  return limits;
}

/** What a message of many runs has around a run's frames, at most. */
export function wrappingBytes(runId: string): number {
  return Buffer.byteLength(runId) + WRAPPING_BYTES;
}

/** The largest frame, without its number. */
export function largestFrame(limits: Limits, runId: string, many: boolean): number {
  if (!many) return limits.frameBytes;
  return Math.min(limits.frameBytes, limits.messageBytes - wrappingBytes(runId) - NUMBER_BYTES);
}
