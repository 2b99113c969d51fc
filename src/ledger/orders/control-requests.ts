import type pg from "pg";
import {
  ACT_BY_CONTROL,
  type Control,
  type ControlFacts,
  type ControlRefusal,
  DONE,
  decideControl,
  isCancelling,
} from "../../core/order-control.ts";
import type { ControlAnswer } from "../../core/outcome.ts";
import { run, withoutNulls } from "../database.ts";
import { formatId } from "../ids.ts";
import { recordAudit } from "../operator/audit.ts";
import { openTasks } from "../operator/tasks.ts";
import { recordOutcomes } from "../results/outcomes.ts";
import { HAS_OPEN_CALL } from "./calls.ts";
import { endCancels } from "./change-calls.ts";
import { recordEvents } from "./events.ts";
import { MAY_BE_FORGOTTEN } from "./forgotten-calls.ts";
import { planCancels } from "./new-calls.ts";
import { IS_AT_SERVICE, readOrders, snapshotOrder } from "./row.ts";

/** A request as it is written down, decided or, where it is to cancel, open. */
export interface NewControlRequest extends Omit<ControlAnswer, "order"> {
  readonly connector: string;
  /** Undefined when a person asks. */
  readonly messageId?: number | undefined;
  readonly position?: number | undefined;
  /** Undefined where there is no such order. */
  readonly orderId: number | undefined;
  readonly reason?: string | undefined;
  readonly isOpen: boolean;
}

/** $1 actor, $2 JSON array of {@link NewControlRequest}. */
const INSERT_REQUESTS = `
insert into control_requests (message_id, position, connector, control, order_id, placer_order_number, filler_number, actor,
                              reason, state, failure_code, failure_text, decided_at)
select x."messageId", x.position, x.connector, x.control, x."orderId", x."placerOrderNumber", x."fillerNumber", $1, x.reason,
       case when x."isOpen" then 'open' when x.refusal is null then 'done' else 'unable' end,
       x.refusal->>'code', x.refusal->>'text', case when x."isOpen" then null else now() end
  from jsonb_to_recordset($2::jsonb)
       as x("messageId" bigint, position integer, connector text, control text, "orderId" bigint, "placerOrderNumber" text,
            "fillerNumber" jsonb, reason text, "isOpen" boolean, refusal jsonb)`;

/** What of order `o` decides about any request, once it is locked. Index: calls_order. */
export const CONTROL_FACTS = `
       o.state, ${HAS_OPEN_CALL} as "isCalled", ${MAY_BE_FORGOTTEN} as "mayBeForgotten", ${IS_AT_SERVICE} as "isAtService"`;

/** Open requests about these orders, with how the orders stand; $1 bigint[]. Index: control_requests_open. */
const OPEN_REQUESTS = `
select c.id, c.order_id as "orderId", c.control, ${CONTROL_FACTS}
  from control_requests c
  join orders o on o.id = c.order_id
 where c.order_id = any ($1)
   and c.state = 'open'
 order by c.id`;

/** Decides open requests; $1 JSON array of {id, code, text}, granted without a code. Index: the primary key. */
const END_REQUESTS = `
update control_requests c
   set state = case when x.code is null then 'done' else 'unable' end,
       failure_code = x.code,
       failure_text = x.text,
       decided_at = now()
  from jsonb_to_recordset($1::jsonb) as x(id bigint, code text, text text)
 where c.id = x.id
   and c.state = 'open'
returning c.message_id as "messageId", c.connector, c.order_id as "orderId", c.control,
          c.placer_order_number as "placerOrderNumber", c.filler_number as "fillerNumber",
          case when x.code is not null then jsonb_build_object('code', x.code, 'text', x.text) end as refusal`;

