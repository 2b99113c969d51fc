import type { AssigningAuthority } from "../core/assigning-authority.ts";
import type { FailureCode } from "../core/failures.ts";
import type { Operation, OrderSubject } from "../core/order.ts";
import type { OrderState } from "../core/order-state.ts";
import type { ContainerLocation, OutcomeContainer, OutcomeOrder } from "../core/outcome.ts";
import { type Phi, phi } from "../core/phi.ts";
import type { Surface } from "../core/surface.ts";
import { formatId } from "./ids.ts";

/** A call that changes the service and may have left. */
export type Intent = "subject" | "request";

/** A container of an order as the ledger keeps it. */
export interface LedgerContainer extends OutcomeContainer {
  /** From 1, as in the message. */
  readonly position: number;
}

/** An order as the ledger keeps it. */
export interface LedgerOrder {
  readonly id: number;
  readonly messageId: number;
  readonly connector: string;
  readonly operation: Operation;
  readonly facilityCode: string;
  readonly facilityId: number;
  readonly placerOrderNumber: string | undefined;
  /** Another order has that number: whatever becomes of this one is never reported under it. */
  readonly sharesNumber: boolean;
  /** Who assigned that number, as far as a message told. */
  readonly placerAuthority: AssigningAuthority | undefined;
  readonly subject: OrderSubject;
  /** MERGE: the identifier that goes. */
  readonly priorSubjectCode: Phi | undefined;
  readonly containers: readonly LedgerContainer[];
  readonly sources: Readonly<Record<string, string>>;
  readonly state: OrderState;
  readonly failure: { readonly code: FailureCode; readonly text: string } | undefined;
  /** By which its request is known at the service; another one once it asks for something else, or is done anew. */
  readonly mark: string;
  /** Starts of the current step that did not end it. */
  readonly attempts: number;
  readonly nextAt: Date;
  readonly fence: number | undefined;
  readonly intent: Intent | undefined;
  readonly intentAt: Date | undefined;
  /** How long ago that was, ms, by the database's clock. */
  readonly intentAgeMs: number | undefined;
  /** How often the service was searched for what the intended call may have done. */
  readonly looks: number;
  /** Searches in a row that failed themselves. */
  readonly failedLooks: number;
  /** Requests of this subject and type that were there before the first call to create what the order asks for now. */
  readonly knownRequestIds: readonly number[];
  /** Requests or procedures that the service made of it before a person had it done anew. */
  readonly formerIds: readonly number[];
  readonly isRepostApproved: boolean;
  /** When the first call to create what the order asks for now left; undefined while none has. */
  readonly calledAt: Date | undefined;
  /** The latest call was answered, and the answer says that nothing was done. */
  readonly isRefused: boolean;
  /** The surface that its latest call went to; undefined before the first. */
  readonly surface: Surface | undefined;
  readonly requestId: number | undefined;
  readonly procedureId: number | undefined;
  readonly procedureCode: string | undefined;
  /** The service's own word for its status, kept as it came. */
  readonly remoteStatus: string | undefined;
  readonly pollIntervalMs: number | undefined;
  readonly missingSince: Date | undefined;
  /** Since when the lab has it on hold. */
  readonly heldAt: Date | undefined;
  readonly receivedAt: Date;
  readonly submittedAt: Date | undefined;
  readonly changedAt: Date;
}

/** Columns of a {@link LedgerOrder}, for a query over `orders o`. */
export const ORDER_COLUMNS = `
  o.id, o.message_id, o.connector, o.operation, o.facility_code, o.facility_id, o.placer_order_number, o.shares_number, o.placer_authority, o.subject_code,
  o.prior_subject_code, o.subject, o.sources, o.state, o.failure_code, o.failure_text, o.mark, o.attempts, o.next_at, o.fence, o.intent,
  o.intent_at, (extract(epoch from now() - o.intent_at) * 1000)::double precision as intent_age_ms, o.looks, o.failed_looks, o.known_request_ids, o.former_ids, o.is_repost_approved, o.surface, o.request_id, o.procedure_id, o.procedure_code,
  o.called_at, o.is_refused, o.remote_status, o.poll_interval_ms, o.missing_since, o.held_at, o.received_at, o.submitted_at, o.changed_at,
  (select coalesce(jsonb_agg(jsonb_build_object('position', c.position, 'label', c.label, 'description', c.description,
                                                'containerId', c.container_id, 'location', c.location)
                             order by c.position), '[]')
     from order_containers c
    where c.order_id = o.id) as containers`;

export interface OrderRow {
  id: number;
  message_id: number;
  connector: string;
  operation: Operation;
  facility_code: string;
  facility_id: number;
  placer_order_number: string | null;
  shares_number: boolean;
  placer_authority: AssigningAuthority | null;
  subject_code: string;
  prior_subject_code: string | null;
  subject: { firstName?: string; lastName?: string; dateOfBirth?: string };
  sources: Record<string, string>;
  state: OrderState;
  failure_code: FailureCode | null;
  failure_text: string | null;
  mark: string;
  attempts: number;
  next_at: Date;
  fence: number | null;
  intent: Intent | null;
  intent_at: Date | null;
  intent_age_ms: number | null;
  looks: number;
  failed_looks: number;
  known_request_ids: number[];
  former_ids: number[];
  is_repost_approved: boolean;
  called_at: Date | null;
  is_refused: boolean;
  surface: Surface | null;
  request_id: number | null;
  procedure_id: number | null;
  procedure_code: string | null;
  remote_status: string | null;
  poll_interval_ms: number | null;
  missing_since: Date | null;
  held_at: Date | null;
  received_at: Date;
  submitted_at: Date | null;
  changed_at: Date;
  containers: {
    position: number;
    label: string;
    description: string;
    containerId: number | null;
    location: ContainerLocation | null;
  }[];
}

