#!/usr/bin/env node
/**
 * Writes `sbom.cdx.json` beside package.json: every package of the running program. npm's own `--omit dev` leaves out what a package
 * for development needs too, so the lock file is read without those.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const read = (name) => JSON.parse(readFileSync(name, "utf8"));
const { devDependencies: _, ...project } = read("package.json");
const lock = read("package-lock.json");
delete lock.packages[""].devDependencies;
for (const [path, { dev }] of Object.entries(lock.packages)) if (dev) delete lock.packages[path];

const folder = mkdtempSync(join(tmpdir(), "cryobridge-sbom-"));
try {
  writeFileSync(join(folder, "package.json"), JSON.stringify(project));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  const { status, stdout, stderr } = spawnSync(
    "npm",
    ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"],
    { cwd: folder, encoding: "utf8", maxBuffer: 64 * 1024 * 1024, shell: process.platform === "win32" },
  );
  process.stderr.write(stderr);
  process.exitCode = status ?? 1;
  if (status === 0) writeFileSync("sbom.cdx.json", stdout);
} finally {
  rmSync(folder, { recursive: true });
}
