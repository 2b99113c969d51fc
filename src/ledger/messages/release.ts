import type pg from "pg";
import { isNumberTaken, type Problem } from "../../core/failures.ts";
import type { MessageVerdict, Verdict } from "../../core/intake.ts";
import { inTransaction, narrowed } from "../database.ts";
import { formatId, parseId } from "../ids.ts";
import { RELEASE_LOCK } from "../locks.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { recordOutcomes } from "../results/outcomes.ts";
import { type Insert, withInsert } from "./commit.ts";
import type { MessageRecord } from "./record.ts";
import { findMessage, listStoredMessages, type StoredMessage } from "./views.ts";
import { forgetWaitingKeys } from "./waiting.ts";

/**
 * Waiting messages to be mapped again, oldest first; $1 after this id, $2 connector, $3 code that they wait for, null for
 * any, $4 whether only those that wait for an earlier message, $5 how many. Those always come along.
 * Index: messages_unaccepted.
 */
const FIND_WAITING = `
select m.id
  from messages m
 where m.verdict = 'waiting'
   and m.id > $1
   and ($2::text is null or m.connector = $2)
   and (m.problems @> '[{"code": "MAPPING_EARLIER_WAITS"}]'
        or (not $4 and ($3::text is null or m.problems @> jsonb_build_array(jsonb_build_object('unknownCode', $3::text)))))
 order by m.id
 limit $5
   for no key update`;

const BATCH = 200;

/**
 * These waiting messages and the later ones about the same order numbers, oldest first: an order may not go out while the
 * message that cancels or changes it waits for the next batch. $1 ids. Indexes: waiting_keys_message, the primary keys.
 */
const WITH_BEHIND = `
  with recursive behind (id) as (
         select unnest($1::bigint[])
          union
         select later.message_id
           from behind b
           join waiting_keys own on own.message_id = b.id
                                and own.key like 'n:%'
           join waiting_keys later on later.connector = own.connector
                                  and later.key = own.key
                                  and later.message_id > own.message_id)
select m.id
  from messages m
 where m.id in (select b.id from behind b)
   and m.verdict = 'waiting'
 order by m.id
   for no key update`;

/** Which waiting messages to map again. */
export interface ReleaseFilter {
  readonly connector?: string | undefined;
  /** The facility or operation code that they wait for; what waits for those messages comes along. */
  readonly code?: string | undefined;
  /** Only those that wait for an earlier message. */
  readonly isEarlierOnly?: boolean | undefined;
}

/** A message that waited and doesn't any more. */
export interface Released {
  readonly messageId: string;
  readonly connector: string;
  readonly verdict: Exclude<Verdict, "waiting">;
  readonly orderIds: readonly string[];
  readonly problems: readonly Problem[];
}

/** Hears of each message that doesn't wait any more, once that is committed: there may be too many to hold them all. */
export type OnReleased = (message: Released) => void;

/**
 * Maps waiting messages again, in the order in which they came, and makes orders of those that map now, answered to the
 * lab. Each batch is one transaction in which messages stop waiting, with later ones about the same order, and their orders
 * appear: a crash loses none and makes none twice, and an order is cancelled before it could be sent. What doesn't map yet,
 * and what came after it for the same subject, waits on.
 *
 * @param map the record of a message, by the present configuration; undefined when there is nothing to map it by
 * @throws Failure LEDGER_UNAVAILABLE
 */
export async function releaseMessages(
  pool: pg.Pool,
  map: (message: StoredMessage) => MessageRecord | undefined,
  filter: ReleaseFilter = {},
  onReleased: OnReleased = () => {},
): Promise<void> {
  // A message may have begun to wait for one that was released at that moment.
  while (await releasePass(pool, map, filter, onReleased));
}

/** Whether a message was released. */
async function releasePass(
  pool: pg.Pool,
  map: (message: StoredMessage) => MessageRecord | undefined,
  filter: ReleaseFilter,
  onReleased: OnReleased,
): Promise<boolean> {
  let isAny = false;
  for (let after = 0; ; ) {
    const batch = await withInsert(pool, (client, insert) =>
      releaseBatch(client, insert, { map, filter, after }),
    );
    batch.released.forEach(onReleased);
    isAny ||= batch.released.length > 0;
    if (batch.last === undefined) return isAny;
    after = batch.last;
  }
}

