import { hash } from "node:crypto";
import type pg from "pg";
import { isNumberTaken, type Problem } from "../../core/failures.ts";
import { areOfTwoAuthorities, type Order } from "../../core/order.ts";
import { type ControlRequest, isCancelling } from "../../core/order-control.ts";
import { isTerminal } from "../../core/order-state.ts";
import type { Place } from "../../core/place.ts";
import { type Queryable, together } from "../database.ts";
import { formatId } from "../ids.ts";
import { digestOrder, placeOfNumber } from "../orders/row.ts";
import {
  draftReplies,
  findEarlierMessages,
  findRepeats,
  findReusedControlIds,
  reusedControlId,
} from "./earlier.ts";
import { decideOrder, KnownOrders, NUMBER_TAKEN, type OrderDecision } from "./known-orders.ts";
import type { BatchSource, MessageDraft, MessageRecord, NumberConflict } from "./record.ts";
import { keysOf, type WaitingBefore, WaitingKeys } from "./waiting.ts";

/** Ids ahead of the insert, so that rows can refer to each other; $1 how many messages, $2 how many orders. */
const TAKE_IDS = `
select 'message' as kind, nextval(pg_get_serial_sequence('messages', 'id')) as id from generate_series(1, $1)
 union all
select 'order', nextval(pg_get_serial_sequence('orders', 'id')) from generate_series(1, $2)`;

/**
 * Decides what becomes of each message, by what is in the ledger and by those before it in the list: see {@link decideMessage}.
 * Changes nothing but takes ids, and locks the orders that may be corrected.
 */
export async function draftMessages(
  client: pg.PoolClient,
  batch: BatchSource,
  records: readonly MessageRecord[],
): Promise<MessageDraft[]> {
  const hashed = records.map((record) => ({ record, sha256: digestOf(record) }));
  // Asked all at once, and answered in this order: who waits is locked before ids are taken.
  const [waiting, ids, earlier, known] = await together(client, () => [
    WaitingKeys.find(client, batch.connector, records),
    takeIds(client, {
      messages: records.filter(({ waitedAs }) => waitedAs === undefined).length,
      orders: records.reduce((sum, record) => sum + record.orders.length, 0),
    }),
    findEarlierMessages(client, batch.connector, hashed),
    KnownOrders.find(client, batch.connector, records),
  ]);
  const messages = hashed.map(({ record, sha256 }) => ({
    ...{ record, sha256, earlier: earlier.get(record) },
    messageId: record.waitedAs ?? (ids.messages.shift() as number),
  }));
  const repeats = batch.replayOf === undefined ? findRepeats(messages) : new Map<number, number>();
  const reuses = findReusedControlIds(messages, repeats);
  const soFar: SoFar = { waiting, known, asked: new Set() };
  const drafts = messages.map(({ record, messageId, sha256 }): MessageDraft => {
    const firstId = repeats.get(messageId);
    // The message that it repeats has no orders yet, so there is nothing to answer with: it waits by itself.
    const duplicateOf = firstId !== undefined && waiting.has(firstId) ? undefined : firstId;
    const reused = reuses.get(messageId);
    for (const { placerOrderNumber } of record.controlRequests ?? []) soFar.asked.add(placerOrderNumber);
    const decision = decideMessage({ record, messageId, duplicateOf, reused }, soFar);
    const { verdict, orders } = decision;
    const problems = withTakenNumbers(record, decision, known);
    const draft: MessageDraft = {
      ...{ record, messageId, sha256, duplicateOf, verdict, problems },
      ...{ reuses: reused, reply: undefined },
      orders: orders.flatMap(({ order, digest, what }) => {
        if (what.kind !== "new" && what.kind !== "conflict") return [];
        const conflict = what.kind === "conflict" ? what.refusal : undefined;
        return [{ order, orderId: ids.orders.shift() as number, digest, conflict }];
      }),
      repeatedOrderIds: orders.flatMap(({ what }) => (what.kind === "repeat" ? [what.orderId] : [])),
      corrections: orders.flatMap(({ order, digest, what }) =>
        what.kind === "correction" ? [{ orderId: what.first.orderId, order, digest }] : [],
      ),
    };
    takeNote(draft, soFar);
    return draft;
  });
  await draftReplies(client, drafts);
  return drafts;
}

/** SHA-256 of a message's bytes. */
function digestOf({ message }: MessageRecord): Buffer {
  return hash("sha256", message.raw.reveal(), "buffer");
}

