import { Failure } from "../core/failures.ts";
import { formatId, parseId } from "../ledger/ids.ts";
import { clean } from "../operator/text.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { withProgress } from "./output/progress.ts";
import type { Session } from "./session.ts";

/**
 * Asks before something is done to many records, or something that can't be undone.
 *
 * @returns whether to go on; with `--yes` without asking.
 * @throws Failure CLI_USAGE where nobody can be asked.
 */
export async function confirm(
  session: Session,
  question: string,
  isYes: boolean | undefined,
): Promise<boolean> {
  if (isYes) return true;
  const { ask } = session.io;
  if (!ask || session.isJson) {
    const message = `${question} Nobody can be asked here`;
    throw new Failure("CLI_USAGE", { message, hint: "Add `--yes` to go on without asking." });
  }
  const answer = await ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  session.note("Nothing was done.");
  return false;
}

/** The options of acting commands. */
export interface ActOptions {
  readonly reason?: string;
  readonly yes?: boolean;
}

/** What is done to records, and what it is called: `["Retry", "order"]` asks `Retry 2 orders (o1, o2)?`. */
interface Acting<Row> {
  /** Asked before more than one; absent where nobody is asked. */
  readonly ask?: readonly [verb: string, noun: string];
  readonly yes?: boolean | undefined;
  readonly idOf: (row: Row) => string;
  /** What it is called in sentences; its id unless given. */
  readonly nameOf?: (row: Row) => string;
  /** Does it to one record; in words what became of it, such as `will be tried again`. */
  readonly change: (row: Row) => Promise<readonly [isDone: boolean, words: string]>;
}

/** Does something to each record, after asking where they are several; undefined when a person said no. */
export async function actOnEach<Row>(
  session: Session,
  rows: readonly Row[],
  { ask, yes, idOf, nameOf = idOf, change }: Acting<Row>,
): Promise<Done[] | undefined> {
  const [verb, noun] = ask ?? [];
  if (verb !== undefined && rows.length > 1) {
    const names = `${rows.slice(0, 5).map(nameOf).join(", ")}${rows.length > 5 ? ", …" : ""}`;
    if (!(await confirm(session, clean(`${verb} ${rows.length} ${noun}s (${names})?`), yes)))
      return undefined;
  }
  return withProgress(session, { what: "done", nouns: "records" }, async (report) => {
    const done: Done[] = [];
    for (const row of rows) {
      const [isDone, words] = await change(row);
      done.push({ id: idOf(row), isDone, text: `${nameOf(row)} ${words}` });
      report(done.length, rows.length);
    }
    return done;
  });
}

const NOUNS = {
  ...{ o: "order", m: "message", f: "file", d: "delivery", k: "task", a: "alert", s: "silence" },
} as const;
type Kind = keyof typeof NOUNS;

/** Where the ids of a kind are listed. */
const LISTS: Readonly<Record<Kind, string>> = {
  ...{ o: "orders list", m: "messages list", f: "files list", d: "results list", k: "tasks list" },
  ...{ a: "alerts list", s: "alerts silences" },
};

/** That the ledger has no record of this name. @param more what follows from that */
export function notFound(kind: Kind, word: string, more = ""): Failure {
  const besides =
    kind === "o"
      ? "; `cryobridge messages waiting` and `cryobridge files list` show what may not be an order yet"
      : "";
  const hint = `\`cryobridge ${LISTS[kind]}\` shows what there is${besides}.`;
  return new Failure("CLI_NOT_FOUND", { message: `no ${NOUNS[kind]} ${word}${more}`, hint });
}

/** The number of an id of the command line, such as `m12`. @throws Failure CLI_USAGE for what is no id of that kind */
export function requireId(kind: Kind, word: string): number {
  const id = parseId(kind, word);
  if (id !== undefined) return id;
  const noun = NOUNS[kind];
  const article = /^[aeiou]/.test(noun) ? "an" : "a";
  throw new Failure(
    "CLI_USAGE",
    `${word}: expected the id of ${article} ${noun}, such as ${formatId(kind, 12)}`,
  );
}

/** The record that a word of the command line names. @throws Failure CLI_NOT_FOUND, CLI_USAGE */
export async function getNamed<Row>(
  kind: Kind,
  word: string,
  find: (id: number) => Promise<Row | undefined>,
): Promise<Row> {
  const found = await find(requireId(kind, word));
  if (found !== undefined) return found;
  throw notFound(kind, word);
}

/** All records that words name, each once, before anything is done to the first. @throws Failure CLI_NOT_FOUND, CLI_USAGE */
export async function getAllNamed<Row>(
  kind: Kind,
  words: readonly string[],
  find: (id: number) => Promise<Row | undefined>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const word of new Set(words)) rows.push(await getNamed(kind, word, find));
  return rows;
}

/** The words of a `--reason` that must not be blank. @throws Failure CLI_USAGE */
export function requireReason(command: string, reason: string | undefined): string {
  if (reason !== undefined && reason.trim() !== "") return reason;
  throw new Failure("CLI_USAGE", `${command}: say why with --reason, it is kept with your name`);
}

/** What became of one record. */
interface Done {
  readonly id: string;
  readonly isDone: boolean;
  /** For people, such as `o17 (P-1001) will be tried again`. */
  readonly text: string;
}

/** Shows what became of each record; status 1 when something could not be done, or when a person said no. */
export function printDone(session: Session, done: readonly Done[] | undefined): ExitStatus | undefined {
  if (done === undefined) return EXIT.failed;
  const lines = done.map(({ isDone, text }) => {
    const sign = isDone ? session.paint("green", "✓") : session.paint("red", "✗");
    return `${sign} ${clean(text)}`;
  });
  session.result({ results: done }, lines.length === 0 ? ["There is nothing to act on."] : lines);
  return done.every(({ isDone }) => isDone) ? undefined : EXIT.failed;
}
