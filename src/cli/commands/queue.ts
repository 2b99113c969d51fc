import { Argument, type Command, Option } from "commander";
import { Failure } from "../../core/failures.ts";
import { QUEUE_NAMES, type QueueName } from "../../jobs/queues.ts";
import { parseId } from "../../ledger/ids.ts";
import type { DeliveryDetails } from "../../ledger/operator/views.ts";
import { readQueueOverview } from "../../operator/overviews/queue.ts";
import { MOVE } from "../../operator/things/orphaned.ts";
import { QUEUE_ACTS } from "../../operator/things/queues.ts";
import { RESULTS } from "../../operator/things/results.ts";
import { oneOf, wholeNumber } from "../arguments.ts";
import { type ExitStatus, exitStatusOf } from "../exit-status.ts";
import { placeOf } from "../list-command.ts";
import { type KeptSite, type Watching, watched, watchOption } from "../live/watched.ts";
import { type OpenSite, withLedger } from "../open.ts";
import { failureJson } from "../output/failure.ts";
import { printDetails, printOverview } from "../output/print-parts.ts";
import { defineAct, getNamed, readSections, requireId } from "../record-commands.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { defineSiteAct } from "../site-act-commands.ts";
import { showOrders } from "./orders.ts";

/** `cryobridge queue …`. */
export function define(queue: Command, cli: Cli): void {
  queue
    .command("list", { isDefault: true })
    .description(
      "How much work stands where, which orders wait and what for, and what the lab doesn't have yet.",
    )
    .option("--limit <n>", "at most this many of each kind", wholeNumber(1, MOST_ROWS), 50)
    .addOption(watchOption())
    .addHelpText("after", "\nExample:\n  cryobridge queue list --limit 10")
    .action(toAction(cli, watched(list)));
  queue
    .command("show")
    .description("Show an order (o17) or a delivery (d4).")
    .argument("<id>", "o… or d…")
    .addHelpText("after", "\nExample:\n  cryobridge queue show d4")
    .action(toAction(cli, show));
  const ofResults = (act: string) => ({
    argument: "d…",
    checkWord: (word: string) => {
      if (parseId("o", word) === undefined) requireId(RESULTS.kind, RESULTS.noun, word);
      else throw new Failure("CLI_USAGE", `${word} is an order: cryobridge orders ${act} ${word}`);
    },
  });
  defineAct(queue, cli, RESULTS, RESULTS.acts.retry, ofResults("retry"));
  defineAct(queue, cli, RESULTS, RESULTS.acts.drop, ofResults("discard"));
  defineSiteAct(queue.command("move"), cli, MOVE, {
    options: [
      new Option("--from <connector>", "the name that is gone").makeOptionMandatory(),
      new Option("--to <connector>", "one that is configured").makeOptionMandatory(),
    ],
    on: ({ from, to }) => ({ from: from as string, to: to as string }),
  });
  for (const [name, act] of Object.entries(QUEUE_ACTS)) {
    const argument = new Argument("<queue>", "submit, track or deliver").argParser(oneOf(QUEUE_NAMES));
    const on = (_asked: object, queue: string) => ({ queue: queue as QueueName });
    defineSiteAct(queue.command(name), cli, act, { argument, on });
  }
}

/** What `--limit` can ask for. */
const MOST_ROWS = 10_000;

/** Status 4 when BullMQ's server can't be asked, after what the ledger says was shown. */
async function list(
  session: Session,
  site: KeptSite,
  { limit }: Watching & { readonly limit: number },
): Promise<ExitStatus | undefined> {
  const { pool, config } = await site.open();
  const overview = await readQueueOverview(placeOf({ pool, config }, session), session, {
    askQueues: (work) => site.askQueues(work),
    limit,
  });
  const { failure, cut } = overview;
  printOverview(session, overview, failure && { error: failureJson(failure) });
  const how = limit < MOST_ROWS ? ": --limit shows more" : "";
  if (cut.length > 0) session.note(`At most ${limit} of each kind are shown${how}.`);
  if (!failure) return undefined;
  session.note(`\n${failure.message} (${failure.code})\n  ${failure.hint}`);
  return exitStatusOf(failure.code);
}

async function show(session: Session, word: string): Promise<undefined> {
  await withLedger(session, async (site) => {
    if (parseId("o", word) !== undefined) return showOrders(session, site, word);
    if (parseId("d", word) !== undefined)
      return showResult(await getNamed(RESULTS, site, word), site, session);
    const hint = "`cryobridge queue list` shows what there is.";
    throw new Failure("CLI_NOT_FOUND", { message: `no order or delivery ${word}`, hint });
  });
}

async function showResult(result: DeliveryDetails, site: OpenSite, session: Session): Promise<void> {
  const { heading, sections } = await readSections(RESULTS, site, result, session);
  printDetails(session, heading, sections);
}
