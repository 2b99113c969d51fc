import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { access, open, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { constants, createGunzip, createGzip, gunzipSync } from "node:zlib";
import { z } from "zod";
import { codeOf, Failure } from "../../core/failures.ts";
import { syncFolder } from "../../core/make-folders.ts";

/*
 * A backup is a gzip file of lines. The first one has its head, a line with `#{"table":…}` stands before the rows of each table,
 * a row is a JSON object, and the last line has the number of rows and the SHA-256 of all lines before it.
 */

const head = z.object({
  cryobridge: z.literal("backup"),
  format: z.literal(1),
  /** Of the program that made it. */
  version: z.string(),
  madeAt: z.iso.datetime(),
  /** The ledger's instance code. */
  ledger: z.string(),
  /** SHA-256 by name. */
  migrations: z.record(z.string(), z.string()),
  /** Last numbers by name; null where none was given. */
  sequences: z.record(z.string(), z.int().nullable()),
});
const table = z.object({ table: z.string(), columns: z.array(z.string()).min(1) });
const end = z.object({ end: z.literal(true), rows: z.int().nonnegative(), sha256: z.string() });

/** What stands first in a backup. */
export type BackupHead = z.infer<typeof head>;
/** A table whose rows follow. */
export type BackupTable = z.infer<typeof table>;

/** One part of a backup after its head: a table, or a row of the latest table as JSON text. */
type BackupPart =
  | { readonly kind: "table"; readonly table: BackupTable }
  | { readonly kind: "row"; readonly json: string };

/** The same to be written; rows come many at a time, since a turn for each would take longer than the rest. */
export type WrittenPart =
  | { readonly kind: "table"; readonly table: BackupTable }
  | { readonly kind: "rows"; readonly json: readonly string[] };

/** What a backup holds. */
export interface BackupContent {
  readonly head: BackupHead;
  readonly rows: number;
  readonly sha256: string;
}

/**
 * Writes a backup while its parts come. The file has its name once all of it is on disk; its owner alone may read it, since it
 * holds patients' data.
 *
 * @throws Failure CLI_BACKUP_UNWRITABLE, also where there is a file of that name; what `parts` throws
 */
export async function writeBackup(
  file: string,
  first: BackupHead,
  parts: AsyncIterable<WrittenPart>,
): Promise<Omit<BackupContent, "head">> {
  const isTaken = await access(file).then(
    () => true,
    () => false,
  );
  if (isTaken) throw taken(file);
  const beside = `${file}.${randomBytes(4).toString("hex")}.part`;
  try {
    const output = createWriteStream(beside, { flags: "wx", mode: 0o600, flush: true });
    const sum = createHash("sha256");
    let rows = 0;
    const lines = async function* () {
      const line = (text: string) => {
        sum.update(`${text}\n`);
        return `${text}\n`;
      };
      yield line(`#${JSON.stringify(first)}`);
      for await (const part of parts) {
        if (part.kind === "table") yield line(`#${JSON.stringify(part.table)}`);
        else if (part.json.length > 0) {
          rows += part.json.length;
          yield line(part.json.join("\n"));
        }
      }
      yield `#${JSON.stringify({ end: true, rows, sha256: sum.copy().digest("hex") })}\n`;
    };
    await pipeline(lines, createGzip({ level: 3 }), output);
    // Of two backups under one name one has it first, also where hard links don't exist.
    await writeFile(file, "", { flag: "wx", mode: 0o600 });
    await rename(beside, file);
    await syncFolder(path.dirname(path.resolve(file)));
    return { rows, sha256: sum.digest("hex") };
  } catch (error) {
    await rm(beside, { force: true }).catch(() => undefined);
    if (isOfFile(error) && error.code === "EEXIST") throw taken(file);
    throw isOfFile(error)
      ? new Failure("CLI_BACKUP_UNWRITABLE", {
          message: `${file} can't be written (${error.code})`,
          cause: error,
        })
      : error;
  }
}

function taken(file: string): Failure {
  return new Failure("CLI_BACKUP_UNWRITABLE", `${file}: there is a file of this name already`);
}

/**
 * Reads a backup from its beginning to its end, a line at a time.
 *
 * @param onPart is waited for
 * @throws Failure CLI_BACKUP_UNUSABLE when it is cut off, changed or something else, which is known for certain only at the end:
 *   read it once before anything is done with it; CLI_FILE_UNREADABLE
 */
export async function readBackup(
  file: string,
  onPart: (part: BackupPart, first: BackupHead) => Promise<void> | void = () => {},
): Promise<BackupContent> {
  const sum = createHash("sha256");
  let first: BackupHead | undefined;
  let content: BackupContent | undefined;
  let rows = 0;
  try {
    for await (const line of readLines(file)) {
      if (content) throw unusable(file, "it goes on after its end");
      const mark = line[0] === HASH ? JSON.parse(line.toString("utf8", 1)) : undefined;
      if (!first) first = head.parse(mark);
      else if (mark?.end === true)
        content = { ...checkEnd(file, mark, rows, sum.digest("hex")), head: first };
      else if (mark !== undefined) await onPart({ kind: "table", table: table.parse(mark) }, first);
      else {
        rows += 1;
        await onPart({ kind: "row", json: line.toString("utf8") }, first);
      }
      if (!content) sum.update(line).update("\n");
    }
  } catch (error) {
    if (isOfFile(error))
      throw new Failure("CLI_FILE_UNREADABLE", {
        message: `${file} can't be read (${error.code})`,
        cause: error,
      });
    if (error instanceof z.ZodError || error instanceof SyntaxError || isOfGzip(error))
      throw unusable(file, first ? "it is damaged" : "it is no backup of this program");
    throw error;
  }
  if (!content) throw unusable(file, "it is cut off");
  return content;
}

/** What stands first in a backup; undefined for every other file, and for one whose beginning can't be read. */
export async function readBackupHead(file: string): Promise<BackupHead | undefined> {
  try {
    const handle = await open(file);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
      const begun = gunzipSync(buffer.subarray(0, bytesRead), { finishFlush: constants.Z_SYNC_FLUSH });
      return head.parse(JSON.parse(begun.toString("utf8", 1, begun.indexOf(NEWLINE))));
    } finally {
      await handle.close();
    }
  } catch {
    // Another kind of file, or a damaged one.
    return undefined;
  }
}

