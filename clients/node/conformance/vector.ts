/** What all kinds of vectors have in common: reading JSON so that the text of its values is kept, and refusing bad cases. */

/** A vector file that can't be run; the message starts with `file:line`. */
export class BadVector extends Error {
  override name = "BadVector";
}

/** Where in a file something stands. */
export class Place {
  constructor(
    private readonly source: string,
    private readonly line: number,
  ) {}

  refuse(message: string): BadVector {
    return new BadVector(`${this.source}:${this.line}: ${message}`);
  }
}

/** What came of a case: what is wrong, or that it was left out. */
export interface Outcome {
  name: string;
  problems: string[] | "left out";
}

const BLANKS = new Set([" ", "\t", "\n", "\r"]);

/** Return a value that is sure to be JSON; whoever needs its exact text takes it by `members` or `items`. */
export function parse(text: string, what: string, place: Place): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw place.refuse(`${what} is no valid JSON: ${String(error)}`);
  }
}

/** Return the members of an object as JSON texts. Refuses other values, keys that aren't `known` and keys that repeat. */
export function members(
  text: string,
  what: string,
  known: readonly string[] | undefined,
  place: Place,
): Map<string, string> {
  if (!text.startsWith("{")) throw place.refuse(`${what} must be an object`);
  const found = new Map<string, string>();
  for (let at = skipBlanks(text, 1); text[at] !== "}"; at = skipComma(text, at)) {
    const keyEnd = valueEnd(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const start = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
    at = valueEnd(text, start);
    if (found.has(key)) throw place.refuse(`key \`${key}\` stands twice in ${what}`);
    if (known !== undefined && !known.includes(key)) throw place.refuse(`unknown key \`${key}\` in ${what}`);
    found.set(key, text.slice(start, at));
  }
  return found;
}

/** Return the items of an array as JSON texts. */
export function items(text: string, what: string, place: Place): string[] {
  if (!text.startsWith("[")) throw place.refuse(`${what} must be an array`);
  const found: string[] = [];
  for (let at = skipBlanks(text, 1); text[at] !== "]"; at = skipComma(text, at)) {
    const end = valueEnd(text, at);
    found.push(text.slice(at, end));
    at = end;
  }
  return found;
}

function skipBlanks(text: string, at: number): number {
  while (BLANKS.has(text[at] ?? "")) at++;
  return at;
}

function skipComma(text: string, at: number): number {
  const after = skipBlanks(text, at);
  return text[after] === "," ? skipBlanks(text, after + 1) : after;
}

/** Where the value that begins at `start` ends; the text is known to be JSON. */
function valueEnd(text: string, start: number): number {
  let at = start;
  let depth = 0;
  do {
    const letter = text[at] ?? "";
    if (letter === '"') at = stringEnd(text, at);
    else {
      if (letter === "{" || letter === "[") depth++;
      else if (letter === "}" || letter === "]") depth--;
      else if (depth === 0) return scalarEnd(text, at);
      at++;
    }
  } while (depth > 0);
  return at;
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function scalarEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && !",]}".includes(text[at] ?? "") && !BLANKS.has(text[at] ?? "")) at++;
  return at;
}

/** Return a member that has to be a string; "" where it may be absent and is. */
export function textOf(fields: ReadonlyMap<string, string>, key: string, place: Place, needed = false): string {
  const value = fields.get(key);
  if (value === undefined && !needed) return "";
  const text: unknown = value === undefined ? undefined : JSON.parse(value);
  if (typeof text !== "string")
    throw place.refuse(value === undefined ? `\`${key}\` is missing` : `\`${key}\` must be a string`);
  return text;
}

/** Return a member that has to be a list of strings; empty if absent. */
export function namesOf(fields: ReadonlyMap<string, string>, key: string, place: Place): string[] {
  const names: unknown = JSON.parse(fields.get(key) ?? "[]");
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string")) {
    throw place.refuse(`\`${key}\` must be a list of names`);
  }
  return names;
}

/** Return bytes that stand there as base64 or hexadecimal. */
export function bytesOf(
  fields: ReadonlyMap<string, string>,
  key: string,
  encoding: "base64" | "hex",
  place: Place,
): Buffer {
  const text = textOf(fields, key, place, true);
  const data = Buffer.from(text, encoding);
  const again = data.toString(encoding);
  if (again !== (encoding === "hex" ? text.toLowerCase() : text)) throw place.refuse(`\`${key}\` must be ${encoding}`);
  return data;
}
