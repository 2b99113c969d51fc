import { constants } from "node:fs";
import { chmod, lstat, mkdir, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { errnoOf } from "./file-ops.ts";

/** What folders that we make may be used for, unless the site says otherwise: all by us, read by their group. */
export const DEFAULT_FOLDER_MODE = 0o750;
/** Most that is left of the rights of what lies in archive, error and work. */
const MOST_FILE_MODE = 0o640;
const MOST_FOLDER_MODE = 0o2750;
const SET_GROUP = 0o2000;

/** The rights of a result: whoever may read the folder may read it. */
export function resultModeOf(folderMode: number): number {
  return folderMode & 0o644;
}

/** The rights of a report, beside a file that was refused. */
export function reportModeOf(folderMode: number): number {
  return folderMode & MOST_FILE_MODE;
}

/**
 * Makes a folder, and those above it that are missing, with these very rights, whatever the process's umask. One that is
 * there keeps its own, and a group that a folder above hands down stays.
 */
export async function makeFolder(path: string, mode: number): Promise<void> {
  const outermost = await mkdir(path, { recursive: true, mode });
  if (outermost === undefined || process.platform === "win32") return;
  const top = resolve(outermost);
  for (let made = resolve(path); made.length >= top.length; made = dirname(made)) {
    const handedDown = (await lstat(made)).mode & SET_GROUP;
    await chmod(made, mode | handedDown);
  }
}

/**
 * Takes away from a dropped file (or folder) what nobody needs once it is ours; never adds a right. A file that belongs to
 * another account keeps its rights, since only its owner may change them: the folders around it are closed then.
 */
export async function narrow(path: string): Promise<void> {
  if (process.platform === "win32") return;
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = await handle.stat();
      // Another name of the same file is somebody else's.
      if (found.isFile() && found.nlink > 1) return;
      const mode = found.mode & 0o7777 & (found.isDirectory() ? MOST_FOLDER_MODE : MOST_FILE_MODE);
      if (mode !== (found.mode & 0o7777)) await handle.chmod(mode);
    } finally {
      await handle.close();
    }
  } catch (error) {
    // A link, a socket, a file that may not be read, a share without rights: each is told, or harmless, elsewhere.
    if (errnoOf(error) === undefined) throw error;
  }
}

/**
 * How accounts that have nothing to do with a folder could get at what it holds, in words with what to do; undefined when
 * they can't. The folder has to be there.
 */
export async function exposureOf(path: string): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;
  const { mode } = await lstat(path);
  let isReached = true;
  for (let parent = dirname(resolve(path)); ; parent = dirname(parent)) {
    const { mode: above } = await lstat(parent);
    if ((above & 0o1002) === 0o002) {
      return `every account of this machine may write to ${parent}, and so put another folder in the place of this one: run \`chmod o-w ${parent}\``;
    }
    if ((above & 0o001) === 0) isReached = false;
    if (parent === dirname(parent)) break;
  }
  if (!isReached || (mode & 0o007) === 0) return undefined;
  const what = (mode & 0o002) !== 0 ? "write to" : "read";
  return `every account of this machine may ${what} it: run \`chmod o-rwx ${path}\``;
}