/** What the service made of an order: a procedure request, or on the external surface a procedure. */
export type ServiceLink =
  | { readonly surface: "request"; readonly requestId: number }
  | { readonly surface: "external"; readonly procedureId: number };

/** What the service made of an order; undefined while it is not known to have made anything. */
export function linkOf(
  order: Pick<LedgerOrder, "surface" | "requestId" | "procedureId">,
): ServiceLink | undefined {
  if (order.requestId !== undefined) return { surface: "request", requestId: order.requestId };
  if (order.surface !== "external" || order.procedureId === undefined) return undefined;
  return { surface: "external", procedureId: order.procedureId };
}

const wrap = (value: string | undefined) => (value === undefined ? undefined : phi(value));

/** The columns `subject_code` and `subject` as a subject. */
export function toSubject(
  code: string,
  { firstName, lastName, dateOfBirth }: OrderRow["subject"],
): OrderSubject {
  return {
    code: phi(code),
    firstName: wrap(firstName),
    lastName: wrap(lastName),
    dateOfBirth: wrap(dateOfBirth),
  };
}

/** A row of {@link ORDER_COLUMNS} as an order. */
export function fromOrderRow(row: OrderRow): LedgerOrder {
  return {
    id: row.id,
    messageId: row.message_id,
    connector: row.connector,
    operation: row.operation,
    facilityCode: row.facility_code,
    facilityId: row.facility_id,
    placerOrderNumber: row.placer_order_number ?? undefined,
    sharesNumber: row.shares_number,
    placerAuthority: row.placer_authority ?? undefined,
    subject: toSubject(row.subject_code, row.subject),
    priorSubjectCode: wrap(row.prior_subject_code ?? undefined),
    containers: row.containers.map((container) => ({
      position: container.position,
      label: container.label,
      description: container.description,
      containerId: container.containerId ?? undefined,
      location: container.location ?? undefined,
    })),
    sources: row.sources,
    state: row.state,
    failure: row.failure_code === null ? undefined : { code: row.failure_code, text: row.failure_text ?? "" },
    mark: row.mark,
    attempts: row.attempts,
    nextAt: row.next_at,
    fence: row.fence ?? undefined,
    intent: row.intent ?? undefined,
    intentAt: row.intent_at ?? undefined,
    intentAgeMs: row.intent_age_ms ?? undefined,
    looks: row.looks,
    failedLooks: row.failed_looks,
    knownRequestIds: row.known_request_ids,
    formerIds: row.former_ids,
    isRepostApproved: row.is_repost_approved,
    calledAt: row.called_at ?? undefined,
    isRefused: row.is_refused,
    surface: row.surface ?? undefined,
    requestId: row.request_id ?? undefined,
    procedureId: row.procedure_id ?? undefined,
    procedureCode: row.procedure_code ?? undefined,
    remoteStatus: row.remote_status ?? undefined,
    pollIntervalMs: row.poll_interval_ms ?? undefined,
    missingSince: row.missing_since ?? undefined,
    heldAt: row.held_at ?? undefined,
    receivedAt: row.received_at,
    submittedAt: row.submitted_at ?? undefined,
    changedAt: row.changed_at,
  };
}

/** An order as it is put into an outcome's payload: plain JSON, with the subject codes in clear. */
export interface OrderSnapshot extends Omit<OutcomeOrder, "subjectCode" | "priorSubjectCode"> {
  readonly subjectCode: string;
  readonly priorSubjectCode?: string | undefined;
}

/** What the lab would be told of the order as it stands. */
export function snapshotOrder(order: LedgerOrder): OrderSnapshot {
  return {
    orderId: formatId("o", order.id),
    operation: order.operation,
    placerOrderNumber: order.placerOrderNumber,
    ...(order.sharesNumber ? { sharesNumber: true, numberPlace: order.sources.placerOrderNumber } : {}),
    facilityCode: order.facilityCode,
    subjectCode: order.subject.code.reveal(),
    priorSubjectCode: order.priorSubjectCode?.reveal(),
    state: order.state,
    isHeld: order.heldAt !== undefined,
    requestId: order.requestId,
    procedureId: order.procedureId,
    procedureCode: order.procedureCode,
    containers: order.containers.map(({ position: _position, ...container }) => container),
    reason: order.failure,
  };
}

/** Where in a file an order's number stands: places of CSV name the line, and those of HL7 the message's own field. */
export function placeOfNumber(messagePlace: string, source: string | undefined): string {
  if (source === undefined) return messagePlace;
  return source.startsWith("line") ? source : `${messagePlace}, ${source}`;
}
