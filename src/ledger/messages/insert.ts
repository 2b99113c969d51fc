import type pg from "pg";
import type { CsvRow } from "../../core/intake.ts";
import { placeText } from "../../core/place.ts";
import { together } from "../database.ts";
import { formatId } from "../ids.ts";
import { changeOrdersWithin, GOES_ON } from "../orders/change.ts";
import { recordEvents } from "../orders/events.ts";
import { containerRows, contentOf, INSERT_CONTAINERS, replaceContent } from "../orders/row.ts";
import { encodeEcho } from "./echo.ts";
import type { BatchSource, MessageDraft } from "./record.ts";
import { forgetWaitingKeys, keysOf, recordWaitingKeys } from "./waiting.ts";

/** $1.. arrays of one value a message. */
const INSERT_MESSAGES = `
insert into messages (id, connector, file_id, ordinal, place, message_control_id, message_type, sha256, raw, format,
                      encoding, csv_rows, verdict, problems, duplicate_of, peer, reply, reuses, sender, names, echo,
                      replay_of)
select x.id, $1, $2, x.ordinal, x.place, x.control_id, x.message_type, x.sha256, x.raw, x.format,
       x.encoding, x.csv_rows, x.verdict, x.problems, x.duplicate_of, x.peer, x.reply, x.reuses, x.sender, x.names, x.echo, $3
  from unnest($4::bigint[], $5::integer[], $6::jsonb[], $7::text[], $8::text[], $9::bytea[], $10::bytea[], $11::text[],
              $12::text[], $13::jsonb[], $14::text[], $15::jsonb[], $16::bigint[], $17::text[], $18::bytea[],
              $19::bigint[], $20::text[], $21::jsonb[], $22::text[])
       as x(id, ordinal, place, control_id, message_type, sha256, raw, format, encoding, csv_rows, verdict, problems,
            duplicate_of, peer, reply, reuses, sender, names, echo)`;

/** What became of messages that waited; $1.. arrays of one value a message. Index: the primary key. */
const DECIDE_WAITING = `
update messages m
   set verdict = x.verdict,
       problems = x.problems,
       duplicate_of = x.duplicate_of,
       names = x.names,
       echo = x.echo,
       released_at = case when m.verdict = 'waiting' and x.verdict <> 'waiting' then now() end
  from unnest($1::bigint[], $2::text[], $3::jsonb[], $4::bigint[], $5::jsonb[], $6::text[])
       as x(id, verdict, problems, duplicate_of, names, echo)
 where m.id = x.id
   and (m.verdict <> x.verdict or m.problems <> x.problems)`;

/**
 * $1 JSON array of orders. A number that was taken meanwhile makes the insert fail, and the batch is tried again. In
 * the sequence of their numbers, so that two batches with the same numbers never wait for each other.
 */
const INSERT_ORDERS = `
insert into orders (id, message_id, position, connector, numbered_by, operation, facility_code, facility_id,
                    placer_order_number, shares_number, placer_authority, subject_code, prior_subject_code, subject, sources, number_place,
                    content_digest, state, failure_code, failure_text)
select x.id, x.message_id, x.position, x.connector, x.numbered_by, x.operation, x.facility_code, x.facility_id,
       x.placer_order_number, x.shares_number, x.placer_authority, x.subject_code, x.prior_subject_code, x.subject, x.sources,
       x.number_place, decode(x.digest, 'hex'), x.state, x.failure_code, x.failure_text
  from jsonb_to_recordset($1::jsonb)
       as x(id bigint, message_id bigint, position integer, connector text, numbered_by text, operation text,
            facility_code text, facility_id bigint, placer_order_number text, shares_number boolean,
            placer_authority jsonb,
            subject_code text, prior_subject_code text, subject jsonb, sources jsonb, number_place jsonb, digest text, state text,
            failure_code text, failure_text text)
 order by x.numbered_by, x.placer_order_number`;

