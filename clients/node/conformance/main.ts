/**
 * Runs language-neutral vectors and prints each mismatch; the last line is `N passed, N failed`.
 *
 *   node build/conformance/main.js FILE…
 *
 * Canon and wire vectors are computed here. Detection vectors are played on the server at LOOPGUARD_ADDRESS; those that
 * need a server with a configuration of their own, or its digests, are left out and counted. Exits 1 if a case failed, 2
 * for a file without cases, an unknown field or kind, or no server.
 */
import { runFiles } from "./runner.js";
import { BadVector } from "./vector.js";

try {
  const tally = await runFiles(process.argv.slice(2), process.env["LOOPGUARD_ADDRESS"], console.log);
  process.exitCode = tally.failed > 0 ? 1 : 0;
} catch (error) {
  const told = error instanceof BadVector || (error instanceof Error && "code" in error);
  console.error(`conformance: ${told ? error.message : String((error as Error).stack)}`);
  process.exitCode = 2;
}
