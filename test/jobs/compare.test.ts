import type pg from "pg";
import { expect, test } from "vitest";
import { type CompareDeps, compareDue } from "../../src/jobs/reconcile/compare.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { findRestored } from "../../src/ledger/restored/restore.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import type { MadeSearch } from "../../src/service/reconcile/made.ts";
import { logSink } from "../service/with-client.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

const never = new AbortController().signal;

/** The service has a storage of S-1, `id`, of S-2, the next one, and none of others; `before` runs while it is asked. */
function depsOf(pool: pg.Pool, id: number, before: () => Promise<unknown>, logger = silent): CompareDeps {
  const service: Partial<ServiceClient> = {
    listMade: async ({ mark, subjectCode }: MadeSearch) => {
      await before();
      const made = { "S-1": [id], "S-2": [id + 1] }[subjectCode.reveal()] ?? [];
      return made.map((id) => ({ id, marks: [mark], labels: ["V-1"], containerIds: undefined }));
    },
  };
  const wayOf = () => ({ surface: "request", subjects: "register" }) as const;
  const settings = { correlation: "token", wayOf, firstPollMs: 60_000 } as const;
  return { pool, service: service as ServiceClient, logger, settings };
}

test("an order whose request another order has claimed is parked for a person, and holds up no other one; what was found is counted", () =>
  withLedger(async ({ pool }) => {
    const containers = [{ label: "V-1", description: "" }];
    const [holder, ...open] = await commit(
      pool,
      ["A-0", "A-1", "A-2", "A-3"].map((placerOrderNumber, n) =>
        aRecord(n + 1, [anOrder({ placerOrderNumber, code: `S-${n}`, containers })]),
      ),
    );
    await pool.query("update ledger set restored_at = now(), forgotten_since = now() - interval '1 day'");
    await pool.query("update orders set compare_at = now() where id = any ($1)", [open]);
    const claim = () =>
      pool.query(
        "update orders set state = 'submitted', surface = 'request', request_id = 17 where id = $1",
        [holder],
      );
    const { logger, text: logged } = logSink();
    expect(await compareDue(depsOf(pool, 17, claim, logger), never)).toBe(3);
    const text = "request 17 at the service looks like this order's, but another order has it";
    const failure = { code: "SUBMIT_UNCERTAIN", text };
    expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "parked", failure }]);
    expect(await findOrders(pool, "A-2")).toMatchObject([{ state: "submitted", requestId: 18 }]);
    expect(await findOrders(pool, "A-3")).toMatchObject([{ state: "received" }]);
    expect(await findRestored(pool)).toMatchObject({ uncompared: 0, adopted: 1, parked: 1, free: 1 });
    expect(logged()).toMatch(/"adopted":1,"parked":1,"free":1,"msg":"the open orders .* were compared/);
  }));