/** New ids, ascending. */
async function takeIds(
  client: Queryable,
  counts: { readonly messages: number; readonly orders: number },
): Promise<{ messages: number[]; orders: number[] }> {
  const { rows } = await client.query<{ kind: string; id: number }>(TAKE_IDS, [
    counts.messages,
    counts.orders,
  ]);
  const ids = (kind: string) => rows.filter((row) => row.kind === kind).map((row) => row.id);
  return { messages: ids("message"), orders: ids("order") };
}

/** What the messages of a batch up to here, and the ledger, have. */
interface SoFar {
  readonly waiting: WaitingKeys;
  readonly known: KnownOrders;
  /**
   * Numbers that requests are about. These are carried out after all orders of the batch: what one of them wants of an order is not
   * undone by a correction.
   */
  readonly asked: Set<string | undefined>;
}

/** The messages behind see what becomes of this one. */
function takeNote({ record, messageId, verdict, problems, orders, corrections }: MessageDraft, soFar: SoFar) {
  const { known, waiting } = soFar;
  for (const { order, digest, orderId, conflict } of orders)
    conflict ? known.addAlike(order, digest, orderId) : known.add(order, digest, orderId);
  for (const { order, digest, orderId } of corrections) known.add(order, digest, orderId);
  const { messageControlId } = record;
  if (verdict === "waiting") waiting.add({ messageId, messageControlId, problems }, keysOf(record));
  else if (record.waitedAs !== undefined) waiting.remove(messageId);
}

interface MessageDecision extends Pick<MessageDraft, "verdict" | "problems"> {
  /** What becomes of its orders; none where nothing of them is kept. */
  readonly orders: readonly {
    readonly order: Order;
    readonly digest: string;
    readonly what: OrderDecision;
  }[];
}

/**
 * Decides what becomes of a message: the first row that fits. A message is taken whole or not at all. Its orders are decided by
 * {@link decideOrder}.
 *
 * | message | then |
 * |---|---|
 * | had its control id and its bytes before | duplicate |
 * | is refused by its mapping | refused |
 * | has a control id that its sender used for something else, where the site refuses that | refused |
 * | is ignored by its mapping, or waits for a code | as its mapping says |
 * | is about what a message before it waits with, unless all that it does is to repeat orders, and to stop or ask about orders that are here | waits |
 * | brings an order whose number another order has, and nothing else | refused; the order is kept for a person |
 * | the same, among others | refused, and nothing is kept |
 * | brings orders, all of which came before | duplicate |
 * | any other | accepted |
 */
function decideMessage(
  {
    record,
    messageId,
    duplicateOf,
    reused,
  }: {
    readonly record: MessageRecord;
    readonly messageId: number;
    readonly duplicateOf: number | undefined;
    readonly reused: number | undefined;
  },
  { waiting, known, asked }: SoFar,
): MessageDecision {
  const { verdict, problems, controlRequests = [], message, replyTo } = record;
  if (duplicateOf !== undefined) return { verdict: "duplicate", problems, orders: [] };
  if (reused !== undefined && verdict !== "refused" && replyTo?.reusedControlId === "refuse")
    return { verdict: "refused", problems: [reusedControlId(record, reused)], orders: [] };
  if (verdict !== "accepted") return { verdict, problems, orders: [] };
  const corrected = new Set<string | undefined>();
  const orders = record.orders.map((order) => {
    const { placerOrderNumber: number } = order;
    const digest = digestOrder(order);
    const what = decideOrder(order, digest, known, !asked.has(number) && !corrected.has(number));
    if (what.kind === "correction") corrected.add(number);
    return { order, digest, what };
  });
  const repeatsAll = orders.every(({ what }) => what.kind === "repeat");
  const mayPass = repeatsAll && controlRequests.every((request) => needsNoOther(request, known));
  const before = mayPass ? undefined : waiting.findBefore(messageId, keysOf(record));
  if (before !== undefined) return { verdict: "waiting", problems: waitFor(record, before), orders: [] };
  const refusals = orders.flatMap(({ order, what }) =>
    "refusal" in what && what.refusal ? [toProblem(message.place, order, what.refusal)] : [],
  );
  if (refusals.length === 0) {
    const isRepeat = orders.length > 0 && repeatsAll;
    return { verdict: isRepeat ? "duplicate" : "accepted", problems, orders };
  }
  if (orders.length === 1 && controlRequests.length === 0)
    return { verdict: "refused", problems: refusals, orders };
  const hinted = refusals.map((each) => ({ ...each, hint: NOTHING_KEPT }));
  return { verdict: "refused", problems: hinted, orders: [] };
}

