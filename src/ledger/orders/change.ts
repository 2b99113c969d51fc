import type pg from "pg";
import {
  Failure,
  type FailureCode,
  isNumberTaken,
  type KeptAnswer,
  type Problem,
} from "../../core/failures.ts";
import type { ControlRefusal } from "../../core/order-control.ts";
import {
  endedWithoutEffect,
  isTerminal,
  mayMove,
  ORDER_STATES,
  type OrderState,
} from "../../core/order-state.ts";
import type { ContainerLocation } from "../../core/outcome.ts";
import type { Place } from "../../core/place.ts";
import { inTransaction } from "../database.ts";
import { closeSettledTasks, type NewTask, openTasks } from "../operator/tasks.ts";
import { type NewOutcome, recordOutcomes } from "../results/outcomes.ts";
import { type CallChange, changeCalls, type Reopening, reopenCalls, stopLooks } from "./change-calls.ts";
import { answerRequests, decideOpenRequests } from "./control-requests.ts";
import { recordEvents } from "./events.ts";
import { presumeCalls } from "./forgotten-calls.ts";
import {
  fromOrderRow,
  idOf,
  type LedgerOrder,
  LOCK_ORDERS,
  ORDER_COLUMNS,
  type OrderRow,
  placeOfNumber,
  type ServiceLink,
  snapshotOrder,
} from "./row.ts";
import { insertOrderAnswer } from "./service-answers.ts";

