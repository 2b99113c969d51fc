import type { Command } from "commander";
import type pg from "pg";
import { Failure, shownProblem } from "../../core/failures.ts";
import { parseId } from "../../ledger/ids.ts";
import { findFile, listFiles } from "../../ledger/messages/file-views.ts";
import { listFileMessageViews } from "../../ledger/messages/views.ts";
import { listFileDeliveries } from "../../ledger/operator/views.ts";
import { FILE_COLUMNS, FILE_STATUS_WORDS, paintOfFile } from "../../operator/file-columns.ts";
import { FILE_LIST } from "../../operator/lists/files.ts";
import { FILE_MESSAGE_COLUMNS } from "../../operator/message-columns.ts";
import { DELIVERY_COLUMNS } from "../../operator/order-columns.ts";
import { clean, problemLines } from "../../operator/text.ts";
import { getNamed, notFound, requireId } from "../acting.ts";
import { wholeNumber } from "../arguments.ts";
import { withLedger } from "../open.ts";
import { fields, printDetails, table } from "../output/details.ts";
import { defineList } from "../output/listing.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge files …`. */
export function define(files: Command, cli: Cli): void {
  defineList(files, cli, FILE_LIST, {
    ...{ isDefault: true, examples: ["cryobridge files list --status refused --since 1d"] },
  });
  files
    .command("show")
    .description("Show a file: what is wrong with it, its messages, and the newest results about it.")
    .argument("<id>", "such as f12, or the beginning of its name")
    .option("--limit <n>", "at most this many messages", wholeNumber(1, 10_000), 50)
    .addHelpText("after", "\nExample:\n  cryobridge files show f12")
    .action(toAction(cli, show));
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
      { title: "Problems", json: {}, lines: problemLines(file.problems.map(shownProblem)) },
      table(["messages", "Messages"], FILE_MESSAGE_COLUMNS, found.slice(0, limit), session),
      {
        json: { hasMore },
        lines: hasMore ? [`There are more than these ${limit}: --limit shows more.`] : [],
      },
      table(["results", "The newest results about it"], DELIVERY_COLUMNS, results, session),
    ],
  );
}
