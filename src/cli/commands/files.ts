import { type Command, Option } from "commander";
import type pg from "pg";
import { Failure } from "../../core/failures.ts";
import { parseId } from "../../ledger/ids.ts";
import { FILE_STATUSES, type FileView, findFile, listFiles } from "../../ledger/messages/file-views.ts";
import { listFileMessageViews } from "../../ledger/messages/views.ts";
import { listFileDeliveries } from "../../ledger/operator/views.ts";
import { FILE_COLUMNS, FILE_STATUS_WORDS, paintOfFile } from "../../operator/file-columns.ts";
import { FILE_MESSAGE_COLUMNS } from "../../operator/message-columns.ts";
import { DELIVERY_COLUMNS } from "../../operator/order-columns.ts";
import { clean, problemLines } from "../../operator/text.ts";
import { parseSince } from "../../operator/times.ts";
import { getNamed, notFound, requireId } from "../acting.ts";
import { pageOption, wholeNumber } from "../arguments.ts";
import { type KeptSite, type Watching, watched, watchOption } from "../live/watched.ts";
import { withLedger } from "../open.ts";
import { fields, printDetails, table } from "../output/details.ts";
import { printList } from "../output/list.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge files …`. */
export function define(files: Command, cli: Cli): void {
  files
    .command("list", { isDefault: true })
    .description("List dropped files, newest first.")
    .option("--connector <name>", "only files that came through this connector")
    .addOption(new Option("--status <status>", "only files with this status").choices(FILE_STATUSES))
    .option("--find <text>", "only files whose names begin like this")
    .option("--since <time>", "only files that came in since: 2h, 3d, or 2026-11-21T08:00")
    .option("--limit <n>", "at most this many", wholeNumber(1, 10_000), 50)
    .addOption(pageOption("f"))
    .addOption(watchOption())
    .addHelpText("after", "\nExample:\n  cryobridge files list --status refused --since 1d")
    .action(toAction(cli, watched(list)));
  files
    .command("show")
    .description("Show a file: what is wrong with it, its messages, and the newest results about it.")
    .argument("<id>", "such as f12, or the beginning of its name")
    .option("--limit <n>", "at most this many messages", wholeNumber(1, 10_000), 50)
    .addHelpText("after", "\nExample:\n  cryobridge files show f12")
    .action(toAction(cli, show));
}

interface ListOptions extends Watching {
  readonly connector?: string;
  readonly status?: FileView["status"];
  readonly find?: string;
  readonly since?: string;
  readonly limit: number;
  readonly before?: number;
}

const FILES = {
  key: "files",
  columns: FILE_COLUMNS,
  nothing: "No files.",
  nextPage: ({ fileId }: FileView) => `--before ${fileId}`,
};

async function list(
  session: Session,
  site: KeptSite,
  { connector, status, find: name, since: from, limit, before: beforeId }: ListOptions,
): Promise<undefined> {
  const since = parseSince(from, session);
  const { pool } = await site.open();
  const filter = { connector, status, name, since, beforeId, limit: limit + 1 };
  printList(session, FILES, await listFiles(pool, filter), limit);
}

/** Among this many whose names begin with a word, one that has it as its whole name is looked for. */
const WITH_NAME = 100;

/** The id of the only file whose name is this, or else begins with it. @throws Failure CLI_NOT_FOUND, CLI_USAGE for several */
async function idOfName(pool: pg.Pool, name: string): Promise<string> {
  const found = await listFiles(pool, { name, limit: WITH_NAME });
  const exact = found.filter(({ fileName }) => fileName === name);
  const [first, another] = exact.length > 0 ? exact : found;
  if (first === undefined) throw notFound("f", name);
  if (another === undefined) return first.fileId;
  const hint = `Choose one of \`cryobridge files list --find ${name}\` by its id.`;
  throw new Failure("CLI_USAGE", { message: `several files have a name that begins with ${name}`, hint });
}

/** Results that are shown, the newest. */
const RESULTS = 20;

async function show(
  session: Session,
  word: string,
  { limit }: { readonly limit: number },
): Promise<undefined> {
  const { file, found, results } = await withLedger(session, async ({ pool }) => {
    const id = parseId("f", word) === undefined ? await idOfName(pool, word) : word;
    const file = await getNamed("f", id, (number) => findFile(pool, number));
    const number = requireId("f", id);
    const found = await listFileMessageViews(pool, number, 0, limit + 1);
    return { file, found, results: await listFileDeliveries(pool, number, RESULTS) };
  });
  const status = session.paint(["bold", paintOfFile(file) ?? "bold"], FILE_STATUS_WORDS[file.status]);
  const hasMore = found.length > limit;
  printDetails(
    session,
    [`File ${file.fileId}, ${clean(file.fileName)}: ${status}`],
    [
      fields(FILE_COLUMNS, file, session),
      { title: "Problems", json: {}, lines: problemLines(file.problems) },
      table(["messages", "Messages"], FILE_MESSAGE_COLUMNS, found.slice(0, limit), session),
      {
        json: { hasMore },
        lines: hasMore ? [`There are more than these ${limit}: --limit shows more.`] : [],
      },
      table(["results", "The newest results about it"], DELIVERY_COLUMNS, results, session),
    ],
  );
}