/** Requests about an order, oldest first; $1 order id. Index: control_requests_order. */
const ORDER_REQUESTS = `
select c.control, c.actor, c.reason, c.state,
       (select count(*)::integer
          from calls k
         where k.order_id = c.order_id
           and k.kind = 'cancel'
           and k.worker_id is not null
           and c.control in ('cancel', 'discontinue')
           and k.at between c.asked_at and coalesce(c.decided_at, now())) as attempts,
       c.asked_at as "askedAt", c.decided_at as "decidedAt",
       case when c.failure_code is not null
            then jsonb_build_object('code', c.failure_code, 'text', c.failure_text) end as failure
  from control_requests c
 where c.order_id = $1
 order by c.id`;

/** A decided request: what is reported to the lab, and of which order and message. */
type DecidedRequest = Pick<
  NewControlRequest,
  "connector" | "messageId" | "orderId" | "control" | "placerOrderNumber" | "fillerNumber" | "refusal"
>;

/**
 * Writes down what is asked of orders: in the ledger, the orders' timelines and the audit. What is refused becomes a
 * person's task, since the order is not what the lab wants. Who asks how an order stands wants nothing of it.
 *
 * @param detail what the timeline says of each besides, such as the message that asks
 */
export async function insertRequests(
  client: pg.PoolClient,
  actor: string,
  requests: readonly NewControlRequest[],
): Promise<void> {
  await client.query(INSERT_REQUESTS, [actor, JSON.stringify(requests)]);
  const asked = requests.flatMap(({ orderId, control, messageId, reason }) => {
    if (orderId === undefined || control === "status") return [];
    const message = messageId === undefined ? undefined : formatId("m", messageId);
    return [{ orderId, control, detail: { messageId: message, reason, control } }];
  });
  await recordEvents(
    client,
    asked.map(({ orderId, control, detail }) => ({
      orderId,
      kind: isCancelling(control) ? "cancel_asked" : "control_asked",
      detail: { by: actor, ...detail },
    })),
  );
  for (const [control, same] of Map.groupBy(asked, (each) => each.control)) {
    const targets = same.map(({ orderId, detail: { messageId, reason } }) => ({
      target: formatId("o", orderId),
      detail: { messageId, reason },
    }));
    await recordAudit(client, { actor }, control, targets);
  }
  await recordRefusals(client, requests);
}

/** Writes refused requests into their orders' timelines and gives a person the task to see to them. */
async function recordRefusals(client: pg.PoolClient, requests: readonly DecidedRequest[]): Promise<void> {
  const refused = requests.flatMap(({ orderId, control, refusal }) =>
    orderId === undefined || refusal === undefined || control === "status"
      ? []
      : [{ orderId, control, refusal }],
  );
  await recordEvents(
    client,
    refused.map(({ orderId, control, refusal }) => ({
      orderId,
      kind: isCancelling(control) ? "cancel_refused" : "control_refused",
      detail: { control, ...refusal },
    })),
  );
  await openTasks(
    client,
    refused.map(({ orderId, control, refusal }) => ({
      orderId,
      kind: ACT_BY_CONTROL[control],
      text: `this order was to be ${DONE[control]}, and was not: ${refusal.text}`,
    })),
  );
}

/** What follows from how orders stand for what is open about them. */
interface OpenDecisions {
  /** Nothing was sent of them. */
  readonly toCancel: ReadonlySet<number>;
  /** The service is to be looked at for them first. */
  readonly toLookFor: ReadonlySet<number>;
  readonly decided: readonly DecidedRequest[];
}

/**
 * Looks whether the state of these orders decides what is open about them, which can only be cancellations. The caller holds
 * the orders' rows locked, cancels those of which nothing was sent, and then answers what was decided. What is to be cancelled at the
 * service has a call planned.
 *
 * @param refusals why what the service has can't be cancelled there, by order
 */
