import type pg from "pg";
import type { EarlierMessages } from "./earlier-messages.ts";
import { formatId } from "./ids.ts";
import type { MessageDraft } from "./message-drafts.ts";
import type { MessageRecord } from "./message-record.ts";

/** $1 bigint[]. Index: the primary key. */
const FIND_REPLIES = "select m.id, m.reply from messages m where m.id = any ($1)";

/**
 * Finds messages of a connection whose control id their sender used for something else before, in the ledger or earlier
 * in the list, and refuses them where the site says so. Senders do reuse control ids, so it is never passed over in silence.
 */
export function markReusedControlIds(
  drafts: readonly MessageDraft[],
  earlier: ReadonlyMap<MessageRecord, EarlierMessages>,
): void {
  const lastByKey = new Map<string, MessageDraft>();
  for (const draft of drafts) {
    const { messageControlId: controlId, sender, replyTo } = draft.record;
    if (replyTo === undefined || controlId === undefined || draft.duplicateOf !== undefined) continue;
    const key = `${controlId}\n${sender ?? ""}`;
    const before = lastByKey.get(key);
    const isOther = before !== undefined && !before.sha256.equals(draft.sha256);
    draft.reuses = isOther ? before.messageId : earlier.get(draft.record)?.otherId;
    if (draft.reuses !== undefined && replyTo.reusedControlId === "refuse") refuse(draft, draft.reuses);
    if (draft.verdict !== "refused") lastByKey.set(key, draft);
  }
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
  for (const draft of repeats) {
    const { record, messageId, verdict, problems, duplicateOf = 0 } = draft;
    // The first may have been a person's replay, which nobody was answered.
    draft.reply = byId.get(duplicateOf) ?? record.replyTo?.compose({ verdict, problems, messageId });
  }
}
