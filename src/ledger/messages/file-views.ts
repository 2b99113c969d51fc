import type pg from "pg";
import type { Problem } from "../../core/failures.ts";
import type { Verdict } from "../../core/intake.ts";
import { isTerminal, ORDER_STATES } from "../../core/order-state.ts";
import { beginsWith, list, narrowed, withoutNulls } from "../database.ts";

export const FILE_STATUSES = ["reading", "taken", "refused", "duplicate"] as const;

/** A dropped file as an operator sees it, with what became of its messages. */
export interface FileView {
  /** Such as `f3`. */
  readonly fileId: string;
  readonly connector: string;
  readonly fileName: string;
  readonly sizeBytes: number;
  readonly status: (typeof FILE_STATUSES)[number];
  /** The file that had the same bytes. */
  readonly firstFileId: string | undefined;
  readonly problems: readonly Problem[];
  readonly receivedAt: Date;
  readonly closedAt: Date | undefined;
  /** Only the first of its messages are counted, since it has that many or more. */
  readonly isCut: boolean;
  readonly verdicts: Readonly<Partial<Record<Verdict, number>>>;
  readonly ordersDone: number;
  /** Without those that are parked. */
  readonly ordersOpen: number;
  readonly ordersParked: number;
  readonly resultsSent: number;
  readonly resultsOpen: number;
}

/**
 * {@link FileView}s of the rows that `files` gives; $1 how many messages of each are counted, $2 text[] states in which an
 * order is done. Indexes: messages (file_id, ordinal), orders (message_id, position), outcomes_message, outcomes_file, the
 * primary keys.
 */
const viewsOf = (files: string) => `
select 'f' || f.id as "fileId", f.connector, f.file_name as "fileName", f.size_bytes as "sizeBytes", f.status,
       'f' || f.first_file_id as "firstFileId", f.problems, f.received_at as "receivedAt", f.closed_at as "closedAt", c.*
  from (${files}) f
 cross join lateral (
  with counted as materialized (
    select m.id, m.verdict
      from messages m
     where m.file_id = f.id
     order by m.ordinal
     limit $1)
  select v."isCut", v.verdicts, o.done as "ordersDone", o.open as "ordersOpen", o.parked as "ordersParked", d.sent as "resultsSent", d.open as "resultsOpen"
    from (select coalesce(jsonb_object_agg(x.verdict, x.count), '{}') as verdicts, coalesce(sum(x.count), 0) >= $1 as "isCut"
            from (select verdict, count(*)::integer as count from counted group by verdict) x) v
   cross join (select count(*) filter (where o.state = any ($2))::integer as done,
                      count(*) filter (where o.state <> all ($2) and o.state <> 'parked')::integer as open,
                      count(*) filter (where o.state = 'parked')::integer as parked
                 from counted
                 join orders o on o.message_id = counted.id) o
   cross join (select count(*) filter (where d.state = 'delivered')::integer as sent,
                      count(*) filter (where d.state in ('pending', 'parked'))::integer as open
                 from deliveries d
                where d.id in (select t.delivery_id from counted join outcomes t on t.message_id = counted.id
                                union
                               select t.delivery_id from outcomes t where t.file_id = f.id)) d) c
 order by f.id desc`;

/**
 * Newest first; $3 connector, $4 status, $5 the beginning of a name as a pattern, $6 before id, $7 limit, $8 since; null for
 * any. Indexes: the primary key, files_name, files_status, files_received.
 */
const LIST_FILES = viewsOf(`
select *
  from files
 where ($3::text is null or connector = $3)
   and ($4::text is null or status = $4)
   and ($5::text is null or file_name like $5)
   and ($6::bigint is null or id < $6)
   and ($8::timestamptz is null or received_at >= $8)
 order by id desc
 limit $7`);

const DONE = ORDER_STATES.filter(isTerminal);
/** Messages of a file that a list counts, and that its own page counts. */
const COUNTED_IN_LIST = 100;
const COUNTED_OF_ONE = 10_000;

/** Which files to list; all conditions hold together. */
interface FileFilter {
  readonly connector?: string | undefined;
  readonly status?: FileView["status"] | undefined;
  /** The beginning of the name. */
  readonly name?: string | undefined;
  readonly since?: Date | undefined;
  /** Files before this one, for the next page. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

/** Files, newest first. */
export async function listFiles(
  pool: pg.Pool,
  { connector, status, name, since, beforeId, limit }: FileFilter,
): Promise<FileView[]> {
  const pattern = name === undefined ? undefined : beginsWith(name);
  const values = [COUNTED_IN_LIST, DONE, connector, status, pattern, beforeId, limit, since];
  return (await narrowed(pool, LIST_FILES, values)).map((row) => withoutNulls(row) as FileView);
}

/** $3 id. Index: the primary key. */
const FILE_BY_ID = viewsOf("select * from files where id = $3");

/** One file; undefined when there is none with this id. */
export async function findFile(pool: pg.Pool, fileId: number): Promise<FileView | undefined> {
  return (await list<FileView>(pool, FILE_BY_ID, [COUNTED_OF_ONE, DONE, fileId]))[0];
}
