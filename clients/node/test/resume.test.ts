import assert from "node:assert/strict";
import { test } from "node:test";

import * as grpc from "@grpc/grpc-js";
import { create } from "@bufbuild/protobuf";

import { type GuardRun, RunRefusedError, type Verdict } from "../src/index.js";
import * as pb from "../src/gen/loopguard/v1/guard_pb.js";
import { MAKE, clientOf, onBothStreams, until } from "./clients.js";
import { FakeGuard, type Fate, ended, refused, streamStatus } from "./fake-guard.js";

/** What every kind of frame is told by, and the numbers that it takes. */
const SCRIPT: ((run: GuardRun) => Promise<unknown>)[] = [
  (run) => run.record([{ tool: "exec", args: "1", status: "OK", result: "2" }]),
  (run) => run.judge([MAKE, { tool: "read" }]),
  (run) => run.report({ callId: "c1", status: "OK" }),
  (run) => run.report({ callId: "c2", status: "ERROR", error: '"no"' }),
  (run) => run.userMessage(),
  (run) => run.check([MAKE]),
  (run) => run.compactionRetry(),
  (run) => run.judge([MAKE]),
];

async function playAll(run: GuardRun): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const tell of SCRIPT) answers.push(await tell(run));
  return answers;
}

async function undisturbed(many: boolean): Promise<unknown[]> {
  await using guard = await new FakeGuard().start();
  await using client = clientOf(guard.address, { many });
  await using run = await client.openRun("r");
  return await playAll(run);
}

/** A fate that strikes each of the script's frames once. */
function once(fate: Fate): FakeGuard["fate"] {
  const struck = new Set<bigint>();
  return (frame) => {
    if (frame.seq === 0n || frame.frame.case === "close" || struck.has(frame.seq)) return "answer";
    struck.add(frame.seq);
    return fate;
  };
}

function seqs(guard: FakeGuard): number[] {
  return guard.frames.map((frame) => Number(frame.seq));
}

