import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { Failure } from "../../src/core/failures.ts";
import type {
  FileOpening,
  IncomingFile,
  IncomingMessage,
  Intake,
  MessageSource,
  MessageVerdict,
} from "../../src/core/intake.ts";

type FileEnd = Parameters<Intake["closeFile"]>[1];
type Entry =
  | { readonly type: "file"; readonly id: string; readonly key: string; readonly name: string }
  | { readonly type: "batch"; readonly fileId: string; readonly messages: readonly JournalMessage[] }
  | { readonly type: "close"; readonly fileId: string; readonly status: "taken" | "refused" | "changed" };

/** A message as the journal keeps it. */
export interface JournalMessage {
  readonly ordinal: number;
  readonly place: string;
  readonly raw: string;
  readonly verdict: MessageVerdict["verdict"];
  /** CSV only: the values of each row. */
  readonly rows?: readonly Record<string, string>[];
}

/**
 * The other side of the connector's port, kept in a file of lines: what a line says is committed, and a process that
 * is killed loses nothing. An HL7 message with the word REFUSE, or a CSV row with that value, is refused; with WAIT it waits.
 */
export class JournalIntake implements Intake {
  readonly #path: string;
  #entries: Entry[] = [];
  /** Set to let the next calls fail. */
  failure: Error | undefined;

  constructor(path: string) {
    this.#path = path;
    if (!existsSync(path)) return;
    for (const line of readFileSync(path, "utf8").split("\n")) {
      // The last line may be torn: it was never committed.
      if (line.endsWith("}")) this.#entries.push(JSON.parse(line) as Entry);
    }
  }

  async openFile(file: IncomingFile): Promise<FileOpening> {
    this.#failIfToldTo();
    const key = `${file.connector} ${file.sha256}`;
    const known = this.#files.findLast((entry) => entry.key === key && this.statusOf(entry.id) !== "refused");
    if (known && this.#endOf(known.id) === "taken") {
      const { id, name } = known;
      return { status: "duplicate", fileId: id, firstFileName: name, firstReceivedAt: new Date(0) };
    }
    if (known) {
      return { status: "resumed", fileId: known.id, committedThrough: this.messagesOf(known.id).length };
    }
    const id = String(this.#files.length + 1);
    this.#commit({ type: "file", id, key, name: file.fileName });
    return { status: "new", fileId: id, committedThrough: 0 };
  }

  async accept(source: MessageSource, messages: readonly IncomingMessage[]): Promise<MessageVerdict[]> {
    this.#failIfToldTo();
    if (!("fileId" in source)) throw new TypeError("only files are dropped");
    const { connector, fileId } = source;
    const verdicts = this.inspect(connector, messages);
    const kept = messages.map((message, i) => ({
      ordinal: message.ordinal,
      place: message.place,
      raw: message.raw.reveal().toString("utf8"),
      verdict: verdicts[i]?.verdict ?? "refused",
      ...(message.content.kind === "csv"
        ? { rows: message.content.rows.reveal().map((row) => Object.fromEntries(row.values)) }
        : {}),
    }));
    for (const { ordinal } of kept) {
      const isThere = this.messagesOf(fileId).some((message) => message.ordinal === ordinal);
      if (isThere) throw new Error(`message ${ordinal} of file ${fileId} came twice`);
    }
    this.#commit({ type: "batch", fileId, messages: kept });
    return verdicts;
  }

  inspect(_connector: string, messages: readonly IncomingMessage[]): MessageVerdict[] {
    return messages.map(({ ordinal, place, content }) => {
      const verdict = { ordinal, place, orders: [] };
      if (content.kind === "unreadable")
        return { ...verdict, verdict: "refused", problems: content.problems };
      const text =
        content.kind === "hl7"
          ? content.text.reveal()
          : content.rows
              .reveal()
              .flatMap((row) => [...row.values.values()])
              .join();
      if (text.includes("WAIT")) {
        const waiting = {
          code: "MAPPING_OPERATION_UNKNOWN",
          place,
          message: "no table has the word",
        } as const;
        return { ...verdict, verdict: "waiting", problems: [waiting] };
      }
      if (!text.includes("REFUSE")) return { ...verdict, verdict: "accepted", problems: [] };
      const problem = { code: "HL7_STRUCTURE", place, message: "expected another word" } as const;
      return { ...verdict, verdict: "refused", problems: [problem] };
    });
  }

  async closeFile(fileId: string, { status, problems }: FileEnd): Promise<void> {
    this.#failIfToldTo();
    const isChanged = problems.some(({ code }) => code === "FILE_CHANGED");
    this.#commit({ type: "close", fileId, status: isChanged ? "changed" : status });
  }

  answerBatch(): undefined {
    return undefined;
  }

  /** Every file: its name, how it ended, and its messages. */
  summary(): { name: string; status: string; messages: readonly JournalMessage[] }[] {
    return this.#files.map(({ id, name }) => ({
      name,
      status: this.statusOf(id),
      messages: this.messagesOf(id),
    }));
  }

  statusOf(fileId: string): "reading" | "taken" | "refused" {
    const end = this.#endOf(fileId);
    return end === "changed" ? "taken" : end;
  }

  /** A file that changed while it was read is closed as taken, and goes on when it comes with the same bytes. */
  #endOf(fileId: string): "reading" | "taken" | "refused" | "changed" {
    const end = this.#entries.findLast((entry) => entry.type === "close" && entry.fileId === fileId);
    return end?.type === "close" ? end.status : "reading";
  }

  messagesOf(fileId: string): readonly JournalMessage[] {
    return this.#entries.flatMap((entry) =>
      entry.type === "batch" && entry.fileId === fileId ? entry.messages : [],
    );
  }

  get #files() {
    return this.#entries.filter((entry) => entry.type === "file");
  }

  #commit(entry: Entry): void {
    appendFileSync(this.#path, `${JSON.stringify(entry)}\n`);
    this.#entries.push(entry);
  }

  #failIfToldTo(): void {
    if (this.failure) throw this.failure;
  }
}

/** The ledger's word that it is out of reach. */
export function ledgerAway(): Failure {
  return new Failure("FILE_SYSTEM_ERROR", "the ledger can't be reached");
}

/** SHA-256, hex. */
export function digest(bytes: string | Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