/** Far more than the first line takes. */
const HEAD_BYTES = 16_384;
const HASH = 0x23;
const NEWLINE = 0x0a;

function checkEnd(file: string, mark: unknown, rows: number, sha256: string): Omit<BackupContent, "head"> {
  const said = end.parse(mark);
  if (said.sha256 !== sha256 || said.rows !== rows) throw unusable(file, "it was changed since it was made");
  return { rows, sha256 };
}

/** Lines end with a line feed alone: texts may hold every other character that ends a line. */
async function* readLines(file: string): AsyncGenerator<Buffer> {
  const input = createReadStream(file);
  const unzipped = createGunzip();
  input.on("error", (error) => unzipped.destroy(error));
  let begun: Buffer[] = [];
  for await (const chunk of input.pipe(unzipped) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...begun, chunk.subarray(from, at)]);
      begun = [];
      from = at + 1;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
  }
}

function unusable(file: string, why: string): Failure {
  return new Failure("CLI_BACKUP_UNUSABLE", `${file}: ${why}`);
}

/** Errors of the file system have the call that failed, those of the database don't. */
function isOfFile(error: unknown): error is NodeJS.ErrnoException {
  return (
    error instanceof Error &&
    /^(open|read|write|fsync|rename|close|unlink|lstat|rm)$/.test(
      String((error as NodeJS.ErrnoException).syscall),
    )
  );
}

function isOfGzip(error: unknown): boolean {
  return /^Z_/.test(codeOf(error) ?? "");
}
