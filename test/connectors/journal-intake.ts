import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import {
  type ArchivedFile,
  type ArchiveLook,
  type DroppedFiles,
  type InHand,
  type Known,
  NotInHand,
  type TakenOver,
} from "../../src/core/dropped-files.ts";
import { Failure } from "../../src/core/failures.ts";
import type {
  FileEnd,
  FileOpening,
  IncomingFile,
  IncomingMessage,
  Intake,
  MayMove,
  MessageSource,
  MessageVerdict,
  Settled,
  Settlement,
} from "../../src/core/intake.ts";
import type { Place } from "../../src/core/place.ts";

type Entry =
  | { readonly type: "file"; readonly id: string; readonly key: string; readonly name: string }
  | { readonly type: "batch"; readonly fileId: string; readonly messages: readonly JournalMessage[] }
  | { readonly type: "close"; readonly fileId: string; readonly status: "taken" | "refused" | "changed" }
  | { readonly type: "duplicate"; readonly name: string }
  /** The row of a dropped file, as it is from then on. */
  | { readonly type: "row"; readonly id: string; readonly row: Row | undefined };

interface Row extends InHand {
  /** Absent once all is done that was decided. */
  readonly worker?: number | undefined;
  readonly archived?: ArchivedFile | undefined;
}

/** What all workers of one ledger see. */
interface Journal {
  readonly path: string;
  readonly entries: Entry[];
  readonly rows: Map<string, Row>;
  readonly living: Set<number>;
  /** Dead, but not known to be. */
  readonly dying: Set<number>;
}

/** A message as the journal keeps it. */
export interface JournalMessage {
  readonly ordinal: number;
  readonly place: Place;
  readonly raw: string;
  readonly verdict: MessageVerdict["verdict"];
  /** CSV only: the values of each row. */
  readonly rows?: readonly Record<string, string>[];
}

/**
 * The other side of the connector's ports, kept in a file of lines: what a line says is committed, and a process that
 * is killed loses nothing. An HL7 message with the word REFUSE, or a CSV row with that value, is refused; with WAIT it waits; with
 * REUSED it is refused when it is taken, and not by a dry run.
 * Each is a worker; one that reads the file anew takes all those before it for gone.
 */
export class JournalIntake implements Intake, DroppedFiles {
  readonly ledger = "TESTED";
  readonly #journal: Journal;
  worker: number;
  /** Set to let the next calls fail. */
  failure: Error | undefined;
  /** Set to lose the answer to the next commit that settles a file. */
  losesAnswer = false;
  readonly looks: ArchiveLook[] = [];

  constructor(from: string | Journal) {
    this.#journal = typeof from === "string" ? readJournal(from) : from;
    this.worker = this.#enter();
  }

