import { describe, expect, test } from "vitest";
import type { Act } from "../../src/ledger/operator/audit.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { discardOrder, overrideOrder } from "../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33, ormCancel } from "../support/lab-messages.ts";
import { type Site, sharedSite } from "../support/with-daemon.ts";

const BY: Act = { actor: "grace", reason: "the lab says so" };

/** Where orders go on to their end, and where nobody reviews anything. Each test has a number of its own. */
const moving = sharedSite();
const idle = sharedSite({ simulator: { staff: { auto: false } } });

const second = (site: Site, number: string): Promise<LedgerOrder> =>
  eventually(async () => (await findOrders(site.pool, number)).find(({ sharesNumber }) => sharesNumber));

/** Texts of result files that say something of a number, in the order of their names. */
const textsOf = async (site: Site, number: string) =>
  [...(await site.results("hl7")).values()].filter((text) => text.includes(number));

/** An order of the number that is stored, and reported as such. */
async function storeFirst(site: Site, number: string): Promise<void> {
  await site.drop("hl7", `${number}.hl7`, omlO33({ number }));
  await site.waitForOrder(number, ["completed"]);
  await eventually(async () => (await textsOf(site, number)).some((text) => /\|CM/.test(text)));
}

/** What the lab gets of the second message of a number, once it is as much. */
const news = (site: Site, number: string, count: number) =>
  eventually(
    async () => {
      const texts = await textsOf(site, `SECOND-${number}`);
      return texts.length >= count && texts;
    },
    { what: `${count} files for the lab` },
  );

const again = (number: string) =>
  omlO33({ number, subject: `S-OTHER-${number}`, labels: [`V-OTHER-${number}`] }).replace(
    `MSG-${number}`,
    `SECOND-${number}`,
  );

/** ORC and OBR of a text, and all else in which HL7 tells how an order stands. */
const orderSegments = (texts: readonly string[]) =>
  texts.flatMap((text) => text.split("\r").filter((segment) => /^(ORC|OBR|SAC|SPM)\|/.test(segment)));

const REFUSAL = /^MSA\|AE\|SECOND-[^|]*\|[^|]*another order with this number exists/m;
const split = (text = "") => text.replaceAll("\r", "\n");

describe.concurrent("a second order of a number, with other content", () => {
  test("is refused by the control id of its message with the reason, when it comes and when it is discarded", async () => {
    const [site, number] = [moving(), "REFUSED"];
    await storeFirst(site, number);
    await site.drop("hl7", "refused.hl7", again(number));
    const parked = await second(site, number);
    expect(parked.state).toBe("parked");
    expect(await discardOrder(site.pool, parked, BY)).toBe("done");
    const reported = await news(site, number, 2);
    expect(reported).toHaveLength(2);
    for (const text of reported) {
      expect(split(text)).toMatch(REFUSAL);
      expect(split(text)).toMatch(/^ERR\|.*\^ORDER_NUMBER_REUSED|^ERR\|.*ORDER_NUMBER_REUSED/m);
    }
    expect(reported.some((text) => text.includes("discarded by an operator"))).toBe(true);
    expect(orderSegments(reported)).toEqual([]);
  });

  test.each(["rejected", "cancelled", "failed"] as const)(
    "names its order by our number alone once a person has it done, also when it ends as %s",
    async (end) => {
      const [site, number] = [idle(), `ENDS-${end}`];
      await site.drop("hl7", `${end}.hl7`, omlO33({ number }) + again(number));
      const parked = await second(site, number);
      expect(await overrideOrder(site.pool, parked, BY)).toBe("done");
      const isSecond = ({ id }: LedgerOrder) => id === parked.id;
      const order = await site.waitForOrder(number, ["submitted"], isSecond);
      const failure = { code: "PROCEDURE_FAILED", text: "it went wrong" } as const;
      await changeOrders(site.pool, [
        { orderId: parked.id, from: ["submitted"], to: end, failure, isReported: true },
      ]);
      const all = await eventually(async () => {
        const texts = await textsOf(site, `S-OTHER-${number}`);
        return texts.some((text) => text.includes("it went wrong")) && texts;
      });
      for (const segment of orderSegments(all)) expect(segment).not.toContain(`|${number}^`);
      expect(split(all.at(-1))).toMatch(
        new RegExp(`^ORC\\|O.\\|\\|R${order.requestId}\\^CRYOBRIDGE\\|`, "m"),
      );
      expect(split(all.at(-1))).toMatch(
        new RegExp(`^OBX\\|.*\\|CRYO-MESSAGE\\^.*\\|SECOND-${number}\\|`, "m"),
      );
    },
  );

  test("is never what a cancellation of the number means, and is cancelled by our own number", async () => {
    const [site, number] = [moving(), "CANCEL"];
    await storeFirst(site, number);
    await site.drop("hl7", "cancel-2.hl7", again(number));
    const parked = await second(site, number);
    await overrideOrder(site.pool, parked, BY);
    await site.drop("hl7", "cancel.hl7", ormCancel({ number }));
    const answer = await eventually(async () =>
      (await textsOf(site, `|CAN-${number}`)).find((text) => text.includes("\rORC|UC|")),
    );
    expect(split(answer)).toMatch(/^ORC\|UC\|CANCEL\^LIMS\|[^|]*\|[^|]*\|CM/m);
    const isSecond = ({ id }: LedgerOrder) => id === parked.id;
    await site.waitForOrder(number, ["completed"], isSecond);
  });

  test("of a message with a mistake, or of a file, is not echoed as refused either", async () => {
    const [site, number] = [moving(), "MISTAKE"];
    await storeFirst(site, number);
    await site.drop("hl7", "mistake.hl7", again(number).replace("19900131", "19909931"));
    const reported = await news(site, number, 1);
    expect(split(reported[0])).toMatch(/^MSA\|AE\|SECOND-MISTAKE\|[^|]*PID-7/m);
    expect(split(reported[0])).toMatch(REFUSAL);
    expect(orderSegments(reported)).toEqual([]);
  });
});

