import { type Command, Option } from "commander";
import { Failure, shownProblem } from "../core/failures.ts";
import { createLogger } from "../core/logger.ts";
import { VERSION } from "../core/version.ts";
import { formatId, type IdKind, parseId } from "../ledger/ids.ts";
import type { Act } from "../ledger/operator/audit.ts";
import type { Acted, Acts } from "../operator/acts.ts";
import { clean, problemLines } from "../operator/text.ts";
import {
  type ActWords,
  type DeclaredAct,
  type DetailsPart,
  notFound,
  refusalOf,
  type Thing,
} from "../operator/thing.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { assertNoOlderCopy, type OpenSite, recordShown, withLedger, withService } from "./open.ts";
import { printDetails, sectionsOf } from "./output/print-parts.ts";
import { withProgress } from "./output/progress.ts";
import { type Cli, type Session, toAction } from "./session.ts";

// The commands that show a record and act on records, as the things of `src/operator/things/` declare them.

/** Finds the record that a word names. @throws Failure CLI_NOT_FOUND, CLI_USAGE */
type Find<Row> = (site: OpenSite, word: string) => Promise<Row>;

/** The record of an id. @throws Failure CLI_NOT_FOUND, CLI_USAGE */
export async function getNamed<Row, Found extends Row>(
  thing: Thing<Row, Found>,
  { pool }: Pick<OpenSite, "pool">,
  word: string,
): Promise<Found> {
  const found = await thing.find(pool, requireId(thing.kind, thing.noun, word));
  if (found !== undefined) return found;
  throw notFound(thing, word);
}

/** The number of an id of the command line, such as `m12`. @throws Failure CLI_USAGE for what is no id of that kind */
export function requireId(kind: IdKind, noun: string, word: string): number {
  const id = parseId(kind, word);
  if (id !== undefined) return id;
  const article = /^[aeiou]/.test(noun) ? "an" : "a";
  throw new Failure(
    "CLI_USAGE",
    `${word}: expected the id of ${article} ${noun}, such as ${formatId(kind, 12)}`,
  );
}

/** Adds the command that shows a record. */
export function defineShow<Row, Found extends Row>(
  parent: Command,
  cli: Cli,
  thing: Thing<Row, Found>,
  {
    argument,
    examples,
    find = (site, word) => getNamed(thing, site, word),
    options = [],
  }: {
    readonly argument: string;
    readonly examples: readonly string[];
    readonly find?: Find<Found>;
    readonly options?: readonly Option[];
  },
): void {
  const command = parent.command("show").description(thing.details?.help ?? "");
  command.argument("<id>", argument);
  for (const option of options) command.addOption(option);
  command.addHelpText("after", `\nExample:\n${examples.map((each) => `  ${each}`).join("\n")}`).action(
    toAction(cli, async (session, word: string, { limit }: { readonly limit?: number }) => {
      await withLedger(session, async (site) => {
        const row = await find(site, word);
        const part = limit === undefined ? undefined : { limit, after: 0 };
        const { heading, sections } = await readSections(thing, site, row, session, part);
        printDetails(session, heading, sections);
      });
      return undefined;
    }),
  );
}

/** What is known of a record, once it is written down that patients' data are shown. */
export async function readSections<Row, Found extends Row>(
  { details }: Thing<Row, Found>,
  { pool, config }: OpenSite,
  row: Found,
  session: Session,
  part?: DetailsPart,
) {
  if (details === undefined) throw new TypeError("nothing more is known of such records");
  const place = { pool, config };
  if (session.mayShowPhi) await recordShown(session, pool, (await details.seen?.(place, row)) ?? []);
  return sectionsOf(await details.read(place, row, session, part), session);
}

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
type Options = ActOptions & Readonly<Record<string, unknown>>;

/** What is particular to a command that acts. */
export interface ActParticulars<Row, Given> {
  /** What the help says of its ids. */
  readonly argument: string;
  readonly find?: Find<Row>;
  /** Looks at a word before the ledger is opened; without it, it has to be an id unless `find` is given. @throws Failure CLI_USAGE */
  readonly checkWord?: (word: string) => void;
  /** Whether it acts on one record alone. */
  readonly isSingle?: boolean;
  /** An option that chooses records instead of naming them, and which. */
  readonly choose?: {
    readonly option: Option;
    readonly what: string;
    readonly records: (site: OpenSite, value: never) => Promise<readonly Row[]>;
  };
  /** Further options, and what they say. @throws Failure CLI_USAGE */
  readonly options?: readonly Option[];
  readonly given?: (options: Options) => Given;
  /** What is said besides at the end. */
  readonly after?: (session: Session) => Promise<void>;
}

