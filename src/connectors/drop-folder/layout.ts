import { constants } from "node:fs";
import { access, lstat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname } from "node:path";
import { Failure } from "../../core/failures.ts";
import type { CheckLine } from "../connector.ts";
import { errnoOf } from "./file-ops.ts";
import { exposureOf, makeFolder } from "./rights.ts";
import type { DropDirectories } from "./settings.ts";

const OWN_FOLDERS = ["in", "work", "archive", "error", "out"] as const;
const WORK_MODE = 0o700;
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
 * is ours alone. Folders that are there keep their rights. Returns the device number that in, work, archive and error share.
 * Throws FILE_FOLDER_UNUSABLE with all mistakes.
 */
export async function prepareFolders(directories: DropDirectories, mode: number): Promise<bigint> {
  for (const key of OWN_FOLDERS) {
    // What is wrong with a folder is told below, together with the others.
    await makeFolder(dirname(directories[key]), mode).catch(() => undefined);
    await makeFolder(directories[key], key === "work" ? WORK_MODE : mode).catch(() => undefined);
  }
  const states = await lookAtFolders(directories);
  const problems = states.flatMap((state) => {
    if (state.problem) return [`${state.path}: ${state.problem}`];
    return state.device === undefined ? [`${state.path}: it could not be made`] : [];
  });
  if (problems.length > 0) throw new Failure("FILE_FOLDER_UNUSABLE", problems.join("; "));
  return states[0]?.device ?? 0n;
}

/** One line a folder for `cryobridge check`; changes nothing. */
export async function checkFolders(directories: DropDirectories): Promise<CheckLine[]> {
  const states = await lookAtFolders(directories);
  return Promise.all(
    states.map(async (state) => {
      const subject = `folder ${state.path} (${state.key})`;
      if (state.problem) return { subject, isOk: false, detail: state.problem };
      if (state.device !== undefined) return { subject, ...(await judgeRights(state.path)) };
      return (await mayBeMade(state.path))
        ? { subject, isOk: true, detail: "does not exist yet; it will be made at the start" }
        : {
            subject,
            isOk: false,
            detail: "does not exist and may not be made here: make it, or correct the path",
          };
    }),
  );
}

async function judgeRights(path: string): Promise<Omit<CheckLine, "subject">> {
  const exposure = await exposureOf(path);
  if (exposure === undefined) return { isOk: true, detail: "exists and can be written" };
  return { isOk: true, isWarning: true, detail: `orders hold patients' data, and ${exposure}` };
}

/**
 * Whether the drop folder is the one that was there at the start. A share that is no longer mounted looks like an
 * empty folder, and must not be mistaken for one. Throws a transient Failure when it is not.
 */
export async function assertSameFolder(path: string, device: bigint): Promise<void> {
  const stat = await lstat(path, { bigint: true }).catch((error: unknown) => {
    throw new Failure("FILE_SYSTEM_ERROR", {
      message: `${path} can't be reached (${errnoOf(error) ?? "unknown"})`,
      cause: error,
    });
  });
  if (stat.dev !== device) {
    throw new Failure(
      "FILE_SYSTEM_ERROR",
      `${path} lies on another file system than at the start: is its share mounted?`,
    );
  }
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

async function mayBeMade(path: string): Promise<boolean> {
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    try {
      await access(parent, constants.W_OK | constants.X_OK);
      return (await lstat(parent)).isDirectory();
    } catch (error) {
      if (errnoOf(error) !== "ENOENT" || parent === dirname(parent)) return false;
    }
  }
}
