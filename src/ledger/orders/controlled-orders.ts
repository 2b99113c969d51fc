import type pg from "pg";
import { type AssigningAuthority, areOfTwoAuthorities, formatTwoAuthorities } from "../../core/order.ts";
import {
  type ControlFacts,
  type ControlRefusal,
  type ControlRequest,
  isCancelling,
  refuseControl,
} from "../../core/order-control.ts";
import { phi } from "../../core/phi.ts";
import { together } from "../database.ts";
import { CONTROL_FACTS } from "./control-requests.ts";
import { LOCK_ORDERS } from "./row.ts";
import { findMerges, type SubjectMerges } from "./subjects.ts";

/**
 * The orders that requests name: by the sender's number, else by the number that we gave them; only those that came
 * through the same connector, with the same message or before. A sender's number may be that of several orders, first one
 * first. Procedures are numbered by each surface in its own way, and the number that we gave is one of the external surface.
 * $1 connector, $2 JSON array of {n, number, kind, id, messageId}.
 * Indexes: orders_number, orders_request, orders_procedure.
 */
const FIND_NAMED = `
select x.n, o.id
  from jsonb_to_recordset($2::jsonb) as x(n integer, number text, kind text, id bigint, "messageId" bigint)
  join lateral (
       select o.id
         from orders o
        where o.placer_order_number = x.number
          and o.connector = $1
          and o.message_id <= x."messageId"
        union all
       select o.id
         from orders o
        where x.number is null
          and x.kind = 'request'
          and o.request_id = x.id
          and o.connector = $1
          and o.message_id <= x."messageId"
        union all
       (select o.id
          from orders o
         where x.number is null
           and x.kind = 'procedure'
           and o.procedure_id = x.id
           and o.connector = $1
           and o.message_id <= x."messageId"
         order by o.request_id is not null
         limit 1)) o on true
 order by x.n, o.id`;

/** What of orders matters, read once they are locked; $1 bigint[]. Indexes: the primary key, control_requests_order. */
const CONTROLLED_ORDERS = `
select o.id, ${CONTROL_FACTS}, o.shares_number as "sharesNumber", o.facility_id, o.subject_code, o.request_id as "requestId",
       o.procedure_id as "procedureId", o.placer_authority as "placerAuthority", o.held_at is not null as "isHeld",
       encode(o.content_digest, 'hex') as digest,
       (select max(c.message_id)
          from control_requests c
         where c.order_id = o.id
           and c.control = 'hold'
           and c.state <> 'unable') as "heldBy"
  from orders o
 where o.id = any ($1)`;

/** A request with its place in the ledger. */
export interface PlacedRequest {
  readonly request: ControlRequest;
  readonly messageId: number;
  /** From 1 within the message. */
  readonly position: number;
}

/** What of an order decides whether a request is about it, and what can be done. */
export interface ControlledOrder
  extends Pick<ControlFacts, "state" | "isAtService" | "isCalled" | "mayBeForgotten"> {
  readonly id: number;
  readonly isHeld: boolean;
  /** Of what it asks for. */
  readonly digest: string;
  /** Another order had its number first. */
  readonly sharesNumber: boolean;
  readonly facility_id: number;
  readonly subject_code: string;
  readonly requestId: number | null;
  readonly procedureId: number | null;
  readonly placerAuthority: AssigningAuthority | null;
  /** The last message that put it on hold. */
  readonly heldBy: number | null;
}

/** A request with the order that it is about. */
interface ChosenRequest extends PlacedRequest {
  /** Undefined where there is none; the first one where nothing shows which is meant. */
  readonly order: ControlledOrder | undefined;
  /** Why it is refused for what it says, whatever the state of the order. */
  readonly refusal: ControlRefusal | undefined;
}

/** Finds the orders that requests are about, locked until the transaction ends, and refuses what isn't about one of them. */
export async function chooseOrders(
  client: pg.PoolClient,
  connector: string,
  requests: readonly PlacedRequest[],
): Promise<ChosenRequest[]> {
  const orders = await findOrders(client, connector, requests);
  const chosen = requests.map((placed, n) => ({
    ...placed,
    named: chooseNamed(placed.request, orders.get(n) ?? []),
  }));
  const codes = chosen.flatMap(({ request, named: [order] }) => otherCode(request, order) ?? []);
  const merges = await findMerges(client, codes);
  return chosen.map(({ named, ...placed }) => ({
    ...placed,
    order: named[0],
    refusal: refuseMistaken(placed.request, named, merges) ?? refuseLate(placed, named[0]),
  }));
}

