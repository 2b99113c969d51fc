import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder and those above it that are missing; gives the outermost that was made, undefined when all were there.
 *
 * Node's own `recursive` tries without end where a file system takes no folders, such as `/proc`.
 */
export async function makeFolders(path: string, mode?: number): Promise<string | undefined> {
  try {
    await mkdir(path, { mode });
    return path;
  } catch (error) {
    // Not by EEXIST: of a drive, or on a read-only disk, the system may say something else.
    if (await isFolder(path)) return undefined;
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ENOENT") throw error;
  }
  const outermost = await makeFolders(dirname(resolve(path)), mode);
  await mkdir(path, { mode }).catch(async (error: unknown) => {
    if (!(await isFolder(path))) throw error;
  });
  return outermost ?? path;
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