/** Writes the messages with their orders and timeline entries, as the drafts decide, and which of them wait for another. */
export async function insertDrafts(
  client: pg.PoolClient,
  batch: BatchSource,
  drafts: readonly MessageDraft[],
): Promise<void> {
  const hasWaited = ({ record }: MessageDraft) => record.waitedAs !== undefined;
  const waiting = drafts
    .filter(({ verdict }) => verdict === "waiting")
    .map(({ messageId, record }) => ({ messageId, keys: keysOf(record) }));
  // Rows come after those that they refer to.
  await together(client, () => [
    insertMessages(
      client,
      batch,
      drafts.filter((draft) => !hasWaited(draft)),
    ),
    recordDecided(client, drafts.filter(hasWaited)),
    recordWaitingKeys(client, batch.connector, waiting),
    insertOrders(client, batch.connector, drafts),
    insertTimeline(client, drafts),
  ]);
}

async function insertMessages(
  client: pg.PoolClient,
  batch: BatchSource,
  drafts: readonly MessageDraft[],
): Promise<void> {
  if (drafts.length === 0) return;
  const column = <T>(pick: (draft: MessageDraft) => T): T[] => drafts.map(pick);
  await client.query(INSERT_MESSAGES, [
    batch.connector,
    batch.fileId,
    batch.replayOf ?? null,
    column((draft) => draft.messageId),
    column((draft) => draft.record.message.ordinal),
    column((draft) => JSON.stringify(draft.record.message.place)),
    column((draft) => draft.record.messageControlId ?? null),
    column((draft) => draft.record.messageType ?? null),
    column((draft) => draft.sha256),
    column((draft) => draft.record.message.raw.reveal()),
    column((draft) => draft.record.message.content.kind),
    column(({ record: { message } }) =>
      message.content.kind === "hl7" ? (message.content.encoding ?? null) : null,
    ),
    column(({ record: { message } }) =>
      message.content.kind === "csv" ? encodeRows(message.content.rows.reveal()) : null,
    ),
    column((draft) => draft.verdict),
    column((draft) => JSON.stringify(draft.problems)),
    column((draft) => draft.duplicateOf ?? null),
    column(({ record }) => record.replyTo?.peer ?? null),
    column((draft) => draft.reply ?? null),
    column((draft) => draft.reuses ?? null),
    column(({ record }) => record.sender ?? null),
    column(encodeNames),
    column((draft) => encodeEcho(isAnswered(draft) ? draft.record.echo : undefined)),
  ]);
}

/** Whether the lab may hear of a message: of one that the profile ignores only where an answer is asked for. */
function isAnswered({ verdict, record: { replyTo, isAnsweredInBatch } }: MessageDraft): boolean {
  return verdict !== "ignored" || replyTo !== undefined || isAnsweredInBatch === true;
}

async function recordDecided(client: pg.PoolClient, drafts: readonly MessageDraft[]): Promise<void> {
  if (drafts.length === 0) return;
  await client.query(DECIDE_WAITING, [
    drafts.map((draft) => draft.messageId),
    drafts.map((draft) => draft.verdict),
    drafts.map((draft) => JSON.stringify(draft.problems)),
    drafts.map((draft) => draft.duplicateOf ?? null),
    drafts.map(encodeNames),
    drafts.map(({ record }) => encodeEcho(record.echo)),
  ]);
  const decided = drafts.filter(({ verdict }) => verdict !== "waiting");
  await forgetWaitingKeys(
    client,
    decided.map((draft) => draft.messageId),
  );
}

/** As many as an order has containers, and more than messages have orders: what has more is found by its first ones. */
const MOST_NAMES = 100;

