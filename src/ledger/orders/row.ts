import { createHash } from "node:crypto";
import type pg from "pg";
import type { FailureCode } from "../../core/failures.ts";
import { type Order, type OrderSubject, sourcesInWords } from "../../core/order.ts";
import type { OrderState } from "../../core/order-state.ts";
import type { OutcomeContainer, OutcomeOrder } from "../../core/outcome.ts";
import { phi } from "../../core/phi.ts";
import { lineOf, type Place, within } from "../../core/place.ts";
import type { Surface } from "../../core/surface.ts";
import { type Queryable, run, type WithNulls, withoutNulls } from "../database.ts";
import { formatId } from "../ids.ts";
import { CALLS, type CallRow, madeCallOf, type OrderCall, openCallOf, toCalls } from "./calls.ts";

/** A container of an order as the ledger keeps it. */
export interface LedgerContainer extends OutcomeContainer {
  /** From 1, as in the message. */
  readonly position: number;
}

/** An order as the ledger keeps it. */
export interface LedgerOrder extends Omit<Order, "sources"> {
  readonly id: number;
  readonly messageId: number;
  readonly connector: string;
  /** Another order has its number: whatever becomes of this one is never reported under it. */
  readonly sharesNumber: boolean;
  /** What the subject is called and when it was born was pruned: nobody could compare it. */
  readonly isPruned: boolean;
  /** Where each value came from, in words. */
  readonly sources: Readonly<Record<string, string>>;
  /** Where its number came from, if another order has that. */
  readonly numberPlace?: Place | undefined;
  readonly containers: readonly LedgerContainer[];
  readonly state: OrderState;
  readonly failure: { readonly code: FailureCode; readonly text: string } | undefined;
  /** By which its request is known at the service; another one once it asks for something else, or is done again. */
  readonly mark: string;
  /** Starts of the current step that did not end it. */
  readonly attempts: number;
  /** When it goes on: with its next try or poll, or with the next look for what its call did. */
  readonly nextAt: Date;
  readonly fence: number | undefined;
  /** Its calls that change the service, oldest first. */
  readonly calls: readonly OrderCall[];
  /** The surface that its latest call went to; undefined before the first. */
  readonly surface: Surface | undefined;
  /**
   * The service's id of its subject, as it was found or registered for what it is followed by. It shows whose a listed container is without
   * another look; where nothing fits it, the subject may have become another one since.
   */
  readonly subjectId: number | undefined;
  readonly requestId: number | undefined;
  readonly procedureId: number | undefined;
  readonly procedureCode: string | undefined;
  /** The service's own word for its status, kept as it came. */
  readonly remoteStatus: string | undefined;
  /** Since when the service has not known its request or procedure. */
  readonly missingSince: Date | undefined;
  /** Since when it is done at the service and its locations are looked up. */
  readonly locatingSince: Date | undefined;
  /** Since when the lab has it on hold. */
  readonly heldAt: Date | undefined;
  readonly receivedAt: Date;
  /** When it was known that the service has what it is followed by. */
  readonly submittedAt: Date | undefined;
  readonly changedAt: Date;
}

/** Columns of an {@link OrderRow}, for a query over `orders o`. */
export const ORDER_COLUMNS = `
  o.id, o.message_id as "messageId", o.connector, o.operation, o.facility_code as "facilityCode",
  o.facility_id as "facilityId", o.placer_order_number as "placerOrderNumber", o.shares_number as "sharesNumber",
  o.placer_authority as "placerAuthority", coalesce(o.subject, '{}') || jsonb_build_object('code', o.subject_code) as subject,
  o.subject is null as "isPruned",
  o.prior_subject_code as "priorSubjectCode", o.sources, o.number_place as "numberPlace", o.state,
  case when o.failure_code is not null
       then jsonb_build_object('code', o.failure_code, 'text', coalesce(o.failure_text, '')) end as failure,
  o.mark, o.attempts, o.next_at as "nextAt", o.fence,
  o.request_id as "requestId", o.procedure_id as "procedureId", o.procedure_code as "procedureCode",
  o.remote_status as "remoteStatus", o.missing_since as "missingSince",
  o.locating_since as "locatingSince", o.held_at as "heldAt", o.received_at as "receivedAt", o.changed_at as "changedAt",
  (select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                     'position', c.position, 'label', c.label, 'description', c.description,
                     'containerId', c.container_id, 'location', c.location)) order by c.position), '[]')
     from order_containers c
    where c.order_id = o.id) as containers, ${CALLS}`;

type OfCalls = "calls" | "surface" | "subjectId" | "submittedAt";

/** A subject's values in clear, as the ledger keeps them. */
type SubjectRow = { readonly [Key in keyof OrderSubject]: string };

