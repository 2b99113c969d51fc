import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Daemon, startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { ROLES } from "../../src/core/role.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { discardOrder, retryOrder } from "../../src/ledger/orders/acts.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { countMayBeThere, findRestored, liftRestored } from "../../src/ledger/restored/restore.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { readOrderDetails } from "../../src/operator/order-details.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { copyLedger, restoreLedger } from "../support/ledger-copy.ts";
import { type Site, type SiteOptions, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

type Surface = "request" | "external";

const epochFile = (site: Site) => join(site.folder, "data.epoch");
const ended = ["completed", "parked"] as const;
const NOW = { nowMs: 0, config: { lanes: { parkedBlocks: false } } };

const order = (number: string) => omlO33({ number, subject: `S-${number}`, labels: [`V-${number}`] });

async function get(site: Site, number: string): Promise<LedgerOrder> {
  const [found] = await findOrders(site.pool, number);
  if (!found) throw new Error(`no order ${number}`);
  return found;
}

const isAt = (site: Site, number: string, states: readonly string[]) =>
  eventually(async () => {
    const [found] = await findOrders(site.pool, number);
    return found && states.includes(found.state) ? found : undefined;
  });

/** What the service made for one subject, by number of the order that it was made for. */
const made = (site: Site, subject: string) =>
  site.simulator.tally().journal.filter((each) => each.subjectCode === subject);

async function stopped<T>(daemon: Daemon, then: () => Promise<T>): Promise<T> {
  await daemon.stop();
  return then();
}

const optionsOf = (surface: Surface, correlation: string): SiteOptions => ({
  config: { service: { surface, correlation } },
});

// Orders that were open in the copy, or forgotten by it: test/simulation ("ledger put back"), and `npm run test:chaos`.
describe.concurrent("after the ledger was restored from an older copy", () => {
  test.each(["request", "external"] as const)(
    "one whose containers are stored by now is named with the ready command, and discarding it says nothing untrue: %s",
    (surface) =>
      withSite(optionsOf(surface, "token"), async (site) => {
        const first = await site.start();
        const copy = await copyLedger(site.pool);
        await site.drop("hl7", "a.hl7", order("A"));
        await isAt(site, "A", ["completed"]);
        await stopped(first, () => restoreLedger(site.pool, copy));
        await site.start();
        await site.drop("hl7", "again.hl7", order("A"));
        const [only] = made(site, "S-A");
        const id = surface === "request" ? only?.requestId : only?.procedureId;
        const ready = (orderId: number) =>
          `\`cryobridge orders resolve o${orderId} --${surface === "request" ? "request" : "procedure"}-id ${id}\``;
        const whyOf = async (found: LedgerOrder) =>
          (await readOrderDetails({ pool: site.pool, ...NOW }, found)).why;
        const forgotten = await isAt(site, "A", [...ended]);
        expect(forgotten.failure?.code).toBe("SUBMIT_FORGOTTEN_REQUEST");
        expect(await whyOf(forgotten)).toContain(ready(forgotten.id));
        expect(await countMayBeThere(site.pool)).toBe(1);
        // Also once nothing is compared any more, and where nobody knows of a restore.
        await liftRestored(site.pool, { actor: "test" });
        expect(await retryOrder(site.pool, forgotten, { actor: "test" })).toBe("done");
        const stored = await eventually(async () => {
          const found = await get(site, "A");
          return found.failure?.code === "ORDER_CONTAINER_STORED_ALREADY" ? found : undefined;
        });
        expect(await whyOf(stored)).toContain(ready(stored.id));
        expect(await discardOrder(site.pool, stored, { actor: "test" })).toBe("reason wanted");
        expect(await discardOrder(site.pool, stored, { actor: "test", reason: "tidying" })).toBe("done");
        expect((await get(site, "A")).failure?.text).toContain("may have the request");
        expect(made(site, "S-A")).toHaveLength(1);
      }),
  );

  test("another ledger than the one that was here is noticed, and a ledger that nothing was done to is none", () =>
    withSite({}, async (site) => {
      await (await site.start()).stop();
      await (await site.start()).stop();
      expect(await findRestored(site.pool)).toBeUndefined();
      await site.pool.query("update ledger set instance_code = '0THERS'");
      await (await site.start()).stop();
      expect((await findRestored(site.pool))?.by).toMatch(/^its epoch file is that of another ledger/);
      const reported = JSON.parse(await readFile(epochFile(site), "utf8"));
      expect(reported).toMatchObject({ ledger: "0THERS", restores: 1 });
    }));

  test("a daemon that works on it stops before it sends anything more", () => {
    const failures: string[] = [];
    return withSite({}, async (site) => {
      const copy = await copyLedger(site.pool);
      const daemon = await startDaemon(loadConfig(site.configFile, { env: {}, profileSchema }), {
        roles: new Set(ROLES),
        logger: silent,
        onFatal: ({ code }) => failures.push(code),
      });
      try {
        await site.drop("hl7", "a.hl7", order("A"));
        await isAt(site, "A", ["completed"]);
        await restoreLedger(site.pool, copy);
        await site.drop("hl7", "b.hl7", order("B"));
        await eventually(async () => failures.includes("LEDGER_WENT_BACK"));
        expect(made(site, "S-B")).toEqual([]);
      } finally {
        await daemon.stop();
      }
    });
  });
});