/** The column `names`; null for a message that is found by its orders, or names none. */
function encodeNames({ verdict, record, orders: kept }: MessageDraft): string | null {
  if ((verdict !== "refused" && verdict !== "waiting") || kept.length > 0) return null;
  const { placerOrderNumber, echoedNumbers = [], orderNumbers = [], names = [], orders } = record;
  const all = [
    ...[placerOrderNumber, ...orders.map((order) => order.placerOrderNumber)],
    ...[...echoedNumbers, ...orderNumbers, ...names],
    ...orders.flatMap(({ containers }) => containers.map(({ label }) => label)),
  ];
  const different = [...new Set(all.filter((name) => name !== undefined))];
  return different.length === 0 ? null : JSON.stringify(different.slice(0, MOST_NAMES));
}

/** The column `csv_rows`; null for rows that can't be kept. */
function encodeRows(rows: readonly CsvRow[]): string | null {
  return rows.length === 0 ? null : JSON.stringify(rows.map((row) => [row.line, [...row.values]]));
}

async function insertOrders(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly MessageDraft[],
): Promise<void> {
  const orders = drafts.flatMap((draft) =>
    draft.orders.map(({ order, orderId, digest, conflict }, index) => {
      return {
        ...contentOf(order, digest),
        id: orderId,
        message_id: draft.messageId,
        position: index + 1,
        connector,
        // The number is the first order's.
        numbered_by: conflict || order.placerOrderNumber === undefined ? undefined : connector,
        placer_order_number: order.placerOrderNumber,
        shares_number: conflict !== undefined,
        number_place: order.sources.placerOrderNumber,
        state: conflict ? "parked" : "received",
        failure_code: conflict?.code,
        failure_text: conflict?.text,
      };
    }),
  );
  if (orders.length === 0) return;
  const containers = drafts.flatMap((draft) =>
    draft.orders.flatMap(({ order, orderId }) => containerRows(orderId, order.containers)),
  );
  await together(client, () => [
    client.query(INSERT_ORDERS, [JSON.stringify(orders)]),
    containers.length > 0 && client.query(INSERT_CONTAINERS, [JSON.stringify(containers)]),
  ]);
}

async function insertTimeline(client: pg.PoolClient, drafts: readonly MessageDraft[]): Promise<void> {
  const events = drafts.flatMap((draft) =>
    draft.orders.map(({ orderId, conflict }) => ({
      orderId,
      kind: conflict ? "parked" : "received",
      toState: conflict ? ("parked" as const) : ("received" as const),
      detail: conflict ? { ...conflict } : { place: placeText(draft.record.message.place) },
    })),
  );
  const repeats = drafts.flatMap((draft) =>
    draft.repeatedOrderIds.map((id) => ({
      orderId: id,
      kind: "repeated",
      detail: { messageId: formatId("m", draft.messageId) },
    })),
  );
  await recordEvents(client, [...events, ...repeats]);
}

/** $1 message ids, $2 the order that each of them corrects. */
const INSERT_CORRECTIONS = `
insert into corrections (message_id, order_id)
select x.message_id, x.order_id
  from unnest($1::bigint[], $2::bigint[]) as x(message_id, order_id)`;

/**
 * Has parked orders ask for what the lab sends under their numbers now, and go on: with a new mark and a new fence, as after
 * a change by order control. One that is on hold stays so. The drafts' messages are in the ledger, the orders' rows locked.
 */
export async function correctOrders(client: pg.PoolClient, drafts: readonly MessageDraft[]): Promise<void> {
  const corrections = drafts.flatMap(({ messageId, corrections }) =>
    corrections.map((correction) => ({ messageId, ...correction })),
  );
  if (corrections.length === 0) return;
  for (const { orderId, order } of corrections) await replaceContent(client, orderId, order);
  await client.query(INSERT_CORRECTIONS, [
    corrections.map(({ messageId }) => messageId),
    corrections.map(({ orderId }) => orderId),
  ]);
  await changeOrdersWithin(
    client,
    corrections.map(({ orderId, messageId }) => ({
      orderId,
      from: ["parked"],
      to: "received",
      ...GOES_ON,
      isTakenBack: true,
      event: { kind: "corrected", detail: { messageId: formatId("m", messageId) } },
    })),
  );
}