/** A row of {@link ORDER_COLUMNS}: an order with null for what it lacks, and the patient's values in clear. */
export type OrderRow = WithNulls<Omit<LedgerOrder, "subject" | "priorSubjectCode" | OfCalls>> & {
  readonly calls: readonly CallRow[] | null;
  readonly subject: SubjectRow;
  readonly priorSubjectCode: string | null;
};

/** What the service made of an order: a procedure request, or on the external surface a procedure. */
export type ServiceLink =
  | { readonly surface: "request"; readonly requestId: number }
  | { readonly surface: "external"; readonly procedureId: number };

/** The number of what the service made of an order. */
export function idOf(link: ServiceLink): number {
  return link.surface === "request" ? link.requestId : link.procedureId;
}

/** A number of the service as what its surface makes of an order. */
export function toLink(surface: Surface, id: number): ServiceLink {
  return surface === "request" ? { surface, requestId: id } : { surface, procedureId: id };
}

/** What the service made of an order; undefined while it is not known to have made anything. */
export function linkOf(order: Pick<LedgerOrder, "requestId" | "procedureId">): ServiceLink | undefined {
  if (order.requestId !== undefined) return { surface: "request", requestId: order.requestId };
  return order.procedureId === undefined
    ? undefined
    : { surface: "external", procedureId: order.procedureId };
}

/**
 * Has orders stand still until the transaction ends; what is read by a statement behind this one is how they stand. In ascending order, so
 * that two who lock the same orders wait for each other and no more. `no key`, for whoever writes down what was sent about orders
 * only refers to them, in the order of what was sent: he need not wait, or the two could wait for each other. $1 bigint[]. Index: the
 * primary key.
 */
export const LOCK_ORDERS = `
select 1
  from orders o
 where o.id = any ($1)
 order by o.id
   for no key update`;

/** {@link linkOf} in SQL: whether the service is known to have made anything of order `o`. */
export const IS_AT_SERVICE = "(o.request_id is not null or o.procedure_id is not null)";

const wrap = (value: string | undefined) => (value === undefined ? undefined : phi(value));

/** A subject's values, which are not to be shown from here on. */
function toSubject({ code, firstName, lastName, dateOfBirth }: SubjectRow): OrderSubject {
  return {
    code: phi(code),
    firstName: wrap(firstName),
    lastName: wrap(lastName),
    dateOfBirth: wrap(dateOfBirth),
  };
}

/** A row of {@link ORDER_COLUMNS} as an order. */
export function fromOrderRow({ subject, priorSubjectCode, ...row }: OrderRow): LedgerOrder {
  const calls = toCalls(row.calls);
  const values = withoutNulls(row) as Omit<LedgerOrder, "subject" | "priorSubjectCode" | OfCalls>;
  const link = linkOf(values);
  const made = link && madeCallOf({ calls }, { surface: link.surface, id: idOf(link) });
  return {
    ...values,
    calls,
    // A call for something else may have been for the subject that has the code at another facility.
    subjectId: made?.mark === row.mark ? made.subjectId : undefined,
    submittedAt: made?.endedAt,
    nextAt: openCallOf({ calls })?.lookAt ?? values.nextAt,
    surface: calls.findLast((call) => call.surface !== undefined)?.surface ?? link?.surface,
    subject: toSubject(subject),
    priorSubjectCode: wrap(priorSubjectCode ?? undefined),
  };
}

/** The orders that a statement gives whose columns are {@link ORDER_COLUMNS}, and others that keep their names. */
export async function listOrderRows<Order extends LedgerOrder = LedgerOrder>(
  client: Queryable,
  statement: string,
  values: readonly unknown[],
): Promise<Order[]> {
  return (await run<OrderRow>(client, statement, values)).map((row) => fromOrderRow(row) as Order);
}

/** Orders by id, $1 bigint[]. Index: the primary key. */
const ORDERS_BY_ID = `
select ${ORDER_COLUMNS}
  from orders o
 where o.id = any ($1)
 order by o.id`;

/** The orders of these ids, in ascending order. */
export async function readOrders(client: Queryable, orderIds: readonly number[]): Promise<LedgerOrder[]> {
  if (orderIds.length === 0) return [];
  return listOrderRows(client, ORDERS_BY_ID, [orderIds]);
}

/** The order as it stands from now until the transaction ends; undefined where there is none. */
export async function lockOrder(client: Queryable, orderId: number): Promise<LedgerOrder | undefined> {
  await client.query(LOCK_ORDERS, [[orderId]]);
  return (await readOrders(client, [orderId]))[0];
}

/** The order as it stands, as an outcome's payload has it. */
export type OrderSnapshot = OutcomeOrder<string>;

