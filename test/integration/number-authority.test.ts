import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import { overrideOrder, retryOrder } from "../../src/ledger/orders/acts.ts";
import { listBlocks, readDocument } from "../docs/markdown.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

const BY = { actor: "grace", reason: "the lab says that it is another one" };

/** Order 1001 of an authority, of a subject of its own. */
const orderOf = (authority: string) =>
  omlO33({ number: "1001", subject: `S-${authority}`, labels: [`V-${authority}`] })
    .replaceAll("1001^LIMS", `1001^${authority}`)
    .replace("MSG-1001", `MSG-${authority}`);
/** The request to cancel it; no subject is named, so that the number alone tells. */
const cancelOf = (authority: string) =>
  ormCancel({ number: "1001" })
    .replaceAll("1001^LIMS", `1001^${authority}`)
    .replace("CAN-1001", `CAN-${authority}`)
    .replace(/PID\|.*\r/, "");

/** ORC of what is sent to the lab, whose ORC-1 is that. */
async function orcOf(site: Site, control: string): Promise<string[]> {
  return eventually(async () => {
    const texts = [...(await site.results("hl7")).values()];
    return texts
      .flatMap((text) => text.split("\r"))
      .map((line) => line.split("|"))
      .find(([name, first]) => name === "ORC" && first === control);
  });
}

describe.concurrent("an order number of another assigning authority", () => {
  test("is sent when a person says why, and not by a plain retry", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("hl7", "a.hl7", orderOf("LAB"));
      await site.waitForOrders(1, ["completed"]);
      await site.drop("hl7", "b.hl7", orderOf("EPIC"));
      const parked = await eventually(async () =>
        (await findOrders(site.pool, "1001")).find(({ state }) => state === "parked"),
      );
      expect(parked.failure?.code).toBe("ORDER_NUMBER_OTHER_AUTHORITY");
      await retryOrder(site.pool, parked, BY);
      const again = await eventually(async () => {
        const events = (await listEvents(site.pool, parked.id)).filter(({ kind }) => kind === "parked");
        return events.length === 2 && events[1]?.detail;
      });
      expect(again).toMatchObject({
        code: "ORDER_NUMBER_OTHER_AUTHORITY",
        text: expect.stringContaining("of assigning authority LAB, and this one is of EPIC"),
      });
      expect(await overrideOrder(site.pool, parked, BY)).toBe("done");
      await site.waitForOrders(2, ["completed"]);
    }));

  test("cancels nothing, and the answer says whose the number is", () =>
    withSite({ simulator: { staff: { auto: false } } }, async (site) => {
      await site.start();
      await site.drop("hl7", "a.hl7", orderOf("LAB") + cancelOf("EPIC"));
      const orc = await orcOf(site, "UC");
      expect(orc[2]).toBe("1001^EPIC");
      expect(orc[16]).toMatch(
        /^CANCEL_ORDER_DIFFERS\^.*of assigning authority LAB, and this names EPIC; nothing was cancelled/,
      );
      await site.waitForOrders(1, ["submitted"]);
    }));

  test("is another order by the recipe of the cookbook, which is reported and cancelled by its own number", () => {
    const recipe = listBlocks(readDocument("docs/guide/mapping-cookbook.md")).find(({ text }) =>
      text.includes("join: [ORC-2.1, ORC-2.2]"),
    );
    const config = {
      profiles: { "two-authorities": parse(recipe?.text ?? "") },
      connectors: [
        {
          ...{ name: "hl7", type: "hl7-drop", directory: "hl7", profile: "two-authorities" },
          ...{ stableFor: "50ms", scanInterval: "500ms" },
        },
      ],
    };
    return withSite({ config }, async (site) => {
      await site.start();
      await site.drop("hl7", "a.hl7", orderOf("LAB") + orderOf("EPIC") + cancelOf("EPIC"));
      await site.waitForOrders(2);
      const states = ["1001@LAB", "1001@EPIC"].map(async (number) =>
        (await findOrders(site.pool, number)).map(({ state }) => state),
      );
      expect(await Promise.all(states)).toEqual([["completed"], ["cancelled"]]);
      expect((await orcOf(site, "CR"))[2]).toBe("1001^EPIC");
      const result = await eventually(async () =>
        [...(await site.results("hl7")).values()].find((text) => /\|ORU\^R01.*\|V-LAB/s.test(text)),
      );
      expect(result).toMatch(/\rORC\|[^|]*\|1001\^LAB\|/);
      expect(result).toMatch(/\rOBR\|1\|1001\^LAB\|/);
    });
  });
});
