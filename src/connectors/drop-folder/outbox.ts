import { createHash, randomBytes } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import { safeFileName } from "../../core/file-name.ts";
import { type OutgoingFile, requireMayLeave } from "../connector.ts";
import { errnoOf, type FileOps, openForReading, publishWhole, readChunks, writeDurably } from "./file-ops.ts";
import type { KnownFolder } from "./known-folder.ts";
import { markerName } from "./scan.ts";

const TEMPORARY = ".tmp-";
/** A delivery takes seconds; what is older was left by a crash. */
const STALE_MS = 3_600_000;

/** What file systems give a name, bytes. */
const LONGEST_BYTES = 255;

interface OutboxDeps {
  readonly folder: KnownFolder;
  /** The rights of a result. */
  readonly mode: number;
  /** What is written behind it once it is durable: `.ok` for `NAME.csv.ok`, `{stem}.ok` for `NAME.ok`. */
  readonly marker?: string | undefined;
  readonly ops: FileOps;
}

/**
 * Lets a result appear in the folder at once and whole, under its own name and no other. The same file again
 * changes nothing; its marker is put back where it is gone. Throws FILE_NAME_TAKEN when other bytes stand there, FILE_SYSTEM_ERROR when the folder takes nothing for
 * now, FILE_NOT_PLACED when it may be this name or what stands under it that is in the way.
 */
export async function deliverFile(file: OutgoingFile, deps: OutboxDeps): Promise<void> {
  const { path: folder } = deps.folder;
  const name = file.fileName;
  if (safeFileName(name, LONGEST_BYTES) !== name)
    throw new Failure("FILE_NOT_PLACED", "the result has a name that no file may have everywhere");
  const final = join(folder, name);
  const temporary = join(folder, TEMPORARY + randomBytes(10).toString("hex"));
  await deps.folder.assertSame();
  let isPlacing = false;
  try {
    await writeDurably(temporary, file.bytes, deps.mode);
    requireMayLeave(file);
    isPlacing = true;
    const outcome = await publishWhole(deps.ops, temporary, final);
    if (outcome === "taken" && !(await holds(final, file.bytes))) {
      throw new Failure("FILE_NAME_TAKEN", "the result folder holds a file of this name with other content");
    }
    isPlacing = false;
    await rm(temporary, { force: true });
    await deps.ops.syncFolder(folder);
    if (deps.marker !== undefined) await putMarker(markerName(name, deps.marker), temporary, deps);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    if (error instanceof Failure) throw error;
    await deps.folder.assertSame();
    const code = errnoOf(error) ?? "unknown error";
    if (isPlacing) {
      const message = `${folder} took the file, but not under its name (${code})`;
      throw new Failure("FILE_NOT_PLACED", { message, cause: error });
    }
    throw new Failure("FILE_SYSTEM_ERROR", {
      message: `${folder} can't be written (${code})`,
      cause: error,
    });
  }
  await stillSame(deps.folder, final);
}

/** A share that went away meanwhile leaves what was written under its mount point, where nobody looks for it. */
async function stillSame(folder: KnownFolder, final: string): Promise<void> {
  try {
    await folder.assertSame();
  } catch (error) {
    await rm(final, { force: true }).catch(() => undefined);
    throw error;
  }
}

/**
 * An empty file that says that the result beside it is whole. The result is durable by then, and the delivery counts as made
 * only when its marker is, too: a crash before that has both put in their places again.
 */
async function putMarker(name: string, temporary: string, deps: OutboxDeps): Promise<void> {
  await writeDurably(temporary, "", deps.mode);
  await publishWhole(deps.ops, temporary, join(deps.folder.path, name));
  await rm(temporary, { force: true });
  await deps.ops.syncFolder(deps.folder.path);
}

/** Removes what crashed deliveries left. */
export async function removeStaleTemporaries(folder: string, clock: Clock): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(TEMPORARY)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found && clock.now() - found.mtimeMs > STALE_MS) await rm(path, { force: true });
  }
}

/** Where a result still lies as it was sent; undefined where it doesn't, or that can't be seen from here. */
export async function findLying(
  folder: string,
  { fileName, bytes }: Pick<OutgoingFile, "fileName" | "bytes">,
): Promise<string | undefined> {
  const path = join(folder, fileName);
  return (await holds(path, bytes).catch(() => false)) ? path : undefined;
}

async function holds(path: string, bytes: Buffer): Promise<boolean> {
  const handle = await openForReading(path);
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size !== bytes.length) return false;
    const digest = createHash("sha256");
    for await (const chunk of readChunks(handle)) digest.update(chunk);
    return digest.digest("hex") === createHash("sha256").update(bytes).digest("hex");
  } finally {
    await handle.close();
  }
}
