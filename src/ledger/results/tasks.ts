import type pg from "pg";
import { type Problem, problemSentence } from "../../core/failures.ts";
import { run } from "../database.ts";
import { isReportedByReply, type MessageDraft } from "../messages/record.ts";

/** Once for each message; $1 JSON array of {message_id, text}. Index: tasks_message. */
const OPEN_REFUSAL_TASKS = `
insert into tasks (message_id, kind, text)
select x.message_id, 'refusal', x.text
  from jsonb_to_recordset($1::jsonb) as x(message_id bigint, text text)
on conflict (message_id) where message_id is not null do nothing`;

/**
 * Those of these outcomes that refuse a message which came over a connection, where no file shows it either; $1 ids.
 * Index: the primary keys.
 */
const REFUSALS_OVER_CONNECTIONS = `
select m.id, m.problems
  from outcomes t
  join messages m on m.id = t.message_id
 where t.id = any ($1)
   and t.kind = 'refused'
   and m.peer is not null`;

/**
 * Asks a person to see to refused messages whose senders want no answer that could say so (MSH-15 and MSH-16 NE or SU):
 * nobody else would ever hear of them.
 */
export async function noteUnheardRefusals(
  client: pg.PoolClient,
  drafts: readonly MessageDraft[],
): Promise<void> {
  await openTasks(
    client,
    drafts.filter(isUnheard).map(({ messageId, problems }) => ({ messageId, problems })),
  );
}

function isUnheard(draft: MessageDraft): boolean {
  const { verdict, record, reply } = draft;
  return (
    verdict === "refused" && record.replyTo !== undefined && reply === undefined && isReportedByReply(draft)
  );
}

/**
 * The same for messages that were acknowledged when they came and refused afterwards, and of which the profile sends
 * nothing.
 */
export async function noteUnreportedRefusals(
  client: pg.PoolClient,
  outcomeIds: readonly number[],
): Promise<void> {
  if (outcomeIds.length === 0) return;
  const { rows } = await client.query<{ id: number; problems: Problem[] }>(REFUSALS_OVER_CONNECTIONS, [
    outcomeIds,
  ]);
  await openTasks(
    client,
    rows.map(({ id, problems }) => ({ messageId: id, problems })),
  );
}

async function openTasks(
  client: pg.PoolClient,
  refused: readonly { readonly messageId: number; readonly problems: readonly Problem[] }[],
): Promise<void> {
  if (refused.length === 0) return;
  const tasks = refused.map(({ messageId, problems }) => ({
    message_id: messageId,
    text: `this message was refused, and its sender does not know: ${wordsOf(problems)}`,
  }));
  await client.query(OPEN_REFUSAL_TASKS, [JSON.stringify(tasks)]);
}

function wordsOf([first, ...others]: readonly Problem[]): string {
  if (first === undefined) return "see messages show";
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return `${problemSentence(first)}${more}`;
}

/** Once for each result; $1 connector, $2 file name, $3 text. Indexes: deliveries (connector, file_name), tasks_delivery. */
const OPEN_TAKEN_BACK_TASK = `
insert into tasks (delivery_id, kind, text)
select d.id, 'taken_back', $3
  from deliveries d
 where d.connector = $1
   and d.file_name = $2
on conflict (delivery_id) where delivery_id is not null do nothing`;

/**
 * Asks a person to see to a result that the lab took back after it had acknowledged it. It counts as delivered, and later
 * ones of its order may have followed, so it is not sent again.
 *
 * @param answer the lab's own code, and its error condition; no words of it, which may name a patient
 */
export async function noteTakenBack(
  pool: pg.Pool,
  connector: string,
  fileName: string,
  answer: string,
): Promise<void> {
  const text = `the lab system answered this result with ${answer} after it had acknowledged it; it is not sent again, so call the lab about what it says; cryobridge results resend sends it again`;
  await run(pool, OPEN_TAKEN_BACK_TASK, [connector, fileName, text]);
}
