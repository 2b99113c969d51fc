import type pg from "pg";
import { list, narrowed, type Queryable, run, withoutNulls } from "../database.ts";

/** Stands behind the name of a person who acts in the console. */
export const IN_CONSOLE = " (console)";

/** Who did it and why, for the audit. */
export interface Act {
  /** The operating system's user, or the console's. */
  readonly actor: string;
  readonly reason?: string | undefined;
}

/** $1 actor, $2 action, $3 JSON array of {target, detail}. */
const INSERT_AUDIT = `
insert into audit (actor, action, target, detail)
select $1, $2, x.target, coalesce(x.detail, '{}')
  from jsonb_to_recordset($3::jsonb) as x(target text, detail jsonb)`;

/** Records what a person, or a connector for the lab, did or saw. */
export async function recordAudit(
  client: Queryable,
  { actor }: Act,
  action: string,
  targets: readonly { readonly target: string; readonly detail?: Readonly<Record<string, unknown>> }[],
): Promise<void> {
  await run(client, INSERT_AUDIT, [actor, action, JSON.stringify(targets)]);
}

/** Something that somebody did, or saw. */
export interface AuditEntry {
  readonly id: number;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  /** An id such as `o17`, or what else it was done to. */
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * Newest first; $1 text[] of the actor's names, $2 target, $3 before id, $4 action, $5 since, $6 limit, $7 whether searches by subject are left out; null for any. Indexes: the primary key,
 * audit_actor, audit_target.
 */
const LIST_AUDIT = `
select a.id, a.at, a.actor, a.action, a.target, a.detail
  from audit a
 where ($1::text[] is null or a.actor = any ($1))
   and ($2::text is null or a.target = $2)
   and ($3::bigint is null or a.id < $3)
   and ($4::text is null or a.action = $4)
   and ($5::timestamptz is null or a.at >= $5)
   and ($7::boolean is not true or a.detail->'search' is null)
 order by a.id desc
 limit $6`;

/** What was done and seen, newest first. */
export async function listAudit(
  pool: pg.Pool,
  filter: {
    /** A name; without where the person acts it finds what was done in either place. */
    readonly actor?: string | undefined;
    readonly target?: string | undefined;
    readonly action?: string | undefined;
    readonly since?: Date | undefined;
    /** Without the records that a search for a subject found, or did not. */
    readonly withoutSearches?: boolean;
    /** Entries before this one, for the next page. */
    readonly beforeId?: number | undefined;
    readonly limit: number;
  },
): Promise<AuditEntry[]> {
  const { actor, target, beforeId, action, since, limit, withoutSearches } = filter;
  const actors = actor === undefined ? undefined : [actor, `${actor}${IN_CONSOLE}`];
  const values = [actors, target, beforeId, action, since, limit, withoutSearches];
  return (await narrowed(pool, LIST_AUDIT, values)).map((row) => withoutNulls(row) as AuditEntry);
}

/**
 * Everybody who has done something, in the order of the alphabet: from one name to the next, however much each did.
 * Index: audit_actor.
 */
const ACTORS = `
with recursive known(actor) as (
  select min(a.actor) from audit a
   union all
  select (select min(a.actor) from audit a where a.actor > k.actor)
    from known k
   where k.actor is not null)
select k.actor
  from known k
 where k.actor is not null`;

/** Everybody who has done something, once each wherever it was. */
export async function listActors(pool: pg.Pool): Promise<string[]> {
  const actors = (await list<{ actor: string }>(pool, ACTORS)).map(({ actor }) => actor);
  return [...new Set(actors.map((actor) => actor.replace(IN_CONSOLE, "")))];
}
