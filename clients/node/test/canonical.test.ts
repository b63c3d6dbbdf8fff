import assert from "node:assert/strict";
import { test } from "node:test";

import { canonicalize, fingerprint, inspect } from "../src/index.js";
import { seeded } from "../conformance/seeded.js";
import { randomDocument, slowCanonical } from "./documents.js";

function written(text: string | Uint8Array): string {
  return Buffer.from(canonicalize(text)).toString();
}

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

const CASES: [string, string, string, string[]][] = [
  ["white space goes", ' {\t"a" :\r\n[ 1 , 2 ] } ', '{"a":[1,2]}', []],
  ["integers are exact", "[9007199254740991,9007199254740993,-0]", "[9007199254740991,9007199254740993,0]", ["BIGINT"]],
  ["decimals are doubles", "[1.0,1e3,0.1e1,1e21,1E-7,-0.0,5e-324]", "[1,1000,1,1e+21,1e-7,0,5e-324]", []],
  ["numbers may grow", "[1e20,1e20]", "[100000000000000000000,100000000000000000000]", []],
  ["overflow keeps its text", "[1E+400,-1.50e0400]", "[1e400,-1.50e0400]", ["OVERFLOW"]],
  ["underflow is zero", "[1e-400,-1e-400]", "[0,0]", []],
  ["the last key wins", '{"a":1,"b":2,"\\u0061":3}', '{"a":3,"b":2}', ["DUPLICATE_KEY"]],
  ["keys by UTF-16 code unit", '{"\ue000":1,"\u{1f600}":2,"b":3}', '{"b":3,"\u{1f600}":2,"\ue000":1}', []],
  ["escaped keys are sorted unescaped", '{"\\"":1,"\\n":2,"!":3}', '{"\\n":2,"!":3,"\\"":1}', []],
  ["few escapes", '"\\u0041\\/\\u001F\\u000a\\u20ac\\ud83d\\ude00\x7f"', '"A/\\u001f\\n\u20ac\u{1f600}\x7f"', []],
  ["half pairs stay", '"\\uD800x\\uDC00\\ud83d"', '"\\ud800x\\udc00\\ud83d"', ["SURROGATE"]],
  ["a raw half of a string", '"\ud800"', '"\\ud800"', ["SURROGATE"]],
  ["no normalization", '["e\u0301","\u00e9"]', '["e\u0301","\u00e9"]', []],
  ["256 deep", nested(256), nested(256), []],
];

for (const [name, text, canonical, flags] of CASES) {
  test(`canonical form: ${name}`, () => {
    const found = inspect(text);

    assert.equal(Buffer.from(found.canonical).toString(), canonical);
    assert.deepEqual(found.flags, flags);
    assert.deepEqual(fingerprint(text), fingerprint(canonical));
  });
}

const OPAQUE = [
  "",
  " ",
  "\ufeff1",
  "NaN",
  "-Infinity",
  "01",
  "1.",
  ".5",
  "+1",
  "-",
  "[1,]",
  '{"a":1,}',
  "{1:2}",
  "nul",
  "1 2",
];
OPAQUE.push(
  '"',
  '"\\',
  '"\\x"',
  '"\\u12"',
  '"\t"',
  "'a'",
  "/**/1",
  nested(257),
  '{"a"}',
  '{"a" 1}',
  "[1 2]",
  "]",
  "\0",
);

test("what is no JSON is opaque: its own bytes, hashed apart", () => {
  for (const text of [
    ...OPAQUE.map((one) => Buffer.from(one)),
    Buffer.from('"\xff"', "latin1"),
    Buffer.from([0xed, 0xa0, 0x80]),
  ]) {
    const found = inspect(text);

    assert.deepEqual(found.flags, ["OPAQUE"], text.toString());
    assert.deepEqual(Buffer.from(found.canonical), text);
    assert.deepEqual(found.digest, fingerprint(text));
  }
  assert.equal(Buffer.from(fingerprint("1")).toString("hex"), "df3ce784d856334d65cd25028f98f158");
});

test("what is returned stays as it is", () => {
  const [one, other] = [canonicalize('{"b":1,"a":2}'), canonicalize("[3]")];
  const digest = fingerprint("1");
  fingerprint("2");

  assert.equal(Buffer.from(one).toString(), '{"a":2,"b":1}');
  assert.equal(Buffer.from(other).toString(), "[3]");
  assert.equal(Buffer.from(digest).toString("hex"), "df3ce784d856334d65cd25028f98f158");
});

test("large texts", () => {
  const members = Array.from({ length: 20_000 }, (_, index) => `"k${(index * 7919) % 20_000}": 1e20`);
  const keys = Object.keys(JSON.parse(written(`{${members.join(", ")}}`)) as object);

  assert.deepEqual(keys, [...keys].sort());
  assert.equal(keys.length, 20_000);
});

test("only JSON text is taken", () => {
  assert.throws(() => fingerprint({ a: 1 } as never), /`json` has to be JSON text.*object/);
  assert.throws(() => fingerprint(null as never), TypeError);
});

test("random documents come out as the slow way has them, however they were written", () => {
  const random = seeded(20);
  for (let round = 0; round < 3000; round++) {
    const { text, value } = randomDocument(random);

    assert.equal(written(text), slowCanonical(value), text);
    assert.equal(written(written(text)), written(text));
  }
});
