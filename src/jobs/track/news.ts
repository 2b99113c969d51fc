import type { FailureCode, KeptAnswer } from "../../core/failures.ts";
import type { OrderState } from "../../core/order-state.ts";
import type { Phi } from "../../core/phi.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { keepProcedureError } from "../../service/http/refusal.ts";
import type { NamedContainer } from "../../service/shapes.ts";
import { isOtherType } from "../../service/values.ts";

/** What the service shows of a procedure request, as far as tracking needs it. */
interface RemoteRequest {
  /** The service's word, as it came. */
  readonly status: string;
  readonly procedureId?: number | undefined;
  readonly type?: string | undefined;
  readonly facilityId?: number | undefined;
  readonly subjectCode?: Phi | undefined;
}

/** What the service shows of a procedure. */
export interface RemoteProcedure {
  readonly status: string;
  /** The request that led to it. */
  readonly requestId?: number | undefined;
  readonly type?: string | undefined;
  readonly facilityId?: number | undefined;
  readonly subjectCode?: Phi | undefined;
  readonly containers?: readonly NamedContainer[] | undefined;
  readonly code?: string | undefined;
  readonly containerIds?: readonly number[] | undefined;
  /** The storage solution that it works on. */
  readonly storageId?: number | undefined;
  readonly createdAt?: string | undefined;
  /** Why it failed, in the service's words. */
  readonly error?: Phi | undefined;
}

/** A completed order and its procedure. */
export interface Completed {
  readonly order: Pick<
    LedgerOrder,
    | "id"
    | "connector"
    | "operation"
    | "surface"
    | "facilityId"
    | "subject"
    | "containers"
    | "attempts"
    | "receivedAt"
  > &
    Partial<Pick<LedgerOrder, "subjectId">>;
  readonly procedure:
    | Pick<RemoteProcedure, "containerIds" | "containers" | "storageId" | "createdAt">
    | undefined;
}

/** What the news about an order mean for it. */
export interface Tracked {
  /** The state it is in now; undefined when nothing moved. */
  readonly to?: OrderState | undefined;
  readonly remoteStatus: string;
  readonly procedureId?: number | undefined;
  readonly procedureCode?: string | undefined;
  readonly reason?: { readonly code: FailureCode; readonly text: string } | undefined;
  /** The service's own words for why it failed, for an operator who asks for them. */
  readonly answer?: KeptAnswer | undefined;
  /** Something for the timeline that an operator should see once. */
  readonly notice?: { readonly kind: string; readonly detail: Readonly<Record<string, unknown>> } | undefined;
}

const REQUEST_STATES: Readonly<Record<string, OrderState>> = {
  PENDING: "submitted",
  ACCEPTED: "accepted",
  REJECTED: "rejected",
  CANCELLED: "cancelled",
};

const PROCEDURE_STATES: Readonly<Record<string, OrderState>> = {
  PENDING: "accepted",
  CREATED: "accepted",
  IN_PROGRESS: "in_progress",
  COMPLETED: "completed",
  CANCELLED: "cancelled",
  FAILED: "failed",
};

/** A procedure that an integration created waits for staff first, as a request does on the other surface. */
const EXTERNAL_STATES: Readonly<Record<string, OrderState>> = { ...PROCEDURE_STATES, PENDING: "submitted" };

/** How far along a state is; tracking never goes back. */
const RANK: Readonly<Partial<Record<OrderState, number>>> = { submitted: 1, accepted: 2, in_progress: 3 };
const LAST_RANK = 4;

/**
 * Reads the service's word about an order. Steps may be skipped; a step back is noted and otherwise ignored; a status
 * that nobody knows is kept and the order is still followed.
 */
