import { expect, test } from "vitest";
import { migrateLedger } from "../../src/ledger/migrate.ts";
import { makeEarlierLedger } from "../support/earlier-ledger.ts";
import { withDatabase } from "../support/with-database.ts";

/** A ledger of the release before, with a wish that is open and one that was answered. */
const BEFORE = `
insert into messages (id, connector, ordinal, place, sha256, format, verdict)
values (1, 'lims', 1, 'message 1', '\\x00', 'hl7', 'accepted');
insert into orders (id, message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                    sources, content_digest)
values (1, 1, 1, 'lims', 'STORE', 'NORTH', 12, 'S-1', '{}', '{}', '\\x00');
insert into cancellations (message_id, position, connector, order_id, placer_order_number, actor, state)
values (1, 1, 'lims', 1, 'A-1', 'connector lims', 'asked');
insert into outcomes (connector, message_id, kind, payload)
values ('lims', 1, 'cancellation', '{"answers": [{"placerOrderNumber": "A-2"}, {"placerOrderNumber": "A-3"}]}'),
       ('lims', 1, 'refused', '{"problems": []}')`;

test("wishes to cancel of an earlier release are carried on, and those answered but not told are told", () =>
  withDatabase(async ({ pool }) => {
    await makeEarlierLedger(pool, "0009");
    const client = await pool.connect();
    await client.query("set search_path to cryobridge");
    await client.query(BEFORE);
    const { applied } = await migrateLedger(pool);
    expect(applied).toContain("0009_order_control.sql");
    const wishes = await client.query("select control, state, order_id, placer_order_number from wishes");
    expect(wishes.rows).toEqual([
      { control: "cancel", state: "asked", order_id: "1", placer_order_number: "A-1" },
    ]);
    const outcomes = await client.query("select kind, payload from outcomes order by id");
    expect(outcomes.rows).toEqual([
      {
        kind: "wishes",
        payload: {
          answers: [
            { control: "cancel", placerOrderNumber: "A-2" },
            { control: "cancel", placerOrderNumber: "A-3" },
          ],
        },
      },
      { kind: "refused", payload: { problems: [] } },
    ]);
    client.release();
  }));
