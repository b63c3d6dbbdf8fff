/**
 * Guards a real command: runs it again and again, as a stuck agent would, until the guard blocks it.
 *
 *   loopguard serve &
 *   node build/example/guard-command.js 127.0.0.1:50051 'make all'
 */
import { spawn } from "node:child_process";

import { GuardClient, type GuardRun, type Verdict } from "@loopguard/client";

const ATTEMPTS = 100;
const CONFIG = { enabled: true, warningThreshold: 3, criticalThreshold: 5, globalCircuitBreakerThreshold: 8 };

/** Run the command until it is blocked; return 0 if it was. */
async function main(address: string, command: string): Promise<number> {
  await using client = new GuardClient(address);
  await using run = await client.openRun(`command-${process.pid}`, { config: CONFIG });
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const verdict = await attemptOnce(run, command);
    if (verdict === undefined) continue;
    console.log(`attempt ${attempt}: ${verdict.action}: ${verdict.note}`);
    if (verdict.action === "BLOCK" || verdict.action === "ABORT") return 0;
  }
  console.log("nothing blocked the command: it gets somewhere, or the guard is away");
  return 1;
}

/** Run the command if the guard allows it; return the verdict that has something to say. */
async function attemptOnce(run: GuardRun, command: string): Promise<Verdict | undefined> {
  const [asked] = await run.judge([{ tool: "exec", args: JSON.stringify({ command }) }]);
  if (asked === undefined || asked.action === "BLOCK" || asked.action === "ABORT") return asked;
  const { output, exitCode } = await shell(command);
  process.stdout.write(output);
  const result = {
    content: [{ type: "text", text: output }],
    details: { status: "completed", exitCode, aggregated: output },
  };
  const told = await run.report({ callId: asked.callId, status: "OK", result: JSON.stringify(result) });
  return [told, asked].find((verdict) => verdict.action !== "ALLOW");
}

function shell(command: string): Promise<{ output: string; exitCode: number | null }> {
  return new Promise((resolve, reject) => {
    const child = spawn("sh", ["-c", `${command} 2>&1`], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.on("error", reject);
    child.on("close", (exitCode) => {
      resolve({ output, exitCode });
    });
  });
}

const [address, command] = process.argv.slice(2);
if (address === undefined || command === undefined) {
  console.error("usage: guard-command.js HOST:PORT COMMAND");
  process.exitCode = 2;
} else {
  process.exitCode = await main(address, command);
}
