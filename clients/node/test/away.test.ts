import assert from "node:assert/strict";
import { test } from "node:test";

import * as grpc from "@grpc/grpc-js";

import { GuardUnavailableError, InvalidFrameError } from "../src/index.js";
import * as pb from "../src/gen/loopguard/v1/guard_pb.js";
import { MAKE, PATIENT_MS, clientOf, onBothStreams, until } from "./clients.js";
import { FakeGuard, refused } from "./fake-guard.js";

/** A guard that is known but not there. */
async function absent(): Promise<FakeGuard> {
  const guard = await new FakeGuard().start();
  guard.stop();
  return guard;
}

function opens(guard: FakeGuard): pb.RunOpen[] {
  return guard.frames.flatMap(({ frame }) => (frame.case === "open" ? [frame.value] : []));
}

onBothStreams("a guard that is away", (many) => {
  for (const [onUnavailable, action] of [
    ["allow", "ALLOW"],
    ["block", "BLOCK"],
  ] as const) {
    test(`the client decides (${onUnavailable}), counts, and tells what happened`, async () => {
      await using guard = await absent();
      await using client = clientOf(guard.address, { many, onUnavailable });
      const run = await client.openRun("r");
      const asked = [...(await run.judge([MAKE])), ...(await run.judge([MAKE, MAKE])), ...(await run.check([MAKE]))];
      const told = await run.report({ callId: "c1", status: "OK" });
      await run.userMessage();
      await assert.rejects(run.judge([]), InvalidFrameError);
      await guard.start();
      await until(() => guard.observed.length === 5);
      const [late] = await run.judge([MAKE]);

      assert.deepEqual(
        asked.map((one) => [one.callId, one.action, one.note !== ""]),
        ["c1", "c2", "c3", "c4"].map((id) => [id, action, action === "BLOCK"]),
      );
      assert.deepEqual([told.callId, told.action, late?.callId, late?.action], ["c1", "ALLOW", "c4", "ALLOW"]);
      assert.equal(run.decidedUnavailable, 3);
      assert.deepEqual(
        opens(guard).map((open) => open.decidedUnavailable),
        [3n],
      );
      const batches = guard.frames.flatMap(({ frame }) => (frame.case === "calls" ? [frame.value.dryRun] : []));
      assert.deepEqual(batches, action === "BLOCK" ? [true, true, true, false] : [false, false, true, false]);
      await run.close();
    });
  }

  test("nobody waits for a guard that is known to be away", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, deadlineMs: 3_600_000 });
    await using run = await client.openRun("r");
    guard.stop();
    await run.judge([MAKE]);

    for (let round = 0; round < 100; round++) await run.judge([MAKE]);

    assert.equal(run.decidedUnavailable, 101);
  });

  for (const code of [grpc.status.CANCELLED, grpc.status.RESOURCE_EXHAUSTED]) {
    test(`a guard that is busy (${grpc.status[code]}) is waited for`, async () => {
      await using guard = await new FakeGuard().start();
      await using client = clientOf(guard.address, { many, onUnavailable: "block" });
      let refusals = 3;
      guard.refuseStream = () => (refusals-- > 0 ? { code, details: "busy" } : undefined);

      await using run = await client.openRun("r");

      assert.equal((await run.judge([MAKE]))[0]?.action, "ALLOW");
      assert.deepEqual([run.opened?.epoch, run.decidedUnavailable], [1n, 0]);
    });
  }

  test("a call right after a lost stream is answered by the guard that comes back", async () => {
    await using guard = await new FakeGuard().start();
    let lost = false;
    // Asked how long to wait for the next try, which comes after a fifth of a second.
    const random = (): number => {
      lost = true;
      return 4;
    };
    await using client = clientOf(guard.address, { many, random });
    await using run = await client.openRun("r");
    lost = false;
    guard.cut();
    await until(() => lost);

    await run.judge([MAKE]);

    assert.deepEqual([guard.observed, run.decidedUnavailable], [[1], 0]);
  });

  test("a late answer is decided here, and nobody waits as long again until one comes", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, deadlineMs: 50 });
    const run = await client.openRun("r");
    await until(() => run.opened !== undefined);
    guard.fate = (frame) => (frame.seq < 4n ? "hold" : "answer");

    const first = await run.judge([MAKE]);
    const told = await run.report({ callId: "c1", status: "OK" });
    const second = await run.judge([MAKE]);
    assert.deepEqual(
      [...first, told, ...second].map((one) => one.action),
      ["ALLOW", "ALLOW", "ALLOW"],
    );
    assert.equal(run.decidedUnavailable, 2);
    await until(() => guard.observed.length === 3);
    for (const stream of guard.streams) for (const give of stream.held.splice(0)) give();
    guard.fate = (frame) => (frame.frame.case === "calls" ? refused(3, "EMPTY_TOOL", "no tool") : "answer");

    // Refused by the guard, so it was the guard that answered.
    await until(() => guard.streams.size > 0);
    let refusal: unknown;
    while (refusal === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      refusal = await run.judge([MAKE]).then(
        () => undefined,
        (error: unknown) => error,
      );
    }
    assert.ok(refusal instanceof InvalidFrameError);
    await run.close();
  });

  test("calls blocked here are told as ones that did not run", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, deadlineMs: 50, onUnavailable: "block" });
    const run = await client.openRun("r");
    await until(() => run.opened !== undefined);
    guard.fate = (frame) => (frame.frame.case === "calls" ? "hold" : "answer");

    const [blocked] = await run.judge([MAKE]);
    await until(() => guard.observed.length === 2);
    const inSpite = await run.report({ callId: "c1", status: "OK" });
    await until(() => guard.observed.length === 3);

    assert.deepEqual([blocked?.action, inSpite.action], ["BLOCK", "ALLOW"]);
    const [, , cancelled, history] = guard.frames.map(({ frame }) => frame);
    assert.ok(cancelled?.case === "outcome" && cancelled.value.status === pb.Status.CANCELLED);
    assert.ok(history?.case === "history" && history.value.records[0]?.tool === "exec");
    await run.close();
  });

  test("who waits, waits and gets the guard's answer", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, deadlineMs: 1, onUnavailable: "wait" });
    const run = await client.openRun("r");
    guard.stop();
    let answered = false;
    const judging = run.judge([MAKE]).finally(() => (answered = true));
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.ok(!answered);

    await guard.start();

    assert.equal((await judging)[0]?.action, "ALLOW");
    assert.equal(run.decidedUnavailable, 0);
    await run.close();
  });

  test("a guard that fails is one that is away, and told to who waits", async () => {
    await using guard = await new FakeGuard().start();
    guard.fate = (frame) => (frame.frame.case === "calls" ? refused(13, "INTERNAL", "inside loopguard") : "answer");
    await using client = clientOf(guard.address, { many });
    await using waiting = clientOf(guard.address, { many, onUnavailable: "wait" });
    await using run = await client.openRun("r");
    await using other = await waiting.openRun("other");

    assert.equal((await run.judge([MAKE]))[0]?.action, "ALLOW");
    assert.equal(run.decidedUnavailable, 1);
    await assert.rejects(other.judge([MAKE]), GuardUnavailableError);
  });

  test("closing is not held up by a guard that is silent", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, deadlineMs: 20 });
    const run = await client.openRun("r");
    guard.fate = () => "hold";

    await run.close();

    await assert.rejects(run.judge([MAKE]));
  });
});

onBothStreams("giving up", (many) => {
  test("a signal ends waiting, and the calls are told as ones that did not run", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, onUnavailable: "wait" });
    await using run = await client.openRun("r");
    guard.fate = (frame) => (frame.frame.case === "calls" ? "hold" : "answer");
    const stop = new AbortController();

    const judging = run.judge([MAKE], { signal: stop.signal });
    await until(() => guard.observed.length === 1);
    stop.abort();

    await assert.rejects(judging, { name: "AbortError" });
    await until(() => guard.observed.length === 2);
    const last = guard.frames.at(-1)?.frame;
    assert.ok(last?.case === "outcome" && last.value.status === pb.Status.CANCELLED);
    await assert.rejects(run.judge([MAKE], { signal: AbortSignal.abort() }), { name: "AbortError" });
    assert.equal(guard.observed.length, 2);
  });

  test("opening can be given up", async () => {
    await using guard = await absent();
    await using client = clientOf(guard.address, { many, onUnavailable: "wait", deadlineMs: PATIENT_MS });

    await assert.rejects(client.openRun("r", { signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
  });
});
