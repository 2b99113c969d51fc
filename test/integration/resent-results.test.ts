import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listOrderDeliveries } from "../../src/ledger/operator/views.ts";
import { resendDelivery } from "../../src/ledger/results/resend.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

test.each([
  ["hl7", "order.hl7", omlO33({ number: "P-1" })],
  ["csv", "order.csv", labCsv([{ number: "P-1" }])],
] as const)("results of %s that the lab lost are in its folder again, to the byte", (connector, name, text) =>
  withSite({}, async (site) => {
    await site.start();
    await site.drop(connector, name, text);
    const [order] = await site.waitForOrders(1);
    const isAllSent = async () => {
      const sent = await listOrderDeliveries(site.pool, order?.id ?? 0);
      const isComplete =
        (await site.pool.query("select 1 from outcomes where not is_composed")).rowCount === 0;
      return isComplete && sent.every(({ state }) => state === "delivered") && sent;
    };
    const sent = await eventually(isAllSent);
    const pathOf = (fileName: string) => join(site.folder, connector, "out", fileName);
    const bytes = await Promise.all(sent.map(({ fileName }) => readFile(pathOf(fileName))));
    for (const { fileName } of sent) await rm(pathOf(fileName));
    for (const { deliveryId } of sent) {
      expect(await resendDelivery(site.pool, Number(deliveryId.slice(1)), { actor: "grace" })).toBe(true);
    }
    await eventually(isAllSent);
    expect(await Promise.all(sent.map(({ fileName }) => readFile(pathOf(fileName))))).toEqual(bytes);
  }),
);
