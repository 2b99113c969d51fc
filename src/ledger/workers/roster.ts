import type pg from "pg";
import type { Condition } from "../../core/condition.ts";
import type { ServiceNews, ServiceOutage } from "../../core/service-outage.ts";
import type { Quota } from "../../core/service-quota.ts";
import { inTransaction, list, run, withSession } from "../database.ts";
import { formatId } from "../ids.ts";
import { CALLER_LOCK, ENTRY_LOCK, WORKER_LOCK } from "../locks.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { releaseAbandoned } from "../orders/submission.ts";
import { HAS_LOCK, holdersOf, IS_GONE, LEAD, LEADS, workLock } from "./alive.ts";
import type { ConfigurationState } from "./configuration.ts";

/** How a worker introduces itself. */
export interface NewWorker {
  /** What a person calls it. Several may have one name. */
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly roles: readonly string[];
  readonly connectors: readonly string[];
}

const REGISTER = `
insert into workers (name, host, pid, version, roles, connectors, sessions)
values ($1, $2, $3, $4, $5, $6, $7)
returning id`;

/**
 * Enters a worker; gives its id.
 *
 * @param sessions the `application_name` of all its sessions, and of nobody else's: they are ended with it
 */
export async function registerWorker(pool: pg.Pool, worker: NewWorker, sessions?: string): Promise<number> {
  const { name, host, pid, version, roles, connectors } = worker;
  const values = [name, host, pid, version, roles, connectors, sessions ?? null];
  return inTransaction(pool, async (client) => {
    await client.query("select pg_advisory_xact_lock_shared($1)", [ENTRY_LOCK]);
    const [row] = (await client.query<{ id: number }>(REGISTER, values)).rows;
    if (!row) throw new RangeError("the ledger gave the worker no number");
    return row.id;
  });
}

/** Lets no worker enter, on whichever machine, during `work`: those that start meanwhile wait for its end. */
export function lettingNobodyIn<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T> {
  return withSession(pool, async (client) => {
    await run(client, "select pg_advisory_lock($1)", [ENTRY_LOCK]);
    return work();
  });
}

/** How many commands call the service a lot. */
const CALLING_COMMANDS = `(select count(*)::integer from (${holdersOf(CALLER_LOCK, "0")}) c)`;

/** Of service_pause p: how long the service wants to be left alone, and how many calls it takes. */
const LIMITS = `
       extract(epoch from greatest(p.asked_until, now()) - now())::float8 * 1000 as "pauseMs",
       p.header_quotas as "headerQuotas",
       extract(epoch from now() - p.header_at)::float8 * 1000 as "headerAgeMs",
       p.learned_quotas as "learnedQuotas",
       extract(epoch from now() - p.learned_at)::float8 * 1000 as "learnedAgeMs"`;

/** Index: workers_alive. */
const WORKER_IDS = `
       array(select w.id
               from workers w
              where w.ended_at is null
                and 'worker' = any (w.roles)
              order by w.id)`;

/**
 * Shows that a worker lives, makes it the leader where there is none, and gives it what the others report. No row: it was taken for
 * dead. The lead is a lock of the worker's session, which the heartbeat runs on. $1 its id, $2 whether it would lead, $3 whether it
 * does. Indexes: the primary key, workers_alive.
 */
export const HEARTBEAT = `
with me as (
  update workers
     set heartbeat_at = now()
   where id = $1
     and ended_at is null
  returning drain_at is not null as is_draining,
            coalesce(extract(epoch from reload_at)::float8, 0) as reload)
select me.is_draining as "isDraining",
       me.reload as "reload",
       case
         when $2 and not me.is_draining and $3 then true
         when $2 and not me.is_draining then pg_try_advisory_lock(${workLock(LEAD)})
         when $3 then not pg_advisory_unlock(${workLock(LEAD)})
         else false
       end as "isLeader",
       ${WORKER_IDS} as "workerIds",
       ${CALLING_COMMANDS} as commands,
       array(select w.id
               from workers w
              where w.ended_at is null
                and w.id <> $1
                and ${IS_GONE}) as gone,
       g.epoch::float8 as epoch, g.restores,
       extract(epoch from now())::float8 * 1000 as "nowMs",
       p.cause, p.text, p.since,
       extract(epoch from now() - coalesce(p.failing_since, now()))::float8 * 1000 as "failingMs",
       extract(epoch from greatest(p.until_at, now()) - now())::float8 * 1000 as "leftMs",
       ${LIMITS}
  from me
 cross join ledger g
 cross join service_pause p`;

