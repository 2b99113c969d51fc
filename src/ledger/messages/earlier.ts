import type pg from "pg";
import type { Problem } from "../../core/failures.ts";
import { atField, within } from "../../core/place.ts";
import { formatId } from "../ids.ts";
import type { MessageDraft, MessageRecord } from "./record.ts";

/**
 * For each message the first accepted one with its control id and its bytes, and, where asked for, the last one with its
 * control id and other bytes from the same sender that was not refused; $1 connector, $2 text[], $3 bytea[], $4 boolean[]
 * whether the latter is asked for, $5 text[] senders. Each is looked up by itself, so that what came before costs
 * nothing, even from a sender with one control id for everything: `+ 0` keeps the first question from the index that has
 * ids in order but no digests, and the order of the second is the backward one of its index. Indexes: messages_repeat,
 * messages_control_id.
 */
export const FIND_EARLIER = `
select x.n::integer as n, same.id as same_id, other.id as other_id
  from unnest($2::text[], $3::bytea[], $4::boolean[], $5::text[]) with ordinality
       as x(control_id, sha256, wants_other, sender, n)
  left join lateral (
       select min(m.id + 0) as id
         from messages m
        where m.connector = $1
          and m.message_control_id = x.control_id
          and m.sha256 = x.sha256
          and m.verdict = 'accepted') same on true
  left join lateral (
       select m.id
         from messages m
        where x.wants_other
          and m.connector = $1
          and m.message_control_id = x.control_id
          and m.sha256 <> x.sha256
          and (m.sender is null or x.sender is null or m.sender = x.sender)
          and m.verdict in ('accepted', 'duplicate', 'waiting')
        order by m.connector desc, m.message_control_id desc, m.id desc
        limit 1) other on true
 where same.id is not null
    or other.id is not null`;

/** What the ledger had under a message's control id before it. */
interface EarlierMessages {
  /** The first accepted message with the same bytes. */
  readonly sameId: number | undefined;
  /**
   * The last one with other bytes from the same sender, refused ones aside; looked for where the message came over a
   * connection.
   */
  readonly otherId: number | undefined;
}

/** What came under the same control ids before; records without any are left out. */
export async function findEarlierMessages(
  client: pg.PoolClient,
  connector: string,
  messages: readonly { readonly record: MessageRecord; readonly sha256: Buffer }[],
): Promise<Map<MessageRecord, EarlierMessages>> {
  const named = messages.filter(({ record }) => record.messageControlId !== undefined);
  if (named.length === 0) return new Map();
  const { rows } = await client.query<{ n: number; same_id: number | null; other_id: number | null }>(
    FIND_EARLIER,
    [
      connector,
      named.map(({ record }) => record.messageControlId),
      named.map(({ sha256 }) => sha256),
      named.map(({ record }) => record.replyTo !== undefined),
      named.map(({ record }) => record.sender),
    ],
  );
  return new Map(
    rows.flatMap((row) => {
      const record = named[row.n - 1]?.record;
      if (record === undefined) return [];
      return [[record, { sameId: row.same_id ?? undefined, otherId: row.other_id ?? undefined }]];
    }),
  );
}

/** $1 bigint[]. Index: the primary key. */
const FIND_REPLIES = "select m.id, m.reply from messages m where m.id = any ($1)";

/** A message with its number, and what the ledger has under its control id. */
interface NumberedMessage {
  readonly record: MessageRecord;
  readonly messageId: number;
  readonly sha256: Buffer;
  readonly earlier: EarlierMessages | undefined;
}

/** The first message, in the ledger or earlier in the list, that had a message's control id and bytes; by the message's id. */
export function findRepeats(messages: readonly NumberedMessage[]): ReadonlyMap<number, number> {
  const seen = new Map<string, number>();
  const repeats = new Map<number, number>();
  for (const { record, messageId, sha256, earlier } of messages) {
    if (record.messageControlId === undefined || record.verdict !== "accepted") continue;
    const key = `${record.messageControlId}\n${sha256.toString("hex")}`;
    const firstId = earlier?.sameId ?? seen.get(key);
    if (firstId === undefined) seen.set(key, messageId);
    else repeats.set(messageId, firstId);
  }
  return repeats;
}

/**
 * For messages of a connection whose control id their sender used for something else before, in the ledger or earlier in the list, the
 * message that had it; by the message's id. Senders do reuse control ids, so it is never passed over in silence.
 *
 * @param repeats those that are no other message
 */
export function findReusedControlIds(
  messages: readonly NumberedMessage[],
  repeats: ReadonlyMap<number, number>,
): ReadonlyMap<number, number> {
  const lastByKey = new Map<string, NumberedMessage>();
  const reuses = new Map<number, number>();
  for (const message of messages) {
    const { record, messageId, sha256, earlier } = message;
    const { messageControlId: controlId, sender, replyTo, verdict } = record;
    if (replyTo === undefined || controlId === undefined || repeats.has(messageId)) continue;
    const key = `${controlId}\n${sender ?? ""}`;
    const before = lastByKey.get(key);
    const isOther = before !== undefined && !before.sha256.equals(sha256);
    const reused = isOther ? before.messageId : earlier?.otherId;
    if (reused !== undefined) reuses.set(messageId, reused);
    const isRefused = verdict === "refused" || (reused !== undefined && replyTo.reusedControlId === "refuse");
    if (!isRefused) lastByKey.set(key, message);
  }
  return reuses;
}

/** Why a message is refused whose control id another one had. */
export function reusedControlId({ message }: MessageRecord, messageId: number): Problem {
  return {
    code: "HL7_CONTROL_ID_REUSED",
    place: within(message.place, atField("MSH", 10)),
    message: `message ${formatId("m", messageId)} had this control id and other content`,
  };
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
