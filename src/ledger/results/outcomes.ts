import type pg from "pg";
import { encodeCrockfordNumber } from "../../core/crockford.ts";
import type { FailureCode, Problem } from "../../core/failures.ts";
import type { FileDialect } from "../../core/intake.ts";
import {
  type ControlAnswer,
  type OrderAsRead,
  type Outcome,
  type OutcomeMessage,
  type OutcomeOrder,
  withCodes,
} from "../../core/outcome.ts";
import { phi } from "../../core/phi.ts";
import type { Place } from "../../core/place.ts";
import { run } from "../database.ts";
import { formatId } from "../ids.ts";
import { decodeEcho } from "../messages/echo.ts";
import type { OrderSnapshot } from "../orders/row.ts";

/** An outcome that has not been put into a delivery yet, and what is needed to do so. */
export interface OpenOutcome {
  readonly id: number;
  readonly outcome: Outcome;
  readonly fileId: number | undefined;
  /** The delivery that it is parked as since no message could be made of it: another one is made, to be sent in its place. */
  readonly parkedAs: number | undefined;
}

/** An outcome of which no message could be made; a person sees it among the deliveries. */
export interface UncomposedOutcome {
  readonly outcomeId: number;
  readonly code: FailureCode;
  readonly text: string;
}

/** A delivery that was composed: its name and bytes never change again. */
export interface ComposedDelivery {
  readonly fileName: string;
  readonly bytes: Buffer;
  readonly outcomeIds: readonly number[];
}

/** Open outcomes of a connector, oldest first; $1 connector, $2 how many. Index: outcomes_open. */
const OPEN_OUTCOMES = `
select t.id, t.kind, t.payload, t.occurred_at, t.message_id, coalesce(m.connector, f.connector) as connector,
       m.message_control_id, octet_length(m.echo) as echo_bytes, m.file_id, m.place, coalesce(m.received_at, f.received_at) as received_at, f.file_name, f.dialect,
       l.instance_code, t.delivery_id
  from outcomes t
  left join messages m on m.id = t.message_id
  left join messages first on first.id = m.replay_of
  left join files f on f.id = coalesce(t.file_id, m.file_id, first.file_id)
  cross join ledger l
 where t.connector = $1
   and not t.is_composed
 order by t.id
 limit $2`;

/** What is repeated of messages; $1 bigint[] ids. Index: the primary key. */
const FIND_ECHOES = "select m.id, m.echo from messages m where m.id = any ($1)";

/** Of messages whose outcomes are composed together, bytes: more of them wait for the next time. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Connectors with outcomes to compose: how many, and the age of the oldest in ms. Index: outcomes_open. */
const OPEN_CONNECTORS = `
select t.connector,
       count(*)::integer as open,
       (extract(epoch from now() - min(t.occurred_at)) * 1000)::double precision as oldest_ms
  from outcomes t
 where not t.is_composed
 group by t.connector`;

/** $1 connector, $2 file name, $3 bytes. */
export const INSERT_DELIVERY = `
insert into deliveries (connector, file_name, bytes)
values ($1, $2, $3)
returning id`;

/** Numbers result files; $1 connector, $2 what else is in their names. */
const NEXT_RESULT_NUMBER = `
insert into result_numbers as r (connector, series, last_number)
select $1, $2, 1 + l.restores * 1000
  from ledger l
on conflict (connector, series) do update set last_number = r.last_number + 1
returning last_number`;

interface OutcomeRow {
  id: number;
  kind: Outcome["kind"];
  payload: {
    orders?: OrderSnapshot[];
    order?: OrderSnapshot;
    problems?: Problem[];
    placerOrderNumber?: string;
    asRead?: OrderAsRead<string>;
    isDuplicate?: boolean;
    answers?: (Omit<ControlAnswer, "order"> & { order?: OrderSnapshot })[];
  };
  occurred_at: Date;
  message_id: number | null;
  connector: string;
  message_control_id: string | null;
  /** Null for what has no echo. */
  echo_bytes: number | null;
  file_id: number | null;
  place: Place | null;
  received_at: Date;
  file_name: string | null;
  dialect: FileDialect | null;
  instance_code: string;
  delivery_id: number | null;
}

const toPhi = (code: string | undefined) => (code === undefined ? undefined : phi(code));

const toOrder = ({ priorSubjectCode, ...snapshot }: OrderSnapshot): OutcomeOrder => ({
  ...snapshot,
  subjectCode: phi(snapshot.subjectCode),
  ...(priorSubjectCode === undefined ? {} : { priorSubjectCode: phi(priorSubjectCode) }),
});

function toOutcome(row: OutcomeRow, echoOf: (messageId: number | null) => OutcomeMessage["echo"]): Outcome {
  const common = {
    outcomeId: formatId("t", row.id),
    controlId: `CB${row.instance_code}${encodeCrockfordNumber(row.id).padStart(8, "0")}`,
    occurredAt: row.occurred_at,
    message: {
      messageId: row.message_id === null ? "" : formatId("m", row.message_id),
      connector: row.connector,
      messageControlId: row.message_control_id ?? undefined,
      fileName: row.file_name ?? undefined,
      dialect: row.dialect ?? undefined,
      place: row.place ?? undefined,
      receivedAt: row.received_at,
      get echo() {
        return echoOf(row.message_id);
      },
    },
  };
  const { payload } = row;
  switch (row.kind) {
    case "acknowledged":
      return {
        ...common,
        kind: "acknowledged",
        orders: (payload.orders ?? []).map(toOrder),
        isDuplicate: payload.isDuplicate === true,
      };
    case "refused":
    case "waiting":
      return {
        ...common,
        kind: row.kind,
        isFile: row.message_id === null,
        problems: payload.problems ?? [],
        placerOrderNumber: payload.placerOrderNumber,
        asRead: payload.asRead && withCodes(payload.asRead, toPhi),
      };
    case "changed":
      if (!payload.order) throw new TypeError(`outcome ${row.id} has no order`);
      return { ...common, kind: "changed", order: toOrder(payload.order) };
    case "control":
      return {
        ...common,
        kind: "control",
        answers: (payload.answers ?? []).map(({ order, ...answer }) => ({
          ...answer,
          order: order && toOrder(order),
        })),
      };
  }
}

