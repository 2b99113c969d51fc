import type pg from "pg";
import { formatId } from "./ids.ts";
import type { MessageDraft } from "./message-drafts.ts";

/**
 * The last message with the same control id and other bytes that was not refused; $1 connector, $2 text[], $3 bytea[].
 * Index: messages_control_id.
 */
const FIND_REUSED = `
select x.n::integer as n, max(m.id) as id
  from unnest($2::text[], $3::bytea[]) with ordinality as x(control_id, sha256, n)
  join messages m on m.connector = $1 and m.message_control_id = x.control_id and m.sha256 <> x.sha256
 where m.verdict in ('accepted', 'duplicate', 'waiting')
 group by x.n`;

/** $1 bigint[]. Index: the primary key. */
const FIND_REPLIES = "select m.id, m.reply from messages m where m.id = any ($1)";

/**
 * Finds messages of a connection whose control id was used for something else before, in the ledger or earlier in the
 * list, and refuses them where the site says so. Senders do reuse control ids, so it is never passed over in silence.
 */
export async function markReusedControlIds(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly MessageDraft[],
): Promise<void> {
  const candidates = drafts.filter(
    ({ record, duplicateOf }) =>
      record.replyTo !== undefined && record.messageControlId !== undefined && duplicateOf === undefined,
  );
  if (candidates.length === 0) return;
  const { rows } = await client.query<{ n: number; id: number }>(FIND_REUSED, [
    connector,
    candidates.map(({ record }) => record.messageControlId),
    candidates.map(({ sha256 }) => sha256),
  ]);
  const earlier = new Map(rows.map((row) => [row.n, row.id]));
  const lastById = new Map<string, MessageDraft>();
  candidates.forEach((draft, index) => {
    const controlId = draft.record.messageControlId as string;
    const before = lastById.get(controlId);
    const isOther = before !== undefined && !before.sha256.equals(draft.sha256);
    draft.reuses = isOther ? before.messageId : earlier.get(index + 1);
    if (draft.reuses !== undefined && draft.record.replyTo?.reusedControlId === "refuse")
      refuse(draft, draft.reuses);
    if (draft.verdict !== "refused") lastById.set(controlId, draft);
  });
}

function refuse(draft: MessageDraft, messageId: number): void {
  if (draft.verdict === "refused") return;
  draft.verdict = "refused";
  draft.problems = [
    {
      code: "HL7_CONTROL_ID_REUSED",
      place: `${draft.record.message.place}, MSH-10`,
      message: `message ${formatId("m", messageId)} had this control id and other content`,
    },
  ];
}

/** Composes what is answered to messages of a connection; one that came before is answered as it was then. */
export async function draftReplies(client: pg.PoolClient, drafts: readonly MessageDraft[]): Promise<void> {
  const byId = new Map<number, Buffer | null>();
  const repeats: MessageDraft[] = [];
  for (const draft of drafts) {
    const { record, messageId, verdict, problems, duplicateOf } = draft;
    if (record.replyTo === undefined) continue;
    if (duplicateOf !== undefined) repeats.push(draft);
    else draft.reply = record.replyTo.compose({ verdict, problems, messageId });
    byId.set(messageId, draft.reply ?? null);
  }
  const firstIds = repeats.flatMap(({ duplicateOf }) =>
    duplicateOf === undefined || byId.has(duplicateOf) ? [] : [duplicateOf],
  );
  if (firstIds.length > 0) {
    const { rows } = await client.query<{ id: number; reply: Buffer | null }>(FIND_REPLIES, [firstIds]);
    for (const { id, reply } of rows) byId.set(id, reply);
  }
  for (const draft of repeats) draft.reply = byId.get(draft.duplicateOf ?? 0) ?? undefined;
}