  #enter(): number {
    const { entries, living } = this.#journal;
    const former = entries.flatMap((entry) => (entry.type === "row" && entry.row?.worker) || []);
    const worker = 1 + Math.max(0, ...living, ...former);
    living.add(worker);
    return worker;
  }

  /** The others take it for gone, and it enters under another number. */
  enterAnew(): void {
    this.end();
    this.worker = this.#enter();
  }

  /** Another worker of the same ledger. */
  sibling(): JournalIntake {
    return new JournalIntake(this.#journal);
  }

  /** The others take it for gone. */
  end(): void {
    this.#journal.living.delete(this.worker);
    this.#journal.dying.delete(this.worker);
  }

  /** It is killed: the others take it for gone only after a while. */
  die(): void {
    this.#journal.living.delete(this.worker);
    this.#journal.dying.add(this.worker);
  }

  async claim(_connector: string, files: readonly InHand[]): Promise<MayMove> {
    this.#failIfToldTo();
    if (!this.#journal.living.has(this.worker)) throw ledgerAway();
    for (const { id, name } of files)
      if (!this.rows.has(id)) this.#keep(id, { id, name, worker: this.worker });
    return this.#mayMove();
  }

  async forget(ids: readonly string[]): Promise<void> {
    this.#failIfToldTo();
    for (const id of ids) if (this.#isOurs(id)) this.#keep(id, undefined);
  }

  async takeOver(connector: string, { lying, inHand }: Known): Promise<TakenOver> {
    const mayMove = await this.claim(connector, lying);
    const { living, dying } = this.#journal;
    const ofGone = [...this.rows.values()].filter(
      ({ worker }) => worker !== undefined && !living.has(worker) && !dying.has(worker),
    );
    for (const row of ofGone) this.#keep(row.id, { ...row, worker: this.worker });
    const rows = [...this.rows.values()];
    const isOfDying = ({ id }: InHand) => dying.has(this.rows.get(id)?.worker ?? 0);
    const isNew = ({ id }: InHand) => !inHand.includes(id) || ofGone.some((row) => row.id === id);
    return {
      files: rows.filter((row) => row.worker === this.worker && isNew(row)),
      mayMove,
      isAwaiting: lying.some(isOfDying),
      otherConnector: undefined,
    };
  }

  /** Once the others may take it for gone it moves nothing more, whatever the ledger had said before. */
  #mayMove(): MayMove {
    const { worker } = this;
    return () => this.#journal.living.has(worker);
  }

  #isOurs(id: string): boolean {
    return this.rows.get(id)?.worker === this.worker;
  }

  async settleFile({ claimId: id, fileId, kept, close }: Settlement): Promise<Settled | undefined> {
    this.#failIfToldTo();
    const row = this.#undecided(id);
    const closed: Entry[] = close ? [closeEntry(fileId, close.end)] : [];
    if (!kept) {
      this.#commit(...closed);
      return undefined;
    }
    const [name, other] = kept.names;
    const isTaken = [...this.rows.values()].some((each) => each.fate?.keptAs === name);
    const settled = { ...kept.fate, keptAs: isTaken ? other : name };
    // One line, as it is one commit.
    this.#commit({ type: "row", id, row: { ...row, fate: settled } }, ...closed);
    if (this.losesAnswer) {
      this.losesAnswer = false;
      throw ledgerAway();
    }
    return { fate: settled, mayMove: this.#mayMove() };
  }

  async finish(files: Parameters<DroppedFiles["finish"]>[0]): Promise<void> {
    this.#failIfToldTo();
    for (const { id, archived } of files)
      if (this.#isOurs(id)) this.#keep(id, archived && { id, name: this.rows.get(id)?.name ?? "", archived });
  }

  async listDue(_connector: string): Promise<ArchivedFile[]> {
    return [...this.rows.values()].flatMap(({ archived }) => archived ?? []);
  }

  async record(found: Parameters<DroppedFiles["record"]>[0]): Promise<void> {
    for (const { file, look } of found) {
      this.#keep(file.id, undefined);
      this.looks.push(look);
    }
  }

  /** The rows of dropped files, by their ids. */
  get rows(): ReadonlyMap<string, Row> {
    return this.#journal.rows;
  }

  #keep(id: string, row: Row | undefined): void {
    this.#commit({ type: "row", id, row });
  }

  #undecided(id: string): Row {
    const row = this.rows.get(id);
    if (row?.worker !== this.worker || row.fate) throw new NotInHand();
    return row;
  }

  async openFile(
    file: IncomingFile,
    claimId: string,
    first: readonly IncomingMessage[],
  ): Promise<FileOpening> {
    this.#failIfToldTo();
    this.#undecided(claimId);
    const key = `${file.connector} ${file.sha256}`;
    const known = this.#files.findLast((entry) => entry.key === key && this.statusOf(entry.id) !== "refused");
    if (known && this.#endOf(known.id) === "taken") {
      const { id, name } = known;
      this.#commit({ type: "duplicate", name: file.fileName });
      return { status: "duplicate", fileId: id, firstFileName: name, firstReceivedAt: new Date(0) };
    }
    if (known) {
      const status = this.messagesOf(known.id).length > 0 ? "resumed" : "new";
      return { status, fileId: known.id, verdicts: this.#take(known.id, first) };
    }
    const id = String(this.#files.length + 1);
    const verdicts = this.#take(id, first, { type: "file", id, key, name: file.fileName });
    return { status: "new", fileId: id, verdicts };
  }

  async accept(source: MessageSource, messages: readonly IncomingMessage[]): Promise<MessageVerdict[]> {
    this.#failIfToldTo();
    if (!("fileId" in source)) throw new TypeError("only files are dropped");
    this.#undecided(source.claimId);
    return this.#take(source.fileId, messages);
  }

  /** Of those that are there already the verdicts stand. */
  #take(fileId: string, offered: readonly IncomingMessage[], ...opening: readonly Entry[]): MessageVerdict[] {
    const there = new Map(this.messagesOf(fileId).map((message) => [message.ordinal, message]));
    const verdictOf = (message: IncomingMessage): MessageVerdict => {
      const [found] = this.inspect("", [message]);
      if (!found) throw new TypeError("each message has a verdict");
      const verdict = there.get(message.ordinal)?.verdict ?? found.verdict;
      const { place, raw } = message;
      // What the ledger alone finds in a message, it finds once.
      if (!raw.reveal().includes("REUSED")) return { ...found, verdict };
      const problem = { code: "ORDER_NUMBER_REUSED", place, message: "has the number of another" } as const;
      return { ...found, verdict: "refused", problems: [problem] };
    };
    const verdicts = offered.map(verdictOf);
    const messages = offered.filter(({ ordinal }) => !there.has(ordinal));
    const kept = messages.map((message) => ({
      ordinal: message.ordinal,
      place: message.place,
      raw: message.raw.reveal().toString("utf8"),
      verdict: verdicts.find(({ ordinal }) => ordinal === message.ordinal)?.verdict ?? "refused",
      ...(message.content.kind === "csv"
        ? { rows: message.content.rows.reveal().map((row) => Object.fromEntries(row.values)) }
        : {}),
    }));
    // One line, as it is one commit.
    this.#commit(...opening, { type: "batch", fileId, messages: kept });
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

  answerBatch(): undefined {
    return undefined;
  }

  /** Files whose bytes were there before. */
  get duplicates(): string[] {
    return this.#journal.entries.flatMap((entry) => (entry.type === "duplicate" ? [entry.name] : []));
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
    const end = this.#journal.entries.findLast((entry) => entry.type === "close" && entry.fileId === fileId);
    return end?.type === "close" ? end.status : "reading";
  }

  messagesOf(fileId: string): readonly JournalMessage[] {
    return this.#journal.entries.flatMap((entry) =>
      entry.type === "batch" && entry.fileId === fileId ? entry.messages : [],
    );
  }

  get #files() {
    return this.#journal.entries.filter((entry) => entry.type === "file");
  }

  /** Together in one line: a torn one was never committed. */
  #commit(...entries: readonly Entry[]): void {
    appendFileSync(this.#journal.path, `${JSON.stringify(entries)}\n`);
    this.#journal.entries.push(...entries);
    for (const entry of entries) applyRow(this.#journal.rows, entry);
  }

  #failIfToldTo(): void {
    if (this.failure) throw this.failure;
  }
}

