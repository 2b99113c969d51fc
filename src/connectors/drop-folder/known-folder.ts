import { lstat, readFile, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure } from "../../core/failures.ts";
import { errnoOf } from "./file-ops.ts";

interface Identity {
  readonly inode: bigint;
  readonly device: bigint;
  /** The folders on the way to it, itself included, on which a file system is mounted. */
  readonly mounts: string;
}

/**
 * A folder that has to stay the one that it was at the first look. A share that is no longer mounted leaves the folder that it was
 * mounted on: what is read there looks like nothing to do, and what is written there never reaches anybody.
 */
export class KnownFolder {
  readonly path: string;
  #first: Identity | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Makes sure that the folder is the one that was there at the first look, by its device and inode. A share that was mounted
   * again may come back with another device number, and some file systems give a folder another inode after a while: it is the
   * same when one of the two is, and the same folders on the way to it have a file system mounted on them.
   *
   * @throws Failure FILE_SYSTEM_ERROR when it is another one, or can't be reached
   */
  async assertSame(): Promise<void> {
    const first = this.#first;
    try {
      const { ino, dev } = await lstat(this.path, { bigint: true });
      if (first === undefined) this.#first = { inode: ino, device: dev, mounts: await mountsOn(this.path) };
      else {
        const isDevice = dev === first.device;
        const isInode = ino === first.inode;
        if (isDevice && isInode) return;
        if ((isDevice || isInode) && first.mounts === (await mountsOn(this.path))) return;
      }
    } catch (error) {
      const message = `${this.path} can't be reached (${errnoOf(error) ?? "unknown"})`;
      throw new Failure("FILE_SYSTEM_ERROR", { message, cause: error });
    }
    if (first === undefined) return;
    throw new Failure(
      "FILE_SYSTEM_ERROR",
      `${this.path} is another folder than at the start: is its share mounted? If it is the right one now, restart the daemon`,
    );
  }
}

async function mountsOn(path: string): Promise<string> {
  const folders: string[] = [];
  for (let at = await realpath(path); ; at = dirname(at)) {
    folders.push(at);
    if (at === dirname(at)) break;
  }
  const mounted = (await mountPoints()) ?? (await deviceBorders(folders));
  return folders.filter((folder) => mounted.has(folder)).join("\n");
}

/** As Linux lists them, bind mounts included; undefined on other systems. */
async function mountPoints(): Promise<ReadonlySet<string> | undefined> {
  const text = await readFile("/proc/self/mountinfo", "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const points = text.split("\n").map((line) => line.split(" ")[4] ?? "");
  return new Set(
    points.map((point) =>
      point.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    ),
  );
}

/** The folders that lie on another file system than the one above. */
async function deviceBorders(folders: readonly string[]): Promise<ReadonlySet<string>> {
  const devices = await Promise.all(folders.map(async (folder) => (await lstat(folder)).dev));
  return new Set(folders.filter((_, i) => devices[i] !== devices[i + 1]));
}