/** What a heartbeat says; of the service what {@link newsOf} makes of it. */
export interface Heartbeat extends Omit<ServiceOutage, "cause">, Pick<ServiceNews, "pauseMs"> {
  /** Null while nothing holds calls back. */
  readonly cause: ServiceOutage["cause"] | null;
  readonly isDraining: boolean;
  /** Which request to reload is the last; 0 before the first. */
  readonly reload: number;
  readonly isLeader: boolean;
  /** The ids of the daemons with the role `worker`, this one included, in ascending order. */
  readonly workerIds: readonly number[];
  /** How many commands call the service beside them. */
  readonly commands: number;
  /** How many calls the service takes, and how long ago it said so, ms; null where it never did. */
  readonly headerQuotas: readonly Quota[];
  readonly headerAgeMs: number | null;
  /** The same as learned from what it refused. */
  readonly learnedQuotas: readonly Quota[];
  readonly learnedAgeMs: number | null;
  /** Those that are gone and have left things in hand. */
  readonly gone: readonly number[];
  /** How far the ledger has come, and how often it was found to be an older copy. */
  readonly epoch: number;
  readonly restores: number;
  /** The time by the database's clock, ms since 1970. */
  readonly nowMs: number;
}

/** What a heartbeat says of the service. */
export function newsOf(
  said: Omit<Heartbeat, "isDraining" | "reload" | "isLeader" | "gone" | "epoch" | "restores" | "nowMs">,
): ServiceNews {
  const { workerIds, commands, pauseMs, cause, text, since, failingMs, leftMs } = said;
  const outage = cause === null ? undefined : { cause, text, since, failingMs, leftMs };
  const { headerQuotas, headerAgeMs, learnedQuotas, learnedAgeMs } = said;
  const header = { source: "header", quotas: headerQuotas, ageMs: headerAgeMs } as const;
  const learned = { source: "learned", quotas: learnedQuotas, ageMs: learnedAgeMs } as const;
  const quotas = [header, learned].flatMap(({ ageMs, ...each }) =>
    ageMs === null ? [] : [{ ...each, ageMs }],
  );
  return { callers: Math.max(1, workerIds.length + commands), outage, pauseMs, quotas };
}

/** Index: workers_alive. */
const SERVICE_NEWS = `
select ${WORKER_IDS} as "workerIds",
       ${CALLING_COMMANDS} as commands,
       p.cause, p.text, p.since,
       extract(epoch from now() - coalesce(p.failing_since, now()))::float8 * 1000 as "failingMs",
       extract(epoch from greatest(p.until_at, now()) - now())::float8 * 1000 as "leftMs",
       ${LIMITS}
  from service_pause p`;

/** What a command that calls the service beside the workers has to keep to. */
export async function readServiceNews(pool: pg.Pool): Promise<ServiceNews> {
  const [said] = await run<Parameters<typeof newsOf>[0]>(pool, SERVICE_NEWS);
  if (said === undefined)
    throw new RangeError("the ledger has no row service_pause; its migrations did not run");
  return newsOf(said);
}

/** Has the workers make room for the calls of `work`: they count its command as one more, by a lock on a session of its own. */
export function asCaller<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T> {
  return withSession(pool, async (client) => {
    await run(client, "select pg_advisory_lock_shared($1, 0)", [CALLER_LOCK]);
    return work();
  });
}

/** $1 ids. Somebody else may have ended them meanwhile, or they live again. */
const END_GONE = `
update workers w
   set ended_at = now(),
       ended_as = 'lost'
 where w.id = any ($1)
   and w.ended_at is null
   and ${IS_GONE}
returning w.id, w.name`;

/** Sessions of a process that is frozen, or whose machine is gone, keep what they locked otherwise; $1 ids. */
const END_SESSIONS = `
select pg_terminate_backend(a.pid)
  from pg_stat_activity a
 where a.datname = current_database()
   and a.pid <> pg_backend_pid()
   and (a.application_name in (select w.sessions from workers w where w.id = any ($1))
        or a.pid in (${holdersOf(WORKER_LOCK, "any ($1::oid[])")}))`;

/** Workers that were found to be gone, and how many orders they had in hand. */
export interface TakenOver {
  readonly workers: readonly { readonly id: number; readonly name: string }[];
  readonly orders: number;
}

/** Takes over what workers that are gone had in hand. Of several that try at once, one does. */
export async function takeOver(pool: pg.Pool, gone: readonly number[]): Promise<TakenOver> {
  return inTransaction(pool, async (client) => {
    const { rows: workers } = await client.query<{ id: number; name: string }>(END_GONE, [gone]);
    if (workers.length === 0) return { workers, orders: 0 };
    const ids = workers.map(({ id }) => id);
    await client.query(END_SESSIONS, [ids]);
    return { workers, orders: await releaseAbandoned(client, 0) };
  });
}

const END = `
update workers
   set ended_at = now(),
       ended_as = 'stopped'
 where id = $1
   and ended_at is null`;

/** Notes that a worker stopped by itself. What it still has in hand is free. */
export async function endWorker(pool: pg.Pool, id: number): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(END, [id]);
    await releaseAbandoned(client, id);
  });
}