/** The order as it stands, or as it is about to be kept, for an outcome's payload. */
export function snapshotOrder(
  order: Omit<Order, "sources"> &
    Pick<LedgerOrder, "id" | "state" | "failure"> &
    Partial<Omit<LedgerOrder, keyof Order>>,
): OrderSnapshot {
  return {
    orderId: formatId("o", order.id),
    operation: order.operation,
    placerOrderNumber: order.placerOrderNumber,
    ...(order.sharesNumber ? { sharesNumber: true, numberPlace: order.numberPlace } : {}),
    facilityCode: order.facilityCode,
    subjectCode: order.subject.code.reveal(),
    priorSubjectCode: order.priorSubjectCode?.reveal(),
    state: order.state,
    isHeld: order.heldAt !== undefined,
    requestId: order.requestId,
    procedureId: order.procedureId,
    procedureCode: order.procedureCode,
    containers: order.containers.map(({ label, description, containerId, location }: OutcomeContainer) => ({
      ...{ label, description, containerId, location },
    })),
    reason: order.failure,
  };
}

/** Where in a file an order's number stands: places of CSV name the line, and those of HL7 the message's own field. */
export function placeOfNumber(messagePlace: Place, source: Place | undefined): Place {
  if (source === undefined) return messagePlace;
  return lineOf(source) === undefined ? within(messagePlace, source) : source;
}

/** What an order asks for, as the ledger keeps it: plain JSON, with the patient's values in clear. */
export function contentOf(order: Order, digest: string = digestOrder(order)) {
  const { subject } = order;
  return {
    operation: order.operation,
    facility_code: order.facilityCode,
    facility_id: order.facilityId,
    subject_code: subject.code.reveal(),
    prior_subject_code: order.priorSubjectCode?.reveal(),
    placer_authority: order.placerAuthority,
    subject: {
      firstName: subject.firstName?.reveal(),
      lastName: subject.lastName?.reveal(),
      dateOfBirth: subject.dateOfBirth?.reveal(),
    },
    sources: sourcesInWords(order.sources),
    digest,
  };
}

/** Digest over everything an order asks for, whatever way it was written in the message; who numbered it is no part. Hex. */
export function digestOrder(order: Omit<Order, "sources">): string {
  const { subject, priorSubjectCode } = order;
  const content = [
    order.operation,
    order.facilityId,
    subject.code.reveal(),
    subject.firstName?.reveal() ?? null,
    subject.lastName?.reveal() ?? null,
    subject.dateOfBirth?.reveal() ?? null,
    order.containers.map(({ label, description }) => [label, description]).sort(),
    ...(priorSubjectCode === undefined ? [] : [priorSubjectCode.reveal()]),
  ];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

/** $1 JSON array of containers. Index: the primary key of orders, for each container by itself. */
export const INSERT_CONTAINERS = `
insert into order_containers (order_id, position, lane, label, description)
select x.order_id, x.position, (select o.facility_id::text || '/' || o.subject_code from orders o where o.id = x.order_id), x.label, x.description
  from jsonb_to_recordset($1::jsonb) as x(order_id bigint, position integer, label text, description text)`;

/** An order's containers as {@link INSERT_CONTAINERS} takes them. */
export function containerRows(
  orderId: number,
  containers: Order["containers"],
): { order_id: number; position: number; label: string; description: string }[] {
  return containers.map(({ label, description }, index) => ({
    order_id: orderId,
    position: index + 1,
    label,
    description,
  }));
}

/**
 * An order that the service doesn't have asks for something else from now on. The subject stays the same one, and so do
 * its name and birth date where the change has none: nobody else's values are compared with the service's then. A new
 * mark, so that a call for the former content, should it ever show up late, is not taken for this one's. Who assigned
 * its number is known from then on, if it wasn't; $1 order id, $2 JSON of the content. Index: the primary key.
 */
const REPLACE_CONTENT = `
update orders o
   set operation = x.operation,
       facility_code = x.facility_code,
       facility_id = x.facility_id,
       subject = o.subject || x.subject,
       sources = o.sources || x.sources,
       number_place = coalesce(x.number_place, o.number_place),
       content_digest = decode(x.digest, 'hex'),
       placer_authority = coalesce(o.placer_authority, x.placer_authority),
       overrides = '{}',
       mark = new_mark()
  from jsonb_to_record($2::jsonb)
       as x(operation text, facility_code text, facility_id bigint, subject jsonb, sources jsonb, number_place jsonb,
            digest text, placer_authority jsonb)
 where o.id = $1`;

/** $1 order id. Index: the primary key. */
const DELETE_CONTAINERS = "delete from order_containers where order_id = $1";

/** Has an order ask for something else. The caller holds its row locked and knows that nothing has left of it. */
export async function replaceContent(client: pg.PoolClient, orderId: number, content: Order): Promise<void> {
  const number_place = content.sources.placerOrderNumber;
  await client.query(REPLACE_CONTENT, [orderId, JSON.stringify({ ...contentOf(content), number_place })]);
  await client.query(DELETE_CONTAINERS, [orderId]);
  const containers = containerRows(orderId, content.containers);
  if (containers.length > 0) await client.query(INSERT_CONTAINERS, [JSON.stringify(containers)]);
}
