import { hash } from "node:crypto";
import type pg from "pg";
import { areOfTwoAuthorities } from "../../core/assigning-authority.ts";
import { isNumberTaken, type Problem } from "../../core/failures.ts";
import type { Order } from "../../core/order.ts";
import { type ControlRequest, isCancelling } from "../../core/order-control.ts";
import { isTerminal } from "../../core/order-state.ts";
import { prepared, type Queryable, together } from "../database.ts";
import { formatId } from "../ids.ts";
import { digestOrder, placeOfNumber } from "../orders/row.ts";
import { draftReplies, type EarlierMessages, findEarlierMessages, markReusedControlIds } from "./earlier.ts";
import {
  conflictWith,
  corrects,
  EarlierConflicts,
  findKnownOrders,
  findKnownOrdersLocked,
  type KnownOrder,
  listContradicting,
  NUMBER_TAKEN,
} from "./known-orders.ts";
import type { BatchSource, MessageDraft, MessageRecord, NumberConflict } from "./record.ts";
import { keysOf, type WaitingBefore, WaitingKeys } from "./waiting.ts";

/** Ids ahead of the insert, so that rows can refer to each other; $1 how many messages, $2 how many orders. */
const TAKE_IDS = `
select 'message' as kind, nextval(pg_get_serial_sequence('messages', 'id')) as id from generate_series(1, $1)
 union all
select 'order', nextval(pg_get_serial_sequence('orders', 'id')) from generate_series(1, $2)`;

/**
 * Decides what becomes of each message: new, or a repeat of one that is in the ledger or came earlier in the list, or
 * waiting for an earlier one of the same subject; and of each of its orders: new, a repeat, a correction of a parked one, or
 * in conflict with an earlier one. Changes nothing but takes ids, and locks the orders that may be corrected.
 */
export async function draftMessages(
  client: pg.PoolClient,
  batch: BatchSource,
  records: readonly MessageRecord[],
): Promise<MessageDraft[]> {
  const hashed = records.map((record) => ({ record, sha256: digestOf(record) }));
  // Asked all at once, and answered in this order: who waits is locked before ids are taken.
  const [waitingKeys, ids, earlier, found] = await together(client, () => [
    WaitingKeys.find(client, batch.connector, records),
    takeIds(client, {
      messages: records.filter(({ waitedAs }) => waitedAs === undefined).length,
      orders: records.reduce((sum, record) => sum + record.orders.length, 0),
    }),
    findEarlierMessages(client, batch.connector, hashed),
    findKnownOrders(client, batch.connector, records),
  ]);
  const known = await findKnownOrdersLocked(client, batch.connector, records, found);
  const fresh = ids.messages;
  const drafts = hashed.map(
    ({ record, sha256 }): MessageDraft => ({
      record,
      messageId: record.waitedAs ?? (fresh.shift() as number),
      sha256,
      duplicateOf: undefined,
      reuses: undefined,
      reply: undefined,
      verdict: record.verdict,
      problems: record.problems,
      orders: [],
      repeatedOrderIds: [],
      corrections: [],
    }),
  );
  if (batch.replayOf === undefined) markRepeatedMessages(drafts, earlier);
  markReusedControlIds(drafts, earlier);
  const conflicts = await EarlierConflicts.find(client, batch.connector, listContradicting(records, known));
  decideOrders(drafts, { orderIds: ids.orders, waitingKeys, known, conflicts });
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
  const { rows } = await prepared<{ kind: string; id: number }>(client, "take_ids", TAKE_IDS, [
    counts.messages,
    counts.orders,
  ]);
  const ids = (kind: string) => rows.filter((row) => row.kind === kind).map((row) => row.id);
  return { messages: ids("message"), orders: ids("order") };
}

/** Marks messages that came before with the same control id and the same bytes, in the ledger or earlier in this batch. */
function markRepeatedMessages(
  drafts: readonly MessageDraft[],
  earlier: ReadonlyMap<MessageRecord, EarlierMessages>,
): void {
  const seen = new Map<string, number>();
  for (const draft of drafts) {
    const { messageControlId } = draft.record;
    if (messageControlId === undefined || draft.verdict !== "accepted") continue;
    const key = `${messageControlId}\n${draft.sha256.toString("hex")}`;
    const firstId = earlier.get(draft.record)?.sameId ?? seen.get(key);
    if (firstId === undefined) {
      seen.set(key, draft.messageId);
    } else {
      draft.duplicateOf = firstId;
      draft.verdict = "duplicate";
    }
  }
}

