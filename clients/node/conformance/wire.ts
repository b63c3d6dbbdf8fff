/** Wire vectors: a message as protobuf JSON and as bytes, which have to mean the same, both ways. */
import { isDeepStrictEqual } from "node:util";

import {
  type DescMessage,
  type JsonValue,
  type Message,
  createRegistry,
  equals,
  fromBinary,
  fromJson,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";

import { file_google_rpc_error_details } from "../src/gen/google/rpc/error_details_pb.js";
import { file_loopguard_v1_error_reason } from "../src/gen/loopguard/v1/error_reason_pb.js";
import { file_loopguard_v1_guard } from "../src/gen/loopguard/v1/guard_pb.js";
import { type Outcome, type Place, bytesOf, members, parse, textOf } from "./vector.js";

const KEYS = ["name", "message", "json", "bytes"];

/** Errors travel as `google.protobuf.Any`, whose JSON can only be read where its type is known. */
const registry = createRegistry(file_loopguard_v1_guard, file_loopguard_v1_error_reason, file_google_rpc_error_details);

/** Run one case. */
export function runWire(text: string, place: Place): Outcome {
  const fields = members(text, "a vector", KEYS, place);
  const name = textOf(fields, "name", place, true);
  const kind = textOf(fields, "message", place, true);
  const schema = file_loopguard_v1_guard.messages.find((message) => message.typeName === kind);
  if (schema === undefined) throw place.refuse(`there is no message \`${kind}\``);
  const encoded = bytesOf(fields, "bytes", "hex", place);
  const json = fields.get("json");
  if (json === undefined) throw place.refuse("`json` is missing");
  const expected = parse(json, "`json`", place) as JsonValue;
  return { name, problems: compare(schema, expected, told(schema, expected, place), encoded) };
}

function told(schema: DescMessage, json: JsonValue, place: Place): Message {
  try {
    return fromJson(schema, json, { registry });
  } catch (error) {
    throw place.refuse(`\`json\` is no ${schema.typeName}: ${String(error)}`);
  }
}

function compare(schema: DescMessage, json: JsonValue, message: Message, encoded: Buffer): string[] {
  let read: Message;
  try {
    read = fromBinary(schema, encoded);
  } catch (error) {
    return [`the bytes are no ${schema.typeName}: ${String(error)}`];
  }
  const problems: string[] = [];
  const written = toJson(schema, read, { registry });
  const wanted = `expected ${JSON.stringify(json)}`;
  if (!equals(schema, message, read, { registry, unpackAny: true })) {
    problems.push(`the bytes mean ${JSON.stringify(written)}, ${wanted}`);
  }
  if (!isDeepStrictEqual(written, json)) problems.push(`written as ${JSON.stringify(written)}, ${wanted}`);
  for (const [what, one] of [
    ["the JSON", message],
    ["the bytes", read],
  ] as const) {
    const again = Buffer.from(toBinary(schema, one));
    if (!again.equals(encoded)) {
      problems.push(`${what} encoded as ${again.toString("hex")}, expected ${encoded.toString("hex")}`);
    }
  }
  return problems;
}