/** The orders that requests may be about, by the request's index, locked until the transaction ends. */
export async function findOrders(
  client: pg.PoolClient,
  connector: string,
  requests: readonly PlacedRequest[],
): Promise<Map<number, ControlledOrder[]>> {
  const names = requests.map(({ request: { placerOrderNumber, fillerNumber }, messageId }, n) => ({
    ...{ n, messageId, number: placerOrderNumber },
    ...fillerNumber,
  }));
  const found = await client.query<{ n: number; id: number }>(FIND_NAMED, [connector, JSON.stringify(names)]);
  const ids = found.rows.map((row) => row.id);
  const [, { rows }] = await together(client, () => [
    client.query(LOCK_ORDERS, [ids]),
    client.query<ControlledOrder>(CONTROLLED_ORDERS, [ids]),
  ]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return new Map(
    [...Map.groupBy(found.rows, ({ n }) => n)].map(([n, named]) => [
      n,
      named.flatMap(({ id }) => byId.get(id) ?? []),
    ]),
  );
}

/**
 * Which of the orders of a number are meant: the one that our own number names, else the one that had the number first. A
 * later one is never meant by that number, since its message was refused or its results carry our number alone.
 *
 * @returns more than one where nothing shows which is meant: then none of them is touched
 */
function chooseNamed(
  request: ControlRequest,
  orders: readonly ControlledOrder[],
): readonly ControlledOrder[] {
  const named = orders.filter((order) => isNamedByUs(request, order));
  if (named.length > 0) return named;
  const [first] = orders.filter((order) => !order.sharesNumber);
  if (first === undefined) return orders;
  const others = orders.filter((order) => order.sharesNumber && order.state !== "discarded");
  return others.some((other) => mayMean(request, first, other)) ? [first, ...others] : [first];
}

/** Whether the message names the order by the number that we gave it. */
function isNamedByUs({ fillerNumber }: ControlRequest, order: ControlledOrder): boolean {
  if (fillerNumber === undefined) return false;
  return fillerNumber.id === (fillerNumber.kind === "request" ? order.requestId : order.procedureId);
}

/**
 * Whether a request may as well mean a second order of the number: one of another subject where the message names none, or of
 * the authority that the message names, or of another one where it names none.
 */
function mayMean(
  { subjectCode, placerAuthority }: ControlRequest,
  first: ControlledOrder,
  other: ControlledOrder,
): boolean {
  if (subjectCode === undefined && first.subject_code !== other.subject_code) return true;
  if (subjectCode !== undefined && subjectCode.reveal() !== other.subject_code) return false;
  const otherAuthority = other.placerAuthority ?? undefined;
  if (placerAuthority === undefined) {
    return areOfTwoAuthorities(otherAuthority, first.placerAuthority ?? undefined);
  }
  const isTheOthers = otherAuthority !== undefined && !areOfTwoAuthorities(otherAuthority, placerAuthority);
  return isTheOthers && first.placerAuthority === null;
}

/** The subject code of a request where it is not that of the order. */
function otherCode({ subjectCode }: ControlRequest, order: ControlledOrder | undefined): string | undefined {
  const code = subjectCode?.reveal();
  return order === undefined || code === order.subject_code ? undefined : code;
}

function refuseMistaken(
  request: ControlRequest,
  named: readonly ControlledOrder[],
  merges: SubjectMerges,
): ControlRefusal | undefined {
  const { control, fillerNumber, placerOrderNumber, placerAuthority, content } = request;
  const [order] = named;
  if (order === undefined) return undefined;
  const nothing = isCancelling(control) ? "nothing was cancelled" : "nothing was changed";
  const differs = (text: string) => refuseControl(control, "ORDER_DIFFERS", `${text}; ${nothing}`);
  const authorities = formatTwoAuthorities(order.placerAuthority ?? undefined, placerAuthority);
  if (authorities) {
    const [its, named] = authorities;
    return differs(`the order of this number is of assigning authority ${its}, and this names ${named}`);
  }
  if (named.length > 1 || (order.sharesNumber && !isNamedByUs(request, order))) {
    const text = `more than one order has this number, and ${howToTell(request, named)}; ${nothing}`;
    return refuseControl(control, "ORDER_AMBIGUOUS", text);
  }
  const code = otherCode(request, order);
  // What an order asks for stays with its subject, so a change names it as the order does.
  if (code !== undefined && (content !== undefined || !merges.hasMerged(order, code))) {
    return differs("the order of this number is another subject's");
  }
  const isOtherOfOurs = fillerNumber !== undefined && !isNamedByUs(request, order);
  if (!isOtherOfOurs || placerOrderNumber === undefined) return undefined;
  return differs("the placer and the filler order number name different orders");
}

/** What the request has to say for one of several orders to be meant by it, where the subject is enough. */
function howToTell(request: ControlRequest, [first, ...others]: readonly ControlledOrder[]): string {
  const isFirstByNumber = first !== undefined && !first.sharesNumber && request.subjectCode === undefined;
  const named = isFirstByNumber ? { ...request, subjectCode: phi(first.subject_code) } : request;
  return isFirstByNumber && !others.some((other) => mayMean(named, first, other))
    ? "they are of several subjects; to mean the first of them, send it again with that one's subject code"
    : "nothing shows which is meant";
}

/** A release may have waited for a code table, as a hold doesn't: then it doesn't undo one that was asked for after it. */
function refuseLate(
  { request: { control }, messageId }: PlacedRequest,
  order: ControlledOrder | undefined,
): ControlRefusal | undefined {
  const heldBy = order?.heldBy ?? 0;
  if (control !== "release" || heldBy <= messageId) return undefined;
  const text = "a message that came later put the order on hold; nothing was changed";
  return refuseControl(control, "TOO_LATE", text);
}
