/** Canon vectors: a JSON text, and the canonical form, digest and flags that every implementation has to find. */
import { inspect } from "../src/digest.js";
import { Flag } from "../src/json/flags.js";
import { type Outcome, type Place, bytesOf, members, namesOf, textOf } from "./vector.js";

const KEYS = ["name", "input", "mask", "canonical", "canonicalBase64", "digest", "flags"];

/** Run one case. Those with masks are left out: a client's digest is one of the value as it is. */
export function runCanon(text: string, place: Place): Outcome {
  const fields = members(text, "a vector", KEYS, place);
  const name = textOf(fields, "name", place, true);
  const input = bytesOf(fields, "input", "base64", place);
  const digest = textOf(fields, "digest", place, true).toLowerCase();
  const flags = namesOf(fields, "flags", place);
  const unknown = flags.find((flag) => !Object.hasOwn(Flag, flag));
  if (unknown !== undefined) throw place.refuse(`there is no flag \`${unknown}\``);
  if (fields.has("canonical") === fields.has("canonicalBase64")) {
    throw place.refuse("a canon vector needs `canonical` or `canonicalBase64`");
  }
  const canonical = fields.has("canonical")
    ? Buffer.from(textOf(fields, "canonical", place))
    : bytesOf(fields, "canonicalBase64", "base64", place);
  if (namesOf(fields, "mask", place).length > 0) return { name, problems: "left out" };

  const found = inspect(input);
  const compared: [string, string, string][] = [
    ["canonical", canonical.toString("latin1"), Buffer.from(found.canonical).toString("latin1")],
    ["digest", digest, Buffer.from(found.digest).toString("hex")],
    ["flags", flags.sort().join(" "), [...found.flags].sort().join(" ")],
  ];
  const problems = compared
    .filter(([, expected, got]) => expected !== got)
    .map(([what, expected, got]) => `${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`);
  return { name, problems };
}