function decideOrders(
  drafts: readonly MessageDraft[],
  {
    orderIds,
    waitingKeys,
    known,
    conflicts,
  }: {
    readonly orderIds: readonly number[];
    readonly waitingKeys: WaitingKeys;
    readonly known: Map<string, KnownOrder>;
    readonly conflicts: EarlierConflicts;
  },
): void {
  const waiting = new Set<number>();
  // Requests are carried out after all orders of the batch: what one of them wants of an order is not undone by a correction.
  const controlledNumbers = new Set<string | undefined>();
  let taken = 0;
  for (const draft of drafts) {
    if (draft.duplicateOf !== undefined && waiting.has(draft.duplicateOf)) waitAlone(draft);
    for (const request of draft.record.controlRequests ?? [])
      controlledNumbers.add(request.placerOrderNumber);
    if (draft.verdict === "accepted") {
      const correctedNumbers = new Set<string>();
      const decided = draft.record.orders.map((order) => {
        const { placerOrderNumber: number } = order;
        const first = number === undefined ? undefined : known.get(number);
        const digest = digestOrder(order);
        const conflict = first && conflictWith(first, order, digest);
        const same = conflict && conflicts.get(order, digest);
        if (same) return { order, digest, first: same, refusal: conflict };
        const mayCorrect =
          number !== undefined && !controlledNumbers.has(number) && !correctedNumbers.has(number);
        if (mayCorrect && first && corrects(first, order, digest)) {
          correctedNumbers.add(number);
          return { order, digest, first, corrected: first };
        }
        return { order, digest, first, conflict, refusal: conflict };
      });
      const { controlRequests = [] } = draft.record;
      const repeatsAll = decided.every(({ first, conflict, corrected }) => first && !conflict && !corrected);
      const mayPass = repeatsAll && controlRequests.every((request) => needsNoOther(request, known));
      const before = mayPass ? undefined : waitingKeys.findBefore(draft.messageId, keysOf(draft.record));
      const refusals = decided.flatMap(({ order, refusal }) =>
        refusal === undefined ? [] : [toProblem(draft, order, refusal)],
      );
      const isRefused = before === undefined && refusals.length > 0;
      if (before !== undefined) waitFor(draft, before);
      // A message is taken whole or not at all. Where it asks for nothing else, its order is kept for a person to decide.
      const isAlone = decided.length === 1 && controlRequests.length === 0;
      const isKept = before === undefined && (!isRefused || isAlone);
      if (isRefused)
        refuse(draft, isAlone ? refusals : refusals.map((each) => ({ ...each, hint: NOTHING_KEPT })));
      for (const { order, digest, first, conflict, corrected } of isKept ? decided : []) {
        const { placerOrderNumber: number } = order;
        if (corrected && number !== undefined) {
          draft.corrections.push({ orderId: corrected.orderId, order });
          known.set(number, { ...corrected, digest, state: "received", isParkedUnsent: false });
          continue;
        }
        if (first && !conflict) {
          draft.repeatedOrderIds.push(first.orderId);
          continue;
        }
        const orderId = orderIds[taken++] as number;
        draft.orders.push({
          order,
          orderId,
          hasOwnNumber: first === undefined && number !== undefined,
          digest,
          conflict,
        });
        if (conflict) conflicts.add(order, digest, orderId);
        if (number !== undefined && !first) {
          known.set(number, toKnown(order, orderId, digest));
        }
      }
      if (isKept && !isRefused && decided.length > 0 && repeatsAll) draft.verdict = "duplicate";
    }
    if (draft.verdict === "refused" || draft.verdict === "waiting") noteTakenNumbers(draft, known);
    if (draft.verdict === "waiting") {
      waiting.add(draft.messageId);
      const { messageId, problems, record } = draft;
      const { messageControlId } = record;
      waitingKeys.add({ messageId, messageControlId, problems }, keysOf(record));
    } else if (draft.record.waitedAs !== undefined) {
      waitingKeys.remove(draft.messageId);
    }
  }
}

function toKnown(order: Order, orderId: number, digest: string): KnownOrder {
  const { operation, facilityId, subject, placerAuthority: authority } = order;
  const subjectCode = subject.code.reveal();
  return {
    ...{ orderId, digest, state: "received", authority, operation, facilityId, subjectCode },
    isParkedUnsent: false,
  };
}

/**
 * Whether a request can be decided whatever waits for a code. To stop an order that is here, or to ask about it, needs
 * nothing of an earlier message, and the order would go on meanwhile. A change does, and a release, which may come after
 * a change that waits: the order is not to leave without that. Where the order of a number has ended, the one that
 * waits may be meant.
 */
