import type pg from "pg";
import { Failure } from "../core/failures.ts";
import { inTransaction } from "./database.ts";
import { formatId } from "./ids.ts";
import {
  type ComposedDelivery,
  type Composition,
  INSERT_DELIVERY,
  type UncomposedOutcome,
} from "./outcomes.ts";
import { noteUntoldRefusals } from "./untold-refusals.ts";

/** Those of these outcomes that are composed anew, and the deliveries as which they are parked; $1 outcome ids. Index: the primary keys. */
const PARKED_PLACES = `
select t.id as outcome_id, d.id as delivery_id
  from outcomes t
  join deliveries d on d.id = t.delivery_id
 where t.id = any ($1)
   and not t.is_composed
   and d.state = 'parked'
   and d.bytes is null`;

/** Fills such a delivery, so that it goes out in its place; $1 id, $2 file name, $3 bytes. */
const FILL_DELIVERY = `
update deliveries
   set file_name = $2,
       bytes = $3,
       state = 'pending',
       next_at = now(),
       failure_code = null,
       failure_text = null
 where id = $1`;

/** It could not be composed this time either; $1 id, $2 code, $3 text. */
const STILL_UNCOMPOSED = `
update deliveries
   set failure_code = $2,
       failure_text = $3
 where id = $1`;

/** Deliveries that nothing is left to be sent of; $1 ids. */
const FORGET_DELIVERIES = "delete from deliveries where id = any ($1)";

/** A delivery that there is nothing to send of yet; $1 connector, $2 file name, $3 code, $4 text. */
const INSERT_UNCOMPOSED = `
insert into deliveries (connector, file_name, state, failure_code, failure_text)
values ($1, $2, 'parked', $3, $4)
returning id`;

/** $1 delivery id or null, $2 outcome ids. What another process has composed meanwhile is left alone. */
const MARK_COMPOSED = `
update outcomes
   set is_composed = true,
       delivery_id = $1
 where id = any ($2)
   and not is_composed`;

/**
 * Keeps composed deliveries and marks their outcomes, in one transaction. What is composed anew takes the delivery that
 * it was parked as.
 *
 * @throws Failure LEDGER_CONTENDED when another process has composed some of them meanwhile; nothing is kept then.
 */
export async function recordComposition(
  pool: pg.Pool,
  connector: string,
  composition: Composition,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const mark = async (deliveryId: number | null, outcomeIds: readonly number[]) => {
      const { rowCount } = await client.query(MARK_COMPOSED, [deliveryId, outcomeIds]);
      if (rowCount === outcomeIds.length) return;
      throw new Failure("LEDGER_CONTENDED", "another process has composed the same results at this moment");
    };
    const places = await findParkedPlaces(client, composition);
    const takePlace = (outcomeIds: readonly number[]) => {
      const taken = outcomeIds.flatMap((id) => places.get(id) ?? []);
      for (const id of outcomeIds) places.delete(id);
      return taken;
    };
    const insert = async (statement: string, values: readonly unknown[]) =>
      (await client.query<{ id: number }>(statement, [connector, ...values])).rows[0]?.id ?? null;
    const leftOver: number[] = [];
    for (const made of inOrder(composition)) {
      const { outcomeIds } = made;
      const [place, ...others] = takePlace(outcomeIds);
      leftOver.push(...others);
      if ("bytes" in made) {
        const { fileName, bytes } = made;
        if (place !== undefined) await client.query(FILL_DELIVERY, [place, fileName, bytes]);
        await mark(place ?? (await insert(INSERT_DELIVERY, [fileName, bytes])), outcomeIds);
      } else {
        const { code, text } = made;
        if (place !== undefined) await client.query(STILL_UNCOMPOSED, [place, code, text]);
        const name = `(${formatId("t", made.outcomeId)} could not be composed)`;
        await mark(place ?? (await insert(INSERT_UNCOMPOSED, [name, code, text])), outcomeIds);
      }
    }
    if (composition.untold.length > 0) {
      leftOver.push(...takePlace(composition.untold));
      await mark(null, composition.untold);
      await noteUntoldRefusals(client, composition.untold);
    }
    if (leftOver.length > 0) await client.query(FORGET_DELIVERIES, [leftOver]);
  });
}

/** Deliveries, made or not, by what happened first: their ids are the order in which they go out. */
function inOrder({
  deliveries,
  uncomposed,
}: Composition): (ComposedDelivery | (UncomposedOutcome & { readonly outcomeIds: readonly number[] }))[] {
  const unmade = uncomposed.map((each) => ({ ...each, outcomeIds: [each.outcomeId] }));
  const first = ({ outcomeIds }: { readonly outcomeIds: readonly number[] }) => Math.min(...outcomeIds);
  return [...deliveries, ...unmade].sort((a, b) => first(a) - first(b));
}

async function findParkedPlaces(
  client: pg.PoolClient,
  { deliveries, untold, uncomposed }: Composition,
): Promise<Map<number, number>> {
  const outcomeIds = [
    ...deliveries.flatMap((each) => each.outcomeIds),
    ...untold,
    ...uncomposed.map(({ outcomeId }) => outcomeId),
  ];
  const { rows } = await client.query<{ outcome_id: number; delivery_id: number }>(PARKED_PLACES, [
    outcomeIds,
  ]);
  return new Map(rows.map((row) => [row.outcome_id, row.delivery_id]));
}
