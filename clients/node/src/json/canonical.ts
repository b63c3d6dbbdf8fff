/**
 * Canonical form of JSON text: RFC 8785 with the rules that a guard needs.
 *
 * - Keys are in order of their UTF-16 code units; of a key that stands there twice, the last one counts.
 * - A number without fraction and exponent keeps its exact digits at any length; `-0` is `0`.
 * - Any other number is an IEEE double as ECMAScript writes it; one too large for a double keeps its own text with a
 *   lower-case `e` and without `+`.
 * - Strings are escaped as little as possible. Half of a surrogate pair, which only an escape can hold, stays one.
 * - No normalization of Unicode.
 *
 * Everything else, and values more than 256 containers deep, is no JSON: nothing is ever refused, such bytes are their
 * own canonical form.
 *
 * The writer works from bytes to bytes. `JSON.parse` would lose digits, duplicate keys and the difference between JSON
 * and what only looks like it.
 */
import { isUtf8 } from "node:buffer";

import { Flag } from "./flags.js";

/** How many containers may stand inside one another. */
export const MAX_DEPTH = 256;

const LARGEST_EXACT = "9007199254740991";

const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const SLASH = 0x2f;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const [LETTER_B, LETTER_E, LETTER_F, LETTER_N, LETTER_R, LETTER_T, LETTER_U] = [
  0x62, 0x65, 0x66, 0x6e, 0x72, 0x74, 0x75,
];
const LARGE_E = 0x45;
const HEX_DIGITS = Buffer.from("0123456789abcdef");
const [TRUE, FALSE, NULL] = [Buffer.from("true"), Buffer.from("false"), Buffer.from("null")];

/** What a letter after a backslash stands for, and the letter that is written for a control character. */
const UNESCAPED = new Map([
  [QUOTE, QUOTE],
  [BACKSLASH, BACKSLASH],
  [SLASH, SLASH],
  [LETTER_B, 0x08],
  [LETTER_F, 0x0c],
  [LETTER_N, LINE_FEED],
  [LETTER_R, RETURN],
  [LETTER_T, TAB],
]);
const SHORT_ESCAPES = new Map(
  [...UNESCAPED].filter(([, code]) => code !== SLASH).map(([letter, code]) => [code, letter]),
);

interface Member {
  start: number;
  end: number;
}

/** What a text is: its canonical form (`undefined` if it is no JSON) and the bits of what was odd. */
export interface Canonical {
  /** Valid until the next call of `writeCanonical`. */
  text: Uint8Array | undefined;
  flags: number;
}

/** The buffer that small texts share; it is only ever used within one synchronous call. */
const SHARED = Buffer.allocUnsafeSlow(1 << 16);

/** Write the canonical form of a JSON text. */
export function writeCanonical(data: Uint8Array): Canonical {
  const source = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (isUtf8(source)) {
    const writer = new Writer(source);
    if (writer.document()) return { text: writer.written, flags: writer.flags };
  }
  return { text: undefined, flags: Flag.OPAQUE };
}

/**
 * Reads one document and writes it on the way. Every method returns whether what it found is JSON.
 *
 * The output never outgrows the room that is left, except by numbers (`1e20` has 21 digits): whatever else is read is
 * written in as many bytes or fewer.
 */
class Writer {
  flags = 0;
  #in: Buffer;
  #at = 0;
  #out: Buffer;
  #size = 0;
  #depth = 0;

  constructor(data: Buffer) {
    this.#in = data;
    this.#out = data.length <= SHARED.length ? SHARED : Buffer.allocUnsafeSlow(data.length);
  }

  get written(): Uint8Array {
    return this.#out.subarray(0, this.#size);
  }

  document(): boolean {
    if (!this.#value()) return false;
    return this.#next() === -1;
  }

  /** The next byte that is no white space, -1 at the end; it isn't taken. */
  #next(): number {
    for (;;) {
      const byte = this.#in[this.#at] ?? -1;
      if (byte !== SPACE && byte !== LINE_FEED && byte !== RETURN && byte !== TAB) return byte;
      this.#at++;
    }
  }

