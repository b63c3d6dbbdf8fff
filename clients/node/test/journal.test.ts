import assert from "node:assert/strict";
import { test } from "node:test";

import { create } from "@bufbuild/protobuf";

import * as pb from "../src/gen/loopguard/v1/guard_pb.js";
import type { Action, Verdict } from "../src/index.js";
import { Journal } from "../src/session/journal.js";
import { Backoff } from "../src/stream/backoff.js";

function call(callId: string, args = callId): pb.Call {
  return create(pb.CallSchema, { callId, tool: "exec", arguments: { case: "argsJson", value: Buffer.from(args) } });
}

function outcome(callId: string, result = ""): pb.Outcome {
  const output = { case: "resultJson" as const, value: Buffer.from(result) };
  return create(pb.OutcomeSchema, { callId, status: pb.Status.OK, output });
}

function verdicts(action: Action, ...calls: pb.Call[]): Verdict[] {
  return calls.map(({ callId }) => ({ callId, action, note: "", blockedBy: "", flags: [] }));
}

/** The arguments of the calls that a lost run is told of, with their status. */
function told(journal: Journal): string[] {
  return journal
    .lose()
    .map(({ arguments: args, status }) => `${Buffer.from(args.value ?? []).toString()} ${pb.Status[status]}`);
}

test("calls without id are numbered, past the ids that are taken", () => {
  const journal = new Journal(30, 1000);
  const { calls, numbered } = journal.number([call(""), call("c2"), call("")]);
  const before = journal.useNumbers(numbered);

  assert.deepEqual(
    calls.map(({ callId }) => callId),
    ["c1", "c2", "c3"],
  );
  assert.equal(journal.number([call("")]).calls[0]?.callId, "c4");
  journal.unnumber(before, calls);
  assert.equal(journal.number([call("")]).calls[0]?.callId, "c1");
});

test("the newest calls are kept, as many and as large as may be", () => {
  const journal = new Journal(3, 40);
  for (const id of ["a", "b", "c", "d"]) {
    journal.ask([call(id)], verdicts("ALLOW", call(id)));
    journal.settle(outcome(id));
  }
  assert.deepEqual(told(journal), ["b OK", "c OK", "d OK"]);

  journal.ask([call("e")], verdicts("ALLOW", call("e")));
  journal.settle(outcome("e", "x".repeat(38)));
  assert.deepEqual(told(journal), ["d OK", "e OK"]);
  journal.resize(1);
  assert.deepEqual(told(journal), ["e OK"]);
});

test("an outcome without id is that of the oldest call that ran", () => {
  const journal = new Journal(30, 1000);
  journal.ask([call("a")], verdicts("BLOCK", call("a")));
  journal.ask([call("b"), call("c")], verdicts("ALLOW", call("b"), call("c")));

  assert.deepEqual([journal.settle(outcome(""))?.call.callId, journal.settle(outcome(""))?.call.callId], ["b", "c"]);
  assert.equal(journal.settle(outcome("")), undefined);
  assert.equal(journal.settle(outcome("b")), undefined);
  assert.deepEqual(told(journal), ["a LOOP_VETO", "b OK", "c OK"]);
});

test("of a blocked batch only calls like the blocked one are records", () => {
  const journal = new Journal(30, 1000);
  const [first, like, other] = [call("a", "x"), call("b", "x"), call("c", "y")];
  const [blocked, ...rest] = verdicts("BLOCK", first, like, other) as [Verdict, ...Verdict[]];
  journal.ask([first, like, other], [blocked, ...rest.map((one) => ({ ...one, blockedBy: "a" }))]);

  assert.deepEqual(told(journal), ["x LOOP_VETO", "x LOOP_VETO"]);
  journal.settle(outcome("c"));
  assert.deepEqual(told(journal), ["x LOOP_VETO", "x LOOP_VETO", "y OK"]);
});

test("calls blocked here are unknown to the guard", () => {
  const journal = new Journal(30, 1000);
  journal.block([call("a")]);

  assert.deepEqual(told(journal), []);
  assert.equal(journal.settle(outcome("a"))?.lost, true);
});

test("the span of the back-off doubles up to its limit, and begins anew", () => {
  const backoff = new Backoff(() => 0.5, 50, 400);

  assert.deepEqual(
    Array.from({ length: 5 }, () => backoff.nextMs()),
    [25, 50, 100, 200, 200],
  );
  backoff.reset();
  assert.equal(backoff.nextMs(), 25);
});
