/** Runs the language-neutral vectors of conformance/ against the Java client. */
package io.loopguard.conformance;
