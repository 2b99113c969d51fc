import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { machineHas } from "../support/needs.ts";
import { makeTestFolder } from "../support/with-folder.ts";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../..");
/** What a clone has that the package is made of. */
const CLONED = [
  ...["package.json", "package-lock.json", ".npmrc", "tsconfig.json", "tsconfig.build.json"],
  ...["README.md", "CHANGELOG.md", "bin", "src", "config", "docs"],
];

let folder: string;
let clone: string;
/** Paths in the package. */
let packed: readonly string[];
let program: string;

/** Packs a copy of the sources, and lays the package out as a global installation does, with our own dependencies. */
beforeAll(async () => {
  folder = await makeTestFolder();
  clone = join(folder, "clone");
  await mkdir(join(clone, "dist"), { recursive: true });
  for (const name of CLONED) await cp(join(ROOT, name), join(clone, name), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(clone, "node_modules"));
  await writeFile(join(clone, "dist/of-an-older-build.js"), "");
  await leaveTypesUnchecked(join(clone, "tsconfig.build.json"));
  await run("npm", ["pack", "--silent"], { cwd: clone });
  const archive = join(clone, (await readdir(clone)).find((name) => name.endsWith(".tgz")) ?? "");
  packed = (await run("tar", ["-tzf", archive])).stdout
    .split("\n")
    .map((path) => path.replace("package/", ""));
  const installed = join(folder, "opt/lib/node_modules/cryobridge");
  await mkdir(installed, { recursive: true });
  await run("tar", ["-xzf", archive, "-C", installed, "--strip-components=1"]);
  await symlink(join(ROOT, "node_modules"), join(installed, "node_modules"));
  await mkdir(join(folder, "opt/bin"));
  program = join(folder, "opt/bin/cryobridge");
  await symlink("../lib/node_modules/cryobridge/bin/cryobridge.mjs", program);
});

/** To check the types is most of the work of a build, and `npm run typecheck` does it. */
async function leaveTypesUnchecked(file: string): Promise<void> {
  const config = JSON.parse(await readFile(file, "utf8"));
  await writeFile(
    file,
    JSON.stringify({ ...config, compilerOptions: { ...config.compilerOptions, noCheck: true } }),
  );
}

afterAll(() => rm(folder, { recursive: true, force: true }));

describe.runIf(machineHas("linux"))("the package that npm pack makes", () => {
  test("holds the built program, the documents, the examples and the lock file, and neither sources nor types", () => {
    expect(packed).toEqual(
      expect.arrayContaining([
        ...["bin/cryobridge.mjs", "dist/cli/main.js", "dist/ledger/migrations/0001_initial.sql"],
        ...["config/schema.json", "config/cryobridge.yaml", "docs/guide/quick-start.md", "README.md"],
        ...["CHANGELOG.md", "npm-shrinkwrap.json"],
        ...["config/monitoring/alert-rules.yaml", "config/monitoring/grafana-dashboard.json"],
      ]),
    );
    // It is a program, which nobody imports: to work out its types would be most of its build.
    expect(packed.filter((path) => /^(?:src|test|node_modules)\/|\.d\.ts$/.test(path))).toEqual([]);
    expect(packed).not.toContain("dist/of-an-older-build.js");
  });

  test("leaves nothing but itself in the clone", async () => {
    const names = (await readdir(clone)).filter((name) => !/^cryobridge-\d+\.\d+\.\d+\.tgz$/.test(name));
    expect(names.sort()).toEqual([...CLONED, "dist", "node_modules"].sort());
  });

  test("installed, is the program with its schema", async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    expect((await run(program, ["--version"])).stdout.trim()).toBe(version);
    const schema = await readFile(join(ROOT, "config/schema.json"), "utf8");
    expect((await run(program, ["schema"])).stdout).toBe(schema);
  });

  // To its end: test/e2e/demo.test.ts.
  test("installed, begins the demonstration in a folder of the user's, says what is missing when the time is up, and writes nowhere else", async () => {
    const cwd = join(folder, "somewhere");
    await mkdir(cwd);
    const words = ["--exit-when-done", "--within", "1ms", "--port", "0", "--simulator-port", "0"];
    const ended = run(program, ["demo", ...words], { cwd });
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining("\n  bench-01-plain.csv has not been taken from bench/in yet\n"),
    });
    expect(await readdir(cwd)).toEqual(["demo"]);
  });
});