/**
 * Whether a request can be decided whatever waits for a code. To stop an order that is here, or to ask about it, needs
 * nothing of an earlier message, and the order would go on meanwhile. A change does, and a release, which may come after
 * a change that waits: the order is not to leave without that. Where the order of a number has ended, the one that
 * waits may be meant.
 */
function needsNoOther(request: ControlRequest, known: KnownOrders): boolean {
  if (request.content !== undefined || request.control === "release") return false;
  // A number of ours is that of an order which has left.
  if (request.placerOrderNumber === undefined) return request.fillerNumber !== undefined;
  const order = known.first(request);
  if (order === undefined || isTerminal(order.state)) return false;
  return !areOfTwoAuthorities(order.authority, request.placerAuthority);
}

/**
 * A later message of a subject must not overtake one that waits: the one may take out what the other puts in. It has the codes
 * that the earlier one waits for, and what to do about them.
 */
function waitFor(
  { message: { place }, orders, controlRequests = [] }: MessageRecord,
  { messageId, messageControlId, problems }: WaitingBefore,
): readonly Problem[] {
  // The lab knows its message by MSH-10 alone; the id here is for operators.
  const name = messageControlId === undefined ? "an earlier message" : `message ${messageControlId}`;
  const first = `${name}, which came first and is about the same subject or order,`;
  const earlier = formatId("m", messageId);
  const codes = problems.filter(({ unknownCode }) => unknownCode !== undefined);
  const isCancellation =
    orders.length === 0 &&
    controlRequests.length > 0 &&
    controlRequests.every(({ control }) => isCancelling(control));
  // What waits becomes an order and is cancelled in one transaction.
  const meanwhile = isCancellation ? "; nothing of the order is sent before it can be cancelled" : "";
  if (codes.length === 0)
    return [{ code: "MAPPING_EARLIER_WAITS", place, message: `${first} waits${meanwhile}`, earlier }];
  return codes.map(({ unknownCode, table, hint, codeIn = earlier }) => ({
    // The earlier one may wait for one before it, which has the code.
    ...{ code: "MAPPING_EARLIER_WAITS", place, unknownCode, earlier, codeIn },
    ...(hint === undefined ? {} : { hint }),
    ...(table === undefined ? {} : { table }),
    message: `${first} waits for code "${unknownCode}", which is not known yet${meanwhile}`,
  }));
}

function toProblem(
  messagePlace: Place,
  { sources, placerOrderNumber: number }: Order,
  { code, text }: NumberConflict,
): Problem {
  const place = placeOfNumber(messagePlace, sources.placerOrderNumber);
  return { code, place, message: text, ...(number === undefined ? {} : { orderNumbers: [number] }) };
}

const UNSUPPORTED = "MAPPING_ORDER_CONTROL_UNSUPPORTED";

/** What a person does about a number in a message of which no order is parked. */
const NOTHING_KEPT =
  "No order of the message was kept. Have the lab correct it, give the order a number of its own unless the earlier one is meant (`cryobridge orders show NUMBER`), and send it again.";

/**
 * The problems of a message that is refused for its mistakes, or waits: where it brings an order whose number another order has, that is
 * said too, and its answer names no order: it would read as a status of the other one.
 */
function withTakenNumbers(
  { echoedNumbers = [], placerOrderNumber, orders, message }: MessageRecord,
  { verdict, problems }: MessageDecision,
  known: KnownOrders,
): readonly Problem[] {
  if ((verdict !== "refused" && verdict !== "waiting") || isNumberTaken(problems)) return problems;
  const named = [...echoedNumbers, placerOrderNumber, ...orders.map((order) => order.placerOrderNumber)];
  const orderNumbers = [...new Set(named)]
    .filter((number) => number !== undefined)
    .filter((number) => known.first({ placerOrderNumber: number }) !== undefined);
  if (orderNumbers.length === 0) return problems;
  // What asks for something else of an earlier order has its number rightly.
  if (problems.some(({ code }) => code === UNSUPPORTED))
    return problems.map((each) => (each.code === UNSUPPORTED ? { ...each, sharesNumber: true } : each));
  const isWaiting = verdict === "waiting";
  const problem: Problem = {
    ...{ code: "ORDER_NUMBER_REUSED", place: message.place, orderNumbers },
    message: isWaiting
      ? `${NUMBER_TAKEN}; a second one is refused in the end, unless it asks for the same`
      : NUMBER_TAKEN,
    ...(isWaiting ? {} : { hint: NOTHING_KEPT }),
  };
  return [...problems, problem];
}
