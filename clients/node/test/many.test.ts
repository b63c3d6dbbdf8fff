import assert from "node:assert/strict";
import { test } from "node:test";

import { MAKE, clientOf, until } from "./clients.js";
import { FakeGuard } from "./fake-guard.js";

const RUNS = Array.from({ length: 60 }, (_, index) => `run-${index}`);

test("what many runs say at once goes in few messages on one stream", async () => {
  await using guard = await new FakeGuard().start();
  await using client = clientOf(guard.address, { many: true });
  const runs = await Promise.all(RUNS.map((runId) => client.openRun(runId)));

  for (let round = 0; round < 5; round++) {
    const judged = await Promise.all(runs.map((run) => run.judge([MAKE])));
    await Promise.all(runs.map((run, index) => run.report({ callId: judged[index]?.[0]?.callId })));
  }

  assert.equal(guard.metadata.length, 1);
  assert.equal(guard.frames.length, RUNS.length * 11);
  assert.ok(Math.max(...guard.messages) >= RUNS.length / 2, `${guard.messages.join(" ")} frames a message`);
  await Promise.all(runs.map((run) => run.close()));
  assert.equal(guard.runs.size, 0);
});

test("no message holds more than the guard takes, in frames or bytes", async () => {
  await using guard = await new FakeGuard().start();
  guard.limits = { framesPerMessage: 7, messageBytes: 50_000n, frameBytes: 50_000n };
  await using client = clientOf(guard.address, { many: true });
  const first = await client.openRun("first");
  const runs = [first, ...(await Promise.all(RUNS.map((runId) => client.openRun(runId))))];
  const before = guard.messages.length;

  await Promise.all(runs.map((run) => run.judge([{ tool: "read", args: `"${"x".repeat(8000)}"` }])));

  const most = Math.max(...guard.messages.slice(before));
  assert.ok(most <= 6, `${most} frames of 8,000 bytes in a message of 50,000`);
  await assert.rejects(first.judge([{ tool: "a", args: "x".repeat(50_000 - 60) }]), { reason: "TOO_LARGE" });
});

test("no message holds more calls than a guard takes", async () => {
  await using guard = await new FakeGuard().start();
  guard.limits = { callsPerBatch: 1024 };
  await using client = clientOf(guard.address, { many: true });
  const runs = await Promise.all(RUNS.map((runId) => client.openRun(runId)));
  const before = guard.messages.length;
  const calls = Array.from({ length: 1024 }, () => ({ tool: "t" }));

  await Promise.all(runs.flatMap((run) => [run.judge(calls), run.judge(calls)]));

  const most = Math.max(...guard.messages.slice(before));
  assert.ok(most * 1024 <= 65_536, `${most} batches of 1,024 calls`);
});

test("what is refused as too large is sent in smaller messages", async () => {
  await using guard = await new FakeGuard().start();
  guard.mostFrames = 7;
  await using client = clientOf(guard.address, { many: true, onUnavailable: "wait" });
  const runs = await Promise.all(RUNS.map((runId) => client.openRun(runId)));

  const judged = await Promise.all(runs.map((run) => run.judge([MAKE])));

  assert.deepEqual(new Set(judged.map(([one]) => one?.callId)), new Set(["c1"]));
  assert.ok(Math.max(...guard.messages) > 7);
});

test("one run's trouble touches no other", async () => {
  await using guard = await new FakeGuard().start();
  await using client = clientOf(guard.address, { many: true });
  const runs = await Promise.all(RUNS.map((runId) => client.openRun(runId)));
  const [one, ...others] = runs;
  guard.fate = (_, runId) => (runId === RUNS[0] ? "hold" : "answer");

  const held = one?.judge([MAKE]);
  const judged = await Promise.all(others.map((run) => run.judge([MAKE])));
  await until(() => [...guard.streams].some((stream) => stream.held.length > 0));
  for (const stream of guard.streams) for (const give of stream.held.splice(0)) give();

  assert.equal(judged.length, RUNS.length - 1);
  assert.equal((await held)?.length, 1);
});

test("all runs go on after a cut", async () => {
  await using guard = await new FakeGuard().start();
  await using client = clientOf(guard.address, { many: true });
  const runs = await Promise.all(RUNS.map((runId) => client.openRun(runId)));
  await Promise.all(runs.map((run) => run.judge([MAKE])));
  guard.cut();

  const judged = await Promise.all(runs.map((run) => run.judge([MAKE])));

  assert.deepEqual(new Set(judged.map(([one]) => one?.callId)), new Set(["c2"]));
  assert.equal(guard.observed.length, RUNS.length * 2);
});
