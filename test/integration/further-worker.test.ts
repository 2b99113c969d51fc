import { join } from "node:path";
import { expect, test } from "vitest";
import { startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { ROLES } from "../../src/core/role.ts";
import { findRestored } from "../../src/ledger/restored/restore.ts";
import { listWorkers } from "../../src/ledger/workers/roster.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { openLink } from "../support/cuttable-link.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

/** Starts a daemon with a data folder of its own, as on another machine, whose way to the service may be another one. */
function startElsewhere({ configFile, folder }: Site, serviceUrl?: string) {
  const loaded = loadConfig(configFile, { env: {}, profileSchema });
  const { service } = loaded;
  const baseUrl = serviceUrl ?? service.baseUrl;
  const config = { ...loaded, service: { ...service, baseUrl } };
  const dataDir = join(folder, "elsewhere");
  return startDaemon(
    { ...config, dataDir, epochFile: `${dataDir}.epoch`, connectors: [] },
    {
      roles: new Set(ROLES),
      logger: silent,
      onFatal: (failure) => {
        throw failure;
      },
    },
  );
}

test("a further worker on a machine without an epoch file takes the word of those that work with the ledger", () =>
  withSite({}, async (site) => {
    await site.start();
    const further = await startElsewhere(site);
    try {
      expect(await findRestored(site.pool)).toBeUndefined();
    } finally {
      await further.stop();
    }
  }));

test("one that comes alone to a ledger that made calls has nobody's word", () =>
  withSite({}, async (site) => {
    await (await site.start()).stop();
    const alone = await startElsewhere(site);
    try {
      expect(await findRestored(site.pool)).toMatchObject({ by: expect.stringContaining("is missing") });
    } finally {
      await alone.stop();
    }
  }));

test("one whose way to the service alone is cut leaves the orders and the lead to another one", () =>
  withSite({}, async (site) => {
    const way = await openLink(Number(new URL(site.simulator.url).port));
    const cut = await startElsewhere(site, `http://127.0.0.1:${way.port}`);
    const leader = async () => (await listWorkers(site.pool, 0)).find(({ isLeader }) => isLeader);
    try {
      const first = await eventually(leader);
      await site.start();
      await way.close();
      const dropTen = async (day: string) => {
        for (let n = 0; n < 10; n += 1) {
          const number = `${day}-${n}`;
          const message = {
            number,
            subject: `S-${number}`,
            operation: "CRYO-STORE",
            labels: [`V-${number}`],
          } as const;
          await site.drop("hl7", `${number}.hl7`, omlO33(message));
        }
      };
      // Which of the two takes an order is chance: the other one alone may take all of a round.
      let rounds = 0;
      const isElsewhere = async () => {
        rounds += 1;
        await dropTen(`FIRST-${rounds}`);
        await site.waitForOrders(10 * rounds, ["completed"]);
        const { id } = (await leader()) ?? first;
        return id !== first.id;
      };
      await eventually(isElsewhere);
      expect(cut.service?.breaker.state).not.toBe("closed");
      await dropTen("SECOND");
      await site.waitForOrders(10 * (rounds + 1), ["completed"]);
      const { rows } = await site.pool.query(
        "select e.kind from order_events e join orders o on o.id = e.order_id where o.placer_order_number like 'SECOND%' and e.kind = 'again'",
      );
      expect(rows).toEqual([]);
    } finally {
      await cut.stop();
    }
  }));

test("a service that was away is tried though no order waits for it", () =>
  withSite({}, async (site) => {
    const { service } = await site.start();
    site.simulator.control.setFaults([{ path: "/**", status: 502 }]);
    const never = new AbortController().signal;
    while (service?.breaker.state === "closed") await service.getRequest(1, never).catch(() => undefined);
    site.simulator.control.setFaults([]);
    await eventually(() => service?.breaker.state === "closed");
  }));