  #put(byte: number): void {
    this.#out[this.#size++] = byte;
  }

  #value(): boolean {
    const first = this.#next();
    switch (first) {
      case QUOTE:
        return this.#string();
      case OPEN_BRACE:
      case OPEN_BRACKET: {
        if (this.#depth === MAX_DEPTH) return false;
        this.#depth++;
        const whole = first === OPEN_BRACE ? this.#object() : this.#array();
        this.#depth--;
        return whole;
      }
      case LETTER_T:
        return this.#word(TRUE);
      case LETTER_F:
        return this.#word(FALSE);
      case LETTER_N:
        return this.#word(NULL);
      default:
        return this.#number();
    }
  }

  #word(word: Buffer): boolean {
    for (const letter of word) {
      if (this.#in[this.#at++] !== letter) return false;
      this.#put(letter);
    }
    return true;
  }

  #array(): boolean {
    this.#at++;
    this.#put(OPEN_BRACKET);
    if (this.#next() !== CLOSE_BRACKET) {
      for (;;) {
        if (!this.#value()) return false;
        const after = this.#next();
        if (after === CLOSE_BRACKET) break;
        if (after !== COMMA) return false;
        this.#at++;
        this.#put(COMMA);
      }
    }
    this.#at++;
    this.#put(CLOSE_BRACKET);
    return true;
  }

  #object(): boolean {
    this.#at++;
    this.#put(OPEN_BRACE);
    if (this.#next() !== CLOSE_BRACE && !this.#members()) return false;
    this.#at++;
    this.#put(CLOSE_BRACE);
    return true;
  }

  /** Members are written as they come; only if they turn out to be out of order they are put into it. */
  #members(): boolean {
    const begin = this.#size;
    const keys: string[] = [];
    const members: Member[] = [];
    let ordered = true;
    for (;;) {
      if (this.#next() !== QUOTE) return false;
      const start = this.#size;
      if (!this.#string()) return false;
      const key = this.#keyAt(start);
      if (this.#next() !== COLON) return false;
      this.#at++;
      this.#put(COLON);
      if (!this.#value()) return false;
      const last = keys.at(-1);
      if (last !== undefined && last >= key) ordered = false;
      keys.push(key);
      members.push({ start, end: this.#size });
      const after = this.#next();
      if (after === CLOSE_BRACE) break;
      if (after !== COMMA) return false;
      this.#at++;
      this.#put(COMMA);
    }
    if (!ordered) this.#order(begin, keys, members);
    return true;
  }

  /** The text of the key that was just written, with one unit for each unit of UTF-16. */
  #keyAt(start: number): string {
    const quoted = this.#out.subarray(start, this.#size);
    if (!quoted.includes(BACKSLASH)) return quoted.toString("utf8", 1, quoted.length - 1);
    return JSON.parse(quoted.toString()) as string;
  }

  #order(begin: number, keys: readonly string[], members: readonly Member[]): void {
    const byKey = new Map<string, Member>();
    members.forEach((member, index) => byKey.set(keys[index] ?? "", member));
    if (byKey.size < members.length) this.flags |= Flag.DUPLICATE_KEY;
    const before = Buffer.from(this.#out.subarray(begin, this.#size));
    this.#size = begin;
    // `sort` without a function of its own compares UTF-16 code units.
    for (const key of [...byKey.keys()].sort()) {
      const member = byKey.get(key);
      if (member === undefined) continue;
      if (this.#size > begin) this.#put(COMMA);
      this.#size += before.copy(this.#out, this.#size, member.start - begin, member.end - begin);
    }
  }

  #string(): boolean {
    this.#at++;
    this.#put(QUOTE);
    for (;;) {
      const byte = this.#in[this.#at] ?? -1;
      if (byte < SPACE) return false;
      this.#at++;
      if (byte === BACKSLASH) {
        if (!this.#escape()) return false;
        continue;
      }
      this.#put(byte);
      if (byte === QUOTE) return true;
    }
  }

  /** What stands after a backslash. */
  #escape(): boolean {
    const letter = this.#in[this.#at++] ?? -1;
    if (letter !== LETTER_U) {
      const code = UNESCAPED.get(letter);
      if (code === undefined) return false;
      this.#character(code);
      return true;
    }
    const unit = this.#hexAt(this.#at);
    if (unit < 0) return false;
    this.#at += 4;
    if (unit < 0xd800 || unit > 0xdfff) {
      this.#character(unit);
      return true;
    }
    const low = unit < 0xdc00 && this.#startsUnit(this.#at) ? this.#hexAt(this.#at + 2) : -1;
    if (low >= 0xdc00 && low <= 0xdfff) {
      this.#at += 6;
      this.#character(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
    } else {
      this.flags |= Flag.SURROGATE;
      this.#unit(unit);
    }
    return true;
  }

  #startsUnit(at: number): boolean {
    return this.#in[at] === BACKSLASH && this.#in[at + 1] === LETTER_U;
  }

  /** The value of four hexadecimal digits, -1 if they are none. */
  #hexAt(at: number): number {
    let value = 0;
    for (let place = at; place < at + 4; place++) {
      const digit = hexValue(this.#in[place] ?? -1);
      if (digit < 0) return -1;
      value = value * 16 + digit;
    }
    return value;
  }

  /** Write one character as it stands in a canonical string. */
  #character(code: number): void {
    const letter = SHORT_ESCAPES.get(code);
    if (letter !== undefined) {
      this.#put(BACKSLASH);
      this.#put(letter);
    } else if (code < SPACE) {
      this.#unit(code);
    } else if (code < 0x80) {
      this.#put(code);
    } else {
      this.#size += this.#out.write(String.fromCodePoint(code), this.#size);
    }
  }

  #unit(unit: number): void {
    this.#put(BACKSLASH);
    this.#put(LETTER_U);
    for (const shift of [12, 8, 4, 0]) this.#put(HEX_DIGITS[(unit >> shift) & 15] ?? 0);
  }

  #digits(): boolean {
    const start = this.#at;
    while (isDigit(this.#in[this.#at])) this.#at++;
    return this.#at > start;
  }

  #number(): boolean {
    const start = this.#at;
    const negative = this.#in[start] === MINUS;
    if (negative) this.#at++;
    const digits = this.#at;
    if (this.#in[digits] === ZERO) this.#at++;
    else if (!this.#digits()) return false;
    const integer = this.#at;
    if (this.#in[this.#at] === POINT) {
      this.#at++;
      if (!this.#digits()) return false;
    }
    const letter = this.#in[this.#at];
    if (letter === LETTER_E || letter === LARGE_E) {
      this.#at++;
      const sign = this.#in[this.#at];
      if (sign === PLUS || sign === MINUS) this.#at++;
      if (!this.#digits()) return false;
    }
    if (this.#at === integer) this.#integer(negative, digits);
    else this.#decimal(this.#in.toString("latin1", start, this.#at));
    return true;
  }

  #integer(negative: boolean, start: number): void {
    const length = this.#at - start;
    if (negative && this.#in[start] !== ZERO) this.#put(MINUS);
    if (length > 16 || (length === 16 && this.#in.toString("latin1", start, this.#at) > LARGEST_EXACT)) {
      this.flags |= Flag.BIGINT;
    }
    this.#size += this.#in.copy(this.#out, this.#size, start, this.#at);
  }

  #decimal(token: string): void {
    const value = Number(token);
    let text = String(value);
    if (!Number.isFinite(value)) {
      this.flags |= Flag.OVERFLOW;
      text = token.replace("E", "e").replace("+", "");
    }
    const room = this.#size + text.length + (this.#in.length - this.#at);
    if (room > this.#out.length) {
      const larger = Buffer.allocUnsafeSlow(room + (room >> 1));
      this.#out.copy(larger, 0, 0, this.#size);
      this.#out = larger;
    }
    this.#size += this.#out.write(text, this.#size, "latin1");
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function hexValue(byte: number): number {
  if (byte >= ZERO && byte <= NINE) return byte - ZERO;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= LETTER_F ? letter - 0x57 : -1;
}