export function readTracked(
  order: LedgerOrder,
  request: RemoteRequest | undefined,
  procedure: RemoteProcedure | undefined,
): Tracked | undefined {
  const source = procedure ?? request;
  if (!source) return undefined;
  const isExternal = order.surface === "external";
  const states = isExternal ? EXTERNAL_STATES : procedure ? PROCEDURE_STATES : REQUEST_STATES;
  const status = source.status
    .trim()
    .toUpperCase()
    .replace(/[\s-]+/g, "_");
  const common = {
    remoteStatus: source.status,
    procedureId: request?.procedureId ?? order.procedureId,
    procedureCode: procedure?.code,
  };
  // On the external surface the procedure is what the order was made into, so it is what may have been mixed up.
  const made = isExternal ? procedure : request;
  if (made && isForAnother(order, made)) {
    const what = isExternal ? "procedure" : "request";
    const text = `the ${what} at the service is for another subject, facility or operation than the order`;
    return { ...common, to: "parked", reason: { code: "REQUEST_MISMATCH", text } };
  }
  if (!isExternal && procedure && isOfAnotherRequest(order, procedure)) {
    const text =
      "the procedure that the service names for the request says that it came from another request";
    return { ...common, to: "parked", reason: { code: "REQUEST_MISMATCH", text } };
  }
  const state = states[status];
  if (state === undefined) {
    const notice =
      order.remoteStatus === source.status
        ? undefined
        : { kind: "unknown_status", detail: { status: source.status } };
    return { ...common, notice };
  }
  if (procedure && !isForSameContainers(order, procedure)) {
    const text = "the procedure at the service is for other containers than the order names";
    return { ...common, to: "parked", reason: { code: "REQUEST_MISMATCH", text } };
  }
  const from = RANK[order.state] ?? 0;
  const rank = RANK[state] ?? LAST_RANK;
  if (rank === from) return common;
  if (rank < from) {
    // A request stays ACCEPTED while its procedure runs: only a procedure's status, or a new one, is a step back.
    const isNews = procedure !== undefined && order.remoteStatus !== source.status;
    return {
      ...common,
      notice: isNews ? { kind: "went_back", detail: { status: source.status } } : undefined,
    };
  }
  const answer = state === "failed" ? keepError(order, procedure) : undefined;
  return { ...common, to: state, reason: reasonFor(state, procedure), answer };
}

function reasonFor(state: OrderState, procedure: RemoteProcedure | undefined): Tracked["reason"] {
  switch (state) {
    case "rejected":
      return { code: "REQUEST_REJECTED", text: "the facility's staff rejected the request" };
    case "cancelled":
      return {
        code: "PROCEDURE_CANCELLED",
        text: procedure
          ? "the procedure was cancelled at the service"
          : "the request was cancelled at the service",
      };
    case "failed":
      return {
        code: "PROCEDURE_FAILED",
        text: `the procedure failed; the service gives ${procedure?.error === undefined ? "no" : "a"} reason`,
      };
    default:
      return undefined;
  }
}

/** The service's words for what went wrong may be about anybody, so they are kept apart from what is sent. */
function keepError(
  { surface = "request" }: LedgerOrder,
  procedure: RemoteProcedure | undefined,
): KeptAnswer | undefined {
  if (procedure?.error === undefined) return undefined;
  return keepProcedureError(procedure.error, surface);
}

/** Whether what a person linked, for example, belongs to another order; what it doesn't show contradicts nothing. */
function isForAnother(
  order: LedgerOrder,
  { type, facilityId, subjectCode }: Pick<RemoteRequest, "type" | "facilityId" | "subjectCode">,
): boolean {
  return (
    isOtherType(type, order.operation) ||
    (facilityId !== undefined && facilityId !== order.facilityId) ||
    (subjectCode !== undefined && subjectCode.reveal() !== order.subject.code.reveal())
  );
}

/** Following another request's procedure would send the lab other containers, of another patient perhaps. */
function isOfAnotherRequest({ requestId }: LedgerOrder, procedure: RemoteProcedure): boolean {
  return requestId !== undefined && procedure.requestId !== undefined && procedure.requestId !== requestId;
}

/**
 * A retrieval names its containers by the service's ids; the procedure must be for just those. One that a person linked
 * before the ids were known has nothing to be compared.
 */
function isForSameContainers(order: LedgerOrder, procedure: RemoteProcedure): boolean {
  if (
    order.operation !== "RETRIEVAL" ||
    procedure.containerIds === undefined ||
    procedure.containerIds.length === 0
  )
    return true;
  const ours = new Set(order.containers.flatMap((container) => container.containerId ?? []));
  if (ours.size === 0) return true;
  const theirs = new Set(procedure.containerIds);
  return ours.size === theirs.size && [...ours].every((id) => theirs.has(id));
}
