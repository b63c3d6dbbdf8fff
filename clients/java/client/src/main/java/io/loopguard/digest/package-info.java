/**
 * Computes loopguard's digests in the client, so that 16 bytes can travel in place of a payload.
 *
 * <p>A digest is XXH3-128 of the canonical form of a JSON text: RFC 8785 with the rules that a loop
 * guard needs. Integers keep their exact digits at any length, numbers too large for a double keep
 * their text, of equal keys the last wins, unpaired surrogate escapes stay escapes. What is no JSON
 * is never refused: it is taken as opaque bytes, hashed with another seed. Equal digests therefore
 * mean equal values, and two different calls never look the same.
 */
package io.loopguard.digest;