/**
 * What is still to be reported to the lab through a connector, in the order in which it happened: `limit` at most, and no
 * more than the memory has room for. The outcomes of one message share what is
 * repeated of it, since it may have thousands.
 */
export async function listOpenOutcomes(
  pool: pg.Pool,
  connector: string,
  limit: number,
): Promise<OpenOutcome[]> {
  const rows = withinBytes(await run<OutcomeRow>(pool, OPEN_OUTCOMES, [connector, limit]));
  const ids = new Set(rows.flatMap((row) => (row.echo_bytes === null ? [] : (row.message_id ?? []))));
  const echoes = ids.size === 0 ? [] : await run<{ id: number; echo: string }>(pool, FIND_ECHOES, [[...ids]]);
  const echoOf = readEchoes(new Map(echoes.map(({ id, echo }) => [id, echo])));
  return rows.map((row) => ({
    id: row.id,
    outcome: toOutcome(row, echoOf),
    fileId: row.file_id ?? undefined,
    parkedAs: row.delivery_id ?? undefined,
  }));
}

/**
 * Reads what is repeated of a message only when it is asked for, since it is ten times as large then, takes its time, and may be unreadable;
 * the last one is at hand for the outcomes beside it.
 */
function readEchoes(textById: ReadonlyMap<number, string>): (id: number | null) => OutcomeMessage["echo"] {
  let last: { readonly id: number; readonly echo: OutcomeMessage["echo"] } | undefined;
  return (id) => {
    if (id === null) return undefined;
    if (last?.id !== id) last = { id, echo: decodeEcho(textById.get(id)) };
    return last.echo;
  };
}

/** The first of them, as many as there is room for what is repeated of their messages; one at least. */
function withinBytes(rows: readonly OutcomeRow[]): readonly OutcomeRow[] {
  const seen = new Set<number>();
  let bytes = 0;
  const end = rows.findIndex(({ message_id: id, echo_bytes: more }, n) => {
    if (id === null || more === null || seen.has(id)) return false;
    seen.add(id);
    bytes += more;
    return n > 0 && bytes > MOST_BYTES;
  });
  return end === -1 ? rows : rows.slice(0, end);
}

/** Connectors that have something to compose. */
export async function findOpenConnectors(
  pool: pg.Pool,
): Promise<{ connector: string; open: number; oldestMs: number }[]> {
  const rows = await run<{ connector: string; open: number; oldest_ms: number }>(pool, OPEN_CONNECTORS);
  return rows.map((row) => ({ connector: row.connector, open: row.open, oldestMs: row.oldest_ms }));
}

/** What became of a batch of outcomes. */
export interface Composition {
  readonly deliveries: readonly ComposedDelivery[];
  /** Outcomes that the profile doesn't send to the lab. */
  readonly unreported: readonly number[];
  readonly uncomposed: readonly UncomposedOutcome[];
}

/**
 * The number of the next result file of a series, from 1. A crash may leave a number unused, and a ledger
 * that was restored leaves 1,000, since it doesn't know which names it has given.
 */
export async function takeResultNumber(pool: pg.Pool, connector: string, series: string): Promise<number> {
  const [row] = await run<{ last_number: number }>(pool, NEXT_RESULT_NUMBER, [connector, series]);
  return row?.last_number ?? 1;
}

/** A fact for the lab. */
export interface NewOutcome {
  readonly connector: string;
  readonly message_id: number;
  /** The orders that it is about: it is sent after what happened to them before, and before what happens to them later. */
  readonly order_ids: readonly number[];
  readonly kind: "acknowledged" | "refused" | "waiting" | "changed" | "control";
  /** Plain JSON, in the form that `outcomes.ts` reads. */
  readonly payload: unknown;
}

/**
 * Facts for the lab, in this order; $1 is a JSON array of {@link NewOutcome}. Their time is that of the clock: a transaction
 * that waited for an order's row began before what it waited for. A reference locks its order, so they are made in the order
 * in which whoever changes orders locks them.
 */
const INSERT_OUTCOMES = `
with fresh as materialized (
  select nextval(pg_get_serial_sequence('outcomes', 'id')) as id, x.*
    from jsonb_to_recordset($1::jsonb) as x(connector text, message_id bigint, order_ids bigint[], kind text, payload jsonb)),
recorded as (
  insert into outcomes (id, connector, message_id, order_id, kind, payload, occurred_at)
  select f.id, f.connector, f.message_id, case when cardinality(f.order_ids) = 1 then f.order_ids[1] end, f.kind, f.payload,
         clock_timestamp()
    from fresh f)
insert into outcome_orders (outcome_id, order_id)
select distinct f.id, o.id
  from fresh f
 cross join lateral unnest(f.order_ids) as o(id)
 where cardinality(f.order_ids) > 1
 order by o.id, f.id`;

/** Records facts for the lab, in the transaction in which they happened. */
export async function recordOutcomes(client: pg.PoolClient, outcomes: readonly NewOutcome[]): Promise<void> {
  if (outcomes.length === 0) return;
  await client.query(INSERT_OUTCOMES, [JSON.stringify(outcomes)]);
}