/**
 * Adds the command of an act; with `flagged` acts, its options do those instead. Status 1 when it could not be done to one of the
 * records, or when a person said no.
 */
export function defineAct<Row, Found extends Row, Given>(
  parent: Command,
  cli: Cli,
  thing: Thing<Row, Found>,
  act: DeclaredAct<Row, Given>,
  particulars: ActParticulars<Row, Given>,
  flagged: readonly DeclaredAct<Row, Given>[] = [],
): void {
  const { argument, isSingle = false, choose, options = [], after } = particulars;
  const isId = particulars.find === undefined;
  const { checkWord = (word) => isId && requireId(thing.kind, thing.noun, word) } = particulars;
  const { command: words, help = "", example = "", reason, reasonHelp = WHY, asks } = act;
  const command = parent.command(words.split(" ").at(-1) ?? "").description(help);
  const several = choose === undefined ? "<id...>" : "[id...]";
  command.argument(isSingle ? "<id>" : several, argument);
  for (const option of [...(choose ? [choose.option] : []), ...options]) command.addOption(option);
  command.addOption(new Option("--reason <text>", reasonHelp).makeOptionMandatory(reason === "required"));
  if (asks) command.option("-y, --yes", `don't ask before ${asks[1]} more than one`);
  for (const { flag } of flagged) if (flag) command.option(`--${flag.name}`, flag.help);
  command.addHelpText("after", `\nExample:\n  ${example}`).action(
    toAction(cli, async (session, given: string | readonly string[], asked: Options) => {
      const names = [given].flat();
      const chosen = choose && asked[choose.option.attributeName()];
      if (choose && (names.length === 0) === (chosen === undefined))
        throw new Failure("CLI_USAGE", `${words}: ${choose.what}`);
      const meant = meantAct(act, flagged, asked);
      const by = { actor: session.actor, reason: reasonOf(meant, asked.reason) };
      // What is wrong in the command line is said before it is asked whether the ledger has the records.
      const said = particulars.given?.(asked) as Given;
      for (const word of names) checkWord(word);
      const done = await withLedger(session, async (site) => {
        await assertNoOlderCopy(site);
        const rows =
          choose && chosen !== undefined
            ? await choose.records(site, chosen as never)
            : await findAll(thing, site, names, particulars.find);
        return actOnAll({ thing, act: meant, rows, site, session }, by, asked.yes, said);
      });
      const status = printDone(session, done);
      await after?.(session);
      return status;
    }),
  );
}

/** What the `--reason` of most commands is for. */
export const WHY = "why, for the audit";

/** The act that the options mean. @throws Failure CLI_USAGE for several */
function meantAct<Row, Given>(
  act: DeclaredAct<Row, Given>,
  flagged: readonly DeclaredAct<Row, Given>[],
  asked: Options,
): DeclaredAct<Row, Given> {
  const isAsked = ({ flag }: DeclaredAct<Row, Given>) =>
    flag !== undefined && asked[new Option(`--${flag.name}`).attributeName()] === true;
  const [meant, ...others] = flagged.filter(isAsked);
  if (others.length === 0) return meant ?? act;
  const flags = flagged.map(({ flag }) => `--${flag?.name}`).join(" and ");
  throw new Failure("CLI_USAGE", `${act.command}: ${flags} are for different orders`);
}

/** The reason that is kept of an act. @throws Failure CLI_USAGE for an act that is not done without one */
export function reasonOf(
  { command, flag, reason }: Pick<ActWords<never>, "command" | "reason"> & Pick<DeclaredAct<never>, "flag">,
  given: string | undefined,
): string | undefined {
  return reason === "required"
    ? requireReason(flag === undefined ? command : `${command} --${flag.name}`, given)
    : given;
}

