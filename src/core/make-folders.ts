import { access, constants, mkdir, open, stat, statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { codeOf } from "./failures.ts";

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
    if (codeOf(error) !== "ENOENT") throw error;
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

/** `/proc` and `/sys` of Linux: they grant the right to write and take no folders. */
const WITHOUT_FOLDERS: readonly number[] = [0x9fa0, 0x62656572];

/**
 * Where a folder that is missing would be made, and whether this account may make one there. It makes nothing.
 * @param path gives itself where it is there
 */
export async function findPlaceOf(
  path: string,
): Promise<{ readonly place: string; readonly isWritable: boolean }> {
  const isMissing = await access(path).then(
    () => false,
    (error: unknown) => /^(ENOENT|ENOTDIR)$/.test(codeOf(error) ?? ""),
  );
  const above = dirname(resolve(path));
  if (isMissing && above !== path) return await findPlaceOf(above);
  const isWritable = await access(path, constants.W_OK | constants.X_OK).then(
    async () => (await isFolder(path)) && !WITHOUT_FOLDERS.includes((await statfs(path)).type),
    () => false,
  );
  return { place: path, isWritable };
}

/**
 * Has the names in a folder, made or changed, outlast a power cut. Windows opens no folders and has no such call: there it
 * does nothing.
 *
 * @throws what the file system says
 */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
