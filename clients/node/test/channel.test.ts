import assert from "node:assert/strict";
import { test } from "node:test";

import { Channels } from "../src/stream/channel.js";
import { GuardClient } from "../src/index.js";
import { until } from "./clients.js";
import { FakeGuard } from "./fake-guard.js";

test("streams beyond what a connection takes go over another one", async () => {
  await using guard = await new FakeGuard().start();
  const channels = new Channels(guard.address, {}, 2);

  const streams = Array.from({ length: 5 }, () => channels.open(guard.address, {}));
  for (const stream of streams) stream.on("error", () => undefined);
  await until(() => guard.metadata.length === 5);
  const most = guard.peers.size;
  // What is left behind is closed, and the first channel is used again.
  const ends = streams.map((stream) => new Promise((resolve) => stream.on("status", resolve)));
  for (const stream of streams) stream.cancel();
  await Promise.all(ends);
  const again = channels.open(guard.address, {});
  again.on("error", () => undefined);
  await until(() => guard.metadata.length === 6);

  assert.deepEqual([most, guard.peers.size], [3, 3]);
  again.cancel();
  channels.close();
});

test("a token doesn't travel in the open", async () => {
  for (const target of ["guard.example:50051", "dns:///guard.example:50051", "10.0.0.1:50051", "127.0.0.1.example:1"]) {
    assert.throws(() => new GuardClient(target, { token: "secret" }), TypeError, target);
    await new GuardClient(target, { token: "secret", tls: true }).close();
  }
  for (const target of ["127.0.0.1:50051", "localhost:50051", "[::1]:50051", "unix:/run/loopguard.sock"]) {
    await new GuardClient(target, { token: "secret" }).close();
  }
});
