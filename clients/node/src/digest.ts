/** Digests of JSON text, the same as the guard's own. */
import { createXXHash128 } from "hash-wasm";

import { writeCanonical } from "./json/canonical.js";
import { type JsonFlag, flagNames } from "./json/flags.js";
import { type JsonText, jsonBytes } from "./json/text.js";

/** The version of the canonical scheme; `openRun` takes it as `digestScheme`. */
export const DIGEST_SCHEME = 1;

/** The length of a digest in bytes. */
export const DIGEST_BYTES = 16;

/** What is no JSON is hashed with this seed (as two halves), so that it never equals a canonical text. */
const OPAQUE_SEED = { low: 0x67756172, high: 0x6c6f6f70 };

const canonicalHash = await createXXHash128(0, 0);
const opaqueHash = await createXXHash128(OPAQUE_SEED.low, OPAQUE_SEED.high);

/** What `inspect` finds out about a JSON text. */
export interface Inspection {
  /** The canonical form; the bytes themselves where they are no JSON. */
  canonical: Uint8Array;
  /** XXH3-128, 16 bytes, big-endian. */
  digest: Uint8Array;
  /** What was odd. */
  flags: JsonFlag[];
}

/** Return the canonical form of a JSON text. What is no JSON is returned as it is; nothing is refused. */
export function canonicalize(text: JsonText): Uint8Array {
  const data = jsonBytes(text);
  return Uint8Array.from(writeCanonical(data).text ?? data);
}

/** Return the digest (16 bytes) of the canonical form of a JSON text: equal digests, equal values. */
export function fingerprint(text: JsonText): Uint8Array {
  const data = jsonBytes(text);
  return hash(data, writeCanonical(data).text);
}

/** Return canonical form, digest and flags of a JSON text. */
export function inspect(text: JsonText): Inspection {
  const data = jsonBytes(text);
  const { text: written, flags } = writeCanonical(data);
  return { canonical: Uint8Array.from(written ?? data), digest: hash(data, written), flags: flagNames(flags) };
}

function hash(data: Uint8Array, canonical: Uint8Array | undefined): Uint8Array {
  const hasher = canonical === undefined ? opaqueHash : canonicalHash;
  return hasher
    .init()
    .update(canonical ?? data)
    .digest("binary");
}