interface OrderEvent {
  readonly kind: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/**
 * One step of an order: what must still be true of it, and what changes. What is left out stays as it is.
 */
export interface OrderChange {
  readonly orderId: number;
  /** Refused unless this fence still owns the order. */
  readonly fence?: number | undefined;
  /** Refused unless the order is in one of these states; by default, those from which it may move to `to`. */
  readonly from?: readonly OrderState[] | undefined;
  /**
   * Refused unless this is what the service has made of the order: news of a request that failed must not be recorded for
   * the one that a person's retry has led to since.
   */
  readonly about?: ServiceLink | undefined;
  readonly to?: OrderState | undefined;
  /** Why; `null` forgets an earlier failure. */
  readonly failure?: { readonly code: FailureCode; readonly text: string } | null | undefined;
  /** What the service made of it. */
  readonly request?: ServiceLink | undefined;
  readonly procedureId?: number | undefined;
  readonly procedureCode?: string | undefined;
  readonly remoteStatus?: string | undefined;
  /** When it is due again, ms from now by the database's clock. */
  readonly nextInMs?: number | undefined;
  readonly attempts?: number | undefined;
  /** Gives an order back that stays in its state; one that is brought to another is in nobody's hands anyway. */
  readonly isReleased?: boolean | undefined;
  /** Takes it out of the hands of whoever has it: a worker that still thinks it has it can record nothing more. */
  readonly isTakenBack?: boolean | undefined;
  /** Whether it is on hold; what the service has is on hold no more. */
  readonly isHeld?: boolean | undefined;
  /** What became of its open call, or how that is looked for; with `failure` as the reason. */
  readonly call?: CallChange | undefined;
  /** Why what the service has of it can't be cancelled there: what is open about that is refused. */
  readonly refusal?: ControlRefusal | undefined;
  /** An ended call of it of which it isn't known any more what it did. */
  readonly reopened?: Reopening | undefined;
  /** A call may have left that a restored ledger doesn't know of. */
  readonly isPresumed?: true | undefined;
  /** `true`: not found at the service just now; `false`: it is there. */
  readonly isMissing?: boolean | undefined;
  /** `true`: it is done at the service, and its locations are looked up; `false`: they aren't any more. */
  readonly isLocating?: boolean | undefined;
  readonly containers?:
    | readonly {
        readonly position: number;
        readonly containerId?: number | undefined;
        readonly location?: ContainerLocation | undefined;
        /** What was known of it by now turned out to be doubtful. */
        readonly isForgotten?: boolean | undefined;
      }[]
    | undefined;
  /** The service's answer that a person may want to see; kept with `failure` as what it was taken to mean. */
  readonly answer?: KeptAnswer | undefined;
  /** An entry of the timeline. `detail` holds no patient's values. */
  readonly event?: OrderEvent | undefined;
  /** What it was found to have done before that, where both are known at once. */
  readonly eventBefore?: OrderEvent | undefined;
  /** Whether the order as it then stands is reported to the lab. */
  readonly isReported?: boolean | undefined;
  /** What a person is to do about the order. */
  readonly task?: Omit<NewTask, "orderId"> | undefined;
}

/** Applies a batch of changes; $1 is a JSON array of {@link toParameter}s. Index: the primary key. */
const CHANGE_ORDERS = `
update orders o
   set state = coalesce(x."to", o.state),
       changed_at = case when x."to" is null or x."to" = o.state then o.changed_at else now() end,
       failure_code = case when x."isFailureCleared" then null else coalesce(x.failure->>'code', o.failure_code) end,
       failure_text = case when x."isFailureCleared" then null else coalesce(x.failure->>'text', o.failure_text) end,
       request_id = coalesce(x."requestId", o.request_id),
       procedure_id = coalesce(x."procedureId", o.procedure_id),
       procedure_code = coalesce(x."procedureCode", o.procedure_code),
       remote_status = coalesce(x."remoteStatus", o.remote_status),
       next_at = case when x."nextInMs" is null then o.next_at else now() + x."nextInMs" * interval '1 millisecond' end,
       attempts = coalesce(x.attempts, o.attempts),
       owner = case when x."to" is null and x."isReleased" is not true and x."isTakenBack" is not true then o.owner end,
       fence = case when x."isTakenBack" then new_fence() else o.fence end,
       held_at = case when x."to" in ('submitted', 'accepted', 'in_progress') then null
                      when x."isHeld" then coalesce(o.held_at, now())
                      when not x."isHeld" then null
                      else o.held_at end,
       missing_since = case when x."isMissing" then coalesce(o.missing_since, now())
                            when not x."isMissing" then null
                            else o.missing_since end,
       locating_since = case when x."isLocating" then coalesce(o.locating_since, now())
                             when not x."isLocating" then null
                             else o.locating_since end
  from jsonb_to_recordset($1::jsonb) as x(
         "orderId" bigint, fence bigint, "from" text[], "to" text, failure jsonb, "isFailureCleared" boolean,
         "requestId" bigint, "procedureId" bigint, "procedureCode" text, "remoteStatus" text,
         "nextInMs" double precision, attempts integer, "isReleased" boolean,
         "isTakenBack" boolean, "isHeld" boolean, "isMissing" boolean, "isLocating" boolean, about jsonb)
 where o.id = x."orderId"
   and (x.fence is null or o.fence = x.fence)
   and (x."from" is null or o.state = any (x."from"))
   and (x.about is null
        or o.request_id = (x.about->>'requestId')::bigint
        or (o.request_id is null and o.procedure_id = (x.about->>'procedureId')::bigint))
returning o.id`;

/** What became known of containers; $1 is a JSON array of {order_id, position, container_id, location, forgets}. Index: the primary key. */
const CHANGE_CONTAINERS = `
update order_containers c
   set container_id = case when x.forgets then null else coalesce(x.container_id, c.container_id) end,
       location = case when x.forgets then null else coalesce(x.location, c.location) end
  from jsonb_to_recordset($1::jsonb)
       as x(order_id bigint, position integer, container_id bigint, location jsonb, forgets boolean)
 where c.order_id = x.order_id
   and c.position = x.position`;

/**
 * Orders that were put off for an earlier one of their lane go on when that has ended, or waits for a person; $1 bigint[]
 * ids of those. A row that is locked is about to move anyway. Index: orders_lane.
 */
const WAKE_PUT_OFF = `
with put_off as (
  select o.id
    from orders e
    join orders o on o.facility_id = e.facility_id and o.subject_code = e.subject_code and o.id > e.id
   where e.id = any ($1)
     and o.state = 'received'
     and o.attempts = 0
     and o.next_at > now()
   order by o.id
     for update of o skip locked)
update orders o
   set next_at = now()
  from put_off
 where o.id = put_off.id`;

/**
 * Orders with the message that had them ask for what they ask for, where that isn't the one that placed them; $1 bigint[].
 * Indexes: the primary key, control_requests_order, corrections_order.
 */
const REPORTED_ORDERS = `
select ${ORDER_COLUMNS},
       greatest((select c.message_id
                   from control_requests c
                  where c.order_id = o.id
                    and c.control in ('change', 'replace')
                    and c.state = 'done'
                  order by c.id desc
                  limit 1),
                (select max(c.message_id)
                   from corrections c
                  where c.order_id = o.id)) as "changedBy",
       (select m.place from messages m where m.id = o.message_id) as "messagePlace"
  from orders o
 where o.id = any ($1)
 order by o.id`;

/** What a change says of the order's row. */
function toParameter(change: OrderChange): Record<string, unknown> {
  const {
    containers,
    answer,
    event,
    eventBefore,
    task,
    isReported,
    failure,
    request,
    to,
    call,
    refusal,
    reopened,
    isPresumed,
    ...values
  } = change;
  const isFailureCleared = failure === null;
  const from = to === undefined ? undefined : ORDER_STATES.filter((state) => mayMove(state, to));
  return {
    ...values,
    ...request,
    to,
    from: change.from ?? from,
    failure: failure ?? undefined,
    isFailureCleared,
  };
}

/**
 * Applies changes to different orders in one transaction, with their timeline entries and outcomes. A change whose
 * conditions no longer hold is left out: somebody else has moved the order on.
 *
 * @returns the ids of the orders that were changed.
 * @throws Failure REQUEST_CLAIMED when a change links a request, or on the external surface a procedure, that another
 * order has; nothing is changed then.
 */
export async function changeOrders(pool: pg.Pool, changes: readonly OrderChange[]): Promise<Set<number>> {
  if (changes.length === 0) return new Set();
  return inTransaction(pool, (client) => changeOrdersWithin(client, changes));
}

/** Applies the change, and in the same transaction those of other orders that follow from it; none of them where it is left out. */
export async function changeWithOthers(
  pool: pg.Pool,
  change: OrderChange,
  others: readonly OrderChange[],
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(LOCK_ORDERS, [[change, ...others].map(({ orderId }) => orderId)]);
    if ((await changeOrdersWithin(client, [change])).size > 0) await changeOrdersWithin(client, others);
  });
}

