import type pg from "pg";
import type { Problem } from "../../core/failures.ts";
import { list } from "../database.ts";
import type { MessageRecord } from "./record.ts";

/** What waiting messages wait for: a code of a facility or an operation, or an earlier message of the same subject. */
type WaitingKind = "facility" | "operation" | "earlier";

/** Messages of one connector that wait for the same. A message with two unknown codes is counted with each. */
export interface WaitingCode {
  readonly kind: WaitingKind;
  /** The code that no table knows, of those that wait for an earlier message the one that this waits for. */
  readonly code: string | undefined;
  readonly connector: string;
  readonly messages: number;
  readonly since: Date;
  /** What to do about it; undefined for those that wait for an earlier message. */
  readonly hint?: string | undefined;
}

/** By code, oldest first. Index: messages_unaccepted. */
const WAITING_CODES = `
select case p.problem ->> 'code'
         when 'MAPPING_FACILITY_UNKNOWN' then 'facility'
         when 'MAPPING_OPERATION_UNKNOWN' then 'operation'
         else 'earlier'
       end as kind,
       p.problem ->> 'unknownCode' as code,
       m.connector,
       count(distinct m.id)::integer as messages,
       min(m.received_at) as since,
       max(p.problem ->> 'hint') filter (where p.problem ->> 'code' <> 'MAPPING_EARLIER_WAITS') as hint
  from messages m
 cross join lateral jsonb_array_elements(m.problems) as p(problem)
 where m.verdict = 'waiting'
 group by 1, 2, 3
 order by since, kind, code, connector`;

/** What messages wait for, by code and connector. */
export function listWaitingCodes(pool: pg.Pool): Promise<WaitingCode[]> {
  return list<WaitingCode>(pool, WAITING_CODES);
}

/** Waiting messages that are about the same, and why they wait; $1 connector, $2 text[] keys. Index: the primary keys. */
const FIND_WAITING_KEYS = `
select w.key, w.message_id, m.message_control_id, m.problems
  from waiting_keys w
  join messages m on m.id = w.message_id
 where w.connector = $1
   and w.key = any ($2)
 order by w.key, w.message_id`;

/** $1 connector, $2 message ids, $3 keys. */
const INSERT_WAITING_KEYS = `
insert into waiting_keys (connector, message_id, key)
select $1, x.message_id, x.key
  from unnest($2::bigint[], $3::text[]) as x(message_id, key)
on conflict do nothing`;

/** $1 message ids. Index: waiting_keys_message. */
const DELETE_WAITING_KEYS = "delete from waiting_keys where message_id = any ($1)";

/**
 * What a message is about, as far as it could be read: its subjects, and the numbers of the orders that it brings or
 * names. A later message about the same must not overtake it while it waits: one may take out what the other puts in,
 * correct it or cancel it.
 */
export function keysOf(record: MessageRecord): string[] {
  const { orders, controlRequests = [], subjectCodes = [], orderNumbers = [] } = record;
  const named = [...orders, ...controlRequests];
  // To cancel, hold or release an order is about that one alone: other orders of its subject neither wait for it nor it for them.
  const aboutSubject = controlRequests.filter(
    ({ content, placerOrderNumber }) => content !== undefined || placerOrderNumber === undefined,
  );
  const subjects = [
    ...subjectCodes,
    ...orders.map(({ subject }) => subject.code),
    ...orders.flatMap(({ priorSubjectCode }) => priorSubjectCode ?? []),
    ...aboutSubject.flatMap(({ subjectCode }) => subjectCode ?? []),
  ];
  const numbers = [...orderNumbers, ...named.flatMap(({ placerOrderNumber }) => placerOrderNumber ?? [])];
  return [
    ...new Set([...subjects.map((code) => `s:${code.reveal()}`), ...numbers.map((number) => `n:${number}`)]),
  ];
}

/** A message that waits, and what for. */
export interface WaitingBefore {
  readonly messageId: number;
  /** By which its sender knows it, where it has one. */
  readonly messageControlId: string | undefined;
  readonly problems: readonly Problem[];
}

/** What the messages that wait through one connector are about, as a batch goes along. */
export class WaitingKeys {
  readonly #waiting = new Map<string, number[]>();
  readonly #byId = new Map<number, WaitingBefore>();

  private constructor() {}

  /**
   * What matters to these messages. Call it before ids are taken. Rows are locked until the transaction ends, so that
   * who takes a later message and who releases an earlier one wait for each other: otherwise the later one could be
   * left waiting for a message that doesn't wait any more.
   */
  static async find(
    client: pg.PoolClient,
    connector: string,
    records: readonly MessageRecord[],
  ): Promise<WaitingKeys> {
    const keys = [...new Set(records.flatMap(keysOf))];
    const waiting = new WaitingKeys();
    if (keys.length === 0) return waiting;
    const isRelease = records.some(({ waitedAs }) => waitedAs !== undefined);
    const { rows } = await client.query<{
      key: string;
      message_id: number;
      message_control_id: string | null;
      problems: Problem[];
    }>(`${FIND_WAITING_KEYS} for ${isRelease ? "update" : "share"} of w`, [connector, keys]);
    for (const { key, message_id: messageId, message_control_id: controlId, problems } of rows)
      waiting.add({ messageId, messageControlId: controlId ?? undefined, problems }, [key]);
    return waiting;
  }

  /** Whether a message of the batch waits, or one that is about the same as these. */
  has(messageId: number): boolean {
    return this.#byId.has(messageId);
  }

  /** The earliest message before this one that waits and is about one of these, and why it waits. */
  findBefore(messageId: number, keys: readonly string[]): WaitingBefore | undefined {
    const earlier = keys.flatMap((key) => this.#waiting.get(key) ?? []).filter((id) => id < messageId);
    return earlier.length === 0 ? undefined : this.#byId.get(Math.min(...earlier));
  }

  add(waiting: WaitingBefore, keys: readonly string[]): void {
    const { messageId } = waiting;
    this.#byId.set(messageId, waiting);
    for (const key of keys) {
      const ids = this.#waiting.get(key) ?? [];
      if (!ids.includes(messageId)) this.#waiting.set(key, [...ids, messageId]);
    }
  }

  remove(messageId: number): void {
    this.#byId.delete(messageId);
    for (const [key, ids] of this.#waiting) {
      this.#waiting.set(
        key,
        ids.filter((id) => id !== messageId),
      );
    }
  }
}

/** Writes down what waiting messages are about. */
export async function recordWaitingKeys(
  client: pg.PoolClient,
  connector: string,
  waiting: readonly { readonly messageId: number; readonly keys: readonly string[] }[],
): Promise<void> {
  const rows = waiting.flatMap(({ messageId, keys }) => keys.map((key) => ({ messageId, key })));
  if (rows.length === 0) return;
  await client.query(INSERT_WAITING_KEYS, [
    connector,
    rows.map((row) => row.messageId),
    rows.map((row) => row.key),
  ]);
}

/** Writes down that these messages don't wait any more. */
export async function forgetWaitingKeys(client: pg.PoolClient, messageIds: readonly number[]): Promise<void> {
  if (messageIds.length > 0) await client.query(DELETE_WAITING_KEYS, [messageIds]);
}
