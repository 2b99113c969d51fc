import type pg from "pg";
import { inTransaction, list } from "../database.ts";
import { formatId } from "../ids.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { recordEvents } from "../orders/events.ts";

/** Results that the lab has wait for their turn once more, with the names and bytes that they had; $1 bigint[]. Index: the primary key. */
const SEND_AGAIN = `
update deliveries
   set state = 'pending',
       attempts = 0,
       own_failures = 0,
       next_at = now(),
       delivered_at = null
 where id = any ($1)
   and state = 'delivered'
   and bytes is not null
returning id, order_ids as "orderIds"`;

/**
 * Sends a result again that the lab has: the same name and the same bytes, before what waits of its orders and was made
 * later. The audit and the orders' timelines have who wanted it.
 *
 * @returns false where it isn't sent yet, was given up, or its bytes are not kept any more
 */
export async function resendDelivery(pool: pg.Pool, deliveryId: number, act: Act): Promise<boolean> {
  return inTransaction(pool, async (client) => (await resend(client, [deliveryId], act)) === 1);
}

/** @returns how many of them are sent again */
async function resend(client: pg.PoolClient, deliveryIds: readonly number[], act: Act): Promise<number> {
  const { rows } = await client.query<{ id: number; orderIds: number[] }>(SEND_AGAIN, [deliveryIds]);
  const { actor, reason } = act;
  await recordEvents(
    client,
    rows.flatMap(({ id, orderIds }) =>
      orderIds.map((orderId) => ({
        ...{ orderId, kind: "resend_asked", detail: { actor, reason, deliveryId: formatId("d", id) } },
      })),
    ),
  );
  const targets = rows.map(({ id }) => ({ target: formatId("d", id), detail: { reason } }));
  if (targets.length > 0) await recordAudit(client, act, "resend", targets);
  return rows.length;
}

/** The file whose bytes came again; $1 id of the repeated one. Index: the primary key. */
const FIRST_FILE = `
select f.id, f.file_name as "fileName"
  from files d
  join files f on f.id = d.first_file_id
 where d.id = $1`;

/**
 * What answered the messages of a file, and the file as a whole; $1 file id, $2 connector, $3 name of the response to its
 * batches. Indexes: messages (file_id, ordinal), outcomes_message, deliveries (connector, file_name).
 */
const ANSWERS_OF_FILE = `
select t.delivery_id as id
  from messages m
  join outcomes t on t.message_id = m.id
 where m.file_id = $1
   and t.kind <> 'changed'
   and t.delivery_id is not null
 union
select d.id
  from deliveries d
 where d.connector = $2
   and d.file_name = $3`;

/**
 * Sends the answers to a file again, since its bytes came once more: the same names and bytes.
 *
 * @param repeatId the file that came now
 * @param nameResponse how the response to the batches of a file is called
 * @returns how many are sent again: those that were sent, and are kept
 */
export async function resendAnswers(
  pool: pg.Pool,
  repeatId: number,
  connector: string,
  nameResponse: (fileName: string, fileId: number) => string,
): Promise<number> {
  return inTransaction(pool, async (client) => {
    const [first] = (await client.query<{ id: number; fileName: string }>(FIRST_FILE, [repeatId])).rows;
    if (first === undefined) return 0;
    const values = [first.id, connector, nameResponse(first.fileName, first.id)];
    const { rows } = await client.query<{ id: number }>(ANSWERS_OF_FILE, values);
    const reason = `${formatId("f", first.id)} came again as ${formatId("f", repeatId)}`;
    const ids = rows.map(({ id }) => id);
    return resend(client, ids, { actor: `connector ${connector}`, reason });
  });
}

/** $1 id. Index: the primary key. */
const BYTES = "select d.bytes from deliveries d where d.id = $1 and d.bytes is not null";

/** The bytes of a result, as they were or will be sent; undefined where there are none, or retention has pruned them. */
export async function findBytes(pool: pg.Pool, deliveryId: number): Promise<Buffer | undefined> {
  return (await list<{ bytes: Buffer }>(pool, BYTES, [deliveryId]))[0]?.bytes;
}
