import { describe, expect, test } from "vitest";
import { listEvents } from "../../src/ledger/operator/views.ts";
import { openCallOf } from "../../src/ledger/orders/calls.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import type { FaultRule } from "../../src/simulator/faults.ts";
import { type CliResult, runCli } from "../cli/run-cli.ts";
import { agedBy } from "../support/calls.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { standIn } from "../support/worker.ts";

const CREATE = { method: "POST", path: "/api/procedure-requests", times: 1 } as const;
const REGISTER = { method: "POST", path: "/api/subjects", times: 1 } as const;

/** The daemon itself looks for nothing during a test, and no call is old enough by itself. */
const PATIENT = { service: { timeout: "5m", reconcile: { checks: ["60m"], giveUpAfter: "90m" } } };

const cli = (site: Site, ...words: string[]): Promise<CliResult> =>
  runCli(["--config", site.configFile, ...words], { env: {} });

const endByHand = (site: Site) =>
  cli(site, "orders", "retry", "A-1", "--not-at-service", "--reason", "staff see nothing of it");

/** An order whose call was lost minutes ago, as the ledger has it. */
async function loseCall(site: Site): Promise<LedgerOrder> {
  await site.start();
  await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
  const order = await eventually(async () => {
    const [found] = await site.orders();
    return found?.state === "submitting" && found.failure !== undefined && found;
  });
  await agedBy(site.pool, "6 minutes");
  return order;
}

const withLostCall = (fault: FaultRule, work: (site: Site, order: LedgerOrder) => Promise<void>) =>
  withSite({ config: PATIENT, simulator: { faults: [fault] } }, async (site) => {
    await work(site, await loseCall(site));
  });

async function expectUntouched(site: Site, order: LedgerOrder): Promise<void> {
  const [now] = await site.orders();
  expect(now).toMatchObject({ state: "submitting", fence: order.fence });
  expect(now && openCallOf(now)).toBeDefined();
  expect((await site.pool.query("select 1 from audit")).rowCount).toBe(0);
}

describe("orders retry --not-at-service", () => {
  test("has an order sent again whose lost call did nothing, and records who said so", () =>
    withLostCall({ ...CREATE, before: "drop" }, async (site, order) => {
      expect(await endByHand(site)).toMatchObject({
        status: 0,
        stdout: "✓ o1 (A-1) is sent again; a last check found nothing of it at the service\n",
      });
      expect((await site.waitForOrders(1))[0]?.state).toBe("completed");
      expect(site.simulator.tally().doubled).toEqual([]);
      expect(
        (await listEvents(site.pool, order.id)).find(({ kind }) => kind === "not_at_service"),
      ).toMatchObject({
        detail: { reason: "staff see nothing of it" },
      });
      const { rows } = await site.pool.query("select action, target, detail from audit");
      expect(rows).toEqual([
        { action: "not-at-service", target: "o1", detail: { reason: "staff see nothing of it" } },
      ]);
      expect((await cli(site, "orders", "show", "A-1")).stdout).toContain("a last check found nothing");
      const later = await site.pool.query(
        "select look_at is not null as is_looked_for from calls where outcome = 'nothing'",
      );
      expect(later.rows).toEqual([{ is_looked_for: true }]);
    }));

  test("does nothing where a last check finds what the call made", () =>
    withLostCall({ ...CREATE, after: "drop" }, async (site, order) => {
      const { status, stdout } = await endByHand(site);
      expect(status).toBe(1);
      expect(stdout).toMatch(
        /^✗ o1 \(A-1\) may be at the service: a last check found request \d+ there\. Nothing was done/,
      );
      await expectUntouched(site, order);
      expect(site.simulator.tally().journal).toHaveLength(1);
    }));

  test("finds a subject that was registered as well", () =>
    withLostCall({ ...REGISTER, after: "drop" }, async (site, order) => {
      expect(order.calls).toMatchObject([{ kind: "subject", outcome: undefined }]);
      expect((await endByHand(site)).stdout).toContain("a last check found the subject there");
      await expectUntouched(site, order);
    }));

  test("does nothing while the call may be under way, or a worker has the order, or it has no lost call", () =>
    withLostCall({ ...CREATE, before: "drop" }, async (site, order) => {
      await site.pool.query("update calls set at = now(), left_by = null");
      expect((await endByHand(site)).stdout).toMatch(
        /was sent only \S+ ago, so its call may be under way still/,
      );
      await agedBy(site.pool, "6 minutes");
      const other = await standIn(site.pool);
      await site.pool.query("update orders set owner = $1", [other.id]);
      expect((await endByHand(site)).stdout).toContain("is in a worker's hands right now, or has moved on");
      await site.pool.query("update orders set owner = null");
      await other.leave();
      await expectUntouched(site, order);
      await site.pool.query("update orders set state = 'discarded'");
      expect((await endByHand(site)).stdout).toContain(
        "has no call of which the effect is unknown; it is discarded",
      );
    }));

  test("wants a reason, and says in its help what a plain retry means meanwhile", () =>
    withLostCall({ ...CREATE, before: "drop" }, async (site) => {
      expect(await cli(site, "orders", "retry", "A-1", "--not-at-service")).toMatchObject({ status: 2 });
      const both = ["--not-at-service", "--override", "--reason", "x"];
      expect(await cli(site, "orders", "retry", "A-1", ...both)).toMatchObject({ status: 2 });
      expect((await cli(site, "orders", "show", "A-1")).stdout).toContain("--not-at-service --reason TEXT");
      const { stdout } = await cli(site, "orders", "retry", "A-1");
      expect(stdout).toContain("may have reached the service: the service is searched for it now");
      expect(stdout).toContain("cryobridge orders retry o1 --not-at-service --reason TEXT");
    }));

  test("sends one again that is parked since nothing proved what its call did", () =>
    withLostCall({ ...CREATE, before: "drop" }, async (site) => {
      await site.pool.query(
        `with looked as (update calls set look_at = null)
         update orders set state = 'parked', failure_code = 'SUBMIT_UNCERTAIN', failure_text = 'no trace'`,
      );
      expect((await endByHand(site)).status).toBe(0);
      expect((await site.waitForOrders(1))[0]?.state).toBe("completed");
      expect(site.simulator.tally().doubled).toEqual([]);
    }));
});
