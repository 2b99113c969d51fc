import { describe, expect, test } from "vitest";
import type { Act } from "../../src/ledger/operator/audit.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { discardOrder, overrideOrder } from "../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33, ormCancel } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

const BY: Act = { actor: "grace", reason: "the lab says so" };
const NUMBER = "GL-003";

const second = (site: Site): Promise<LedgerOrder> =>
  eventually(async () => (await findOrders(site.pool, NUMBER)).find(({ sharesNumber }) => sharesNumber));

/** A stored order of the number, and what the lab has been sent of it. */
async function storeFirst(site: Site): Promise<ReadonlySet<string>> {
  await site.start();
  await site.drop("hl7", "first.hl7", omlO33({ number: NUMBER, labels: ["V-1"] }));
  await site.waitForOrders(1, ["completed"]);
  await eventually(async () => [...(await site.results("hl7")).values()].some((text) => /\|CM/.test(text)));
  return new Set((await site.results("hl7")).keys());
}

/** What the lab gets besides these files, once there are as many; in the order of their names. */
async function news(site: Site, connector: "hl7" | "csv", before: ReadonlySet<string>, count: number) {
  return eventually(
    async () => {
      const all = await site.results(connector);
      const fresh = [...all].filter(([name]) => !before.has(name)).map(([, text]) => text);
      return fresh.length >= count && fresh;
    },
    { what: `${count} files for the lab` },
  );
}

const again = (type = "") =>
  omlO33({ number: NUMBER, subject: "S-OTHER", labels: ["V-2"] }).replace(
    `MSG-${NUMBER}`,
    `MSG-SECOND${type}`,
  );

/** ORC and OBR of a text, and all else in which HL7 tells how an order stands. */
const orderSegments = (texts: readonly string[]) =>
  texts.flatMap((text) => text.split("\r").filter((segment) => /^(ORC|OBR|SAC|SPM)\|/.test(segment)));

const REFUSAL = /^MSA\|AE\|MSG-SECOND\|[^|]*another order with this number exists/m;
const split = (text = "") => text.replaceAll("\r", "\n");

describe.concurrent("a second order of a number, with other content", () => {
  test("is refused by the control id of its message with the reason, when it comes and when it is discarded", () =>
    withSite({}, async (site) => {
      const before = await storeFirst(site);
      await site.drop("hl7", "second.hl7", again());
      const parked = await second(site);
      expect(parked.state).toBe("parked");
      expect(await discardOrder(site.pool, parked, BY)).toBe("done");
      const reported = await news(site, "hl7", before, 2);
      expect(reported).toHaveLength(2);
      for (const text of reported) {
        expect(split(text)).toMatch(REFUSAL);
        expect(split(text)).toMatch(/^ERR\|.*\^ORDER_NUMBER_REUSED|^ERR\|.*ORDER_NUMBER_REUSED/m);
      }
      expect(reported[1]).toContain("discarded by an operator");
      expect(orderSegments(reported)).toEqual([]);
    }));

  test.each(["rejected", "cancelled", "failed"] as const)(
    "names its order by our number alone once a person has it done, also when it ends as %s",
    (end) =>
      withSite({ simulator: { staff: { auto: false } } }, async (site) => {
        await site.start();
        await site.drop("hl7", "second.hl7", omlO33({ number: NUMBER, labels: ["V-1"] }) + again());
        const parked = await second(site);
        expect(await overrideOrder(site.pool, parked, BY)).toBe("done");
        const [order] = (await site.waitForOrders(2, ["submitted"])).filter(({ id }) => id === parked.id);
        const failure = { code: "PROCEDURE_FAILED", text: "it went wrong" } as const;
        const change = {
          orderId: parked.id,
          from: ["submitted"],
          to: end,
          failure,
          isReported: true,
        } as const;
        await changeOrders(site.pool, [change]);
        const all = await eventually(async () => {
          const texts = [...(await site.results("hl7")).values()].filter((text) => text.includes("S-OTHER"));
          return texts.some((text) => text.includes("it went wrong")) && texts;
        });
        for (const segment of orderSegments(all)) expect(segment).not.toContain(NUMBER);
        expect(split(all.at(-1))).toMatch(
          new RegExp(`^ORC\\|O.\\|\\|R${order?.requestId}\\^CRYOBRIDGE\\|`, "m"),
        );
        expect(split(all.at(-1))).toMatch(/^OBX\|.*\|CRYO-MESSAGE\^.*\|MSG-SECOND\|/m);
      }),
  );

  test("is never what a cancellation of the number means, and is cancelled by our own number", () =>
    withSite({}, async (site) => {
      const before = await storeFirst(site);
      site.simulator.control.configure({ staff: { auto: false } });
      await site.drop("hl7", "second.hl7", again());
      const parked = await second(site);
      await overrideOrder(site.pool, parked, BY);
      await eventually(async () => (await second(site)).state === "submitted");
      await site.drop("hl7", "cancel.hl7", ormCancel({ number: NUMBER }));
      const answer = await eventually(async () =>
        (await news(site, "hl7", before, 1)).find((text) => text.includes("|CAN-GL-003")),
      );
      expect(split(answer)).toMatch(/^ORC\|UC\|GL-003\^LIMS\|[^|]*\|[^|]*\|CM/m);
      expect((await second(site)).state).toBe("submitted");
    }));

  test("of a message with a mistake, or of a file, is not echoed as refused either", () =>
    withSite({}, async (site) => {
      const before = await storeFirst(site);
      await site.drop("hl7", "bad.hl7", again().replace("19900131", "19909931"));
      const reported = await news(site, "hl7", before, 1);
      expect(split(reported[0])).toMatch(/^MSA\|AE\|MSG-SECOND\|[^|]*PID-7/m);
      expect(split(reported[0])).toMatch(REFUSAL);
      expect(orderSegments(reported)).toEqual([]);
    }));
});

