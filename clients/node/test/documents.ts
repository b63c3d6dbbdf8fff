/** Random JSON documents without anything odd, and their canonical form the slow way. */

/** RFC 8785 of a value, as its text has it. */
export function slowCanonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(slowCanonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${slowCanonical(member)}`).join(",")}}`;
}

type Random = () => number;

const LETTERS = Array.from('abc "\\/\b\f\n\r\t\0\x1f\x7f\u00e9\u2028\ud7ff\ue000\uffff\u{10000}\u{1f600}\u{10ffff}');

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}

function randomString(random: Random): string {
  return Array.from({ length: Math.floor(random() * 6) }, () => pick(random, LETTERS)).join("");
}

function randomNumber(random: Random): number {
  const size = 10 ** Math.floor(random() * 40 - 20);
  return pick(random, [Math.floor(random() * 1e6), (random() - 0.5) * size, Math.round(random() * 1e9) / 1e4, 0, 1e21]);
}

function randomValue(random: Random, depth: number): unknown {
  const kind = depth > 4 ? random() * 0.6 : random();
  if (kind < 0.25) return randomNumber(random);
  if (kind < 0.5) return randomString(random);
  if (kind < 0.6) return pick(random, [true, false, null]);
  const length = Math.floor(random() * 6);
  if (kind < 0.8) return Array.from({ length }, () => randomValue(random, depth + 1));
  // Keys like "1" would come out of `Object.entries` in an order of their own.
  return Object.fromEntries(Array.from({ length }, () => [`k${randomString(random)}`, randomValue(random, depth + 1)]));
}

/** Make a document, and its text as one of the encoders that are about. */
export function randomDocument(random: Random): { text: string; value: unknown } {
  const value = randomValue(random, 0);
  let text = JSON.stringify(value, null, pick(random, ["", "", " ", "\t"]));
  if (random() < 0.5) {
    text = text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }
  return { text, value };
}
