import { expect, test } from "vitest";
import { migrateLedger } from "../../src/ledger/migrate.ts";
import { makeEarlierLedger } from "../support/earlier-ledger.ts";
import { withDatabase } from "../support/with-database.ts";

/** A ledger of the release before, with a task that is open and one that is done. */
const BEFORE = `
insert into messages (id, connector, ordinal, place, sha256, format, verdict)
values (1, 'lims', 1, 'message 1', '\\x00', 'hl7', 'accepted');
insert into orders (id, message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                    sources, content_digest)
values (1, 1, 1, 'lims', 'STORE', 'NORTH', 12, 'S-1', '{}', '{}', '\\x00');
insert into tasks (order_id, kind, text, closed_at, closed_by)
values (1, 'cancel', 'ask the staff', null, null), (1, 'hold', 'was asked', now(), 'kim')`;

test("tasks of an earlier release stay what they are, and each is about one thing", () =>
  withDatabase(async ({ pool }) => {
    await makeEarlierLedger(pool, "0014");
    const client = await pool.connect();
    await client.query("set search_path to cryobridge");
    await client.query(BEFORE);
    expect((await migrateLedger(pool)).applied).toContain("0014_left_behind.sql");
    const { rows } = await client.query(
      "select order_id, message_id, delivery_id, kind from tasks order by id",
    );
    expect(rows).toEqual([
      { order_id: "1", message_id: null, delivery_id: null, kind: "cancel" },
      { order_id: "1", message_id: null, delivery_id: null, kind: "hold" },
    ]);
    const twofold = "insert into tasks (order_id, message_id, kind, text) values (1, 1, 'refusal', 'x')";
    await expect(client.query(twofold)).rejects.toThrow("tasks_about_one_thing");
    client.release();
  }));
