import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { machineHas } from "./needs.ts";
import { removeRunFolder } from "./run-folder.ts";

const run = promisify(execFile);

test.runIf(machineHas("disks in files"))(
  "a run ends though a test that was killed left a file system mounted",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "run-"));
    const [image, mounted] = [join(folder, "disk.img"), join(folder, "of-a-test/disk")];
    await mkdir(mounted, { recursive: true });
    await writeFile(image, "");
    await truncate(image, 4_194_304);
    await run("mkfs.ext4", ["-q", "-F", image]);
    await run("mount", ["-t", "ext4", "-o", "loop", image, mounted]);
    await removeRunFolder(folder);
    expect(existsSync(folder)).toBe(false);
  },
);
