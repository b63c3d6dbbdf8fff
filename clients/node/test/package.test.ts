import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");

interface Packed {
  files: { path: string }[];
}

test("the package holds what is built, its types and its papers, and nothing else", () => {
  // What `prepack` puts there, which would build anew too.
  copyFileSync(join(ROOT, "../../LICENSE"), join(ROOT, "LICENSE"));
  // What `prepack` puts there, which would build anew too.
  copyFileSync(join(ROOT, "../../LICENSE"), join(ROOT, "LICENSE"));
  const output = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const [packed] = JSON.parse(output) as [Packed];
  const paths = packed.files.map(({ path }) => path);

  const sources = readdirSync(join(ROOT, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(join(ROOT, "src"), join(entry.parentPath, entry.name)).replace(/\.ts$/, ""));
  const built = sources.flatMap((source) => [`dist/${source}.js`, `dist/${source}.d.ts`]);
  assert.deepEqual(paths.sort(), ["LICENSE", "README.md", "package.json", ...built].sort());
  assert.ok(built.includes("dist/gen/loopguard/v1/guard_pb.js"));
});

test("the README shows the quickstart, which runs as it stands there", () => {
  const program = readFileSync(join(ROOT, "example/quickstart.ts"), "utf8");
  assert.ok(readFileSync(join(ROOT, "README.md"), "utf8").includes(`\`\`\`ts\n${program}\`\`\`\n`));

  // Whether a guard is there or not.
  const said = execFileSync("node", [join(ROOT, "build/example/quickstart.js")], { encoding: "utf8" });
  assert.match(said, /^1: ALLOW/);
});

test("the README shows the quickstart, which runs as it stands there", () => {
  const program = readFileSync(join(ROOT, "example/quickstart.ts"), "utf8");
  assert.ok(readFileSync(join(ROOT, "README.md"), "utf8").includes(`\`\`\`ts\n${program}\`\`\`\n`));

  // Whether a guard is there or not.
  const said = execFileSync("node", [join(ROOT, "build/example/quickstart.js")], { encoding: "utf8" });
  assert.match(said, /^1: ALLOW/);
});

test("the lock file names no host", () => {
  const lock = readFileSync(join(ROOT, "package-lock.json"), "utf8");

  assert.doesNotMatch(lock, /"resolved"|registry/);
});

test("its names can be imported from outside", () => {
  const program = `import * as loopguard from "@loopguard/client"; import { GuardRequestSchema } from "@loopguard/client/proto";
    console.log(Object.keys(loopguard).sort().join(" "), GuardRequestSchema.typeName);`;
  const output = execFileSync("node", ["--input-type=module", "-e", program], { cwd: ROOT, encoding: "utf8" });

  const names = "DIGEST_BYTES DIGEST_SCHEME GuardClient GuardRun GuardUnavailableError InvalidConfigError";
  const more = "InvalidFrameError LoopguardError RunRefusedError canonicalize fingerprint inspect";
  assert.equal(output.trim(), `${names} ${more} loopguard.v1.GuardRequest`);
});
