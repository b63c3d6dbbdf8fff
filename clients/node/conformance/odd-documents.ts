/** Random JSON texts that are full of what canonical form has rules for, and some that are no JSON. */
import { seeded } from "./seeded.js";

const NUMBERS =
  "0 -0 7 -1 9007199254740991 9007199254740992 -9007199254740993 123456789012345678901 0.1 -0.0 1.0 1e3 1E+2 1e20 1e21 " +
  "123456789012345680000.0 0.000001 0.0000001 5e-324 2.5e-324 2.4703282292062327e-324 2.4703282292062328e-324 1e-400 " +
  "1.7976931348623157e308 1.7976931348623158e308 1.7976931348623159e308 1e400 -1E+400 1.50E+0400 9007199254740993.0 " +
  "4.35 01 1. .5 - +1 1e 0x1 NaN Infinity";
const LETTERS = String.raw`a b Z / \/ \" \\ \b \f \n \r \t \u0000 \u001F \u0041 \u007f \u00e9 \u20AC \ud83d\ude00 \uD800 \udc00`;
const STRINGS = [
  ...LETTERS.split(" "),
  "\x7f",
  "\u00e9",
  "\u2028",
  "\ud7ff",
  "\ue000",
  "\uffff",
  "\u{10000}",
  "\u{1f600}",
];
const BYTES = Buffer.from('{}[],:"\\0123e.- \x00\x1f\x7f\x80\xc3\xe2\xed\xa0\xf0\xff', "latin1");

/** Return a source of documents. */
export function oddDocument(seed: number): () => Buffer {
  const random = seeded(seed);
  return () => {
    const text = random() < 0.03 ? deep(random) : `${blanks()}${value(0)}${blanks()}`;
    return damaged(Buffer.from(random() < 0.01 ? `\ufeff${text}` : text));
  };

  function below(limit: number): number {
    return Math.floor(random() * limit);
  }

  function pick(from: readonly string[]): string {
    return from[below(from.length)] ?? "";
  }

  function blanks(): string {
    return random() < 0.3 ? pick([" ", "\t", "\n", "\r", "  "]) : "";
  }

  function digits(most: number): string {
    return Array.from({ length: 1 + below(most) }, () => String(below(10))).join("");
  }

  function number(): string {
    const kind = random();
    if (kind < 0.4) return pick(NUMBERS.split(" "));
    if (kind < 0.6) return String(new Float64Array(new Uint32Array([below(2 ** 32), below(2 ** 32)]).buffer)[0]);
    const exponent = random() < 0.5 ? `${pick(["e", "E", "e+", "e-"])}${below(400)}` : "";
    return `${pick(["", "-"])}${1 + below(9)}${digits(20)}${random() < 0.5 ? `.${digits(20)}` : ""}${exponent}`;
  }

  function string(): string {
    return `"${Array.from({ length: below(5) }, () => pick(STRINGS)).join("")}"`;
  }

  function list(one: () => string): string {
    return Array.from({ length: below(7) }, () => `${blanks()}${one()}${blanks()}`).join(",");
  }

  function value(depth: number): string {
    const kind = depth > 4 ? random() * 0.6 : random();
    if (kind < 0.3) return number();
    if (kind < 0.55) return string();
    if (kind < 0.6) return pick(["true", "false", "null"]);
    if (kind < 0.75) return `[${list(() => value(depth + 1))}]`;
    return `{${list(() => `${string()}${blanks()}:${blanks()}${value(depth + 1)}`)}}`;
  }

  /** Change, drop or add a byte of every tenth document. */
  function damaged(data: Buffer): Buffer {
    if (random() > 0.1) return data;
    const at = below(data.length + 1);
    const byte = BYTES.subarray(below(BYTES.length)).subarray(0, below(2));
    return Buffer.concat([data.subarray(0, at), byte, data.subarray(at + below(2))]);
  }
}

function deep(random: () => number): string {
  const depth = 254 + Math.floor(random() * 5);
  return random() < 0.5 ? "[".repeat(depth) + "]".repeat(depth) : '{"a":'.repeat(depth) + "1" + "}".repeat(depth);
}