/** {@link changeOrders} inside a transaction that the caller began. */
export async function changeOrdersWithin(
  client: pg.PoolClient,
  changes: readonly OrderChange[],
): Promise<Set<number>> {
  const changed = await applyChanges(client, changes);
  // A cancellation that came while a call was under way takes effect in the very transaction that records what it did.
  // Asked by a statement of its own: it sees what was committed while the rows were waited for.
  const refusals = new Map(
    changes.flatMap(({ orderId, refusal }) => (refusal === undefined ? [] : [[orderId, refusal] as const])),
  );
  const { toCancel, toLookFor, decided } = await decideOpenRequests(client, [...changed], refusals);
  await applyChanges(client, [
    ...[...toCancel].map(cancelledHere),
    ...[...toLookFor].map((orderId) => ({ orderId, ...LOOKED_FOR_FIRST })),
  ]);
  await answerRequests(client, decided);
  return changed;
}

/** What an order begins anew with that a person, or the lab, has go on. */
export const GOES_ON = { failure: null, attempts: 0, nextInMs: 0 } as const;

/** Why an order waits for a person of which the service shows nothing any more. */
export const REQUEST_GONE = {
  code: "REQUEST_GONE",
  text: "the service doesn't know the request or procedure that it created, or doesn't let it be read",
} as const;

/** The service is looked at for a call that a restored ledger may have forgotten, before anything is done to the order. */
export const LOOKED_FOR_FIRST = {
  from: ["received", "submitting"],
  to: "submitting",
  attempts: 0,
  isPresumed: true,
  isTakenBack: true,
} as const;

const CANCELLED = { code: "ORDER_CANCELLED", text: "cancelled as asked; nothing was sent" } as const;

/** Cancels an order of which nothing was sent. */
export function cancelledHere(orderId: number): OrderChange {
  return {
    orderId,
    to: "cancelled",
    failure: CANCELLED,
    event: { kind: "cancelled", detail: CANCELLED },
    isReported: true,
  };
}

