import type pg from "pg";
import { list, run, withSession } from "../database.ts";

/** A line of the lab's list. */
export interface LabLine {
  readonly line: number;
  readonly label: string;
  /** Where the lab says it stands; empty where it does not say. */
  readonly storage: string;
  readonly position: string;
}

/** A container as the service lists it. */
export interface ListedContainer {
  readonly id: number;
  /** The values of its label fields. */
  readonly labels: readonly string[];
  readonly subjectId: number | undefined;
  readonly subjectCode: string | undefined;
  /** Undefined where the entry does not say. */
  readonly isStored: boolean | undefined;
}

/** Where the service says that a container stands. */
export interface ContainerPlace {
  readonly id: number;
  readonly storageId: number | undefined;
  readonly storage: string | undefined;
  readonly position: string | undefined;
}

/** What can differ, in the sequence in which it is shown. */
export const FINDINGS = ["missing", "elsewhere", "duplicate", "extra"] as const;
export type Finding = (typeof FINDINGS)[number];

/** A label of which the two lists say different things. */
export interface Difference {
  readonly n: number;
  readonly finding: Finding;
  /** Empty for a container without a label. */
  readonly label: string;
  /** Lines of the lab's list, and ids of the service's containers: the first twenty. */
  readonly lines: readonly number[];
  readonly containerIds: readonly number[];
  readonly labSays: string;
  readonly serviceSays: string;
}

/** How much was compared, and how many differences there are. */
export interface InventoryCounts extends Readonly<Record<Finding, number>> {
  /** Different labels of the lab's list. */
  readonly labels: number;
  /** Containers that the service lists. */
  readonly listed: number;
  /** Those in storage at the facility. */
  readonly stored: number;
  /** Those that name no subject, and so no facility: they count as the facility's. */
  readonly unnamed: number;
  /** Whether any of them says when it was stored; else all count as in storage. */
  readonly isStorageShown: boolean;
}

const TABLES = `
create temp table lab_lines (line bigint, label text, storage text, position text, plain_storage text, plain_position text);
create temp table facility_subjects (id bigint, code text);
create temp table listed_containers (id bigint, label text, subject_id bigint, subject_code text, is_stored boolean);
create temp table containers (id bigint, label text, is_here boolean, is_stored boolean);
create temp table places (id bigint, storage_id bigint, storage text, position text, plain_storage text, plain_position text);
create temp table differences (n bigint generated always as identity, finding text, label text, lines bigint[],
                               container_ids bigint[], lab_says text, service_says text)`;

const ADD_LINES = `
insert into lab_lines (line, label, storage, position, plain_storage, plain_position)
select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])`;

const ADD_SUBJECTS =
  "insert into facility_subjects (id, code) select * from unnest($1::bigint[], $2::text[])";

const ADD_CONTAINERS = `
insert into listed_containers (id, label, subject_id, subject_code, is_stored)
select * from unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::boolean[])`;

const ADD_PLACES = `
insert into places (id, storage_id, storage, position, plain_storage, plain_position)
select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])`;

const INDEXES = `
create index on lab_lines (label);
create index on facility_subjects (id);
create index on facility_subjects (code);
analyze lab_lines, facility_subjects, listed_containers`;

/** Where each container is; $1 whether the facility's subjects were read. */
const FIND_CONTAINERS = `
insert into containers (id, label, is_here, is_stored)
select c.id, c.label,
       case when not $1 or (c.subject_id is null and c.subject_code is null) then true
            when c.subject_id is not null then exists (select from facility_subjects s where s.id = c.subject_id)
            else exists (select from facility_subjects s where s.code = c.subject_code) end,
       coalesce(c.is_stored, not exists (select from listed_containers e where e.is_stored is not null))
  from listed_containers c`;

const INDEX_CONTAINERS = `
create index on containers (label);
create index on containers (id);
analyze containers`;

const ADD = "insert into differences (finding, label, lines, container_ids, lab_says, service_says)";

const FIND_MISSING = `
${ADD}
select case when x.elsewhere is null then 'missing' else 'elsewhere' end, x.label, x.lines, coalesce(x.elsewhere, x.listed, '{}'), '',
       case when x.elsewhere is not null then 'at another facility'
            when x.listed is not null then 'listed, but not in storage' else '' end
  from (select l.label, (array_agg(l.line order by l.line))[1:20] as lines,
               (select (array_agg(c.id order by c.id))[1:20]
                  from containers c
                 where c.label = l.label and c.is_stored and not c.is_here) as elsewhere,
               (select (array_agg(c.id order by c.id))[1:20]
                  from containers c
                 where c.label = l.label and c.is_here) as listed
          from lab_lines l
         where not exists (select from containers c where c.label = l.label and c.is_here and c.is_stored)
         group by l.label) x
 order by 1 desc, x.label`;

