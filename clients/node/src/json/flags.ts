/** The bits of what can be odd about a JSON text; the same as in every other implementation. */
export const Flag = {
  BIGINT: 1,
  OVERFLOW: 2,
  DUPLICATE_KEY: 4,
  SURROGATE: 8,
  OPAQUE: 16,
} as const;

/**
 * Something odd about a JSON text.
 *
 * - `BIGINT`: an integer beyond 2^53 - 1; compared by its exact digits.
 * - `OVERFLOW`: a number beyond the range of doubles; compared by its text.
 * - `DUPLICATE_KEY`: an object has a key twice; the last one counts.
 * - `SURROGATE`: a string has an unpaired surrogate escape.
 * - `OPAQUE`: not JSON; compared byte by byte.
 */
export type JsonFlag = keyof typeof Flag;

const NAMES = Object.keys(Flag) as JsonFlag[];

/** Return the names of bits, in the order of the bits. */
export function flagNames(bits: number): JsonFlag[] {
  return NAMES.filter((name) => bits & Flag[name]);
}