onBothStreams("a lost stream", (many) => {
  for (const fate of ["lose", "cut"] as const) {
    test(`cut ${fate === "lose" ? "before" : "after"} each frame is taken, changes no answer`, async () => {
      const expected = await undisturbed(many);
      await using guard = await new FakeGuard().start();
      await using client = clientOf(guard.address, { many });
      const run = await client.openRun("r");
      guard.fate = once(fate);

      const answers = await playAll(run);
      await run.close();

      assert.deepEqual(answers, expected);
      assert.deepEqual(guard.observed, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
      assert.equal(run.opened?.epoch, BigInt(SCRIPT.length + 1));
      assert.ok(
        guard.frames
          .filter((frame) => frame.frame.case === "open")
          .slice(1)
          .every(({ frame }) => (frame.value as pb.RunOpen).resume),
      );
    });
  }

  test("whose server has lost the run, is told everything again, at the times when it happened", async () => {
    await using guard = await new FakeGuard().start();
    let now = 1000;
    await using client = clientOf(guard.address, { many, now: () => now });
    const run = await client.openRun("r");
    for (const tell of SCRIPT.slice(0, 4)) {
      now += 1500;
      await tell(run);
    }
    guard.runs.clear();
    guard.cut();
    now += 60_000;

    const [verdict] = (await run.judge([MAKE])) as [Verdict];

    assert.equal(verdict.callId, "c3");
    assert.deepEqual(seqs(guard).slice(5), [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(
      guard.frames.slice(6).map(({ at }) => Number(at?.seconds) + Number(at?.nanos) / 1e9),
      [1.5, 3, 4.5, 6, 66],
    );
    assert.deepEqual([run.opened?.epoch, run.opened?.rebuilt], [1n, false]);
    await run.close();
  });

  test("what is durable isn't sent again", async () => {
    await using guard = await new FakeGuard().start();
    guard.durable = true;
    await using client = clientOf(guard.address, { many });
    const run = await client.openRun("r");
    await playAll(run);
    guard.cut();

    await run.judge([MAKE]);

    assert.deepEqual(seqs(guard).slice(SCRIPT.length + 1), [0, 9]);
    await run.close();
  });

  test("beyond the buffer, the run is told anew from its newest calls", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, bufferFrames: 3 });
    const run = await client.openRun("r", { resume: true });
    for (let round = 0; round < 4; round++) {
      await run.judge([{ ...MAKE, args: `${round}` }]);
      await run.report({ callId: `c${round + 1}`, status: "OK", result: `${round}` });
    }
    await run.judge([MAKE]);
    guard.runs.clear();
    guard.cut();

    const late = await run.report({ callId: "c5", status: "OK" });
    const [next] = await run.judge([MAKE]);

    const told = guard.frames.slice(10);
    const opens = told.filter((frame) => frame.frame.case === "open").map(({ frame }) => frame.value as pb.RunOpen);
    assert.deepEqual(
      opens.map(({ resume, rebuild }) => [resume, rebuild]),
      [
        [true, false],
        [false, true],
      ],
    );
    const after = told.slice(told.findIndex(({ frame }) => frame.case === "open" && frame.value.rebuild) + 1);
    assert.deepEqual(
      after.map(({ seq, frame }) => [Number(seq), frame.case]),
      [
        [1, "history"],
        [2, "calls"],
      ],
    );
    const { records } = after[0]?.frame.value as pb.History;
    assert.deepEqual(records.map(({ output, status }) => [String(Buffer.from(output.value ?? [])), status]), [
      ["0", 1], ["1", 1], ["2", 1], ["3", 1], ["", 1],
    ]); // prettier-ignore
    assert.deepEqual([late.callId, late.action, next?.callId, run.opened?.rebuilt], ["c5", "ALLOW", "c6", true]);
    await run.close();
  });

  test("an outcome of a call that a rebuilt run has never seen goes as history", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, bufferFrames: 1 });
    const run = await client.openRun("r");
    await run.judge([MAKE]);
    await run.userMessage();
    await run.userMessage();
    guard.runs.clear();
    guard.cut();
    await run.userMessage();

    const told = await run.report({ callId: "c1", status: "OK", result: "1" });

    const last = guard.frames.at(-1);
    assert.deepEqual([told.callId, last?.frame.case, run.opened?.rebuilt], ["c1", "history", true]);
    assert.deepEqual(
      (last?.frame.value as pb.History).records.map(({ tool }) => tool),
      ["exec"],
    );
    await run.close();
  });

  test("NeedResend goes back to the frame that is missing", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    await using run = await client.openRun("r");
    await run.userMessage();
    const need = { case: "needResend" as const, value: create(pb.NeedResendSchema, { fromSeq: 2n }) };
    guard.fate = (frame) => (frame.seq >= 2n && guard.frames.length < 6 ? need : "answer");

    await Promise.all([run.judge([MAKE]), run.userMessage(), run.check([MAKE])]);

    assert.deepEqual(guard.observed, [1, 2, 3, 4]);
  });

  test("NeedResend for a frame that is no longer kept has the run told anew", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, bufferFrames: 2 });
    await using run = await client.openRun("r");
    await run.judge([MAKE]);
    await run.report({ callId: "c1", status: "OK" });
    for (let round = 0; round < 3; round++) await run.userMessage();
    // What it knows of the run is older than what it has acknowledged.
    const known = guard.runs.get("r");
    assert.ok(known);
    known.lastSeq = 1;

    const [next] = await run.judge([MAKE]);

    assert.deepEqual([next?.callId, run.opened?.rebuilt, run.decidedUnavailable], ["c2", true, 0]);
  });

  test("a durable frame whose answer was lost is sent again for it", async () => {
    const expected = await undisturbed(many);
    await using guard = await new FakeGuard().start();
    guard.durable = true;
    await using client = clientOf(guard.address, { many });
    await using run = await client.openRun("r");
    guard.fate = once("cut");

    assert.deepEqual(await playAll(run), expected);
  });

  test("an answer that is no longer kept counts as a guard that failed", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, onUnavailable: "block" });
    await using run = await client.openRun("r");
    guard.fate = (frame) => (frame.frame.case === "calls" ? refused(9, "ANSWER_EXPIRED", "too old") : "answer");

    assert.equal((await run.judge([MAKE]))[0]?.action, "BLOCK");
    assert.equal(run.decidedUnavailable, 1);
  });

  test("CANCELLED before `Opened` is tried again", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, onUnavailable: "wait" });
    let refusals = 3;
    guard.refuseStream = () => (refusals-- > 0 ? { code: grpc.status.CANCELLED, details: "busy" } : undefined);

    await using run = await client.openRun("r");

    assert.equal(run.opened?.epoch, 1n);
    assert.equal(guard.metadata.length, 4);
  });

  test("a message that can't be decoded has the client ask again", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    await using run = await client.openRun("r");
    guard.fate = (frame) => {
      if (frame.frame.case !== "calls" || guard.frames.length > 2) return "answer";
      for (const stream of guard.streams) stream.write(Buffer.from([0xff]));
      return "answer";
    };

    assert.equal((await run.judge([MAKE]))[0]?.action, "ALLOW");
    assert.match(client.warnings.join(), /can't be decoded/);
    assert.deepEqual(guard.observed, [1]);
  });
});