/** The words of a `--reason` that must not be blank. @throws Failure CLI_USAGE */
function requireReason(command: string, reason: string | undefined): string {
  if (reason !== undefined && reason.trim() !== "") return reason;
  throw new Failure("CLI_USAGE", `${command}: say why with --reason, it is kept with your name`);
}

/** All records that words name, each once and in the order of receipt, before anything is done to the first. */
async function findAll<Row, Found extends Row>(
  thing: Thing<Row, Found>,
  site: OpenSite,
  words: readonly string[],
  find: Find<Row> = (open, word) => getNamed(thing, open, word),
): Promise<readonly Row[]> {
  const found = new Map<number, Row>();
  for (const word of new Set(words)) {
    const row = await find(site, word);
    found.set(thing.numberOf(row), row);
  }
  return [...found].sort(([one], [other]) => one - other).map(([, row]) => row);
}

/** What became of one record. */
interface Done {
  readonly id: string;
  readonly acted: Acted;
  /** For people, such as `o17 (P-1001) will be tried again`. */
  readonly text: string;
}

/** Does something to each record, after asking where they are several; undefined when a person said no. */
async function actOnAll<Row, Found extends Row, Given>(
  {
    thing: { kind, noun, numberOf, nameOf },
    act,
    rows,
    site,
    session,
  }: {
    readonly thing: Thing<Row, Found>;
    readonly act: DeclaredAct<Row, Given>;
    readonly rows: readonly Row[];
    readonly site: OpenSite;
    readonly session: Session;
  },
  by: Act,
  isYes: boolean | undefined,
  given: Given,
): Promise<Done[] | undefined> {
  const idOf = (row: Row) => formatId(kind, numberOf(row));
  const name = nameOf ?? idOf;
  const run = await act.start(
    { pool: site.pool, config: site.config, acts: await actsOf(site, session) },
    by,
    given,
  );
  // All are looked at before the first is changed, so that a mistake in the list does nothing by halves.
  if (run.check) for (const row of rows) await run.check(row);
  if (act.asks !== undefined && rows.length > 1) {
    const names = `${rows.slice(0, 5).map(name).join(", ")}${rows.length > 5 ? ", …" : ""}`;
    const question = clean(`${act.asks[0]} ${rows.length} ${noun}s (${names})?`);
    if (!(await confirm(session, question, isYes))) return undefined;
  }
  const done = await withProgress(session, { what: "done", nouns: "records" }, async (report) => {
    const all: Done[] = [];
    for (const row of rows) {
      const acted = await (rows.length > 1 ? run.each(row).catch(refusalOf) : run.each(row));
      all.push({ id: idOf(row), acted, text: `${name(row)} ${acted[1]}` });
      report(all.length, rows.length);
    }
    return all;
  });
  await run.end?.();
  return done;
}

/** What is done to records, as the console of a daemon does it. */
export async function actsOf(
  { pool, config }: Pick<OpenSite, "pool" | "config">,
  session: Session,
): Promise<Acts> {
  const { createActs } = await import("../app/acts/create-acts.ts");
  const { clock, io, secrets } = session;
  // A place of alerts may be the log, which has to be seen.
  const logger = createLogger({ level: "info" }, io.stderr, secrets);
  return createActs({
    ...{ pool, config, alertParts: { version: VERSION, clock, logger, path: io.env.PATH } },
    withService: (work) => withService(session, config, work),
  });
}

/** Shows what became of each record; status 1 when something could not be done, or when a person said no. */
function printDone(session: Session, done: readonly Done[] | undefined): ExitStatus | undefined {
  if (done === undefined) return EXIT.failed;
  const lines = done.flatMap(({ acted: [isDone, , more], text }) => [
    `${isDone ? session.paint("green", "✓") : session.paint("red", "✗")} ${clean(text)}`,
    ...problemLines(more?.problems?.map(shownProblem) ?? []).map((line) => `  ${line}`),
  ]);
  const json = done.map(({ id, acted: [isDone, , more], text }) => ({
    ...{ id, isDone, text },
    ...more?.mapped,
    ...(more?.problems && { problems: more.problems.map(shownProblem) }),
  }));
  session.result({ results: json }, lines.length === 0 ? ["There is nothing to act on."] : lines);
  return done.every(({ acted: [isDone] }) => isDone) ? undefined : EXIT.failed;
}