export async function decideOpenRequests(
  client: pg.PoolClient,
  orderIds: readonly number[],
  refusals: ReadonlyMap<number, ControlRefusal>,
): Promise<OpenDecisions> {
  if (orderIds.length === 0) return { toCancel: new Set(), toLookFor: new Set(), decided: [] };
  const { rows } = await client.query<ControlFacts & { id: number; orderId: number; control: Control }>(
    OPEN_REQUESTS,
    [orderIds],
  );
  const toCancel = new Set<number>();
  const toLookFor = new Set<number>();
  const toCall = new Set<number>();
  const ends = new Map<number, ControlRefusal | undefined>();
  for (const row of rows) {
    // Whether the cancel call is offered is the configuration's word; the job that makes it asks there.
    const decision = decideControl(row.control, row, true);
    if (decision.kind === "act") toCancel.add(row.orderId);
    if ("isForgotten" in decision) toLookFor.add(row.orderId);
    if (decision.kind === "act" || decision.kind === "done") ends.set(row.id, undefined);
    const refusal = decision.kind === "call" ? refusals.get(row.orderId) : undefined;
    if (decision.kind === "call" && refusal === undefined) toCall.add(row.orderId);
    if (decision.kind === "unable") ends.set(row.id, decision.refusal);
    else if (refusal !== undefined) ends.set(row.id, refusal);
  }
  await planCancels(client, [...toCall]);
  return { toCancel, toLookFor, decided: await endRequests(client, ends) };
}

async function endRequests(
  client: pg.PoolClient,
  ends: ReadonlyMap<number, ControlRefusal | undefined>,
): Promise<DecidedRequest[]> {
  if (ends.size === 0) return [];
  const list = [...ends].map(([id, refusal]) => ({ id, ...refusal }));
  const { rows } = await client.query(END_REQUESTS, [JSON.stringify(list)]);
  const decided = rows.map((row) => withoutNulls(row) as DecidedRequest);
  await endCancels(
    client,
    decided.flatMap(({ orderId }) => orderId ?? []),
  );
  await recordRefusals(client, decided);
  return decided;
}

/** Records what the lab is sent about decided requests: one answer for those of a message, with the orders as they stand now. */
export async function answerRequests(
  client: pg.PoolClient,
  decided: readonly DecidedRequest[],
): Promise<void> {
  const asked = decided.filter(({ messageId }) => messageId !== undefined);
  if (asked.length === 0) return;
  const orders = await readOrders(client, [...new Set(asked.flatMap(({ orderId }) => orderId ?? []))]);
  const snapshots = new Map(orders.map((order) => [order.id, snapshotOrder(order)]));
  await recordOutcomes(
    client,
    [...Map.groupBy(asked, ({ messageId }) => messageId as number)].map(([messageId, requests]) => ({
      connector: (requests[0] as DecidedRequest).connector,
      message_id: messageId,
      order_ids: [...new Set(requests.flatMap(({ orderId }) => orderId ?? []))],
      kind: "control",
      payload: {
        answers: requests.map(({ control, placerOrderNumber, fillerNumber, refusal, orderId }) => ({
          ...{ control, placerOrderNumber, fillerNumber, refusal },
          // Another subject's order is not described to whoever asked for it, nor one of several that may be meant.
          order: /_ORDER_(DIFFERS|AMBIGUOUS)$/.test(refusal?.code ?? "")
            ? undefined
            : snapshots.get(orderId ?? 0),
        })),
      },
    })),
  );
}

/** A request about an order, as people see it. */
export interface ControlRequestView {
  readonly control: Control;
  readonly actor: string;
  readonly reason: string | undefined;
  readonly state: "open" | "done" | "unable";
  /** Calls made to the service. */
  readonly attempts: number;
  readonly failure: { readonly code: string; readonly text: string } | undefined;
  readonly askedAt: Date;
  readonly decidedAt: Date | undefined;
}

/** The requests about an order, oldest first. */
export async function listOrderRequests(pool: pg.Pool, orderId: number): Promise<ControlRequestView[]> {
  return (await run(pool, ORDER_REQUESTS, [orderId])).map((row) => withoutNulls(row) as ControlRequestView);
}
