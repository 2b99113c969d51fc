import type pg from "pg";
import type { AssigningAuthority } from "../../core/order.ts";
import type { OrderState } from "../../core/order-state.ts";
import { inTransaction, list } from "../database.ts";
import { formatId } from "../ids.ts";
import type { Act } from "./audit.ts";

/**
 * What a task is about: an order control request that wasn't granted, news about a subject that the service can't take, a message
 * whose sender doesn't know of its refusal, a result that the lab took back after it had acknowledged it, an order that the
 * service has more than once, or a dropped file that was written to after it was archived.
 */
export const TASK_KINDS = [
  "cancel",
  "hold",
  "release",
  "change",
  "update",
  "merge",
  "refusal",
  "taken_back",
  "duplicate",
  "late_write",
] as const;
type TaskKind = (typeof TASK_KINDS)[number];

/** What a person is to do about an order, a message, a result or a file. */
export interface Task {
  /** Such as `k3`. */
  readonly taskId: string;
  /** Such as `o17`; undefined where it is about none. */
  readonly orderId: string | undefined;
  /** Such as `m12`. */
  readonly messageId: string | undefined;
  /** The result, such as `d4`. */
  readonly deliveryId: string | undefined;
  /** A dropped file, and where it lies, which may name a patient. */
  readonly file: { readonly fileId: string; readonly connector: string; readonly path: string } | undefined;
  readonly placerOrderNumber: string | undefined;
  readonly placerAuthority: AssigningAuthority | undefined;
  readonly kind: TaskKind;
  readonly text: string;
  readonly openedAt: Date;
  readonly closedAt: Date | undefined;
  readonly closedBy: string | undefined;
}

/** {@link Task}s. */
const TASKS = `
select 'k' || k.id as "taskId", 'o' || k.order_id as "orderId", 'm' || k.message_id as "messageId",
       'd' || k.delivery_id as "deliveryId",
       case when f.id is not null
            then jsonb_build_object('fileId', 'f' || f.id, 'connector', f.connector, 'path', coalesce(a.path, '')) end as file,
       o.placer_order_number as "placerOrderNumber", o.placer_authority as "placerAuthority", k.kind, k.text,
       k.opened_at as "openedAt", k.closed_at as "closedAt", k.closed_by as "closedBy"
  from tasks k
  left join orders o on o.id = k.order_id
  left join files f on f.id = k.file_id
  left join lateral (
    select d.path
      from dropped_files d
     where d.file_id = k.file_id
       and d.path is not null
     order by d.due_at nulls first
     limit 1) a on true`;

/** Oldest first; $1 limit, $2 after this task. Index: tasks_open. */
const OPEN_TASKS = `${TASKS}
 where k.closed_at is null
   and k.id > $2
 order by k.id
 limit $1`;

/** $1 order id. Index: tasks_order. */
const ORDER_TASKS = `${TASKS}
 where k.order_id = $1
 order by k.id`;

/** $1 task. Index: the primary key. */
const TASK_BY_ID = `${TASKS}
 where k.id = $1`;

/** How many are open of each kind, and the age of the oldest in seconds. Index: tasks_open. */
const COUNT_OPEN = `
select k.kind, count(*)::integer as count,
       extract(epoch from now() - min(k.opened_at))::double precision as "oldestSeconds"
  from tasks k
 where k.closed_at is null
 group by k.kind
 order by k.kind`;

/** Each thing to do is asked for once; $1 JSON array of {order_id, kind, text}. Index: tasks_once. */
const OPEN_NEW_TASKS = `
insert into tasks (order_id, kind, text)
select x.order_id, x.kind, x.text
  from jsonb_to_recordset($1::jsonb) as x(order_id bigint, kind text, text text)
on conflict (order_id, kind) where closed_at is null do nothing`;

/** $1 task, $2 actor, $3 task as people see it, $4 reason. With its entries in the order's timeline and the audit. */
const CLOSE_TASK = `
with closed as (
  update tasks
     set closed_at = now(),
         closed_by = $2
   where id = $1
     and closed_at is null
  returning id, order_id, message_id, delivery_id, file_id, kind),
 noted as (
  insert into order_events (order_id, kind, detail)
  select order_id, 'task_done', jsonb_strip_nulls(jsonb_build_object('actor', $2::text, 'task', $3::text, 'reason', $4::text))
    from closed
   where order_id is not null)
insert into audit (actor, action, target, detail)
select $2, 'task-done', $3,
       jsonb_strip_nulls(jsonb_build_object('orderId', order_id, 'messageId', message_id, 'deliveryId', delivery_id, 'fileId', file_id,
                                            'reason', $4::text))
  from closed
returning id`;

