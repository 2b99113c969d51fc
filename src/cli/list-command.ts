import { type Command, Option } from "commander";
import {
  type Filter,
  type Filters,
  type FilterValues,
  type List,
  type ListPlace,
  nothingOf,
  WHOLE,
} from "../operator/list.ts";
import type { AnyList } from "../operator/lists.ts";
import { clean } from "../operator/text.ts";
import { parseSince } from "../operator/times.ts";
import { pageOption, wholeNumber, wordsOf } from "./arguments.ts";
import { type Watching, watched, watchOption } from "./live/watched.ts";
import { type OpenSite, recordShown } from "./open.ts";
import { printList } from "./output/list.ts";
import { defineAct } from "./record-commands.ts";
import { type Cli, type Session, toAction } from "./session.ts";

interface Particulars<Row, F extends Filters> {
  /** Command lines that show its use. */
  readonly examples: readonly string[];
  /** What the command is called below the one above it; `list` unless given. */
  readonly name?: string;
  /** Whether the command above it shows the list, too. */
  readonly isDefault?: boolean;
  /** Looks at what was asked for before the list is read. @throws Failure CLI_USAGE, CLI_NOT_FOUND */
  readonly check?: (session: Session, site: OpenSite, values: FilterValues<F>) => Promise<void> | void;
  /** What is said below the entries. */
  readonly afterShown?: (session: Session, shown: readonly Row[]) => void;
  /** What is said besides where the list is empty from its beginning. */
  readonly whenEmpty?: (session: Session, site: OpenSite, values: FilterValues<F>) => Promise<void>;
}

type Options = Watching & {
  readonly limit: number;
  readonly before?: number;
  readonly after?: number;
} & Readonly<Record<string, unknown>>;

/** At most this many entries, unless `--limit` says another number. */
const A_PAGE = 50;

/** Adds the command that shows a list: `… list`. */
export function defineList<Row, F extends Filters>(
  parent: Command,
  cli: Cli,
  list: List<Row, F>,
  particulars: Particulars<Row, F>,
): void {
  const { examples, name = "list", isDefault = false } = particulars;
  const { check, afterShown, whenEmpty } = particulars;
  const { page } = list;
  const flag = page?.flag ?? "before";
  const command = parent.command(name, { isDefault }).description(list.help);
  for (const [option, filter] of Object.entries(list.filters)) command.addOption(optionOf(option, filter));
  command.option("--limit <n>", "at most this many", wholeNumber(1, 10_000), page ? A_PAGE : WHOLE);
  if (page) command.addOption(pageOption(page.kind, `--${flag}`));
  command
    .addOption(watchOption())
    .addHelpText("after", `\nExample:\n${examples.map((each) => `  ${each}`).join("\n")}`)
    .action(
      toAction(
        cli,
        watched<Options>(async (session, kept, { limit, [flag]: from, ...options }) => {
          const values = valuesOf(list, options, session);
          const site = await kept.open();
          await check?.(session, site, values);
          const part = { limit: limit + 1, after: from };
          const rows = await list.read(placeOf(site, session), values, part);
          const shown = rows.slice(0, limit);
          await recordShown(
            session,
            site.pool,
            shown.flatMap((row) => list.seen?.(row) ?? []),
          );
          const form = { ...list, nothing: clean(nothingOf(list, values, part)) };
          const nextPage = page && ((last: Row) => `--${flag} ${page.of(last)}`);
          printList(session, { ...form, ...(nextPage && { nextPage }) }, rows, limit);
          afterShown?.(session, shown);
          if (from === undefined && rows.length === 0) await whenEmpty?.(session, site, values);
          return undefined;
        }),
      ),
    );
}

/** Makes the command of a list that has no more than itself, and what is done to its records. */
export async function definePlainList(
  family: Command,
  cli: Cli,
  load: () => Promise<AnyList>,
): Promise<void> {
  const list = await load();
  const { thing } = list;
  defineList(family, cli, list, { isDefault: true, examples: [`cryobridge ${family.name()} list`] });
  for (const act of Object.values(thing?.acts ?? {}))
    if (thing) defineAct(family, cli, thing, act, { argument: `${thing.kind}…` });
}

function optionOf(name: string, filter: Filter): Option {
  const option = new Option(`--${name} <${filter.value}>`, filter.help);
  if (filter.kind === "choice") return option.choices([...filter.words]);
  if (filter.kind === "choices") return option.argParser(wordsOf(filter.words));
  return option;
}

/** What the options say; the other ones are as commander has checked them. @throws Failure CLI_USAGE for a time */
function valuesOf<Row, F extends Filters>(
  { filters }: List<Row, F>,
  options: Readonly<Record<string, unknown>>,
  session: Session,
): FilterValues<F> {
  const values = Object.entries(filters).map(([name, { kind }]) => [
    name,
    kind === "since" ? parseSince(options[name] as string | undefined, session) : options[name],
  ]);
  return Object.fromEntries(values) as FilterValues<F>;
}

/** Where lists are read for the command line. */
export function placeOf({ pool, config }: Pick<OpenSite, "pool" | "config">, { clock }: Session): ListPlace {
  return { pool, config, nowMs: clock.now(), mayAskPhi: true };
}
