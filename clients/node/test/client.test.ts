import assert from "node:assert/strict";
import { test } from "node:test";

import { create } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";

import { GuardUnavailableError, InvalidConfigError, InvalidFrameError, RunRefusedError } from "../src/index.js";
import * as pb from "../src/gen/loopguard/v1/guard_pb.js";
import { MAKE, clientOf, onBothStreams, until } from "./clients.js";
import { FakeGuard, ended, refused, streamStatus, verdict } from "./fake-guard.js";

onBothStreams("a run", (many) => {
  test("from open to close", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    const run = await client.openRun("r", { agentId: "a", config: { enabled: true, historySize: 5 }, mode: "OBSERVE" });

    const verdicts = await run.judge([MAKE, { tool: "read", callId: "x" }]);
    const dry = await run.check([MAKE]);
    const told = await run.report({ callId: "c1", status: "OK", result: '{"exitCode": 1}' });
    await run.record([{ tool: "exec", status: "PENDING" }]);
    await run.userMessage();
    await run.compactionRetry();
    await run.close();

    assert.deepEqual(
      [...verdicts, ...dry, told].map((one) => [one.callId, one.action]),
      [
        ["c1", "ALLOW"],
        ["x", "ALLOW"],
        ["c2", "ALLOW"],
        ["c1", "ALLOW"],
      ],
    );
    assert.deepEqual(guard.frames.map((frame) => [Number(frame.seq), frame.frame.case]), [
      [0, "open"], [1, "calls"], [2, "calls"], [3, "outcome"], [4, "history"], [5, "userMessage"], [6, "compactionRetry"], [7, "close"],
    ]); // prettier-ignore
    assert.ok(guard.frames.slice(1).every((frame) => frame.at !== undefined));
    const open = guard.frames[0]?.frame.value as pb.RunOpen;
    assert.deepEqual(
      [open.agentId, open.mode, open.config?.historySize, open.resume],
      ["a", pb.Mode.OBSERVE, 5n, false],
    );
    assert.deepEqual([run.opened?.epoch, run.opened?.lastSeq, run.opened?.config.historySize], [1n, 0n, 30]);
    await assert.rejects(run.judge([MAKE]), RunRefusedError);
    await run.close();
  });

  test("leaving its block closes it", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    {
      await using run = await client.openRun("r");
      await run.judge([MAKE]);
    }

    assert.equal(guard.runs.size, 0);
  });

  test("a mistake is thrown and the run goes on", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    await using run = await client.openRun("r");
    const nine = Array.from({ length: 9 }, () => MAKE);
    const mistakes: [string, Promise<unknown>][] = [
      ["INVALID_FRAME", run.judge([])],
      ["EMPTY_TOOL", run.judge([{ tool: " " }])],
      [
        "DUPLICATE_CALL",
        run.judge([
          { tool: "a", callId: "x" },
          { tool: "b", callId: "x" },
        ]),
      ],
      ["TOO_MANY_CALLS", run.judge(nine)],
      ["TOO_LARGE", run.judge([{ tool: "a", args: "x".repeat(1 << 20) }])],
      ["TOO_LARGE", run.record(Array.from({ length: 101 }, () => MAKE))],
      ["INVALID_FRAME", run.judge([{ tool: "a", argsDigest: new Uint8Array(5) }])],
      ["INVALID_FRAME", run.report({ status: "PENDING" })],
      ["INVALID_FRAME", run.report({ status: "WELL" as never })],
    ];

    for (const [reason, mistake] of mistakes) {
      await assert.rejects(mistake, (error) => error instanceof InvalidFrameError && error.reason === reason);
    }
    await assert.rejects(run.judge([{ tool: "a", args: { b: 1 } as never }]), /`calls\[0\]\.args` has to be JSON text/);
    guard.fate = (frame) => (frame.frame.case === "outcome" ? refused(5, "UNKNOWN_CALL", "no call `x`") : "answer");
    await assert.rejects(run.report({ callId: "x" }), { name: "InvalidFrameError", reason: "UNKNOWN_CALL" });
    assert.deepEqual(
      (await run.judge([MAKE])).map((one) => one.callId),
      ["c1"],
    );
    assert.deepEqual(guard.observed, [1, 2]);
  });

  test("a refused batch uses no ids up", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    await using run = await client.openRun("r");
    guard.fate = (frame) => (frame.seq === 1n ? refused(3, "EMPTY_TOOL", "no tool") : "answer");

    await assert.rejects(run.judge([MAKE]), InvalidFrameError);

    assert.equal((await run.judge([MAKE]))[0]?.callId, "c1");
  });

  test("a bad configuration is refused with its key, here or by the guard", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    const bad: [unknown, string][] = [
      [{ maxLoops: 1 }, "maxLoops"],
      [{ constructor: 1 }, "constructor"],
      [{ detectors: { x: true } }, "detectors.x"],
      [{ detectors: 5 }, "detectors"],
      [{ historySize: "5" }, "historySize"],
      [{ historySize: true }, "historySize"],
      [{ enabled: 1 }, "enabled"],
      [{ postCompactionGuard: { windowSize: 2.5 } }, "postCompactionGuard.windowSize"],
      [{ warningThreshold: 2n ** 63n }, "warningThreshold"],
    ];
    for (const [config, key] of bad) {
      await assert.rejects(client.openRun("r", { config: config as never }), { name: "InvalidConfigError", key });
    }
    guard.fate = () => refused(3, "INVALID_CONFIG", "`historySize` must be at least 1", "historySize");

    await assert.rejects(
      client.openRun("r", { config: { historySize: 0, warningThreshold: null, enabled: null } }),
      (error) =>
        error instanceof InvalidConfigError && error.key === "historySize" && error.reason === "INVALID_CONFIG",
    );
  });

  test("a newer guard's words are taken as ALLOW and told", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    await using run = await client.openRun("r");
    const strange = create(pb.VerdictsSchema, { verdicts: [Object.assign(verdict("c1"), { action: 77 })] });
    guard.fate = (frame) => (frame.frame.case === "calls" ? { case: "verdicts", value: strange } : "answer");

    assert.equal((await run.judge([MAKE]))[0]?.action, "ALLOW");

    assert.match(client.warnings.join(), /unknown action 77/);
  });

  test("several frames may be under way, but no more than the guard keeps answers for", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    await using run = await client.openRun("r");
    guard.fate = (frame) => (frame.frame.case === "calls" ? "hold" : "answer");

    const asked = Promise.all(Array.from({ length: 20 }, () => run.judge([MAKE])));
    const [stream] = guard.streams;
    let most = 0;
    while (guard.observed.length < 20 || stream?.held.length) {
      await until(() => (stream?.held.length ?? 0) > 0);
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, stream?.held.length ?? 0);
      stream?.held.shift()?.();
    }

    assert.deepEqual(
      (await asked).map(([one]) => one?.callId),
      Array.from({ length: 20 }, (_, index) => `c${index + 1}`),
    );
    assert.ok(most <= 4, `${most} frames without an answer`);
  });

  test("a stream that is refused for good is told, and a later run tries again", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many, token: () => "t" });
    guard.refuseStream = () => streamStatus(grpc.status.UNAUTHENTICATED, "UNAUTHENTICATED", "no such token");

    await assert.rejects(client.openRun("r"), { name: "RunRefusedError", reason: "UNAUTHENTICATED" });
    guard.refuseStream = undefined;
    await using run = await client.openRun("r");

    assert.equal((await run.judge([MAKE])).length, 1);
    assert.deepEqual(
      guard.metadata.map((metadata) => metadata.get("authorization")),
      [["Bearer t"], ["Bearer t"]],
    );
  });

  test("a closed client opens nothing", async () => {
    await using guard = await new FakeGuard().start();
    const client = clientOf(guard.address, { many });
    const run = await client.openRun("r");
    await client.close();

    await assert.rejects(client.openRun("r"), GuardUnavailableError);
    await assert.rejects(run.judge([MAKE]), GuardUnavailableError);
    await until(() => guard.streams.size === 0);
    assert.equal(guard.runs.size, 1);
  });

  test("a run that is opened again by this client belongs to the newest", async () => {
    await using guard = await new FakeGuard().start();
    await using client = clientOf(guard.address, { many });
    await using older = await client.openRun("r");
    await older.judge([MAKE]);
    if (!many) guard.say("r", ended(pb.RunEndReason.SUPERSEDED));
    await using newer = await client.openRun("r");

    assert.equal((await newer.judge([MAKE])).length, 1);
    await assert.rejects(older.judge([MAKE]), { name: "RunRefusedError", reason: "SUPERSEDED" });
  });
});

test("a run is told to proxies by its id", async () => {
  await using guard = await new FakeGuard().start();
  await using client = clientOf(guard.address, { metadata: { "x-gateway": "g" } });
  await using run = await client.openRun("a (b)/\u00e9'");

  assert.equal(run.runId, "a (b)/\u00e9'");
  assert.deepEqual(guard.metadata[0]?.get("loopguard-run-id"), ["a%20%28b%29%2F%C3%A9%27"]);
  assert.deepEqual(guard.metadata[0].get("x-gateway"), ["g"]);
});

test("options that make no sense are refused", () => {
  assert.throws(() => clientOf("127.0.0.1:1", { onUnavailable: "perhaps" as never }), /`onUnavailable` is `perhaps`/);
  assert.throws(() => clientOf("127.0.0.1:1", { deadlineMs: NaN }), RangeError);
});

test("a token that is no header is told to whoever opens a run", async () => {
  await using client = clientOf("127.0.0.1:1", { token: "a\nb" });

  await assert.rejects(client.openRun("r"), /no stream can be opened/);
});