describe.concurrent("a row with an order number that another order has", () => {
  const first = labCsv([{ number: NUMBER, subject: "S-1", labels: ["V-1"] }]);
  const other = labCsv([
    { number: "GL-002", subject: "S-9", labels: ["V-9"] },
    { number: NUMBER, subject: "S-2", labels: ["V-2"] },
  ]);
  const cells = (text: string) => text.trim().split("\r\n").slice(1);

  test("is refused with its line and the reason, and nothing else is said of the number", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("csv", "first.csv", first);
      await site.waitForOrders(1, ["completed"]);
      await eventually(async () => [...(await site.results("csv")).values()].join().includes(",completed,"));
      const before = new Set((await site.results("csv")).keys());
      await site.drop("csv", "second.csv", other);
      const parked = await second(site);
      await eventually(async () =>
        [...(await site.results("csv")).values()].some((text) => text.includes(",refused,")),
      );
      await discardOrder(site.pool, parked, BY);
      const rows = await eventually(async () => {
        const reported = (await news(site, "csv", before, 1)).flatMap(cells);
        return reported.filter((row) => row.includes(",refused,")).length >= 2 && reported;
      });
      const refused = rows.filter((row) => row.includes(",refused,"));
      for (const row of refused) {
        expect(row).toMatch(/^,/);
        expect(row).toContain("line 3, column order_number: another order with this number exists");
      }
      expect(refused[1]).toContain("discarded by an operator");
      expect(rows.filter((row) => row.startsWith(NUMBER))).toEqual([]);
    }));

  test("carries our own number and its line once a person has it done", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("csv", "first.csv", first);
      await site.waitForOrders(1, ["completed"]);
      await eventually(async () => [...(await site.results("csv")).values()].join().includes(",completed,"));
      const before = new Set((await site.results("csv")).keys());
      await site.drop("csv", "second.csv", other);
      await overrideOrder(site.pool, await second(site), BY);
      const rows = await eventually(async () => {
        const reported = (await news(site, "csv", before, 1)).flatMap(cells);
        return reported.some((row) => /^,STORE,S-2,V-2,completed,/.test(row)) && reported;
      });
      expect(rows.filter((row) => row.startsWith(NUMBER))).toEqual([]);
      const done = rows.find((row) => row.includes(",V-2,completed,"));
      expect(done).toMatch(/^,STORE,S-2,V-2,completed,\d+,/);
      expect(done).toContain("line 3, column order_number: another order with this number exists");
    }));
});

test("an order that comes through two connectors is refused at the second one, and its number gets no other status", () =>
  withSite({ simulator: { staff: { auto: false } } }, async (site) => {
    await site.start();
    await site.drop("hl7", "a.hl7", omlO33({ number: NUMBER, subject: "S-1", labels: ["V-1"] }));
    await site.waitForOrders(1, ["submitted"]);
    await site.drop("csv", "b.csv", labCsv([{ number: NUMBER, subject: "S-1", labels: ["V-1"] }]));
    const parked = await eventually(async () => {
      const order = await second(site);
      return order.state === "parked" && order;
    });
    expect(parked.failure?.code).toBe("ORDER_CONTAINER_IN_OPEN_ORDER");
    await discardOrder(site.pool, parked, BY);
    const rows = await eventually(async () => {
      const reported = [...(await site.results("csv")).values()].join("\r\n").split("\r\n");
      return reported.filter((row) => row.includes(",refused,")).length >= 2 && reported;
    });
    const ofNumber = rows.filter((row) => row.startsWith(NUMBER));
    expect(ofNumber.every((row) => row.includes(",received,"))).toBe(true);
    expect(rows.filter((row) => row.includes(",refused,")).every((row) => row.startsWith(","))).toBe(true);
  }));
