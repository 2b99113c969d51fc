import type { Logger } from "../../core/logger.ts";
import type { OrderState } from "../../core/order-state.ts";
import { isStage, type OrderName, type OrderStep } from "../../core/order-step.ts";
import { type Queryable, reportOnceCommitted } from "../database.ts";
import { formatId } from "../ids.ts";

/** An entry of an order's timeline. */
interface NewEvent {
  readonly orderId: number;
  readonly kind: string;
  readonly toState?: OrderState | undefined;
  /** No patient's values. */
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * $1 JSON array of {@link NewEvent}. Gives back what log lines and metrics name an order by, and how long it was in the state that
 * the entry before says; a new order has none. The entry before may be of a transaction that began later than this one. Indexes: the
 * primary keys.
 */
const INSERT_EVENTS = `
with noted as (
  insert into order_events (order_id, kind, to_state, detail)
  select x."orderId", x.kind, x."toState", coalesce(x.detail, '{}')
    from rows from (jsonb_to_recordset($1::jsonb) as ("orderId" bigint, kind text, "toState" text, detail jsonb))
         with ordinality as x("orderId", kind, "toState", detail, n)
   order by x.n
  returning id, order_id, kind, to_state, detail)
select n.order_id as "orderId", n.kind, n.to_state as "toState", n.detail, o.connector, m.file_id as "fileId",
       o.operation, o.facility_code as "facilityCode", former.state as "formerState",
       greatest(0, extract(epoch from now() - former.since)::double precision) as "formerSeconds",
       greatest(0, extract(epoch from now() - o.received_at)::double precision) as "ageSeconds"
  from noted n
  join orders o on o.id = n.order_id
  join messages m on m.id = o.message_id
  left join lateral (
       select case when e.to_state = 'received' and o.claimed_at > e.at then 'submitting' else e.to_state end as state,
              case when e.to_state = 'received' then greatest(e.at, o.claimed_at) else e.at end as since
         from order_events e
        where n.to_state is not null
          and n.kind <> 'received'
          and e.order_id = n.order_id
          and e.to_state is not null
        order by e.id desc
        limit 1) former on true
 order by n.id`;

/** An entry of a timeline with what log lines name its order by. */
interface Step extends OrderName {
  readonly kind: string;
  readonly toState: OrderState | null;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly fileId: number | null;
  readonly formerState: OrderState | null;
  readonly formerSeconds: number;
  readonly ageSeconds: number;
}

/**
 * Adds to orders' timelines, in this order. What is added in a transaction is logged and reported once that is committed.
 */
export async function recordEvents(client: Queryable, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  const { rows } = await client.query<Step>(INSERT_EVENTS, [JSON.stringify(events)]);
  reportOnceCommitted(client, ({ logger, observer }) => {
    logSteps(logger, rows);
    observer.ordersMoved(rows.map(toOrderStep));
  });
}

function toOrderStep({ toState, formerState, formerSeconds, detail, ...row }: Step): OrderStep {
  const { orderId, connector, operation, facilityCode, kind, ageSeconds } = row;
  const hasEnded = formerState !== null && formerState !== toState && isStage(formerState);
  return {
    ...{ orderId, connector, operation, facilityCode, kind, ageSeconds },
    to: toState ?? undefined,
    stage: hasEnded ? { name: formerState, seconds: formerSeconds } : undefined,
    failureCode: typeof detail.code === "string" ? detail.code : undefined,
  };
}

/** Logs steps of orders: what happened, to which order of which connector and file; at warn where a person is needed. */
function logSteps(logger: Logger, steps: readonly Step[]): void {
  for (const { orderId, kind, toState, detail, connector, fileId } of steps) {
    // A file is named by its id, since labs put patients into names of files.
    const file = fileId === null ? undefined : formatId("f", fileId);
    const name = { order: formatId("o", orderId), connector, file };
    const words = Object.hasOwn(WORDS, kind) ? WORDS[kind] : `order: ${kind.replaceAll("_", " ")}`;
    const { code, requestId, procedureId } = detail;
    // A parked order waits for a person, and one that failed may be retried by a person.
    const level = toState === "parked" || toState === "failed" ? "warn" : "info";
    logger[level]({ ...name, code, requestId, procedureId }, words);
  }
}

/** Kinds of the timeline as log lines say them; the others stand as they are. */
const WORDS: Readonly<Record<string, string>> = {
  received: "order received",
  repeated: "order received again; nothing is started again",
  subject_registered: "order's subject registered at the service",
  subject_compared: "order's subject could not be compared in full at the service",
  interrupted: "order's attempt was interrupted before it came to an end",
  again: "order not submitted; it is tried again",
  refused_for_now: "order refused for now; it is tried again",
  unanswered: "order's call got no definite answer; the service is checked for it",
  check_failed: "order's lost call could not be searched for; it is searched for again",
  reconciled: "order's lost call had no effect; the order goes on",
  not_at_service: "order's lost call had no effect, says an operator; the order goes on",
  adopted: "order's lost call was found at the service",
  submitted: "order submitted",
  accepted: "order accepted by the facility's staff",
  in_progress: "order in progress at the device",
  locating: "order done at the service; its locations are looked up",
  completed: "order completed",
  rejected: "order rejected by the facility's staff",
  cancelled: "order cancelled",
  failed: "order failed",
  parked: "order parked",
  held: "order put on hold by the lab",
  released: "order released from hold",
  changed: "order changed by the lab",
  corrected: "parked order corrected by the lab; it goes on",
  retried: "order retried by an operator",
  discarded: "order discarded by an operator",
  resend_asked: "order's result is sent to the lab again, for an operator",
  missing: "order not known to the service any more",
  unknown_status: "order has a status that is not known",
};
