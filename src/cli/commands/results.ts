import type { Command } from "commander";
import { resendResult } from "../../app/acts/results.ts";
import { Failure, type FailureCode, shownProblem } from "../../core/failures.ts";
import { parseId } from "../../ledger/ids.ts";
import {
  type DeliveryDetails,
  type DeliveryView,
  findDeliveriesByName,
  findDelivery,
  listOrderDeliveries,
} from "../../ledger/operator/views.ts";
import { findBytes } from "../../ledger/results/resend.ts";
import { resultText } from "../../operator/kept-text.ts";
import { RESULT_LIST } from "../../operator/lists/results.ts";
import { DELIVERY_DETAILS } from "../../operator/order-columns.ts";
import { cleanLines, HIDDEN, problemLines } from "../../operator/text.ts";
import { type ActOptions, actOnEach, getNamed, notFound, printDone, requireId } from "../acting.ts";
import type { ExitStatus } from "../exit-status.ts";
import { getNamedOrder } from "../named-orders.ts";
import { type OpenSite, recordShown, withLedger } from "../open.ts";
import { fields, printDetails, type Section } from "../output/details.ts";
import { defineList } from "../output/listing.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge results …`. */
export function define(results: Command, cli: Cli): void {
  defineList(results, cli, RESULT_LIST, {
    examples: ["cryobridge results list --order LIMS-2024-0117"],
    check: async (_session, site, { order }) => {
      if (order !== undefined) await getNamedOrder(site, order);
    },
  });
  results
    .command("show")
    .description("Show a result: its file, its state, the orders that it is about, and its text.")
    .argument("<id>", "such as d4, or the name of its file")
    .addHelpText("after", "\nExample:\n  cryobridge results show d4 --show-phi")
    .action(toAction(cli, show));
  results
    .command("resend")
    .description("Send results again that the lab had: the same name and the same bytes.")
    .argument("[id...]", "such as d4, or the name of its file")
    .option("--order <id>", "all that was sent about this order: o17, its order number, or a label")
    .option("--reason <text>", "why, for the audit")
    .option("-y, --yes", "don't ask before sending more than one")
    .addHelpText("after", '\nExample:\n  cryobridge results resend d4 --reason "lost in the lab\'s import"')
    .action(toAction(cli, resend));
}

/** The result of an id, or of a file's name. @throws Failure CLI_NOT_FOUND, CLI_USAGE where connectors share the name */
async function getResult({ pool, config }: OpenSite, word: string): Promise<DeliveryDetails> {
  if (parseId("d", word) !== undefined) return getNamed("d", word, (id) => findDelivery(pool, id));
  const connectors = config.connectors.map(({ name }) => name);
  const [only, ...others] = await findDeliveriesByName(pool, connectors, word);
  if (only === undefined) throw notFound("d", word);
  if (others.length === 0) return only;
  const ids = [only, ...others].map(({ deliveryId, connector }) => `${deliveryId} of ${connector}`);
  throw new Failure("CLI_USAGE", `${word} names several results: ${ids.join(", ")}; name one by its id`);
}

async function show(session: Session, word: string): Promise<undefined> {
  const { delivery, bytes } = await withLedger(session, async (site) => {
    const { pool } = site;
    const found = await getResult(site, word);
    await recordShown(session, pool, [found.deliveryId]);
    return { delivery: found, bytes: await findBytes(pool, requireId("d", found.deliveryId)) };
  });
  showResult(delivery, session, textSection(bytes, session));
}

/** Shows a result; its text only where that is given. */
export function showResult(delivery: DeliveryDetails, session: Session, text?: Section): void {
  const { deliveryId, state, failure } = delivery;
  const code = failure?.code as FailureCode;
  printDetails(
    session,
    [`Delivery ${deliveryId}: ${session.paint("bold", state)}`],
    [
      fields(DELIVERY_DETAILS, delivery, session),
      {
        title: "Last error",
        json: {},
        lines: failure
          ? problemLines([shownProblem({ code, place: {}, message: failure.text })], { result: deliveryId })
          : [],
      },
      ...(text ? [text] : []),
    ],
  );
}

function textSection(bytes: Buffer | undefined, { mayShowPhi }: Session): Section {
  const title = "Text";
  if (bytes === undefined) return { title, json: { text: null }, lines: ["not kept"] };
  if (mayShowPhi) {
    const text = resultText(bytes);
    return { title, json: { text }, lines: cleanLines(text) };
  }
  const lines = [`${HIDDEN} (${bytes.length} bytes; --show-phi shows it)`];
  return { title, json: { text: HIDDEN }, lines };
}

interface ResendOptions extends ActOptions {
  readonly order?: string;
}

/** `results resend`: status 1 when one of the results can't be sent again. */
async function resend(
  session: Session,
  words: readonly string[],
  { order, reason, yes }: ResendOptions,
): Promise<ExitStatus | undefined> {
  if ((words.length === 0) === (order === undefined)) {
    throw new Failure("CLI_USAGE", "results resend: name results, or an order with --order");
  }
  const act = { actor: session.actor, reason };
  const done = await withLedger(session, async (site) => {
    const chosen = await choose(site, words, order);
    return actOnEach<DeliveryView>(session, chosen, {
      ...{ ask: ["Send", "result"], yes, idOf: ({ deliveryId }) => deliveryId },
      change: (result) => resendResult(site, result, act),
    });
  });
  return printDone(session, done);
}

async function choose(
  open: OpenSite,
  words: readonly string[],
  word: string | undefined,
): Promise<readonly DeliveryView[]> {
  const { pool } = open;
  if (word === undefined) {
    const named = new Map<string, DeliveryView>();
    for (const each of words) {
      const result = await getResult(open, each);
      named.set(result.deliveryId, result);
    }
    return [...named.values()];
  }
  const order = await getNamedOrder(open, word);
  const sent = (await listOrderDeliveries(pool, order.id)).filter(({ state }) => state === "delivered");
  if (sent.length > 0) return sent;
  throw new Failure("CLI_NOT_APPLICABLE", `nothing was sent about order ${word} yet`);
}
