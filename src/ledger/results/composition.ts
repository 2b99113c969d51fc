import type pg from "pg";
import { Failure } from "../../core/failures.ts";
import { inTransaction } from "../database.ts";
import { formatId } from "../ids.ts";
import type { ComposedDelivery, Composition, UncomposedOutcome } from "./outcomes.ts";
import { noteUnreportedRefusals } from "./tasks.ts";

/** The orders that an outcome of this alias is about: one, several or none. Index: the primary key of outcome_orders. */
const ordersOf = (alias: string): string =>
  `select ${alias}.order_id where ${alias}.order_id is not null
          union all
         select s.order_id from outcome_orders s where s.outcome_id = ${alias}.id`;

/**
 * Deliveries, in this order: their ids are the order in which they are sent. Where there are no bytes, no message could be made,
 * and a person has to see to it. $1 connector, $2 names, $3 bytes, $4 codes, $5 texts, $6 outcome ids, $7 which of the
 * deliveries each of these is in, from 1.
 */
const INSERT_DELIVERIES = `
with about as materialized (
  select a.nth, array_agg(distinct o.order_id) filter (where o.order_id is not null) as order_ids,
         bool_and(t.kind in ('acknowledged', 'waiting')) as is_answer
    from unnest($6::bigint[], $7::bigint[]) as a(outcome_id, nth)
    join outcomes t on t.id = a.outcome_id
    left join lateral (${ordersOf("t")}) o on true
   group by a.nth)
insert into deliveries (connector, file_name, bytes, state, failure_code, failure_text, order_ids, is_answer)
select $1, x.file_name, x.bytes, case when x.bytes is null then 'parked' else 'pending' end, x.code, x.text,
       coalesce(about.order_ids, '{}'), about.is_answer
  from unnest($2::text[], $3::bytea[], $4::text[], $5::text[]) with ordinality as x(file_name, bytes, code, text, nth)
  join about on about.nth = x.nth
 order by x.nth
returning id`;

/**
 * $1 outcome ids, $2 their deliveries or null, $3 connector. What another process has composed meanwhile is left alone, and
 * what a person moved to another connector.
 */
const MARK_COMPOSED = `
update outcomes t
   set is_composed = true,
       delivery_id = x.delivery_id
  from unnest($1::bigint[], $2::bigint[]) as x(outcome_id, delivery_id)
 where t.id = x.outcome_id
   and t.connector = $3
   and not t.is_composed`;

/**
 * Keeps composed deliveries and marks their outcomes, in one transaction.
 *
 * @throws Failure LEDGER_CONTENDED when another process has composed some of them meanwhile; nothing is kept then.
 */
export async function recordComposition(
  pool: pg.Pool,
  connector: string,
  composition: Composition,
): Promise<void> {
  const { unreported } = composition;
  const made = inOrder(composition);
  await inTransaction(pool, async (client) => {
    const deliveryIds = await insertDeliveries(client, connector, made);
    const marks = [
      ...made.flatMap(({ outcomeIds }, index) => outcomeIds.map((id) => [id, deliveryIds[index]] as const)),
      ...unreported.map((id) => [id, null] as const),
    ];
    await markComposed(client, connector, marks);
    if (unreported.length > 0) await noteUnreportedRefusals(client, unreported);
  });
}

type Made = Pick<ComposedDelivery, "outcomeIds"> & {
  readonly fileName: string;
  readonly bytes: Buffer | null;
  readonly failure: Pick<UncomposedOutcome, "code" | "text"> | undefined;
};

/** Deliveries, made or not, by what happened first. */
function inOrder({ deliveries, uncomposed }: Composition): Made[] {
  const unmade = uncomposed.map(({ outcomeId, code, text }) => ({
    outcomeIds: [outcomeId],
    fileName: `(${formatId("t", outcomeId)} could not be composed)`,
    bytes: null,
    failure: { code, text },
  }));
  const first = ({ outcomeIds }: Made) => Math.min(...outcomeIds);
  return [...deliveries.map((each) => ({ ...each, failure: undefined })), ...unmade].sort(
    (a, b) => first(a) - first(b),
  );
}

async function insertDeliveries(
  client: pg.PoolClient,
  connector: string,
  made: readonly Made[],
): Promise<number[]> {
  if (made.length === 0) return [];
  const { rows } = await client.query<{ id: number }>(INSERT_DELIVERIES, [
    connector,
    made.map(({ fileName }) => fileName),
    made.map(({ bytes }) => bytes),
    made.map(({ failure }) => failure?.code ?? null),
    made.map(({ failure }) => failure?.text ?? null),
    made.flatMap(({ outcomeIds }) => outcomeIds),
    made.flatMap(({ outcomeIds }, index) => outcomeIds.map(() => index + 1)),
  ]);
  return rows.map(({ id }) => id);
}

async function markComposed(
  client: pg.PoolClient,
  connector: string,
  marks: readonly (readonly [outcomeId: number, deliveryId: number | null | undefined])[],
): Promise<void> {
  const { rowCount } = await client.query(MARK_COMPOSED, [
    marks.map(([outcomeId]) => outcomeId),
    marks.map(([, deliveryId]) => deliveryId ?? null),
    connector,
  ]);
  if (rowCount === marks.length) return;
  throw new Failure(
    "LEDGER_CONTENDED",
    "the same results were composed or moved by another process at this moment",
  );
}

/** The parked delivery of an outcome that is composed again; $1 id. Index: the primary key. */
const LOCK_PARKED =
  "select id from deliveries where id = $1 and state = 'parked' and bytes is null for update";

/** It is sent in its place; $1 id, $2 file name, $3 bytes. Index: the primary key. */
const FILL_DELIVERY = `
update deliveries
   set file_name = $2,
       bytes = $3,
       state = 'pending',
       next_at = now(),
       failure_code = null,
       failure_text = null
 where id = $1`;

/** No message could be made this time either; $1 id, $2 code, $3 text. Index: the primary key. */
const STILL_UNCOMPOSED = "update deliveries set failure_code = $2, failure_text = $3 where id = $1";

/** The profile doesn't report it any more; $1 id. Index: the primary key. */
const FORGET_DELIVERY = "delete from deliveries where id = $1";

/** Keeps what was composed again of one outcome in the place of the delivery that it was parked as. */
export async function recordComposedAnew(
  pool: pg.Pool,
  connector: string,
  { outcomeId, parkedAs }: { readonly outcomeId: number; readonly parkedAs: number },
  { deliveries: [made], uncomposed: [failed] }: Composition,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    // A person may have given it up meanwhile, and its outcome with it.
    if ((await client.query(LOCK_PARKED, [parkedAs])).rowCount === 0) return;
    await markComposed(client, connector, [[outcomeId, made || failed ? parkedAs : null]]);
    if (made) await client.query(FILL_DELIVERY, [parkedAs, made.fileName, made.bytes]);
    else if (failed) await client.query(STILL_UNCOMPOSED, [parkedAs, failed.code, failed.text]);
    else {
      await client.query(FORGET_DELIVERY, [parkedAs]);
      await noteUnreportedRefusals(client, [outcomeId]);
    }
  });
}
