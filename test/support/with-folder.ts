import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes a folder that every account can get through: a server started by root runs under another one. */
export async function makeTestFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "cryobridge-"));
  await chmod(folder, 0o755);
  return folder;
}

/** Gives a test such a folder, and removes it. */
export async function withFolder<T>(test: (folder: string) => Promise<T>): Promise<T> {
  const folder = await makeTestFolder();
  try {
    return await test(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
