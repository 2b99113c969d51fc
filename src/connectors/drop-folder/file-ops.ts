import { constants } from "node:fs";
import { type FileHandle, link, lstat, open, rename, rm } from "node:fs/promises";
import type { Clock } from "../../core/clock.ts";
import { syncFolder } from "../../core/make-folders.ts";

/** The calls whose behaviour differs between systems and shares. */
export interface FileOps {
  rename(from: string | Buffer, to: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  /** Opens for reading without following a link and without ever waiting for the other end of a pipe. */
  openForReading(path: string | Buffer): Promise<FileHandle>;
  /** Makes the names in a folder durable. Where folders can't be synced (Windows) it does nothing. */
  syncFolder(folder: string): Promise<void>;
}

/** The operating system's own calls. */
export const systemFileOps: FileOps = { rename, link, openForReading, syncFolder };

const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** What systems say to a link where there are none. */
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EINVAL", "UNKNOWN"];

/** What systems say to a change of rights where there are none. */
const NO_MODES = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL"];

/** Opens for reading without following a link and without ever waiting for the other end of a pipe. */
export function openForReading(path: string | Buffer): Promise<FileHandle> {
  return open(path, READ_FLAGS);
}

/**
 * Writes a file and makes its content durable; an old one of that name is replaced. The folder is not synced.
 *
 * @param mode its rights, whatever the process's umask
 */
export async function writeDurably(path: string, content: string | Buffer, mode = 0o600): Promise<void> {
  const handle = await openNew(path);
  try {
    await setMode(handle, mode);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", 0o600);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    await rm(path);
    return open(path, "wx", 0o600);
  }
}

/** Shares without rights refuse to set them: what they show then is the mount's. */
async function setMode(handle: FileHandle, mode: number): Promise<void> {
  if (process.platform === "win32") return;
  await handle.chmod(mode).catch((error) => {
    if (!NO_MODES.includes(errnoOf(error) ?? "")) throw error;
  });
}

/** Pieces of an open file from its beginning, by position, so that one handle can be read many times. */
export async function* readChunks(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(
      Buffer.allocUnsafe(CHUNK_BYTES),
      0,
      CHUNK_BYTES,
      position,
    );
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

const CHUNK_BYTES = 65_536;

/**
 * All bytes of an open file that had a size when it was looked at. Of one that has grown no more than one byte beyond that is read.
 *
 * @param tap is given each piece
 */
export async function readWhole(
  handle: FileHandle,
  sizeBytes: number,
  tap: (piece: Buffer) => void = () => {},
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(sizeBytes + 1);
  let length = 0;
  while (length < bytes.length) {
    const most = Math.min(PIECE_BYTES, bytes.length - length);
    const { bytesRead } = await handle.read(bytes, length, most, length);
    if (bytesRead === 0) break;
    tap(bytes.subarray(length, length + bytesRead));
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

const PIECE_BYTES = 1024 * 1024;

/** Identity, size and time of the last write, as one text: what must not change while a file is read. */
export function fingerprint(stat: { ino: bigint; size: bigint; mtimeNs: bigint }): string {
  return `${stat.ino}:${stat.size}:${stat.mtimeNs}`;
}

/** Whether something stands under that name, be it a broken link. */
export async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** Windows and virus scanners hold files for moments: tries again for up to `patienceMs`, then gives the error up. */
export async function renamePatiently(
  ops: FileOps,
  from: string,
  to: string,
  clock: Clock,
  patienceMs: number,
): Promise<void> {
  const until = clock.monotonic() + patienceMs;
  for (let waitMs = 20; ; waitMs = Math.min(waitMs * 2, 1_000)) {
    try {
      return await ops.rename(from, to);
    } catch (error) {
      const isHeld = ["EPERM", "EACCES", "EBUSY"].includes(errnoOf(error) ?? "");
      if (!isHeld || clock.monotonic() + waitMs > until) throw error;
      await clock.sleep(waitMs);
    }
  }
}

/**
 * Lets a whole file appear under its final name at once, or leaves what stands there: `published`, or `taken`.
 * Where hard links don't exist (some shares) it looks first and renames.
 */
export async function publishWhole(
  ops: FileOps,
  temporary: string,
  final: string,
): Promise<"published" | "taken"> {
  try {
    await ops.link(temporary, final);
    return "published";
  } catch (error) {
    const code = errnoOf(error) ?? "";
    if (code === "EEXIST") return "taken";
    if (!NO_LINKS.includes(code)) throw error;
  }
  if (await exists(final)) return "taken";
  await ops.rename(temporary, final);
  return "published";
}

/** The system's code of an error (`ENOENT`), or undefined for anything else. */
export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^E[A-Z0-9]+$|^UNKNOWN$/.test(code) ? code : undefined;
}
