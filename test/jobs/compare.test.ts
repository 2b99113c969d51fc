import type pg from "pg";
import { expect, test } from "vitest";
import { type CompareDeps, compareDue } from "../../src/jobs/reconcile/compare.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import type { MadeSearch } from "../../src/service/reconcile/made.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

const never = new AbortController().signal;

/** The service has a storage of each subject, `id` of S-1 and the next one of S-2; `before` runs while it is asked. */
function depsOf(pool: pg.Pool, id: number, before: () => Promise<unknown>): CompareDeps {
  const service: Partial<ServiceClient> = {
    listMade: async ({ mark, subjectCode }: MadeSearch) => {
      await before();
      const made = subjectCode.reveal() === "S-1" ? id : id + 1;
      return [{ id: made, marks: [mark], labels: ["V-1"], containerIds: undefined }];
    },
  };
  const wayOf = () => ({ surface: "request", subjects: "register" }) as const;
  const settings = { correlation: "token", wayOf, firstPollMs: 60_000 } as const;
  return { pool, service: service as ServiceClient, logger: silent, settings };
}

test("an order whose request another order has claimed is parked for a person, and holds up no other one", () =>
  withLedger(async ({ pool }) => {
    const containers = [{ label: "V-1", description: "" }];
    const [holder, taken, other] = await commit(
      pool,
      ["A-0", "A-1", "A-2"].map((placerOrderNumber, n) =>
        aRecord(n + 1, [anOrder({ placerOrderNumber, code: `S-${n}`, containers })]),
      ),
    );
    await pool.query("update ledger set restored_at = now(), forgotten_since = now() - interval '1 day'");
    await pool.query("update orders set compare_at = now() where id = any ($1)", [[taken, other]]);
    const claim = () =>
      pool.query(
        "update orders set state = 'submitted', surface = 'request', request_id = 17 where id = $1",
        [holder],
      );
    expect(await compareDue(depsOf(pool, 17, claim), never)).toBe(2);
    const text = "request 17 at the service looks like this order's, but another order has it";
    const failure = { code: "SUBMIT_UNCERTAIN", text };
    expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "parked", failure }]);
    expect(await findOrders(pool, "A-2")).toMatchObject([{ state: "submitted", requestId: 18 }]);
    const { rows } = await pool.query("select id from orders where compare_at is not null");
    expect(rows).toEqual([]);
  }));
