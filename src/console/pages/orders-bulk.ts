import { isTerminal, mayMove } from "../../core/order-state.ts";
import { formatId, parseId } from "../../ledger/ids.ts";
import { listOrders } from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import type { Acts } from "../../operator/acts.ts";
import { findListedOrders, ORDER_LIST } from "../../operator/lists/orders.ts";
import { stateInWords } from "../../operator/order-columns.ts";
import { counted } from "../../operator/text.ts";
import { nameOf } from "../../operator/why-waiting.ts";
import { type Choice, confirmChoice, MOST_AT_ONCE, notDone, readChoice } from "../bulk.ts";
import type { Records } from "../deps.ts";
import { filterValues } from "../listing.ts";
import type { Notice } from "../session.ts";
import type { Answer, Site, Submission, Visit } from "../site.ts";
import type { BeginWork, Work } from "../work.ts";

const PATH = "/orders";

/** What can be done to many orders, as the buttons above the list name it. */
export const ORDER_BULK_ACTS = { retry: "Try now…", cancel: "Cancel…", discard: "Discard…" } as const;

const ACTS = {
  retry: {
    verb: "Try",
    reason: "optional",
    explains: "They are tried now, from where they stood; of one that failed a new request is made.",
    done: "will be tried now",
    isMeant: ({ state, heldAt }: LedgerOrder) =>
      state === "failed" || !(isTerminal(state) || (state === "received" && heldAt)),
  },
  cancel: {
    verb: "Cancel",
    reason: "required",
    explains: "At once where nothing has left for the service; else the service is asked.",
    done: "will be cancelled, unless the service refuses",
    isMeant: (order: LedgerOrder, acts: Acts) => acts.mayCancel(order),
  },
  discard: {
    verb: "Discard",
    reason: "required",
    explains: "They are not carried out, and the lab hears it of each.",
    done: "discarded",
    isMeant: ({ state }: LedgerOrder) => mayMove(state, "discarded"),
  },
} as const;
type ActName = keyof typeof ACTS;
const NAMES = Object.keys(ACTS) as ActName[];

/** One act on many orders: what it will do, and then the act. */
export function addOrderBulk(site: Site, records: Records, beginWork: BeginWork): void {
  site.form(`${PATH}/choose`, (submission) => choose(submission, records));
  for (const name of NAMES) {
    const add = ACTS[name].reason === "required" ? site.reasonedForm : site.form;
    add(`${PATH}/${name}`, (submission) => actOnAll(name, submission, records, beginWork));
  }
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
      `More than ${MOST_AT_ONCE} orders are found, and no more than that are changed at once: narrow the filter.`,
    );
  const { isMeant, done: _done, ...words } = ACTS[name];
  const meant = orders.filter((order) => isMeant(order, records.acts));
  const leftOut = describeLeftOut(orders.filter((order) => !isMeant(order, records.acts)));
  if (meant.length === 0) return notDone(choice, ...leftOut);
  const named = meant.map((order) => ({
    id: formatId("o", order.id),
    name: `${nameOf(order)} · ${order.operation} · ${stateOf(order)}`,
  }));
  const asked = {
    ...words,
    section: PATH,
    action: `${PATH}/${name}`,
    noun: "order",
    leftOut,
    isDangerous: name !== "retry",
  } as const;
  return confirmChoice(asked, named, choice, submission);
}

/** `997 orders are left out: 990 completed, 7 discarded.` */
function describeLeftOut(orders: readonly LedgerOrder[]): string[] {
  if (orders.length === 0) return [];
  const counts = Object.entries(Object.groupBy(orders, stateOf)).map(
    ([state, of = []]) => `${of.length} ${state}`,
  );
  const are = orders.length === 1 ? "is" : "are";
  return [`${counted(orders.length, "order")} ${are} left out: ${counts.join(", ")}.`];
}

function stateOf({ state, heldAt }: LedgerOrder): string {
  return `${stateInWords(state)}${heldAt ? " (on hold)" : ""}`;
}

/** In the order of receipt. */
async function findChosen({ ids, filter }: Choice, visit: Visit, records: Records): Promise<LedgerOrder[]> {
  const limit = MOST_AT_ONCE + 1;
  const numbers = ids.flatMap((id) => parseId("o", id) ?? []);
  const meant = filter && filterValues(ORDER_LIST, filter, visit);
  if (filter && meant === undefined) return [];
  const found = meant
    ? await findListedOrders(records, meant, { limit })
    : await listOrders(records.pool, { ids: numbers, limit });
  return found.reverse();
}

const LINES = 20;

async function actOnAll(
  name: ActName,
  submission: Submission,
  records: Records,
  beginWork: BeginWork,
): Promise<Answer> {
  const choice = readChoice(submission, PATH);
  const { verb, done } = ACTS[name];
  const chosen = await findChosen({ ...choice, filter: undefined }, submission, records);
  const orders = chosen.slice(0, MOST_AT_ONCE);
  const work: Work = {
    title: `${verb} ${counted(orders.length, "order")}`,
    ...{ section: PATH, total: orders.length, back: choice.back },
    run: async (onEach) => {
      const refusals: string[] = [];
      for (const order of orders) {
        const [isDone, words] = await records.acts.order(name, order, submission.act);
        if (!isDone) refusals.push(`${nameOf(order)} ${words}`);
        onEach();
      }
      return describeDone(done, orders.length, refusals);
    },
  };
  return beginWork(work, submission);
}

function describeDone(done: string, all: number, refusals: readonly string[]): Notice {
  const count = counted(all - refusals.length, "order");
  const more = refusals.length - LINES;
  return {
    isDone: refusals.length === 0,
    lines: [
      `${refusals.length === 0 ? count : `${count} of ${all}`} ${done}.`,
      ...refusals.slice(0, LINES),
      ...(more > 0 ? [`And ${more} more.`] : []),
    ],
  };
}
