import { GuardClient } from "@loopguard/client";

await using client = new GuardClient("127.0.0.1:50051");
await using run = await client.openRun("run-1", { config: { enabled: true } });

const calls = [{ tool: "exec", args: '{"command": "make"}' }]; // those of one model response, before any of them runs
for (let turn = 1; turn <= 30; turn++) {
  const verdicts = await run.judge(calls);
  const stopped = verdicts.find(({ action }) => action === "BLOCK" || action === "ABORT");
  if (stopped !== undefined) {
    console.log(`${turn}: ${stopped.action}, tell the model: ${stopped.note}`);
    break;
  }
  for (const { callId, action, note } of verdicts) {
    const result = JSON.stringify("make: *** No targets. Stop."); // what the tool returned
    await run.report({ callId, status: "OK", result });
    console.log(`${turn}: ${action} ${note}`); // a warning's note goes behind the result
  }
}
