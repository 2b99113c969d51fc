import { formatId, parseId } from "../../ledger/ids.ts";
import { listOrders } from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { counted } from "../../operator/text.ts";
import { nameOf } from "../../operator/why-waiting.ts";
import { type Choice, confirmPage, MOST_AT_ONCE, notDone, readChoice } from "../bulk.ts";
import type { Records } from "../deps.ts";
import type { Answer, Site, Submission } from "../site.ts";
import { findFiltered } from "./order-filter.ts";

const PATH = "/orders";

/** What can be done to many orders, as the buttons above the list name it. */
export const ORDER_BULK_ACTS = { retry: "Try now…", cancel: "Cancel…", discard: "Discard…" } as const;

const ACTS = {
  retry: {
    verb: "Try",
    reason: "optional",
    explains:
      "They are tried now, from where they stood; of one that failed a new request is made. What has ended or is in work is left as it is.",
  },
  cancel: {
    verb: "Cancel",
    reason: "required",
    explains:
      "At once where nothing has left for the service; else the service is asked, where its cancel call is configured.",
  },
  discard: {
    verb: "Discard",
    reason: "required",
    explains: "They are not carried out, and the lab hears it of each.",
  },
} as const;
type ActName = keyof typeof ACTS;
const NAMES = Object.keys(ACTS) as ActName[];

/** One act on many orders: what it will do, and then the act. */
export function addOrderBulk(site: Site, records: Records): void {
  site.form(`${PATH}/choose`, (submission) => choose(submission, records));
  for (const name of NAMES) site.form(`${PATH}/${name}`, (submission) => actOnAll(name, submission, records));
}

async function choose(submission: Submission, records: Records): Promise<Answer> {
  const choice = readChoice(submission, PATH);
  const name = NAMES.find((each) => each === choice.act);
  if (name === undefined) return notDone(choice, "Choose what to do with the orders.");
  const orders = await findChosen(choice, submission, records);
  if (orders.length === 0) return notDone(choice, "Choose orders first, by the boxes before them.");
  if (orders.length > MOST_AT_ONCE)
    return notDone(
      choice,
      `More than ${MOST_AT_ONCE} orders are found, and at most so many are changed at once: narrow the filter.`,
    );
  const named = orders.map((order) => ({
    id: formatId("o", order.id),
    name: `${nameOf(order)} · ${order.operation} · ${order.state}`,
  }));
  const asked = {
    ...ACTS[name],
    section: PATH,
    action: `${PATH}/${name}`,
    noun: "order",
    leftOut: [],
    isDangerous: name !== "retry",
  } as const;
  return confirmPage(asked, named, choice, submission);
}

/** In the order of receipt. */
async function findChosen(
  { ids, filter }: Choice,
  { words }: Submission,
  records: Records,
): Promise<LedgerOrder[]> {
  const limit = MOST_AT_ONCE + 1;
  const numbers = ids.flatMap((id) => parseId("o", id) ?? []);
  const found = filter
    ? await findFiltered(filter, words, records, limit)
    : await listOrders(records.pool, { ids: numbers, limit });
  return found.reverse();
}

const LINES = 20;

async function actOnAll(name: ActName, submission: Submission, records: Records): Promise<Answer> {
  const choice = readChoice(submission, PATH);
  const { reason, verb } = ACTS[name];
  if (reason === "required" && submission.act.reason === undefined)
    return notDone(choice, `Say why: nothing was done (${verb.toLowerCase()}).`);
  const orders = (await findChosen({ ...choice, filter: undefined }, submission, records)).slice(
    0,
    MOST_AT_ONCE,
  );
  const refusals: string[] = [];
  for (const order of orders) {
    const [isDone, words] = await records.acts.order(name, order, submission.act);
    if (!isDone) refusals.push(`${nameOf(order)} ${words}`);
  }
  const done = orders.length - refusals.length;
  const more = refusals.length - LINES;
  return {
    to: choice.back,
    notice: {
      isDone: refusals.length === 0,
      lines: [
        `${verb}: done for ${counted(done, "order")} of ${orders.length}.`,
        ...refusals.slice(0, LINES),
        ...(more > 0 ? [`And ${more} more.`] : []),
      ],
    },
  };
}
