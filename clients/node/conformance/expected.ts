/** Refuses what is expected of an answer if it could never be compared with one. */
import { Flag } from "../src/json/flags.js";
import type { Place } from "./vector.js";

const VERDICT_KEYS = ["callId", "action", "finding", "note", "blockedBy", "scope", "flags", "error"];
const FINDING_KEYS = [
  "detector",
  "level",
  "count",
  "threshold",
  "pairedTool",
  "callIds",
  "argsDigest",
  "outcomeDigest",
  "stripped",
  "clearedBy",
];

/** Throw `BadVector` for an expected verdict, or one of a list, that has something unknown; null asserts nothing. */
export function checkExpected(expected: unknown, place: Place): void {
  for (const verdict of Array.isArray(expected) ? (expected as unknown[]) : [expected]) {
    if (verdict !== null) checkVerdict(verdict, place);
  }
}

function checkVerdict(verdict: unknown, place: Place): void {
  const { finding, error, flags } = keysOf(verdict, "an expected verdict", VERDICT_KEYS, place);
  if (finding !== undefined && finding !== null) keysOf(finding, "`finding`", FINDING_KEYS, place);
  if (error !== undefined && error !== null) keysOf(error, "`error`", ["reason"], place);
  for (const flag of Array.isArray(flags) ? (flags as string[]) : []) {
    if (!Object.hasOwn(Flag, flag)) throw place.refuse(`there is no flag \`${flag}\``);
  }
}

function keysOf(value: unknown, what: string, known: readonly string[], place: Place): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw place.refuse(`${what} must be an object`);
  }
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw place.refuse(`${what} has \`${unknown}\`, which is not known`);
  return value as Record<string, unknown>;
}