const FIND_DUPLICATE = `
${ADD}
select 'duplicate', x.label, x.lines, coalesce(x.ids, '{}'),
       case when x.in_list > 1 then x.in_list || ' lines' else '' end,
       case when cardinality(x.ids) > 1 then 'several containers' else '' end
  from (select l.label, count(*) as in_list, (array_agg(l.line order by l.line))[1:20] as lines,
               (select (array_agg(distinct c.id))[1:20]
                  from containers c
                 where c.label = l.label and c.is_here and c.is_stored) as ids
          from lab_lines l
         group by l.label
         union all
        select c.label, 0, '{}', (array_agg(distinct c.id))[1:20]
          from containers c
         where c.is_here
           and c.is_stored
           and c.label <> ''
           and not exists (select from lab_lines l where l.label = c.label)
         group by c.label) x
 where x.in_list > 1
    or cardinality(x.ids) > 1
 order by x.label`;

const FIND_EXTRA = `
${ADD}
select 'extra', min(c.label), '{}', array[c.id], '', ''
  from containers c
 where c.is_here
   and c.is_stored
 group by c.id
having not bool_or(exists (select from lab_lines l where l.label = c.label))
 order by 2, c.id`;

/** Containers whose place the lab names, by their ids; $1 the last one before, $2 limit. */
const PLACES_TO_READ = `
select distinct c.id
  from containers c
  join lab_lines l on l.label = c.label
 where c.is_here
   and c.is_stored
   and (l.storage <> '' or l.position <> '')
   and c.id > $1
 order by c.id
 limit $2`;

const FIND_ELSEWHERE = `
${ADD}
select 'elsewhere', x.label, array[x.line], array[x.id], concat_ws(', ', nullif(x.lab_storage, ''), nullif(x.lab_position, '')),
       coalesce(nullif(concat_ws(', ', coalesce(x.storage, 'storage ' || x.storage_id), x.position), ''), 'no place shown')
  from (select l.label, l.line, c.id, l.storage as lab_storage, l.position as lab_position, p.storage, p.storage_id, p.position,
               l.storage <> ''
               and l.plain_storage is distinct from p.plain_storage
               and l.storage is distinct from p.storage_id::text as has_other_storage,
               l.position <> '' and l.plain_position is distinct from p.plain_position as has_other_position
          from lab_lines l
          join containers c on c.label = l.label
          join places p on p.id = c.id
         where c.is_here
           and c.is_stored) x
 where x.has_other_storage
    or x.has_other_position
 order by x.label, x.line`;

const COUNTS = `
select (select count(distinct l.label)::integer from lab_lines l) as labels,
       (select count(distinct c.id)::integer from containers c) as listed,
       (select count(distinct c.id)::integer from containers c where c.is_here and c.is_stored) as stored,
       (select count(distinct c.id)::integer
          from listed_containers c
         where c.subject_id is null and c.subject_code is null) as unnamed,
       exists (select from listed_containers c where c.is_stored is not null) as "isStorageShown",
       ${FINDINGS.map((finding) => `(select count(*)::integer from differences d where d.finding = '${finding}') as ${finding}`).join(", ")}`;

const INDEX_DIFFERENCES = `
create index on differences (finding, n);
analyze differences`;

/** $1 finding, $2 the last one before, $3 limit. Index: differences (finding, n), without which each page would read them all. */
const DIFFERENCES = `
select d.n, d.finding, d.label, d.lines, d.container_ids as "containerIds", d.lab_says as "labSays",
       d.service_says as "serviceSays"
  from differences d
 where d.finding = $1
   and d.n > $2
 order by d.n
 limit $3`;

const A_PAGE = 1_000;

/**
 * What places are compared by, since they are written by hand in many ways: capitals, blanks and punctuation say nothing, but
 * that a number or a word ends there. So `Cane 1, slot 11` is `CANE1 / SLOT11`, and not `Cane 11, slot 1`.
 */
function plain(place: string): string {
  return place
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim()
    .replace(/(?<=[\p{L}\p{M}]) (?=\p{N})|(?<=\p{N}) (?=\p{L})/gu, "");
}

