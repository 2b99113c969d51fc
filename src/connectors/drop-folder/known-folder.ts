import { lstat, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure } from "../../core/failures.ts";
import { errnoOf } from "./file-ops.ts";

interface Identity {
  readonly inode: bigint;
  readonly device: bigint;
  /** The folders on the way to it on which a file system is mounted. */
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
   * again may come back with another device number: it is the same when it has the same inode, and the same folders on the way
   * to it have a file system mounted on them.
   *
   * @throws Failure FILE_SYSTEM_ERROR when it is another one, or can't be reached
   */
  async assertSame(): Promise<void> {
    const first = this.#first;
    try {
      const { ino, dev } = await lstat(this.path, { bigint: true });
      if (first === undefined) this.#first = { inode: ino, device: dev, mounts: await mountsOn(this.path) };
      else if (ino === first.inode) {
        if (dev === first.device) return;
        if (first.mounts !== "" && first.mounts === (await mountsOn(this.path))) return;
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
  const mounts: string[] = [];
  for (let at = await realpath(path); at !== dirname(at); at = dirname(at)) {
    const [own, above] = await Promise.all([lstat(at), lstat(dirname(at))]);
    if (own.dev !== above.dev) mounts.push(at);
  }
  return mounts.join("\n");
}
