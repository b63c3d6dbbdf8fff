import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { runFiles } from "../conformance/runner.js";
import { BadVector } from "../conformance/vector.js";

const MAIN = join(dirname(fileURLToPath(import.meta.url)), "../conformance/main.js");

/** Write a file of cases, and have something done with it. */
async function withCases<T>(lines: string[], use: (path: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "loopguard-"));
  try {
    const path = join(folder, "cases.jsonl");
    writeFileSync(path, lines.join("\n"));
    return await use(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Run cases; the exit status with the last line, or what is wrong with them. */
async function run(path: string): Promise<[number, string]> {
  const lines: string[] = [];
  try {
    const tally = await runFiles([path], undefined, (line) => lines.push(line));
    return [tally.failed > 0 ? 1 : 0, lines.at(-1) ?? ""];
  } catch (error) {
    if (error instanceof BadVector) return [2, error.message];
    throw error;
  }
}

const CANON =
  '{"name": "one", "input": "MS4w", "canonical": "1", "digest": "df3ce784d856334d65cd25028f98f158", "flags": []}';
const WIRE = '{"name": "w", "message": "loopguard.v1.GuardRequest", "json": {"seq": "1"}, "bytes": "0801"}';

test("the runner tells passed from failed, and neither from cases that it can't run", async () => {
  const wrong = CANON.replace("df3c", "df3d");
  const kinds: [string[], number, string | RegExp][] = [
    [[CANON, "", WIRE], 0, "2 passed, 0 failed"],
    [[CANON, wrong, WIRE.replace("0801", "0802")], 1, "1 passed, 2 failed"],
    [[CANON.replace('"flags": []', '"flags": ["BIGINT"]')], 1, "0 passed, 1 failed"],
    [[""], 2, /no cases/],
    [[CANON.replace("flags", "flogs")], 2, /:1: unknown key `flogs`/],
    [[WIRE.replace("seq", "sequence")], 2, /sequence/],
    [[WIRE.replace("GuardRequest", "Nothing")], 2, /there is no message/],
    [[CANON, '{"name": "x"}'], 2, /:2: a case of no known kind/],
    [["{"], 2, /no valid JSON/],
    [['{"name": "d", "steps": [{"dance": 1}], "expect": [null]}'], 2, /unknown frame `dance`/],
    [['{"name": "d", "steps": [{"close": {}}], "expect": [{"vertict": 1}]}'], 2, /`vertict`, which is not known/],
    [['{"name": "d", "steps": [{"close": {}}], "expect": [null]}'], 2, /LOOPGUARD_ADDRESS/],
    [['{"name": "d", "configFile": {}, "steps": [{"close": {}}], "expect": [null]}'], 0, "0 passed, 0 failed"],
  ];
  for (const [lines, status, expected] of kinds) {
    const [got, last] = await withCases(lines, run);

    assert.equal(got, status, last);
    if (typeof expected === "string") assert.equal(last, expected);
    else assert.match(last, expected);
  }
});

test("the runner as a program: its last line and its status", async () => {
  for (const [lines, status, last] of [
    [[CANON], 0, "1 passed, 0 failed"],
    [[CANON.replace("df3c", "df3d")], 1, "0 passed, 1 failed"],
    [[], 2, ""],
  ] as const) {
    const ran = await withCases([...lines], (path) => spawnSync("node", [MAIN, path], { encoding: "utf8" }));

    assert.deepEqual([ran.status, ran.stdout.trim().split("\n").at(-1)], [status, last], ran.stderr);
  }
});
