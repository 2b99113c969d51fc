import type pg from "pg";
import { expect, test } from "vitest";
import { composeMessages, composeTables } from "../../../src/jobs/deliver/compose.ts";
import { findOrders, listOpenDeliveries } from "../../../src/ledger/operator/views.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { listOpenOutcomes, takeResultNumber } from "../../../src/ledger/results/outcomes.ts";
import { csvProfile, hl7Profile } from "../../mapping/mapped.ts";
import { deliverTo } from "../../support/deliver.ts";
import { eventually } from "../../support/eventually.ts";
import { aControl } from "../../support/order-control.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withIntakes } from "../../support/with-intakes.ts";
import { withLedger } from "../../support/with-ledger.ts";

/** Tells all that is open in CSV files, and gives their rows as "order number, status". */
async function tell(pool: pg.Pool): Promise<string[]> {
  const profile = await csvProfile();
  const got: string[] = [];
  const deliver = deliverTo(pool, {
    composeAtOnce: 2_000,
    compose: (open) => composeTables(open, profile, (name) => takeResultNumber(pool, "lims", name)),
    deliver: async ({ bytes }) => {
      const rows = bytes.toString().split("\r\n").slice(1, -1);
      for (const row of rows) got.push([row.split(",")[0], row.split(",")[4]].join(" "));
    },
  });
  await deliver();
  return got;
}

/** Orders A and B of different subjects, in one file. */
async function twoOrders(pool: pg.Pool): Promise<[number, number]> {
  const orders = ["A", "B"].map((number) => anOrder({ placerOrderNumber: number, code: `S-${number}` }));
  return (await commit(pool, [aRecord(1, orders)])) as [number, number];
}

async function happens(pool: pg.Pool, orderId: number, to: "parked" | "failed" | "cancelled"): Promise<void> {
  const failure = { code: "UNCLASSIFIED", text: "invented" } as const;
  const from = ["received", "parked", "cancelled"] as const;
  const changed = await changeOrders(pool, [{ orderId, from, to, failure, isReported: true }]);
  expect(changed.size).toBe(1);
}

const request = (control: "hold" | "release" | "discontinue") =>
  aControl(1, control, [{ placerOrderNumber: "B" }], { messageControlId: control });

test("a value that the transforms of a column don't take is noted with the column's heading", () =>
  withLedger(async ({ pool }) => {
    await twoOrders(pool);
    const table = { waiting: "wartet" };
    const profile = await csvProfile({
      results: { columns: ["order_number", { from: "status", table, header: "Stand" }] },
    });
    const noted: string[] = [];
    await deliverTo(pool, {
      composeAtOnce: 2_000,
      compose: (open) =>
        composeTables(
          open,
          profile,
          (name) => takeResultNumber(pool, "lims", name),
          (heading) => noted.push(heading),
        ),
      deliver: async () => {},
    })();
    expect(noted).toEqual(["Stand", "Stand"]);
  }));

test("CSV files of one gathering tell of an order in its order, also what other files asked of it", () =>
  withLedger(async ({ pool }) => {
    const [a, b] = await twoOrders(pool);
    await commit(pool, [request("hold")]);
    await happens(pool, b, "parked");
    await happens(pool, a, "parked");
    await commit(pool, [request("release")]);
    await happens(pool, b, "cancelled");
    const got = await tell(pool);
    expect(got.filter((row) => row.startsWith("B"))).toEqual([
      "B received",
      "B held",
      "B parked",
      "B released",
      "B cancelled",
    ]);
    expect(got.filter((row) => row.startsWith("A"))).toEqual(["A received", "A parked"]);
  }));

test("an outcome that no row of a CSV file can tell is set aside, and nothing of its order overtakes it", () =>
  withLedger(async ({ pool }) => {
    const [a, b] = await twoOrders(pool);
    // The connector had HL7 messages when this was asked, and has CSV files by now.
    await commit(pool, [request("discontinue")]);
    for (const id of [a, b]) await happens(pool, id, "failed");
    expect(await tell(pool)).toEqual(["A received", "B received", "B cancelled", "A failed"]);
    expect(await listOpenDeliveries(pool, 10)).toMatchObject([
      { state: "parked", failure: { code: "UNCLASSIFIED" } },
      { state: "pending", waitsBehind: "d2" },
    ]);
  }));

const order = (control: "NW" | "XO" | "RP", operation: string, label: string) =>
  [
    `MSH|^~\\&|LIMS|NORTH|CRYO|STORE|20260301131500||ORM^O01|${control}-1|P|2.5.1`,
    "PID|1||S-1^^^CLINIC^MR||Example^Ada||19900131|F",
    `ORC|${control}|A-1^LIMS||GROUP-${control}`,
    `OBR|1|A-1^LIMS||${operation}^as asked by ${control}|||||||||||OOC^^${label}`,
    "",
  ].join("\r");

test.each(["XO", "RP"] as const)(
  "what becomes of an order that was changed is told with the codes of the message that changed it (%s)",
  (control) =>
    withIntakes(async ({ pool, open }) => {
      const intake = await open();
      await intake.take(order("NW", "CRYO-STORE", "V-1"));
      await intake.take(order(control, "CRYO-RETRIEVE", "V-2"));
      const orderId = (await findOrders(pool, "A-1"))[0]?.id ?? 0;
      const isReported = true;
      await changeOrders(pool, [{ orderId, from: ["received"], to: "completed", isReported }]);
      const { deliveries } = await composeMessages(
        await listOpenOutcomes(pool, "hl7", 10),
        await hl7Profile(),
      );
      const told = deliveries.at(-1)?.bytes.toString().split("\r") ?? [];
      const field = (segment: string, n: number) =>
        told.find((line) => line.startsWith(segment))?.split("|")[n];
      expect(field("ORC", 4)).toBe(`GROUP-${control}`);
      expect(field("OBR", 4)).toBe(`CRYO-RETRIEVE^as asked by ${control}`);
    }),
);

test("a change that was refused is echoed by no result", () =>
  withIntakes(async ({ pool, open }) => {
    const intake = await open();
    await intake.take(order("NW", "CRYO-STORE", "V-1"));
    await eventually(async () => (await findOrders(pool, "A-1")).length > 0);
    const orderId = (await findOrders(pool, "A-1"))[0]?.id ?? 0;
    const request = { surface: "request", requestId: 7 } as const;
    await changeOrders(pool, [{ orderId, from: ["received"], to: "submitted", request, isReported: true }]);
    await intake.take(order("XO", "CRYO-RETRIEVE", "V-2"));
    await changeOrders(pool, [{ orderId, to: "completed", isReported: true }]);
    const { deliveries } = await composeMessages(await listOpenOutcomes(pool, "hl7", 10), await hl7Profile());
    expect(deliveries.at(-1)?.bytes.toString()).toContain("|CRYO-STORE^as asked by NW|");
  }));
