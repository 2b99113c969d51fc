import { expect, test } from "vitest";
import { listOrphaned } from "../../../src/ledger/results/orphaned.ts";
import { withLedger } from "../../support/with-ledger.ts";

const OF = (connector: string, id: number) => `
insert into messages (id, connector, ordinal, place, sha256, format, verdict)
values (${id}, '${connector}', 1, '{}', '\\x00', 'hl7', 'accepted'),
       (${id + 1}, '${connector}', 1, '{}', '\\x00', 'hl7', 'waiting');
insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                    sources, content_digest, state)
select ${id}, n, '${connector}', 'STORE', 'NORTH', 12, 'S-1', '{}', '{}', '\\x00',
       case n when 1 then 'received' when 2 then 'submitting' when 3 then 'completed' else 'failed' end
  from generate_series(1, 4) n;
insert into outcomes (connector, message_id, kind, payload, is_composed)
values ('${connector}', ${id}, 'refused', '{}', false), ('${connector}', ${id}, 'refused', '{}', true);
insert into deliveries (connector, file_name, state)
select '${connector}', s, s from unnest(array['pending', 'parked', 'delivered', 'dropped']) s;`;

test("counts of each connector that isn't configured what is still to be told or done, and of no other", () =>
  withLedger(async ({ pool }) => {
    await pool.query(OF("gone", 10) + OF("here", 20) + OF("also gone", 30));
    const counts = { results: 3, orders: 2, messages: 1, since: expect.any(Date) };
    expect(await listOrphaned(pool, ["here"])).toEqual([
      { connector: "also gone", ...counts },
      { connector: "gone", ...counts },
    ]);
    expect(await listOrphaned(pool, ["here", "gone", "also gone"])).toEqual([]);
  }));

test("leaves out a connector whose orders have all ended and been told", () =>
  withLedger(async ({ pool }) => {
    await pool.query(OF("gone", 10));
    await pool.query("update orders set state = 'completed'");
    await pool.query("update outcomes set is_composed = true");
    await pool.query("update deliveries set state = 'delivered'");
    await pool.query("update messages set verdict = 'accepted'");
    expect(await listOrphaned(pool, [])).toEqual([]);
  }));