describe.concurrent("a row with an order number that another order has", () => {
  const refusal = "line 3, column order_number: another order with this number exists";

  /** A stored order of a number, then a file with another order of it in its third line; gives that one, and rows after it. */
  async function fileAgain(site: Site, number: string) {
    // Results have the name of the file that they are about; a row about a refused one need not say whose it is.
    const rows = async () =>
      [...(await site.results("csv"))]
        .filter(([name]) => name.startsWith(`${number}.csv.`) || name.startsWith(`${number}-2.csv.`))
        .flatMap(([, text]) => text.trim().split("\r\n").slice(1));
    await site.drop("csv", `${number}.csv`, labCsv([{ number }]));
    await site.waitForOrder(number, ["completed"]);
    await eventually(async () => (await rows()).some((row) => row.includes(",completed,")));
    const before = new Set(await rows());
    const other = { number, subject: `S-OTHER-${number}`, labels: [`V-OTHER-${number}`] };
    await site.drop("csv", `${number}-2.csv`, labCsv([{ number: `${number}-FIRST` }, other]));
    const fresh = async () => (await rows()).filter((row) => !before.has(row));
    const isOfNumber = (row: string) => row.startsWith(`${number},`);
    return { parked: await second(site, number), fresh, isOfNumber };
  }

  test("is refused with its line and the reason, and nothing else is said of the number", async () => {
    const site = moving();
    const { parked, fresh, isOfNumber } = await fileAgain(site, "ROW-REFUSED");
    const refused = async () => (await fresh()).filter((row) => row.includes(",refused,"));
    await eventually(async () => (await refused()).length >= 1);
    await discardOrder(site.pool, parked, BY);
    await eventually(async () => (await refused()).length >= 2);
    for (const row of await refused()) {
      expect(row).toMatch(/^,/);
      expect(row).toContain(refusal);
    }
    expect((await refused()).some((row) => row.includes("discarded by an operator"))).toBe(true);
    expect((await fresh()).filter(isOfNumber)).toEqual([]);
  });

  test("carries our own number and its line once a person has it done", async () => {
    const site = moving();
    const { parked, fresh, isOfNumber } = await fileAgain(site, "ROW-DONE");
    await overrideOrder(site.pool, parked, BY);
    const start = ",STORE,S-OTHER-ROW-DONE,V-OTHER-ROW-DONE,completed,";
    const done = await eventually(async () => (await fresh()).find((row) => row.startsWith(start)));
    expect(done.slice(start.length)).toMatch(/^\d+,/);
    expect(done).toContain(refusal);
    expect((await fresh()).filter(isOfNumber)).toEqual([]);
  });
});

test("an order that comes through two connectors is refused at the second one, and its number gets no other status", async () => {
  const [site, number] = [idle(), "TWO-WAYS"];
  const same = { number, subject: "S-TWO-WAYS", labels: ["V-TWO-WAYS"] };
  await site.drop("hl7", "two-ways.hl7", omlO33(same));
  await site.waitForOrder(number, ["submitted"]);
  await site.drop("csv", "two-ways.csv", labCsv([same]));
  const parked = await eventually(async () => {
    const order = await second(site, number);
    return order.state === "parked" && order;
  });
  expect(parked.failure?.code).toBe("ORDER_CONTAINER_IN_OPEN_ORDER");
  await discardOrder(site.pool, parked, BY);
  const rows = await eventually(async () => {
    const reported = [...(await site.results("csv")).values()].join("\r\n").split("\r\n");
    return reported.filter((row) => row.includes(",refused,")).length >= 2 && reported;
  });
  const ofNumber = rows.filter((row) => row.startsWith(number));
  expect(ofNumber.every((row) => row.includes(",received,"))).toBe(true);
  const refused = rows.filter((row) => row.includes(",refused,"));
  expect(refused.every((row) => row.startsWith(","))).toBe(true);
  // Without its number, its place tells the lab which row is meant.
  expect(refused.every((row) => row.includes("line 2, column order_number"))).toBe(true);
});
