import { constants } from "node:fs";
import { access, chmod, lstat, open } from "node:fs/promises";
import { userInfo } from "node:os";
import { basename, dirname, resolve } from "node:path";
import { Failure } from "../../core/failures.ts";
import { findPlaceOf, makeFolders } from "../../core/make-folders.ts";
import type { CheckLine } from "../connector.ts";
import { errnoOf } from "./file-ops.ts";
import type { DropDirectories } from "./settings.ts";

const OWN_FOLDERS = ["in", "work", "archive", "error", "out"] as const;
/** The work folder is ours alone. */
export const WORK_MODE = 0o700;
type FolderKey = (typeof OWN_FOLDERS)[number];

/** What a folder turned out to be; `problem` names the hint. */
interface FolderState {
  readonly key: FolderKey;
  readonly path: string;
  /** Undefined while the folder does not exist. */
  readonly device: bigint | undefined;
  readonly problem: string | undefined;
}

/**
 * Makes the folders that are missing with the given rights, and makes sure that all can be used. `work` is made private: it
 * is ours alone. Folders that are there keep their rights. Throws FILE_FOLDER_UNUSABLE with all mistakes.
 */
export async function prepareFolders(directories: DropDirectories, mode: number): Promise<void> {
  for (const key of OWN_FOLDERS) {
    // What is wrong with a folder is reported below, together with the others.
    await makeFolder(dirname(directories[key]), mode).catch(() => undefined);
    await makeFolder(directories[key], key === "work" ? WORK_MODE : mode).catch(() => undefined);
  }
  const states = await lookAtFolders(directories);
  const problems = states.flatMap((state) => {
    if (state.problem) return [`${state.path}: ${state.problem}`];
    return state.device === undefined ? [`${state.path}: it could not be made`] : [];
  });
  if (problems.length > 0) throw new Failure("FILE_FOLDER_UNUSABLE", problems.join("; "));
}

/** Lines for `cryobridge check`: one for each folder that is worth a look, and one for those that are well alike; changes nothing. */
export async function checkFolders(directories: DropDirectories): Promise<CheckLine[]> {
  const states = await lookAtFolders(directories);
  const judged = await Promise.all(states.map(async (state) => ({ state, ...(await judge(state)) })));
  const alike = Map.groupBy(judged, ({ state: { key, path }, level, detail }) =>
    level === undefined && basename(path) === key ? `${dirname(path)} ${detail}` : key,
  );
  return [...alike.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const { state, ...line } = first;
    const keys = [first, ...others].map(({ state: { key } }) => key);
    const subject =
      others.length === 0
        ? `folder ${state.path} (${state.key})`
        : `folders ${keys.join(", ")} of ${dirname(state.path)}`;
    return [{ subject, ...line }];
  });
}

async function judge(state: FolderState): Promise<Omit<CheckLine, "subject">> {
  if (state.problem) return { level: "act", stopsIntake: true, detail: state.problem };
  if (state.device !== undefined) return judgeRights(state);
  if ((await findPlaceOf(state.path)).isWritable) return { detail: "will be made at the start" };
  return {
    level: "act",
    stopsIntake: true,
    detail: "does not exist and may not be made here: make it, or correct the path",
  };
}

async function judgeRights({ key, path }: FolderState): Promise<Omit<CheckLine, "subject">> {
  const exposure = await exposureOf(path);
  if (exposure !== undefined) return { level: "look", detail: `orders hold patients' data, and ${exposure}` };
  const isForOthers = key === "out" || key === "error" || key === "archive";
  const lockedOut = isForOthers ? await groupLockedOut(path) : undefined;
  return lockedOut === undefined ? { detail: "can be written" } : { level: "look", detail: lockedOut };
}

/** How the group of a folder would be kept from what we make in it, in words with what to do; undefined when it isn't. */
async function groupLockedOut(path: string): Promise<string | undefined> {
  // Elsewhere a file has the group of its folder anyway.
  if (process.platform !== "linux") return undefined;
  const { mode, gid } = await lstat(path);
  const own = process.getegid?.();
  if (gid === own || (mode & SET_GROUP) !== 0 || (mode & 0o040) === 0) return undefined;
  return `its group (${gid}) may read it, but files made in it get the group of ${account()} (${own}): run \`chmod g+s ${path}\``;
}

async function lookAtFolders(directories: DropDirectories): Promise<FolderState[]> {
  const states = await Promise.all(OWN_FOLDERS.map((key) => lookAtFolder(key, directories[key])));
  const reference = states[0]?.device;
  return states.map((state) => {
    const mayDiffer = state.key === "out" || state.device === undefined || reference === undefined;
    if (state.problem || mayDiffer || state.device === reference) return state;
    return {
      ...state,
      problem: `lies on another file system than ${directories.in}, so files can't be moved between them in one step: choose a folder beside it`,
    };
  });
}

async function lookAtFolder(key: FolderKey, path: string): Promise<FolderState> {
  const found = (device: bigint | undefined, problem?: string) => ({ key, path, device, problem });
  try {
    const stat = await lstat(path, { bigint: true });
    if (stat.isSymbolicLink()) return found(stat.dev, "is a symbolic link: name the folder itself");
    if (!stat.isDirectory()) return found(stat.dev, "is not a folder: remove it, or choose another path");
    if (key === "work" && process.platform !== "win32" && (stat.mode & 0o002n) !== 0n) {
      return found(stat.dev, "may be written by every account of this machine: run `chmod o-w` on it");
    }
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return found(stat.dev);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT") return found(undefined);
    return found(
      undefined,
      `can't be read and written (${code ?? "unknown"}): give ${account()} the right to do so`,
    );
  }
}

/** Whose rights count. */
function account(): string {
  try {
    return `the account ${userInfo().username}`;
  } catch {
    // One without a name in the system's list.
    return "this account";
  }
}

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
  const outermost = await makeFolders(path, mode);
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
    // A link, a socket, a file that may not be read, a share without rights: each is reported, or harmless, elsewhere.
    if (errnoOf(error) === undefined) throw error;
  }
}

/**
 * How accounts that have nothing to do with a folder could get at what it holds, in words with what to do; undefined when
 * they can't. The folder has to be there.
 */
async function exposureOf(path: string): Promise<string | undefined> {
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