interface BatchSettings {
  readonly map: (message: StoredMessage) => MessageRecord | undefined;
  readonly filter: ReleaseFilter;
  readonly after: number;
}

async function releaseBatch(
  client: pg.PoolClient,
  insert: Insert,
  { map, filter, after }: BatchSettings,
): Promise<{ released: Released[]; last: number | undefined }> {
  await client.query("select pg_advisory_xact_lock($1)", [RELEASE_LOCK]);
  const values = [after, filter.connector, filter.code, filter.isEarlierOnly === true, BATCH];
  const rows = await narrowed<{ id: number }>(client, FIND_WAITING, values);
  const released: Released[] = [];
  let run: { connector: string; records: MessageRecord[] } | undefined;
  const insertGathered = async () => {
    if (run) released.push(...(await insertRun(client, insert, run)));
    run = undefined;
  };
  const first = rows.map(({ id }) => id);
  const behind = first.length === 0 ? [] : (await client.query<{ id: number }>(WITH_BEHIND, [first])).rows;
  for (const message of await listStoredMessages(
    client,
    behind.map(({ id }) => id),
  )) {
    const record = map(message);
    if (!record) continue;
    // Messages of all connectors keep their order; those of one that stand together are inserted together.
    if (run && run.connector !== message.connector) await insertGathered();
    run ??= { connector: message.connector, records: [] };
    run.records.push({ ...record, waitedAs: parseId("m", message.messageId) });
  }
  await insertGathered();
  return { released, last: first.at(-1) };
}

async function insertRun(
  client: pg.PoolClient,
  insert: Insert,
  { connector, records }: { readonly connector: string; readonly records: readonly MessageRecord[] },
): Promise<Released[]> {
  const verdicts = await insert(client, { fileId: null, connector }, records);
  return verdicts.flatMap((verdict, index): Released[] => {
    const id = records[index]?.waitedAs;
    return id === undefined || verdict.verdict === "waiting"
      ? []
      : [toReleased(id, connector, verdict, verdict.verdict)];
  });
}

function toReleased(
  id: number,
  connector: string,
  { orders, problems }: MessageVerdict,
  verdict: Released["verdict"],
): Released {
  return {
    messageId: formatId("m", id),
    connector,
    verdict,
    orderIds: orders.map(({ orderId }) => orderId),
    problems,
  };
}

/** What the lab was sent about a message that waits; $1 id. Index: outcomes_message. */
const WAITING_PAYLOAD = `
select t.payload
  from outcomes t
 where t.message_id = $1
   and t.kind = 'waiting'
 limit 1`;

/** A message that waits is given up; $1 id, $2 problems as JSON. */
const DISCARD = `
update messages
   set verdict = 'refused',
       problems = $2,
       released_at = now()
 where id = $1
   and verdict = 'waiting'
returning id`;

/**
 * Gives a waiting message up, by a person's decision: it is reported to the lab as refused. What waits for it may be
 * released afterwards.
 *
 * @returns false when it doesn't wait (any more).
 */
export async function discardMessage(pool: pg.Pool, messageId: number, act: Act): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const message = await findMessage(client, messageId);
    if (!message) return false;
    const problem: Problem = {
      code: "ORDER_DISCARDED",
      place: message.place,
      message: "discarded by an operator while it waited",
    };
    const problems = [problem, ...message.problems.filter((each) => isNumberTaken([each]))];
    const { rowCount } = await client.query(DISCARD, [messageId, JSON.stringify(problems)]);
    if (rowCount === 0) return false;
    await forgetWaitingKeys(client, [messageId]);
    const [waiting] = (await client.query<{ payload: object }>(WAITING_PAYLOAD, [messageId])).rows;
    await recordOutcomes(client, [
      {
        connector: message.connector,
        message_id: messageId,
        order_ids: [],
        kind: "refused",
        // Its number and what else was read of it are those that the lab was sent when it came.
        payload: { ...waiting?.payload, problems },
      },
    ]);
    const target = { target: formatId("m", messageId), detail: { reason: act.reason } };
    await recordAudit(client, act, "discard", [target]);
    return true;
  });
}
