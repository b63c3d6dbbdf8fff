/**
 * JSON text: a string, or its UTF-8 bytes. It is text and not a value, so that what a tool was called with reaches the
 * guard as it is: `JSON.parse` and `JSON.stringify` would merge long numbers.
 */
export type JsonText = string | Uint8Array;

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Return the bytes of a JSON text. Throws `TypeError` for what is none; `where` names it. */
export function jsonBytes(text: JsonText, where = "json"): Uint8Array {
  if (text instanceof Uint8Array) return text;
  if (typeof text !== "string") {
    throw new TypeError(`\`${where}\` has to be JSON text, a string or its bytes, not ${kindOf(text)}`);
  }
  return Buffer.from(text.isWellFormed() ? text : escapeSurrogates(text));
}

/** UTF-8 has no halves of surrogate pairs; written as escapes they stay apart from each other. */
function escapeSurrogates(text: string): string {
  return text.replace(LONE_SURROGATE, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}
