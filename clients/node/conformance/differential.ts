/**
 * Compares digest, flags and canonical form of random documents, odd and broken ones too, with the server at
 * LOOPGUARD_ADDRESS: `node build/conformance/differential.js COUNT [SEED]`. Exits 1 if any differs.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";

import { inspect } from "../src/digest.js";
import * as pb from "../src/gen/loopguard/v1/guard_pb.js";
import { oddDocument } from "./odd-documents.js";

const AT_ONCE = 64;

async function main(address: string, count: number, seed: number): Promise<number> {
  const client = new grpc.Client(address, grpc.credentials.createInsecure());
  const next = oddDocument(seed);
  let [done, different] = [0, 0];
  async function work(): Promise<void> {
    while (done < count) {
      done++;
      const json = next();
      const [own, other] = [shown(inspect(json)), await ask(client, json)];
      if (own === other) continue;
      different++;
      console.log(`${json.toString("base64")}: ${own} here, ${other} there`);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  client.close();
  console.log(`${done - different} of ${done} random documents are equal (seed ${seed})`);
  return different > 0 ? 1 : 0;
}

function shown(found: { canonical: Uint8Array; digest: Uint8Array; flags: string[] }): string {
  const [canonical, digest] = [found.canonical, found.digest].map((data) => Buffer.from(data).toString("hex"));
  return `${digest} ${[...found.flags].sort().join("|")} ${canonical}`;
}

function ask(client: grpc.Client, json: Buffer): Promise<string> {
  const { parent, name } = pb.LoopGuardService.method.fingerprint;
  const request = create(pb.FingerprintRequestSchema, { json, includeCanonical: true });
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest<pb.FingerprintRequest, pb.FingerprintResponse>(
      `/${parent.typeName}/${name}`,
      (message) => Buffer.from(toBinary(pb.FingerprintRequestSchema, message)),
      (data) => fromBinary(pb.FingerprintResponseSchema, data),
      request,
      (error, response) => {
        if (response === undefined) reject(error ?? new Error("no answer"));
        else resolve(shown({ ...response, flags: response.flags.map((flag) => pb.JsonFlag[flag]) }));
      },
    );
  });
}

const [count = "2000", seed = String(Date.now() % 1e9)] = process.argv.slice(2);
const address = process.env["LOOPGUARD_ADDRESS"];
if (!address) {
  console.error("differential: set LOOPGUARD_ADDRESS");
  process.exitCode = 2;
} else {
  process.exitCode = await main(address, Number(count), Number(seed));
}
