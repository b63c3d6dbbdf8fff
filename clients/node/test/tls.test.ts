import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import * as grpc from "@grpc/grpc-js";

import { MAKE, clientOf } from "./clients.js";
import { FakeGuard } from "./fake-guard.js";

/** Make a certificate for `guard.test` that vouches for itself. */
function certificate(): { cert: Buffer; key: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), "loopguard-"));
  try {
    const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    const about = ["-subj", "/CN=guard.test", "-addext", "subjectAltName=DNS:guard.test", "-days", "2"];
    const how = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert];
    execFileSync("openssl", ["req", "-x509", ...how, ...about], { stdio: "pipe" });
    return { cert: readFileSync(cert), key: readFileSync(key) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("TLS in both directions, with a token", async () => {
  const { cert, key } = certificate();
  const credentials = grpc.ServerCredentials.createSsl(cert, [{ cert_chain: cert, private_key: key }], true);
  await using guard = await new FakeGuard().start(credentials);
  await using client = clientOf(guard.address, {
    token: "secret",
    tls: { ca: cert, cert, key: key.toString(), serverName: "guard.test" },
  });
  await using run = await client.openRun("r");

  assert.equal((await run.judge([MAKE]))[0]?.action, "ALLOW");
  assert.equal(run.decidedUnavailable, 0);
  assert.deepEqual(guard.metadata[0]?.get("authorization"), ["Bearer secret"]);
});

test("a guard that nobody vouches for is one that is away", async () => {
  const { cert, key } = certificate();
  const credentials = grpc.ServerCredentials.createSsl(null, [{ cert_chain: cert, private_key: key }]);
  await using guard = await new FakeGuard().start(credentials);
  await using client = clientOf(guard.address, { tls: { serverName: "guard.test" } });
  await using run = await client.openRun("r");

  assert.equal((await run.judge([MAKE]))[0]?.action, "ALLOW");
  assert.equal(run.decidedUnavailable, 1);
  assert.equal(guard.frames.length, 0);
});
