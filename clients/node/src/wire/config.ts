/** Translates a run's configuration; its keys are the wire's own. */
import { inspect } from "node:util";

import { type DescField, type DescMessage, type Message, ScalarType, create, isFieldSet } from "@bufbuild/protobuf";

import { InvalidConfigError } from "../errors.js";
import { type LoopDetectionConfig as WireConfig, LoopDetectionConfigSchema } from "../gen/loopguard/v1/guard_pb.js";
import type { LoopDetectionConfig } from "../model.js";

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** Translate a configuration. Throws `InvalidConfigError` for what the wire has no field for. */
export function toConfig(config: LoopDetectionConfig): WireConfig {
  return toBlock(LoopDetectionConfigSchema, config, "", "config") as WireConfig;
}

function toBlock(schema: DescMessage, block: unknown, path: string, name: string): Message {
  if (typeof block !== "object" || block === null || Array.isArray(block)) {
    throw new InvalidConfigError(name, `\`${name}\` is ${show(block)}, not a block`);
  }
  const message = create(schema);
  for (const [key, value] of Object.entries(block) as [string, unknown][]) {
    const where = `${path}${key}`;
    const field = Object.hasOwn(schema.field, key) ? schema.field[key] : undefined;
    if (field === undefined) throw new InvalidConfigError(where, `unknown key \`${where}\``);
    if (value !== undefined && value !== null) Object.assign(message, { [key]: toValue(field, value, where) });
  }
  return message;
}

function toValue(field: DescField, value: unknown, where: string): unknown {
  if (field.fieldKind === "message") return toBlock(field.message, value, `${where}.`, where);
  if (field.scalar === ScalarType.BOOL) {
    if (typeof value === "boolean") return value;
    throw new InvalidConfigError(where, `\`${where}\` is ${show(value)}, not true or false`);
  }
  if (typeof value !== "bigint" && !Number.isInteger(value)) {
    throw new InvalidConfigError(where, `\`${where}\` is ${show(value)}, not an integer`);
  }
  const integer = BigInt(value as number | bigint);
  if (integer < INT64_MIN || integer > INT64_MAX) {
    throw new InvalidConfigError(where, `\`${where}\` is ${show(value)}, beyond 64 bits`);
  }
  return integer;
}

function show(value: unknown): string {
  return inspect(value, { depth: 1, breakLength: Infinity }).slice(0, 80);
}

/** Return the keys that are set. */
export function fromConfig(message: WireConfig): LoopDetectionConfig {
  return fromBlock(LoopDetectionConfigSchema, message);
}

function fromBlock(schema: DescMessage, message: Message): Record<string, unknown> {
  const block: Record<string, unknown> = {};
  for (const field of schema.fields) {
    if (!isFieldSet(message, field)) continue;
    const value = (message as unknown as Record<string, unknown>)[field.localName];
    if (field.fieldKind === "message") block[field.localName] = fromBlock(field.message, value as Message);
    else block[field.localName] = typeof value === "bigint" ? fromInteger(value) : value;
  }
  return block;
}

/** A number where it holds all digits. */
function fromInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