onBothStreams("a guard that sends a run away", (many) => {
  test("a run taken over is given up and never taken back", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    await using run = await client.openRun("r");
    guard.fate = (frame) => (frame.frame.case === "calls" ? ended(pb.RunEndReason.SUPERSEDED) : "answer");

    await assert.rejects(
      run.judge([MAKE]),
      (error) => error instanceof RunRefusedError && error.reason === "SUPERSEDED",
    );
    guard.cut(grpc.status.ABORTED);
    await assert.rejects(run.userMessage(), RunRefusedError);

    assert.equal(guard.frames.filter(({ frame }) => frame.case === "open").length, 1);
  });

  test("a run is followed to its node, and looked for at home when that is gone", async () => {
    await using home = await new FakeGuard().start();
    await using other = await new FakeGuard().start();
    await using client = clientOf(home.address, { many, onUnavailable: "wait" });
    home.fate = (frame) => (frame.frame.case === "open" ? ended(pb.RunEndReason.WRONG_NODE, other.address) : "answer");

    const run = await client.openRun("r");
    await run.judge([MAKE]);
    home.fate = () => "answer";
    other.stop();
    await run.userMessage();

    assert.deepEqual(
      other.frames.map(({ frame }) => frame.case),
      ["open", "calls"],
    );
    assert.deepEqual(
      home.frames.map(({ frame }) => frame.case),
      ["open", "open", "calls", "userMessage"],
    );
    await run.close();
  });

  test("a call that waits meanwhile is answered where the run goes", async () => {
    await using home = await new FakeGuard().start();
    await using other = await new FakeGuard().start();
    await using client = clientOf(home.address, { many, onUnavailable: "block" });
    const run = await client.openRun("r");
    home.fate = (frame) => (frame.frame.case === "calls" ? ended(pb.RunEndReason.WRONG_NODE, other.address) : "answer");

    assert.equal((await run.judge([MAKE]))[0]?.action, "ALLOW");
    assert.equal(run.decidedUnavailable, 0);
    await run.close();
  });

  test("nodes that send a run to each other for ever are given up", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, onUnavailable: "wait", random: () => 0.001 });
    guard.fate = () => ended(pb.RunEndReason.WRONG_NODE, guard.address);

    await assert.rejects(
      client.openRun("r"),
      (error) => error instanceof RunRefusedError && error.reason === "WRONG_NODE",
    );
    assert.equal(guard.frames.length, 6);
  });

  test("an address that can't be one sends a run back home", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, token: "secret", onUnavailable: "wait" });
    let times = 1;
    // A token may not travel there in the open.
    guard.fate = () => (times-- > 0 ? ended(pb.RunEndReason.WRONG_NODE, "guard.example:50051") : "answer");
    await using run = await client.openRun("r");

    assert.equal((await run.judge([MAKE]))[0]?.action, "ALLOW");
    assert.match(client.warnings.join(), /in the open/);
  });

  test("a run that was evicted is opened and told again", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    const run = await client.openRun("r");
    await run.judge([MAKE]);
    guard.runs.clear();
    guard.say("r", ended(pb.RunEndReason.EVICTED));
    await until(() => guard.frames.length >= 4);

    await run.userMessage();

    assert.deepEqual(seqs(guard), [0, 1, 0, 1, 2]);
    await run.close();
  });

  test("after GoAway the run goes on on another stream", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, onUnavailable: "wait" });
    const run = await client.openRun("r");
    await run.judge([MAKE]);
    for (const stream of guard.streams) stream.goAway();
    await until(() => guard.metadata.length === 2);

    await run.userMessage();

    assert.deepEqual(seqs(guard), [0, 1, 0, 2]);
    await run.close();
  });

  test("a message too large for the guard is given up, not sent for ever", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, onUnavailable: "wait" });
    await using run = await client.openRun("r");
    const [stream] = guard.streams;
    guard.fate = (frame) => {
      if (frame.frame.case !== "calls") return "answer";
      stream?.end(streamStatus(grpc.status.RESOURCE_EXHAUSTED, "TOO_LARGE", "too large"));
      return "lose";
    };

    await assert.rejects(run.judge([MAKE]), { name: "InvalidFrameError", reason: "TOO_LARGE" });
    await run.userMessage();

    assert.deepEqual(guard.observed, [1, 2]);
  });
});