/** A worker, as people see it. */
export interface WorkerView extends NewWorker {
  readonly id: number;
  readonly startedAt: Date;
  readonly heartbeatAt: Date;
  readonly silentMs: number;
  /** Whether it lives: others have not taken over, and its session is there. */
  readonly isAlive: boolean;
  readonly isLeader: boolean;
  readonly drainAt: Date | null;
  /** Which request to reload is the last; 0 before the first. */
  readonly reload: number;
  /** Null until it has written it down. */
  readonly configuration: ConfigurationState | null;
  readonly endedAt: Date | null;
  readonly endedAs: "stopped" | "lost" | null;
  /** Orders that it works on right now. */
  readonly inHand: number;
  /** What keeps it from its work, as it said last. */
  readonly conditions: readonly (Pick<Condition, "kind" | "about" | "text"> & Partial<Condition>)[];
}

/** $1 how long ago a worker that is listed may have ended, ms. */
const LIST = `
select w.id, w.name, w.host, w.pid, w.version, w.roles, w.connectors, w.started_at as "startedAt",
       w.heartbeat_at as "heartbeatAt", w.drain_at as "drainAt", w.ended_at as "endedAt", w.ended_as as "endedAs",
       coalesce(extract(epoch from w.reload_at)::float8, 0) as reload, w.configuration, w.conditions,
       greatest(0, extract(epoch from now() - w.heartbeat_at) * 1000)::bigint as "silentMs",
       w.ended_at is null and ${HAS_LOCK} as "isAlive",
       w.ended_at is null and ${LEADS} as "isLeader",
       (select count(*)::integer from orders o where o.state = 'submitting' and o.owner = w.id) as "inHand"
  from workers w
 where w.ended_at is null
    or w.ended_at > now() - $1 * interval '1 millisecond'
 order by w.ended_at desc nulls first, w.started_at, w.id`;

/** A person who looks is shown those that ended within this time, ms. */
const ENDED_WITHIN_MS = 86_400_000;

/** The workers that there are, and those that ended at most `endedWithinMs` ago; a day unless given. */
export function listWorkers(pool: pg.Pool, endedWithinMs = ENDED_WITHIN_MS): Promise<WorkerView[]> {
  return list<WorkerView>(pool, LIST, [endedWithinMs]);
}

const IS_WORKER_THERE = `
select exists (
  select 1
    from workers w
   where w.ended_at is null
     and 'worker' = any (w.roles)
     and ${HAS_LOCK}) as is_there`;

/** Whether a daemon works off this ledger's orders right now. */
export async function isWorkerThere(pool: pg.Pool): Promise<boolean> {
  const [row] = await run<{ is_there: boolean }>(pool, IS_WORKER_THERE);
  return row?.is_there === true;
}

/** Index: workers_alive. $1 the worker that asks. */
const HAS_ANOTHER_COMPARED = `
select exists (
  select 1
    from workers w
   where w.ended_at is null
     and w.has_compared
     and w.id <> $1
     and ${HAS_LOCK}) as is_so`;

/**
 * Whether another worker that lives has compared the ledger with its own epoch file, so that a worker without one need not take
 * the ledger for an older copy.
 */
export async function hasAnotherCompared(pool: pg.Pool, self: number): Promise<boolean> {
  const [row] = await run<{ is_so: boolean }>(pool, HAS_ANOTHER_COMPARED, [self]);
  return row?.is_so === true;
}

/** Notes that a worker has. $1 its id. */
export async function noteCompared(pool: pg.Pool, self: number): Promise<void> {
  await run(pool, "update workers set has_compared = true where id = $1", [self]);
}

/** $1 the worker's id, or $2 its name; all of them where both are null. Index: workers_alive. */
const DRAIN = `
update workers
   set drain_at = coalesce(drain_at, now())
 where ended_at is null
   and (id = $1::bigint or name = $2 or ($1::bigint is null and $2::text is null))
returning id`;

/**
 * Asks a worker to stop once it has done what it has in hand; several where they have one name.
 *
 * @returns the ids of those that were asked
 */
export async function drainWorkers(
  pool: pg.Pool,
  which: { readonly name: string } | { readonly id: number },
  by: Act,
): Promise<number[]> {
  return drain(pool, ["id" in which ? which.id : null, "name" in which ? which.name : null], by);
}

/** Asks all workers to stop once they have done what they have in hand. @returns their ids */
export function drainAllWorkers(pool: pg.Pool, by: Act): Promise<number[]> {
  return drain(pool, [null, null], by);
}

async function drain(pool: pg.Pool, which: readonly [id: number | null, name: string | null], by: Act) {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ id: number }>(DRAIN, [...which]);
    const targets = rows.map(({ id }) => ({ target: formatId("w", id), detail: { reason: by.reason } }));
    await recordAudit(client, by, "drain-worker", targets);
    return rows.map(({ id }) => id);
  });
}
