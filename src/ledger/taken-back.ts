import type pg from "pg";
import { run } from "./database.ts";

/** Once for each result; $1 connector, $2 file name, $3 text. Indexes: deliveries (connector, file_name), tasks_delivery. */
const OPEN_TASK = `
insert into tasks (delivery_id, kind, text)
select d.id, 'taken_back', $3
  from deliveries d
 where d.connector = $1
   and d.file_name = $2
on conflict (delivery_id) where delivery_id is not null do nothing`;

/**
 * Asks a person to see to a result that the lab took back after it had acknowledged it. It counts as delivered all the
 * same, and later ones of its order may have followed, so it is not sent again.
 *
 * @param answer the lab's own code, and its error condition; no words of it, which may name a patient
 */
export async function noteTakenBack(
  pool: pg.Pool,
  connector: string,
  fileName: string,
  answer: string,
): Promise<void> {
  const text = `the lab system answered this result with ${answer} after it had acknowledged it; it is not sent again, so tell the lab what it says`;
  await run(pool, OPEN_TASK, [connector, fileName, text]);
}
