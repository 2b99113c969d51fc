import { hash } from "node:crypto";
import { prepared, type Queryable } from "./database.ts";

/** Waits for others that commit the same messages; $1 bigint[] keys, in ascending order. */
const LOCK_MESSAGES = "select count(pg_advisory_xact_lock(x.key)) from unnest($1::bigint[]) as x(key)";

/**
 * Until the transaction ends, nobody else commits a message of the connector with one of these control ids: what a
 * statement behind this one finds of them is all there is, also of a transaction whose daemon lost its connection and
 * whose backend lives on.
 *
 * Keys are taken in ascending order, so that two never wait for each other, and to be taken before any other lock that
 * others hold while they wait for a key. In one statement with what is asked about the messages it would be too late:
 * a statement sees what was there when it began, and not when it had waited.
 */
export async function lockControlIds(
  client: Queryable,
  connector: string,
  controlIds: readonly string[],
): Promise<void> {
  const keys = [...new Set(controlIds.map((controlId) => lockKey(connector, controlId)))];
  if (keys.length === 0) return;
  await prepared(client, "lock_messages", LOCK_MESSAGES, [keys.sort((a, b) => (a < b ? -1 : 1))]);
}

/** Computed here, since the database may not be able to take the control id as a text. */
function lockKey(connector: string, messageControlId: string): bigint {
  return hash("sha256", `${connector}\n${messageControlId}`, "buffer").readBigInt64BE();
}
