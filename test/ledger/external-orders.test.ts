import type pg from "pg";
import { describe, expect, test } from "vitest";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { discardOrder, resolveOrder, retryOrder } from "../../src/ledger/orders/acts.ts";
import { formerIds } from "../../src/ledger/orders/calls.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { findClaimed } from "../../src/ledger/orders/known-at-service.ts";
import { linkOf } from "../../src/ledger/orders/row.ts";
import { openCalls } from "../support/calls.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

const OPERATOR = { actor: "test" };
const atProcedure = (procedureId: number) => ({ surface: "external", procedureId }) as const;
const failure = { code: "SUBMIT_UNCERTAIN", text: "" } as const;

/** Orders `A-1`, `A-2` …, each submitted as the procedure of the external surface with the same place in `procedures`. */
async function submitted(pool: pg.Pool, procedures: readonly number[]): Promise<number[]> {
  const records = procedures.map((_, index) =>
    aRecord(index + 1, [anOrder({ code: `S-${index}`, placerOrderNumber: `A-${index + 1}` })]),
  );
  const ids = await commit(pool, records);
  for (const [index, orderId] of ids.entries()) await link(pool, orderId, procedures[index] as number);
  return ids;
}

const link = (pool: pg.Pool, orderId: number, procedureId: number) =>
  openCalls(pool, { where: `o.id = ${orderId}`, set: "surface = 'external'" }).then(() =>
    changeOrders(pool, [
      {
        ...{ orderId, from: ["received"], to: "submitted", request: atProcedure(procedureId) },
        call: { end: "made" },
      },
    ]),
  );

async function only(pool: pg.Pool, number = "A-1") {
  const [order] = await findOrders(pool, number);
  if (!order) throw new Error(`no order ${number}`);
  return order;
}

describe("an order of the external surface", () => {
  test("is known by its procedure and has no request", () =>
    withLedger(async ({ pool }) => {
      await submitted(pool, [7]);
      const order = await only(pool);
      expect(order).toMatchObject({ state: "submitted", surface: "external", procedureId: 7 });
      expect(order.requestId).toBeUndefined();
      expect(order.submittedAt).toBeInstanceOf(Date);
      expect(linkOf(order)).toEqual(atProcedure(7));
    }));

  test("has its procedure for itself", () =>
    withLedger(async ({ pool }) => {
      const [first, second] = await submitted(pool, [7, 8]);
      expect(await findClaimed(pool, "external", [7, 8, 9], first as number)).toEqual(
        new Map([[8, "order A-2"]]),
      );
      expect(await findClaimed(pool, "request", [7, 8, 9], first as number)).toEqual(new Map());
      await changeOrders(pool, [{ orderId: second as number, to: "parked", failure }]);
      await expect(
        resolveOrder(pool, await only(pool, "A-2"), atProcedure(7), OPERATOR),
      ).rejects.toMatchObject({
        code: "REQUEST_CLAIMED",
      });
    }));

  test("may have the number of a procedure that a request of another order became", () =>
    withLedger(async ({ pool }) => {
      const [first] = await submitted(pool, [8]);
      const [other] = await commit(pool, [aRecord(9, [anOrder({ code: "S-9", placerOrderNumber: "B-1" })])]);
      await changeOrders(pool, [
        {
          orderId: other as number,
          from: ["received"],
          to: "submitted",
          request: { surface: "request", requestId: 1 },
          procedureId: 8,
        },
      ]);
      expect(await findClaimed(pool, "external", [8], other as number)).toEqual(new Map([[8, "order A-1"]]));
      expect((await only(pool)).id).toBe(first);
    }));

  test("is followed again when it was parked and is retried", () =>
    withLedger(async ({ pool }) => {
      const [id] = await submitted(pool, [7]);
      await changeOrders(pool, [{ orderId: id as number, to: "parked", failure }]);
      expect(await retryOrder(pool, await only(pool), OPERATOR)).toBe("done");
      expect(await only(pool)).toMatchObject({ state: "submitted", procedureId: 7 });
    }));

  test("wants a reason to be discarded, since the service has it", () =>
    withLedger(async ({ pool }) => {
      const [id] = await submitted(pool, [7]);
      await changeOrders(pool, [{ orderId: id as number, to: "parked", failure }]);
      expect(await discardOrder(pool, await only(pool), OPERATOR)).toBe("reason wanted");
    }));

  test("remembers the procedure that failed when it is done anew, for as long as it stays on that surface", () =>
    withLedger(async ({ pool }) => {
      const [id] = await submitted(pool, [7]);
      await changeOrders(pool, [{ orderId: id as number, to: "failed", failure }]);
      expect(await retryOrder(pool, await only(pool), OPERATOR)).toBe("done");
      const order = await only(pool);
      expect(order).toMatchObject({ state: "received", procedureId: undefined });
      expect(formerIds(order, "external")).toEqual([7]);
      expect(formerIds(order, "request")).toEqual([]);
    }));

  test("forgets the id and the place of a container that turned out to be doubtful", () =>
    withLedger(async ({ pool }) => {
      const [id] = await submitted(pool, [7]);
      const known = { position: 1, containerId: 70, location: { storageName: "Tank 1" } };
      await changeOrders(pool, [{ orderId: id as number, containers: [known] }]);
      expect((await only(pool)).containers).toMatchObject([known]);
      await changeOrders(pool, [{ orderId: id as number, containers: [{ position: 1, isForgotten: true }] }]);
      expect((await only(pool)).containers).toEqual([{ position: 1, label: "V-1", description: "vial" }]);
    }));

  test.each(["failed", "parked"] as const)(
    "forgets what its containers were called at the service when it was %s and is to be another procedure",
    (state) =>
      withLedger(async ({ pool }) => {
        const [id] = await submitted(pool, [7]);
        const containers = [{ position: 1, containerId: 70, location: { storageName: "Tank 1" } }];
        await changeOrders(pool, [{ orderId: id as number, to: state, failure, containers }]);
        const isDone =
          state === "failed"
            ? await retryOrder(pool, await only(pool), OPERATOR)
            : await resolveOrder(pool, await only(pool), atProcedure(8), OPERATOR);
        expect(isDone).toBe("done");
        expect((await only(pool)).containers).toEqual([
          { position: 1, label: "V-1", description: "vial", containerId: undefined, location: undefined },
        ]);
      }),
  );

  test("may be linked to a procedure after it was thought to be a request", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commit(pool, [aRecord(1, [anOrder()])]);
      await changeOrders(pool, [
        {
          orderId: id as number,
          from: ["received"],
          to: "submitted",
          request: { surface: "request", requestId: 5 },
        },
      ]);
      await changeOrders(pool, [{ orderId: id as number, to: "parked", failure }]);
      expect(await resolveOrder(pool, await only(pool), atProcedure(7), OPERATOR)).toBe("done");
      expect(linkOf(await only(pool))).toEqual(atProcedure(7));
    }));

  test("can't be followed without its procedure", () =>
    withLedger(async ({ pool }) => {
      await submitted(pool, [7]);
      await expect(pool.query("update orders set procedure_id = null")).rejects.toMatchObject({
        code: "23514",
      });
    }));
});
