import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { listMessages } from "../../src/ledger/messages/views.ts";
import { eventually } from "../support/eventually.ts";
import { type LabOrder, labCsv, omlO33, ormCancel } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

async function teach(site: Site, facilities: Readonly<Record<string, number>>): Promise<void> {
  const config = parse(await readFile(site.configFile, "utf8")) as { facilities: Record<string, number> };
  await writeFile(
    site.configFile,
    stringify({ ...config, facilities: { ...config.facilities, ...facilities } }),
    { mode: 0o600 },
  );
}

const verdicts = (site: Site, count: number) =>
  eventually(async () => {
    const found = await listMessages(site.pool, { limit: 100 });
    return found.length === count && found.toReversed().map(({ verdict }) => verdict);
  });

const reported = (site: Site, connector: "hl7" | "csv", pattern: RegExp) =>
  eventually(async () => [...(await site.results(connector)).values()].find((text) => pattern.test(text)));

const west = (number: string, own: Partial<LabOrder> = {}): LabOrder => ({
  number,
  facility: "WEST",
  ...own,
});

describe.concurrent("orders with an unknown facility", () => {
  test("keep no order of the same patient from being cancelled", () =>
    withSite({}, async (site) => {
      await site.start();
      const [order, waits] = [
        omlO33({ number: "A-1", subject: "S-1" }),
        omlO33(west("A-2", { subject: "S-1" })),
      ];
      await site.drop("hl7", "a.hl7", `${order}${waits}${ormCancel({ number: "A-1", subject: "S-1" })}`);
      await reported(site, "hl7", /\rORC\|CR\|A-1\^LIMS/);
      expect((await site.waitForOrders(1))[0]?.state).toBe("cancelled");
      expect(site.simulator.control.requests()).toEqual([]);
    }));

  test("wait, are reported so, and are carried out in their order once the daemon starts with the code", () =>
    withSite({}, async (site) => {
      const daemon = await site.start();
      await site.drop("hl7", "a.hl7", omlO33(west("A-1", { subject: "S-1" })));
      await reported(site, "hl7", /\rMSA\|AA\|MSG-A-1\|On hold.*\rORC\|OH\|A-1\^LIMS\|\|\|HD\r/s);
      await site.drop("csv", "b.csv", labCsv([west("B-1"), { number: "B-2" }]));
      await reported(site, "csv", /\nB-1,STORE,S-B-1,V-B-1,waiting,.*names facility ""WEST""/);
      // Stores and retrieves for the patient who waits, at a facility that is known.
      await site.drop("hl7", "c.hl7", omlO33({ number: "A-2", subject: "S-1", labels: ["V-A-2"] }));
      await reported(site, "hl7", /\rORC\|OH\|A-2\^LIMS/);
      expect(await verdicts(site, 4)).toEqual(["waiting", "waiting", "accepted", "waiting"]);
      await daemon.stop();

      await teach(site, { WEST: 13 });
      await site.start();
      const orders = await site.waitForOrders(4);
      expect(orders.toReversed().map(({ placerOrderNumber, state }) => [placerOrderNumber, state])).toEqual([
        ["B-2", "completed"],
        ["A-1", "completed"],
        ["B-1", "completed"],
        ["A-2", "completed"],
      ]);
      await reported(site, "hl7", /\rMSA\|AA\|MSG-A-1\r(?:(?!MSH).)*\rORC\|OK\|A-1\^LIMS/s);
      await reported(site, "csv", /\nB-1,STORE,S-B-1,V-B-1,completed,/);
      expect(site.simulator.tally().doubled).toEqual([]);
    }));

  test("are taken up by no later start once they are orders", () =>
    withSite({}, async (site) => {
      await (async () => {
        const daemon = await site.start();
        await site.drop("csv", "a.csv", labCsv([west("A-1"), west("A-2")]));
        await verdicts(site, 2);
        await daemon.stop();
      })();
      await teach(site, { WEST: 13 });
      for (const _ of [1, 2]) {
        const daemon = await site.start();
        await site.waitForOrders(2);
        await daemon.stop();
      }
      expect(await verdicts(site, 2)).toEqual(["accepted", "accepted"]);
      expect(await site.orders()).toHaveLength(2);
    }));

  test("are refused where the site wants it so", () =>
    withSite({ config: { mapping: { unknownCodes: "refuse" } } }, async (site) => {
      await site.start();
      await site.drop("csv", "a.csv", labCsv([west("A-1")]));
      await reported(site, "csv", /\nA-1,STORE,S-A-1,V-A-1,refused,/);
    }));
});