/** The two lists of containers, in tables of one session that are gone with it; nothing of them is kept in memory. */
export class Inventory {
  readonly #client: pg.PoolClient;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  async addLines(lines: readonly LabLine[]): Promise<void> {
    const of = <Key extends keyof LabLine>(key: Key) => lines.map((line) => line[key]);
    const [storages, positions] = [of("storage"), of("position")];
    await run(this.#client, ADD_LINES, [
      ...[of("line"), of("label"), storages, positions],
      ...[storages.map(plain), positions.map(plain)],
    ]);
  }

  /** Adds subjects of the facility. */
  async addSubjects(
    subjects: readonly { readonly id: number; readonly code: string | undefined }[],
  ): Promise<void> {
    await run(this.#client, ADD_SUBJECTS, [
      subjects.map(({ id }) => id),
      subjects.map(({ code }) => code ?? null),
    ]);
  }

  /** Adds what the service lists, whosever it is; a container without a label stays findable by its id. */
  async addContainers(containers: readonly ListedContainer[]): Promise<void> {
    const rows = containers.flatMap((each) =>
      (each.labels.length === 0 ? [""] : each.labels).map((label) => ({ ...each, label })),
    );
    await run(this.#client, ADD_CONTAINERS, [
      rows.map(({ id }) => id),
      rows.map(({ label }) => label),
      rows.map(({ subjectId }) => subjectId ?? null),
      rows.map(({ subjectCode }) => subjectCode ?? null),
      rows.map(({ isStored }) => isStored ?? null),
    ]);
  }

  /** Compares what was added. @param areSubjectsKnown whether the facility's subjects are among it */
  async compare(areSubjectsKnown: boolean): Promise<void> {
    await run(this.#client, INDEXES);
    await run(this.#client, FIND_CONTAINERS, [areSubjectsKnown]);
    await run(this.#client, INDEX_CONTAINERS);
    for (const statement of [FIND_MISSING, FIND_DUPLICATE, FIND_EXTRA]) await run(this.#client, statement);
  }

  /** Ids of the containers whose place is to be read, since the lab names one, a page at a time. */
  async *placesToRead(): AsyncGenerator<readonly number[], void, void> {
    for (let last = -1; ; ) {
      const rows = await run<{ id: number }>(this.#client, PLACES_TO_READ, [last, A_PAGE]);
      if (rows.length === 0) return;
      yield rows.map(({ id }) => id);
      last = rows.at(-1)?.id ?? last;
    }
  }

  async addPlaces(places: readonly ContainerPlace[]): Promise<void> {
    await run(this.#client, ADD_PLACES, [
      places.map(({ id }) => id),
      places.map(({ storageId }) => storageId ?? null),
      places.map(({ storage }) => storage ?? null),
      places.map(({ position }) => position ?? null),
      places.map(({ storage }) => (storage === undefined ? null : plain(storage))),
      places.map(({ position }) => (position === undefined ? null : plain(position))),
    ]);
  }

  /** Compares the places. */
  async comparePlaces(): Promise<void> {
    await run(this.#client, "create index on places (id); analyze places");
    await run(this.#client, FIND_ELSEWHERE);
  }

  /** Counts, once all is compared. */
  async count(): Promise<InventoryCounts> {
    await run(this.#client, INDEX_DIFFERENCES);
    const [counts] = await run<InventoryCounts>(this.#client, COUNTS);
    if (counts === undefined) throw new RangeError("a count has a row");
    return counts;
  }

  /** The differences of one kind, a page at a time. */
  async *differences(finding: Finding): AsyncGenerator<readonly Difference[], void, void> {
    for (let last = 0; ; ) {
      const rows = await list<Difference>(this.#client, DIFFERENCES, [finding, last, A_PAGE]);
      if (rows.length === 0) return;
      yield rows;
      last = rows.at(-1)?.n ?? last;
    }
  }
}

/**
 * Gives an inventory to compare two lists in, for the time of the work. Its session may read and sort much, and ends with it.
 * @throws Failure LEDGER_UNAVAILABLE
 */
export function withInventory<T>(pool: pg.Pool, work: (inventory: Inventory) => Promise<T>): Promise<T> {
  return withSession(pool, async (client) => {
    await run(
      client,
      "set enable_hashjoin = on; set enable_mergejoin = on; set enable_seqscan = on; set work_mem = '64MB'",
    );
    await run(client, TABLES);
    return work(new Inventory(client));
  });
}