/** $1 JSON array of {order_id, kinds, reason}. Index: tasks_once. */
const CLOSE_SETTLED = `
with settled as (
  update tasks k
     set closed_at = now(),
         closed_by = 'cryobridge'
    from jsonb_to_recordset($1::jsonb) as x(order_id bigint, kinds text[], reason text)
   where k.order_id = x.order_id
     and k.kind = any (x.kinds)
     and k.closed_at is null
  returning k.id, k.order_id, x.reason)
insert into order_events (order_id, kind, detail)
select order_id, 'task_done', jsonb_build_object('actor', 'cryobridge', 'task', 'k' || id, 'reason', reason)
  from settled`;

/** What an order's end settles: that it doesn't go on, or that the service has the news of its subject. */
const SETTLED: readonly (readonly [kinds: readonly TaskKind[], states: readonly OrderState[]])[] = [
  [["cancel"], ["cancelled", "rejected", "failed", "discarded"]],
  [["update", "merge"], ["completed"]],
];

/** Closes the tasks of orders that ended as the tasks ask for. */
export async function closeSettledTasks(
  client: pg.PoolClient,
  ended: readonly { readonly orderId: number; readonly to: OrderState }[],
): Promise<void> {
  const rows = SETTLED.flatMap(([kinds, states]) =>
    ended
      .filter(({ to }) => states.includes(to))
      .map(({ orderId, to }) => ({ order_id: orderId, kinds, reason: `the order is ${to}` })),
  );
  if (rows.length > 0) await client.query(CLOSE_SETTLED, [JSON.stringify(rows)]);
}

/** The open task about a message; $1 message id. Index: tasks_message. */
const OPEN_TASK_OF_MESSAGE = "select k.id from tasks k where k.message_id = $1 and k.closed_at is null";

/** Something that a person is to be asked for about an order. */
export interface NewTask {
  readonly orderId: number;
  readonly kind: Exclude<TaskKind, "refusal" | "taken_back" | "late_write">;
  /** No patient's values. */
  readonly text: string;
}

/** Asks a person for something about orders; a task of the kind that is open already stays as it is. */
export async function openTasks(client: pg.PoolClient, tasks: readonly NewTask[]): Promise<void> {
  if (tasks.length === 0) return;
  const rows = tasks.map(({ orderId, kind, text }) => ({ order_id: orderId, kind, text }));
  await client.query(OPEN_NEW_TASKS, [JSON.stringify(rows)]);
}

/** Tasks that nobody has done yet, oldest first. @param after the last task of the page before */
export function listOpenTasks(pool: pg.Pool, limit: number, after = 0): Promise<Task[]> {
  return list<Task>(pool, OPEN_TASKS, [limit, after]);
}

/** A task, done or not; undefined when there is none of that number. */
export async function findTask(pool: pg.Pool, taskId: number): Promise<Task | undefined> {
  return (await list<Task>(pool, TASK_BY_ID, [taskId]))[0];
}

/** All tasks about an order, oldest first. */
export function listOrderTasks(pool: pg.Pool, orderId: number): Promise<Task[]> {
  return list<Task>(pool, ORDER_TASKS, [orderId]);
}

/** How many tasks of a kind are open, and for how many seconds the oldest of them has been. */
export interface TaskCount {
  readonly kind: TaskKind;
  readonly count: number;
  readonly oldestSeconds: number;
}

/** The open tasks, by kind; kinds without any are left out. */
export function countOpenTasks(pool: pg.Pool): Promise<TaskCount[]> {
  return list<TaskCount>(pool, COUNT_OPEN);
}

/** Writes down that a person did a task; false when there is none of that number that is open. */
export async function closeTask(pool: pg.Pool, taskId: number, act: Act): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const values = [taskId, act.actor, formatId("k", taskId), act.reason ?? null];
    return (await client.query(CLOSE_TASK, values)).rowCount === 1;
  });
}

/** Writes down that what a task about a message asks for was done by another act, such as its replay. */
export async function closeTaskOfMessage(pool: pg.Pool, messageId: number, act: Act): Promise<void> {
  const [open] = await list<{ id: number }>(pool, OPEN_TASK_OF_MESSAGE, [messageId]);
  if (open !== undefined) await closeTask(pool, open.id, act);
}
