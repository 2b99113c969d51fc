import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Removes a run's folder with all that tests left in it. A test that was killed may have left a file system mounted: removing would
 * try again at each level above it, which takes as good as for ever.
 */
export async function removeRunFolder(folder: string): Promise<void> {
  for (const path of (await mountedBelow(folder)).reverse()) await run("umount", ["--lazy", path]);
  // A daemon that is just ending may still write what it compiled.
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** In the sequence in which they were mounted; none where the system has no list of them. */
async function mountedBelow(folder: string): Promise<string[]> {
  const mounts = await readFile("/proc/self/mounts", "utf8").catch(() => "");
  return mounts
    .split("\n")
    .flatMap((line) => line.split(" ")[1] ?? [])
    .filter((path) => path.startsWith(`${folder}/`));
}
