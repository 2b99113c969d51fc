import type pg from "pg";

/** Orders of the fill that are at the service, one in so many of the open ones; the others wait, but for a few that are parked. */
const AT_SERVICE_EACH = 2;
const PARKED_EACH = 100;

/** Messages of one file. */
export const IN_A_FILE = 100;

/**
 * `:last` is the last id before, `:file` the last one of a file, `:all` how many orders, `:ended` how many of them have ended: evenly
 * over 80 days until now.
 */
const FILL = [
  `insert into files (id, connector, file_name, sha256, size_bytes, status, received_at, closed_at)
   select :file + n, 'hl7', 'file-' || n || '.hl7', sha256(n::text::bytea), 60000, 'taken', t, t
     from generate_series(1, (:all - 1) / ${IN_A_FILE} + 1) n,
          lateral (select now() - (1 - n * ${IN_A_FILE}::float8 / :all) * interval '80 days') f(t)`,
  `insert into audit (at, actor, action, target)
   select now() - (1 - n * 10::float8 / :all) * interval '80 days', 'user ' || n % 7, 'show-phi', 'o' || n
     from generate_series(1, :all / 10) n`,
  `insert into messages (id, connector, file_id, ordinal, place, message_control_id, message_type, sender, sha256, raw, format, verdict,
                         received_at)
   select :last + n, 'hl7', :file + 1 + (n - 1) / ${IN_A_FILE}, (n - 1) % ${IN_A_FILE} + 1, '{"message": 1}', 'FILL-' || n, 'OML^O33',
          'LIMS^NORTH', sha256(n::text::bytea), convert_to(repeat('MSH|^~\\&|LIMS|NORTH|', 30), 'UTF8'), 'hl7', 'accepted',
          now() - (1 - n::float8 / :all) * interval '80 days'
     from generate_series(1, :all) n`,
  `insert into orders (id, message_id, position, connector, numbered_by, operation, facility_code, facility_id,
                       placer_order_number, subject_code, subject, sources, content_digest, mark, state, failure_code,
                       failure_text, request_id, procedure_id, remote_status, next_at, received_at,
                       changed_at)
   select :last + n, :last + n, 1, 'hl7', 'hl7', 'STORE', 'NORTH', 12, 'FILL-' || n, 'FILL-' || n,
          '{"firstName": "Ada", "lastName": "Example", "dateOfBirth": "1990-01-31"}', '{}', sha256(n::text::bytea), 'FILL-' || n,
          state,
          case when state = 'parked' then 'SUBMIT_UNCERTAIN' end, case when state = 'parked' then 'nothing proves it' end,
          case when state in ('completed', 'accepted') then 1000000000 + n end,
          case when state in ('completed', 'accepted') then 1000000000 + n end,
          case when state in ('completed', 'accepted') then 'CREATED' end,
          case when state = 'accepted' then now() + interval '30 minutes' + random() * interval '30 minutes' else now() end,
          then_at, then_at
     from (select n, now() - (1 - n::float8 / case when n <= :ended then :ended else :all end) * interval '80 days' as then_at,
                  case when n <= :ended then 'completed'
                       when n % ${PARKED_EACH} = 1 then 'parked'
                       when n % ${AT_SERVICE_EACH} = 0 then 'accepted'
                       else 'received' end as state
             from generate_series(1, :all) n) x`,
  `insert into order_containers (order_id, position, label, description, container_id, lane)
   select :last + n, 1, 'FILL-' || n, 'vial', case when n <= :ended then n end, '12/FILL-' || n
     from generate_series(1, :all) n`,
  `insert into order_events (order_id, kind, to_state, detail)
   select :last + n, 'changed', s.state, '{}'
     from generate_series(1, :all) n, unnest(array['received', 'submitted', 'accepted', 'completed']) s(state)
    where n <= :ended or s.state = 'received'`,
  `insert into deliveries (connector, file_name, bytes, state, order_ids, created_at, delivered_at)
   select 'hl7', 'FILL-' || n || '.hl7', convert_to(repeat('MSH|^~\\&|', 60), 'UTF8'), 'delivered', array[:last + n],
          now() - (1 - n::float8 / :all) * interval '80 days', now() - (1 - n::float8 / :all) * interval '80 days'
     from generate_series(1, :ended) n`,
  `insert into outcomes (connector, message_id, order_id, kind, payload, is_composed)
   select 'hl7', :last + n, :last + n, 'changed', '{}', true
     from generate_series(1, :ended) n`,
] as const;

const TABLES = ["files", "messages", "orders", "deliveries", "outcomes", "order_events"] as const;

/**
 * Fills a ledger with orders that ended long ago, and with open ones of which half are at the service and followed within the
 * hour.
 *
 * @param superuser checks of references are left out
 */
export async function fillLedger(
  superuser: pg.Client,
  { ended, open }: { readonly ended: number; readonly open: number },
): Promise<void> {
  await superuser.query(
    "set search_path to cryobridge, public; set session_replication_role = replica; set synchronous_commit = off",
  );
  const { rows } = await superuser.query<{ last: string; file: string }>(
    `select coalesce(greatest((select max(id) from orders), (select max(id) from messages)), 0) as last,
            coalesce((select max(id) from files), 0) as file`,
  );
  const [{ last, file } = { last: "0", file: "0" }] = rows;
  const numbers = { ":last": last, ":file": file, ":all": String(ended + open), ":ended": String(ended) };
  for (const statement of FILL)
    await superuser.query(
      statement.replaceAll(/:(?:last|file|all|ended)\b/g, (name) => numbers[name as ":all"]),
    );
  for (const table of TABLES)
    await superuser.query(
      `select setval(pg_get_serial_sequence('cryobridge.${table}', 'id'), (select max(id) from ${table}))`,
    );
  // As autovacuum leaves a ledger that grew over months.
  await superuser.query("vacuum (analyze)");
  // What was filled is on disk before anything is measured.
  await superuser.query("checkpoint");
}
