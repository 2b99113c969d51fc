import { expect, test } from "vitest";
import { findDue } from "../../src/ledger/due.ts";
import { listFiles } from "../../src/ledger/messages/file-views.ts";
import { listMessages } from "../../src/ledger/messages/views.ts";
import { listAudit } from "../../src/ledger/operator/audit.ts";
import { listDeliveries, listOrders } from "../../src/ledger/operator/views.ts";
import { listRefills } from "../../src/ledger/refills.ts";
import { withLedger } from "../support/with-ledger.ts";

/** The server plans a statement for its values five times before it compares that with a plan for any. */
const OFTEN = 8;

test("a statement is planned once for all of a session; a list is planned for what it is narrowed to", () =>
  withLedger(async ({ pool }) => {
    const lists = [listOrders, listMessages, listFiles, listDeliveries, listAudit, listRefills];
    for (let n = 0; n < OFTEN; n += 1) {
      await findDue(pool, ["lims"]);
      for (const list of lists) await list(pool, { limit: 10 });
    }
    const { rows } = await pool.query<{ statement: string; generic: number }>(
      "select statement, generic_plans::integer as generic from pg_prepared_statements",
    );
    const find = (text: string) => rows.find(({ statement }) => statement.includes(text));
    expect(find("isOrderWaiting")?.generic).toBeGreaterThan(0);
    expect(rows.filter(({ statement }) => /\$\d::\w+(\[\])? is null/.test(statement))).toEqual([]);
  }));
