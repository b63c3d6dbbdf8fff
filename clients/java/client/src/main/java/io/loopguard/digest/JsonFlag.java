package io.loopguard.digest;

/** Something odd about a JSON text. */
public enum JsonFlag {
  /** An integer beyond 2^53 - 1; compared by its exact digits. */
  BIGINT,
  /** A number beyond the range of doubles; compared by its text. */
  OVERFLOW,
  /** An object has a key twice; the last one counts. */
  DUPLICATE_KEY,
  /** A string has an unpaired surrogate escape. */
  SURROGATE,
  /** No JSON; compared byte by byte. */
  OPAQUE
}
