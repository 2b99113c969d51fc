import { hash, randomBytes } from "node:crypto";
import { constants, writeSync } from "node:fs";
import { type FileHandle, open, readFile, rename, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import { basename, dirname } from "node:path";
import { crc32 } from "node:zlib";
import { Failure } from "../../core/failures.ts";
import { syncFolder } from "../../core/sync-folder.ts";
import { type FoundRecord, findRecords } from "./record.ts";

/** Whose journal it is. */
export interface JournalOwner {
  readonly connector: string;
  /** The ledger that the messages belong to; see `findInstanceCode`. */
  readonly instanceCode: string;
}

/** The first line of the file, as JSON. */
interface Header extends JournalOwner {
  /** In hexadecimal. */
  readonly mark: string;
}

/** The first bytes of the file say what it is; records follow. */
const HEADER_BYTES = 4_096;
const VERSION = 1;
const MARK_BYTES = 16;
/** Made ahead, since a write within a file is on disk sooner than one that makes it longer, bytes. */
const MADE_BYTES = 8 * 1024 * 1024;
/** Elsewhere a write either can't be had synced, or is but for the drive's own cache: each is followed by a sync. */
const SYNCS_ITSELF = platform() === "linux";
const ZEROS = Buffer.alloc(1024 * 1024);
/** A write that takes no longer is waited for right here: the way to a thread and back would take half as long again, ms. */
const QUICK_MS = 5;
/** After one that took longer a thread waits for the disk, so that nothing else has to; for so long, ms. */
const SLOW_FOR_MS = 1_000;

/**
 * A file of records, each on disk when it is written. It is made of zeros, so that what was never written can't be
 * mistaken for a record, and each record begins with a mark that nobody outside knows, so that nothing in a message can.
 */
export class JournalFile {
  readonly mark: Buffer;
  readonly #path: string;
  readonly #handle: FileHandle;
  /** Where the next record goes: behind all that may have been written. */
  #end = HEADER_BYTES;
  #hasBrokenEnd = false;
  /** Until when the disk counts as slow, monotonic ms. */
  #slowUntil = 0;

  private constructor(path: string, handle: FileHandle, mark: Buffer) {
    this.#path = path;
    this.#handle = handle;
    this.mark = mark;
  }

  /**
   * Opens a file, which is made if there is none, or one of another ledger that holds nothing.
   *
   * @throws Failure JOURNAL_FOREIGN for another's messages, JOURNAL_DAMAGED when its header can't be read, or what the file
   * system says
   */
  static async open(path: string, owner: JournalOwner): Promise<JournalFile> {
    const flags = constants.O_RDWR | (SYNCS_ITSELF ? constants.O_DSYNC : 0);
    const handle = await open(path, flags).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      await make(path, owner);
      return open(path, flags);
    });
    try {
      const header = await readHeader(handle, path);
      const file = new JournalFile(path, handle, Buffer.from(header.mark, "hex"));
      if (header.instanceCode === owner.instanceCode && header.connector === owner.connector) return file;
      await file.read();
      if (file.length > 0) {
        const whose = `connector ${header.connector} of the ledger ${header.instanceCode}`;
        throw new Failure("JOURNAL_FOREIGN", `${basename(path)} belongs to ${whose}`);
      }
    } catch (error) {
      await handle.close();
      throw error;
    }
    await handle.close();
    await make(path, owner);
    return JournalFile.open(path, owner);
  }

  /** Bytes of records. */
  get length(): number {
    return this.#end - HEADER_BYTES;
  }

  /**
   * Whether what was {@link read} ended with a record that isn't whole: one of which nobody was told, when a power cut came
   * into its write, or else one that is damaged.
   */
  get hasBrokenEnd(): boolean {
    return this.#hasBrokenEnd;
  }

  /**
   * The records that it holds, in the order in which they were written; all at once, since its user bounds the file.
   * What is no record counts in its {@link length}, too, so that it is wiped.
   */
  async read(): Promise<FoundRecord[]> {
    const { size } = await this.#handle.stat();
    const bytes = Buffer.alloc(Math.max(0, size - HEADER_BYTES));
    await this.#handle.read(bytes, 0, bytes.length, HEADER_BYTES);
    for (let at = 0; at < bytes.length; at += ZEROS.length) {
      const part = bytes.subarray(at, at + ZEROS.length);
      if (!part.equals(ZEROS.subarray(0, part.length))) this.#end = HEADER_BYTES + at + part.length;
    }
    const records = [...findRecords(this.mark, bytes)];
    const last = records.at(-1)?.record;
    this.#hasBrokenEnd = bytes.includes(this.mark, last && last.byteOffset - bytes.byteOffset + last.length);
    return records;
  }

  /**
   * Writes a record; when it resolves, it is on disk. One at a time. What a write that fails may have left there counts in
   * the {@link length}, too, so that it is wiped.
   */
  async append(record: Buffer): Promise<void> {
    const at = this.#end;
    this.#end = at + record.length;
    for (let written = 0; written < record.length; ) {
      const rest = record.length - written;
      const startedAt = performance.now();
      if (startedAt < this.#slowUntil) {
        // Of the handle, which is closed after its writes only: another file may get the number of a closed one.
        written += (await this.#handle.write(record, written, rest, at + written)).bytesWritten;
      } else {
        written += writeSync(this.#handle.fd, record, written, rest, at + written);
        const endedAt = performance.now();
        if (endedAt - startedAt > QUICK_MS) this.#slowUntil = endedAt + SLOW_FOR_MS;
      }
    }
    if (!SYNCS_ITSELF) await this.#handle.datasync();
  }

  /** Forgets all records: their bytes are patients' data. Nothing may be appended meanwhile. */
  async wipe(): Promise<void> {
    const end = Math.min(this.#end, MADE_BYTES);
    for (let at = HEADER_BYTES; at < end; ) {
      // A disk that is about to fail takes a part first.
      at += (await this.#handle.write(ZEROS, 0, Math.min(ZEROS.length, end - at), at)).bytesWritten;
    }
    if (this.#end > MADE_BYTES) await this.#handle.truncate(MADE_BYTES);
    if (!SYNCS_ITSELF || this.#end > MADE_BYTES) await this.#handle.datasync();
    this.#end = HEADER_BYTES;
  }

  /** Keeps what the file holds now in another beside it, for people; gives its name, which is the same for the same content. */
  async keepCopy(): Promise<string> {
    const bytes = await readFile(this.#path);
    const copy = `${this.#path}.damaged-${hash("sha256", bytes).slice(0, 8)}`;
    await writeFile(`${copy}.new`, bytes, { mode: 0o600 });
    await rename(`${copy}.new`, copy);
    return basename(copy);
  }

  /** Leaves the file as it is. */
  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** Under another name first, so that a file by its own name is whole. */
async function make(path: string, owner: JournalOwner): Promise<void> {
  const { connector, instanceCode } = owner;
  const mark = randomBytes(MARK_BYTES).toString("hex");
  const header = JSON.stringify({ cryobridge: "journal", version: VERSION, connector, instanceCode, mark });
  const handle = await open(`${path}.new`, "w", 0o600);
  try {
    for (let at = 0; at < MADE_BYTES; at += ZEROS.length) await handle.write(ZEROS, 0, ZEROS.length, at);
    await handle.write(`${header}\n${crc32(header)}\n`, 0);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${path}.new`, path);
  await syncFolder(dirname(path));
}

async function readHeader(handle: FileHandle, path: string): Promise<Header> {
  const bytes = Buffer.alloc(HEADER_BYTES);
  await handle.read(bytes, 0, HEADER_BYTES, 0);
  const header = parseHeader(bytes);
  if (header === undefined) {
    throw new Failure("JOURNAL_DAMAGED", `${basename(path)}: its first line can't be read`);
  }
  return header;
}

function parseHeader(bytes: Buffer): Header | undefined {
  try {
    // With a mark that isn't its own, a file would seem to hold nothing.
    const [line = "", checksum] = bytes.toString("utf8").split("\n", 2);
    const header: unknown = checksum === String(crc32(line)) ? JSON.parse(line) : undefined;
    return isHeader(header) ? header : undefined;
  } catch {
    return undefined;
  }
}

function isHeader(value: unknown): value is Header {
  const header = value as Partial<Record<string, unknown>> | null;
  return (
    header?.version === VERSION &&
    typeof header.connector === "string" &&
    typeof header.instanceCode === "string" &&
    typeof header.mark === "string" &&
    header.mark.length === 2 * MARK_BYTES
  );
}
