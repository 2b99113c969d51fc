import { expect, test } from "vitest";
import { migrateLedger } from "../../src/ledger/migrate.ts";
import { makeEarlierLedger } from "../support/earlier-ledger.ts";
import { withDatabase } from "../support/with-database.ts";

/**
 * A ledger of the release before: orders 1 to 3 of message 1, a message that waited and became order 4, and messages with
 * wishes about them. Every fact but the last one is one that the lab doesn't have yet.
 */
const BEFORE = `
insert into messages (id, connector, ordinal, place, sha256, format, verdict, duplicate_of)
select n, 'lims', 1, 'message', '\\x00', 'hl7', case n when 5 then 'duplicate' else 'accepted' end, case n when 5 then 4 end
  from generate_series(1, 6) n;
insert into orders (id, message_id, position, connector, business_key, operation, facility_code, facility_id,
                    placer_order_number, subject_code, subject, sources, content_digest)
select n, case n when 4 then 2 else 1 end, n, 'lims', E'lims\\nA-' || n, 'STORE', 'NORTH', 12, 'A-' || n, 'S-1', '{}', '{}', '\\x00'
  from generate_series(1, 4) n;
insert into wishes (message_id, position, connector, control, order_id, placer_order_number, actor, state, decided_at,
                    failure_code)
values (3, 1, 'lims', 'status', 1, 'A-1', 'connector lims', 'done', now(), null),
       (3, 2, 'lims', 'status', 2, 'A-2', 'connector lims', 'done', now(), null),
       (3, 3, 'lims', 'status', null, 'A-9', 'connector lims', 'unable', now(), 'CONTROL_ORDER_UNKNOWN'),
       (4, 1, 'lims', 'cancel', 3, 'A-3', 'connector lims', 'asked', null, null);
insert into deliveries (id, connector, file_name, bytes, state)
values (1, 'lims', 'answered', 'x', 'pending'), (2, 'lims', 'waits', 'x', 'parked'), (3, 'lims', 'old', 'x', 'delivered');
insert into outcomes (id, connector, message_id, order_id, kind, payload, delivery_id, is_composed)
values (1, 'lims', 1, null, 'acknowledged',
        '{"orders": [{"orderId": "o1"}, {"orderId": "o2"}, {"orderId": "o3"}], "isDuplicate": false}', null, false),
       (2, 'lims', 3, null, 'wishes',
        '{"answers": [{"order": {"orderId": "o1"}}, {"order": {"orderId": "o2"}}, {"placerOrderNumber": "A-9"}]}', 1, true),
       (3, 'lims', 4, null, 'acknowledged', '{"orders": [], "isDuplicate": false}', null, false),
       (4, 'lims', 5, null, 'acknowledged', '{"orders": [], "isDuplicate": true}', null, false),
       (5, 'lims', 2, null, 'waiting', '{"problems": []}', 2, true),
       (6, 'lims', 6, null, 'refused', '{"problems": []}', null, false),
       (7, 'lims', 1, 1, 'changed', '{"order": {"orderId": "o1"}}', null, false),
       (8, 'lims', 1, null, 'acknowledged', '{"orders": [{"orderId": "o1"}], "isDuplicate": false}', 3, true)`;

test("what a ledger of an earlier release has still to tell is brought into its order, and nobody numbered its orders", () =>
  withDatabase(async ({ pool }) => {
    await makeEarlierLedger(pool, "0013");
    const client = await pool.connect();
    await client.query("set search_path to cryobridge");
    await client.query(BEFORE);
    const { applied } = await migrateLedger(pool);
    expect(applied).toContain("0013_number_authorities.sql");
    const { rows } = await client.query(
      "select outcome_id::integer as told, array_agg(order_id::integer order by order_id) as of from outcome_orders group by 1 order by 1",
    );
    expect(rows).toEqual([
      { told: 1, of: [1, 2, 3] },
      { told: 2, of: [1, 2] },
      { told: 3, of: [3] },
      { told: 4, of: [3] },
    ]);
    const numbered =
      "select 1 from orders where placer_authority is not null union all select 1 from wishes where placer_authority is not null";
    expect((await client.query(numbered)).rows).toEqual([]);
    client.release();
  }));