function needsNoOther(request: ControlRequest, known: ReadonlyMap<string, KnownOrder>): boolean {
  if (request.content !== undefined || request.control === "release") return false;
  // A number of ours is that of an order which has left.
  if (request.placerOrderNumber === undefined) return request.fillerNumber !== undefined;
  const order = known.get(request.placerOrderNumber);
  if (order === undefined || isTerminal(order.state)) return false;
  return !areOfTwoAuthorities(order.authority, request.placerAuthority);
}

/** The message that it repeats has no orders yet, so there is nothing to answer with: it waits by itself. */
function waitAlone(draft: MessageDraft): void {
  draft.duplicateOf = undefined;
  draft.verdict = draft.record.verdict;
}

const EARLIER_IS = "The earlier message is";

/**
 * A later message of a subject must not overtake one that waits: the one may take out what the other puts in. It has the codes
 * that the earlier one waits for, and what to do about them.
 */
function waitFor(draft: MessageDraft, { messageId, messageControlId, problems }: WaitingBefore): void {
  const { place } = draft.record.message;
  // The lab knows its message by MSH-10 alone; the id here is for operators.
  const name = messageControlId === undefined ? "an earlier message" : `message ${messageControlId}`;
  const first = `${name}, which came first and is about the same subject or order,`;
  const id = formatId("m", messageId);
  const named = `${EARLIER_IS} ${id}: \`cryobridge messages show ${id}\`.`;
  const codes = problems.filter(({ unknownCode }) => unknownCode !== undefined);
  const { orders, controlRequests = [] } = draft.record;
  const isCancellation =
    orders.length === 0 &&
    controlRequests.length > 0 &&
    controlRequests.every(({ control }) => isCancelling(control));
  // What waits becomes an order and is cancelled in one transaction.
  const meanwhile = isCancellation ? "; nothing of the order is sent before it can be cancelled" : "";
  draft.verdict = "waiting";
  draft.problems =
    codes.length === 0
      ? [{ code: "MAPPING_EARLIER_WAITS", place, message: `${first} waits${meanwhile}`, hint: named }]
      : codes.map(({ unknownCode, table, hint = "" }) => ({
          ...{ code: "MAPPING_EARLIER_WAITS", place, unknownCode },
          ...(table === undefined ? {} : { table }),
          message: `${first} waits for code "${unknownCode}", which is not known yet${meanwhile}`,
          // The earlier one may wait for one before it, which its hint names; to discard is the one with the code.
          hint: `${hint.split(EARLIER_IS)[0]?.trim().replace("discard ID", `discard ${id}`)} ${named}`.trim(),
        }));
}

function toProblem(
  { record }: MessageDraft,
  { sources, placerOrderNumber: number }: Order,
  { code, text }: NumberConflict,
): Problem {
  const place = placeOfNumber(record.message.place, sources.placerOrderNumber);
  return { code, place, message: text, ...(number === undefined ? {} : { orderNumbers: [number] }) };
}

function refuse(draft: MessageDraft, problems: readonly Problem[]): void {
  draft.verdict = "refused";
  draft.problems = problems;
}

const UNSUPPORTED = "MAPPING_ORDER_CONTROL_UNSUPPORTED";

/** What a person does about a number in a message of which no order is parked. */
const NOTHING_KEPT =
  "No order of the message was kept. Have the lab correct it, give the order a number of its own unless the earlier one is meant (`cryobridge orders show NUMBER`), and send it again.";

/**
 * A message that is refused for its mistakes, or waits, may bring an order whose number another order has. Then that is
 * said too, and its answer names no order: it would read as a status of the other one.
 */
function noteTakenNumbers(draft: MessageDraft, known: ReadonlyMap<string, KnownOrder>): void {
  if (isNumberTaken(draft.problems)) return;
  const { echoedNumbers = [], placerOrderNumber, orders, message } = draft.record;
  const named = [
    ...echoedNumbers,
    placerOrderNumber,
    ...orders.map((order) => order.placerOrderNumber),
  ].filter((number) => number !== undefined);
  const orderNumbers = [...new Set(named)].filter((number) => known.has(number));
  if (orderNumbers.length === 0) return;
  // What asks for something else of an earlier order has its number rightly.
  if (draft.problems.some(({ code }) => code === UNSUPPORTED)) {
    draft.problems = draft.problems.map((problem) =>
      problem.code === UNSUPPORTED ? { ...problem, sharesNumber: true } : problem,
    );
    return;
  }
  const problem: Problem = {
    code: "ORDER_NUMBER_REUSED",
    place: message.place,
    message:
      draft.verdict === "waiting"
        ? `${NUMBER_TAKEN}; a second one is refused in the end, unless it asks for the same`
        : NUMBER_TAKEN,
    orderNumbers,
    ...(draft.verdict === "waiting" ? {} : { hint: NOTHING_KEPT }),
  };
  draft.problems = [...draft.problems, problem];
}