async function applyChanges(client: pg.PoolClient, changes: readonly OrderChange[]): Promise<Set<number>> {
  if (changes.length === 0) return new Set();
  const changed = new Set((await updateOrders(client, changes)).map((row) => row.id));
  const applied = changes.filter((change) => changed.has(change.orderId));
  const containers = applied.flatMap((change) =>
    (change.containers ?? []).map((container) => ({
      order_id: change.orderId,
      position: container.position,
      container_id: container.containerId,
      location: container.location,
      forgets: container.isForgotten === true,
    })),
  );
  if (containers.length > 0) await client.query(CHANGE_CONTAINERS, [JSON.stringify(containers)]);
  await changeCalls(
    client,
    applied.flatMap(({ orderId, call, failure, request }) =>
      call
        ? [{ orderId, failure, serviceId: request && idOf(request), surface: request?.surface, ...call }]
        : [],
    ),
  );
  await reopenCalls(
    client,
    applied.flatMap(({ orderId, reopened }) => (reopened ? [{ orderId, ...reopened }] : [])),
  );
  await presumeCalls(
    client,
    applied.flatMap(({ orderId, isPresumed }) => (isPresumed ? [orderId] : [])),
  );
  // Those that the service has had no open call.
  await stopLooks(
    client,
    applied.flatMap(({ orderId, to }) => (to === "cancelled" || to === "discarded" ? [orderId] : [])),
  );
  await recordEvents(
    client,
    applied.flatMap(({ orderId, event, eventBefore, to }) => [
      ...(eventBefore ? [{ orderId, ...eventBefore }] : []),
      ...(event ? [{ orderId, toState: to, ...event }] : []),
    ]),
  );
  for (const { orderId, answer, failure } of applied) {
    if (answer && failure) await insertOrderAnswer(client, { orderId, failureCode: failure.code, answer });
  }
  await openTasks(
    client,
    applied.flatMap(({ orderId, task }) => (task ? [{ ...task, orderId }] : [])),
  );
  const ended = applied.flatMap(({ orderId, to }) =>
    to !== undefined && (isTerminal(to) || to === "parked") ? [{ orderId, to }] : [],
  );
  await closeSettledTasks(client, ended);
  if (ended.length > 0) await client.query(WAKE_PUT_OFF, [ended.map(({ orderId }) => orderId)]);
  const reported = applied.filter((change) => change.isReported).map((change) => change.orderId);
  if (reported.length > 0) await insertOrderOutcomes(client, reported);
  return changed;
}

async function updateOrders(
  client: pg.PoolClient,
  changes: readonly OrderChange[],
): Promise<{ id: number }[]> {
  // One statement locks rows as its plan comes to them.
  if (changes.length > 1) await client.query(LOCK_ORDERS, [changes.map(({ orderId }) => orderId)]);
  try {
    return (await client.query<{ id: number }>(CHANGE_ORDERS, [JSON.stringify(changes.map(toParameter))]))
      .rows;
  } catch (error) {
    const constraint = error instanceof Error && "constraint" in error ? error.constraint : undefined;
    if (constraint !== "orders_request" && constraint !== "orders_procedure") throw error;
    const what = constraint === "orders_request" ? "request" : "procedure";
    throw new Failure("REQUEST_CLAIMED", {
      message: `the service's ${what} belongs to another order already`,
      cause: error,
    });
  }
}

type ReportedRow = OrderRow & { readonly changedBy: number | null; readonly messagePlace: Place };

/**
 * Records that these orders are reported to the lab as they stand. The report echoes the message that changed an order: the codes
 * of the first one would say that what was taken out had been stored. An order that has another one's number and was not
 * sent is reported as a refusal of its message, since any status of it would be read as that of the other one.
 */
export async function insertOrderOutcomes(client: pg.PoolClient, orderIds: readonly number[]): Promise<void> {
  const { rows } = await client.query<ReportedRow>(REPORTED_ORDERS, [orderIds]);
  await recordOutcomes(
    client,
    rows.map((row): NewOutcome => {
      const order = fromOrderRow(row);
      const common = { connector: row.connector, order_ids: [row.id] };
      if (isRefusedForNumber(order)) {
        const problems = [refusalOf(order, row.messagePlace)];
        return { ...common, message_id: row.messageId, kind: "refused", payload: { problems } };
      }
      const payload = { order: snapshotOrder(order) };
      return { ...common, message_id: row.changedBy ?? row.messageId, kind: "changed", payload };
    }),
  );
}

/** Whether nothing was or will be done of an order because another one has its number, as far as is decided by now. */
function isRefusedForNumber({ sharesNumber, surface, state }: LedgerOrder): boolean {
  return sharesNumber && surface === undefined && (state === "parked" || endedWithoutEffect(state));
}

function refusalOf({ failure, numberPlace }: LedgerOrder, messagePlace: Place): Problem {
  const isOfNumber = failure !== undefined && isNumberTaken([failure]);
  const reason = failure === undefined ? "" : `: ${failure.text}`;
  return {
    code: isOfNumber ? failure.code : "ORDER_NUMBER_REUSED",
    place: placeOfNumber(messagePlace, numberPlace),
    message: isOfNumber ? failure.text : `another order with this number exists${reason}`,
  };
}