function applyRow(rows: Map<string, Row>, entry: Entry): void {
  if (entry.type !== "row") return;
  rows.delete(entry.id);
  if (entry.row) rows.set(entry.id, entry.row);
}

function readJournal(path: string): Journal {
  const entries = readEntries(path);
  const rows = new Map<string, Row>();
  for (const entry of entries) applyRow(rows, entry);
  return { path, entries, rows, living: new Set(), dying: new Set() };
}

/** Whether any dropped file is in hand by what a journal says. */
export function isAnyInHand(journalPath: string): boolean {
  return [...readJournal(journalPath).rows.values()].some(({ worker }) => worker !== undefined);
}

function readEntries(path: string): Entry[] {
  if (!existsSync(path)) return [];
  // The last line may be torn: it was never committed.
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.flatMap((line) => (line.endsWith("]") ? (JSON.parse(line) as Entry[]) : []));
}

function closeEntry(fileId: string, { status, problems }: FileEnd): Entry {
  const isChanged = problems.some(({ code }) => code === "FILE_CHANGED");
  return { type: "close", fileId, status: isChanged ? "changed" : status };
}

/** The ledger's word that it is out of reach. */
export function ledgerAway(): Failure {
  return new Failure("FILE_SYSTEM_ERROR", "the ledger can't be reached");
}

/** SHA-256, hex. */
export function digest(bytes: string | Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
