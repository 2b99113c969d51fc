import type pg from "pg";
import { inOneWrite, inTransaction, prepared, run } from "./database.ts";
import { lockControlIds } from "./lock-messages.ts";

/** Few enough to keep the event loop for some ms only, many enough that the ways there and back cost little. */
const PAGE = 10_000;

/** Above every message's number. */
const BEHIND_ALL = "9223372036854775807";

/**
 * For a transaction that reads control ids. Of a table that it thinks small the planner would rather read all of it and
 * sort, for each page anew.
 */
export const BY_INDEX =
  "set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off";

/**
 * A page of the control ids of a connector's messages, whatever became of these, as one value: that costs half of what
 * rows cost. $1 connector, $2 and $3 the control id and number of a message behind which to go on, $4 how many.
 * Index: messages_control_id.
 */
export const READ_CONTROL_IDS = `
select count(*)::integer as count, max(p.control_id) as last, json_agg(p.control_id) as ids
  from (select m.message_control_id as control_id
          from messages m
         where m.connector = $1
           and m.message_control_id is not null
           and (m.message_control_id, m.id) > ($2::text, $3::bigint)
         order by m.connector, m.message_control_id, m.id
         limit $4) as p`;

interface Page {
  readonly count: number;
  readonly last: string | null;
  readonly ids: readonly string[] | null;
}

/**
 * All control ids (MSH-10) of a connector's messages, in pages: also of refused, ignored and waiting ones. An id comes at
 * least once, and more often where several messages of one page have it. A page goes on behind all messages with the last
 * one's id, so that a sender with one id for everything costs one page. What is committed meanwhile may be missing.
 *
 * @throws Failure LEDGER_UNAVAILABLE
 */
export async function* readControlIds(
  pool: pg.Pool,
  connector: string,
  most = PAGE,
): AsyncGenerator<readonly string[], void, void> {
  let behind: readonly string[] = ["", "0"];
  for (;;) {
    const { count, last, ids } = await inTransaction(pool, (client) =>
      readPage(client, [connector, ...behind, most]),
    );
    if (ids !== null) yield ids;
    if (count < most || last === null) return;
    behind = [last, BEHIND_ALL];
  }
}

async function readPage(client: pg.PoolClient, values: readonly unknown[]): Promise<Page> {
  await client.query(BY_INDEX);
  const { rows } = await client.query<Page>(READ_CONTROL_IDS, [...values]);
  return rows[0] as Page;
}

/** $1 connector. Index: waiting_keys' primary key. */
const HAS_WAITING = `
select exists (select 1 from waiting_keys w where w.connector = $1) as has_waiting`;

/**
 * Whether a message of the connector waits for a code table, or behind one that does, so that a later one about the same
 * must not overtake it.
 *
 * @throws Failure LEDGER_UNAVAILABLE
 */
export async function hasWaiting(pool: pg.Pool, connector: string): Promise<boolean> {
  const [row] = await run<{ has_waiting: boolean }>(pool, HAS_WAITING, [connector]);
  return row?.has_waiting === true;
}

/**
 * A query that has a row when a message of the connector $1 has one of the control ids of another parameter. Index:
 * messages_control_id.
 */
export const findControlIds = (parameter: "$2" | "$6") => `
select 1
  from unnest(${parameter}::text[]) as c(control_id)
 cross join lateral (select 1
                       from messages m
                      where m.connector = $1
                        and m.message_control_id = c.control_id
                      order by m.connector desc, m.message_control_id desc, m.id desc
                      limit 1) as before`;

/** $1 connector, $2 control ids. */
const HAS_CONTROL_ID = `select exists (${findControlIds("$2")}) as has_it`;

/**
 * Whether a message of the connector has one of these control ids; one that is being committed is waited for.
 *
 * @throws Failure LEDGER_UNAVAILABLE
 */
export async function hasControlId(
  pool: pg.Pool,
  connector: string,
  controlIds: readonly string[],
): Promise<boolean> {
  const [, { rows }] = await inOneWrite(pool, (client) => [
    lockControlIds(client, connector, controlIds),
    prepared<{ has_it: boolean }>(client, "has_control_id", HAS_CONTROL_ID, [connector, controlIds]),
  ]);
  return rows[0]?.has_it === true;
}
