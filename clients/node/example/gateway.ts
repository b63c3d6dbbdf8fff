/**
 * A gateway's loop: ask before the calls of a response run, tell how each ended.
 *
 *   loopguard serve &
 *   node build/example/gateway.js 127.0.0.1:50051
 *
 * A scripted model stands where yours would: it reads two files at once, then retries one failing command until it is
 * stopped.
 */
import { type Call, GuardClient, type GuardRun, type Status, type Verdict } from "@loopguard/client";

const RETRIES = 40;
const CONFIG = { enabled: true, warningThreshold: 3, criticalThreshold: 5, globalCircuitBreakerThreshold: 8 };

/** The guard ended the turn (until the user writes again) or the run. */
class Ended extends Error {}

interface ToolCall extends Call {
  callId: string;
}

/** Drive one run; return 0 if it was stopped as it should be. */
async function main(address: string): Promise<number> {
  // A guard that is away must not hold up a gateway: after the deadline the client itself says ALLOW.
  await using client = new GuardClient(address, { deadlineMs: 250, onUnavailable: "allow" });
  await using run = await client.openRun("gateway-example", { config: CONFIG });
  try {
    for (const calls of model()) await step(run, calls);
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    console.log(`the run was ended: ${error.message}`);
    return 0;
  }
  console.log("nothing stopped the run: is the guard there?");
  return 1;
}

/** Run the calls of one response as far as the guard allows, and show the model what it has to see. */
async function step(run: GuardRun, calls: readonly ToolCall[]): Promise<void> {
  const verdicts = await run.judge(calls);
  const abort = verdicts.find((verdict) => verdict.action === "ABORT");
  if (abort !== undefined) throw new Ended(abort.note);
  const asked = calls.map((call, index) => ({ call, verdict: verdicts[index] }));
  if (verdicts.some((verdict) => verdict.action === "BLOCK")) {
    // One blocked call stops its whole batch; the note is what the model gets instead of a result.
    for (const { call, verdict } of asked) show(call, verdict, verdict?.note ?? "");
    return;
  }
  await Promise.all(asked.map(({ call, verdict }) => runCall(run, call, verdict)));
}

async function runCall(run: GuardRun, call: ToolCall, verdict: Verdict | undefined): Promise<void> {
  const { status, text, exitCode } = runTool(call);
  const result = JSON.stringify({ content: [{ type: "text", text }], details: { exitCode } });
  const answer = await run.report({ callId: call.callId, status, result });
  // A warning's note goes behind the result, after the outcome was reported without it.
  show(call, verdict, `${text} ${verdict?.note ?? ""}`.trim());
  if (answer.action === "ABORT") throw new Ended(answer.note);
}

/** Stand in for the tools: files that can be read, and a shell that works but whose command always fails. */
function runTool(call: ToolCall): { status: Status; text: string; exitCode: number } {
  return call.tool === "exec"
    ? { status: "OK", text: "make: *** [all] Error 2", exitCode: 2 }
    : { status: "OK", text: "int main() { return 0; }", exitCode: 0 };
}

/** Stand in for the model: each item is the calls of one response. */
function* model(): Generator<ToolCall[]> {
  yield [
    { tool: "read", args: '{"path": "main.c"}', callId: "a" },
    { tool: "read", args: '{"path": "Makefile"}', callId: "b" },
  ];
  for (let attempt = 0; attempt < RETRIES; attempt++) {
    yield [{ tool: "exec", args: '{"command": "make all"}', callId: `make-${attempt}` }];
  }
}

/** Print what the model sees. */
function show(call: ToolCall, verdict: Verdict | undefined, text: string): void {
  console.log(`${(verdict?.action ?? "").padEnd(6)} ${call.tool.padEnd(5)} ${text}`);
}

const [address] = process.argv.slice(2);
if (address === undefined) {
  console.error("usage: gateway.js HOST:PORT");
  process.exitCode = 2;
} else {
  process.exitCode = await main(address);
}
