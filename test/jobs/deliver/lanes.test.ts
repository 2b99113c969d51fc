import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FailureCode } from "../../../src/core/failures.ts";
import {
  findDelivery,
  listEvents,
  listOpenDeliveries,
  listOrderDeliveries,
} from "../../../src/ledger/operator/views.ts";
import { dropDelivery, findDueConnectors, retryDelivery } from "../../../src/ledger/results/deliveries.ts";
import { waitForLockWaiter } from "../../support/lock-waiters.ts";
import { aControl } from "../../support/order-control.ts";
import { aRecord } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";
import { aLab, failing, LONG, order, PERSON } from "./result-lanes.ts";

const NAMES = ["A", "B", "C"];

const asks = (names: string) => (n: number) =>
  aControl(
    n,
    "status",
    [...names].map((placerOrderNumber) => ({ placerOrderNumber })),
  );

describe.each([
  ["that is parked", "MLLP_RESULT_REFUSED", "parked"],
  ["that is tried again later", "MLLP_RESULT_ERROR", "pending"],
  ["that gets no answer", "MLLP_NO_ANSWER", "pending"],
] as const)("a result %s", (_words, code, state) => {
  test("holds back the later ones of its order, and no others", () =>
    withLedger(async (ledger) => {
      const { lab, places, deliver, happens, open } = aLab(ledger, { backoff: LONG });
      await places("ABC");
      lab.fails = failing(code, "A1");
      await happens("ABA");
      await deliver();
      expect(lab.got).toEqual(["B2"]);
      await happens("ABC");
      await deliver();
      expect(lab.got).toEqual(["B2", "B5", "C6"]);
      expect(await open()).toEqual([`A1 ${state}`, "A3 pending A1", "A4 pending A1"]);
      expect(await findDueConnectors(ledger.pool, ["lims"])).toEqual([]);
    }));

  test("goes before them when a person has it sent again", () =>
    withLedger(async (ledger) => {
      const { lab, places, deliver, happens, idOf } = aLab(ledger, { backoff: LONG });
      await places("A");
      lab.fails = failing(code, "A1");
      await happens("AA");
      await deliver();
      lab.fails = () => undefined;
      expect(await retryDelivery(ledger.pool, await idOf("A1"), PERSON)).toBe(true);
      await deliver();
      expect(lab.got).toEqual(["A1", "A2"]);
    }));

  test("lets them go when it is given up", () =>
    withLedger(async (ledger) => {
      const { lab, places, deliver, happens, open, idOf } = aLab(ledger, { backoff: LONG });
      await places("A");
      lab.fails = failing(code, "A1");
      await happens("AA");
      await deliver();
      await dropDelivery(ledger.pool, await idOf("A1"), PERSON);
      await deliver();
      expect(lab.got).toEqual(["A2"]);
      expect(await open()).toEqual([]);
    }));

  test("of several orders holds back what follows of each of them, and of those that wait with it", () =>
    withLedger(async (ledger) => {
      const { lab, places, deliver, happens, open, idOf } = aLab(ledger, { backoff: LONG });
      await places("ABC");
      lab.isOneFile = true;
      lab.fails = failing(code, "A1");
      for (const names of ["A", "AB", "BC", "C"]) {
        await happens(names);
        await deliver();
      }
      expect(lab.got).toEqual([]);
      expect(await open()).toEqual([
        `A1 ${state}`,
        "A2+B3 pending A1",
        "B4+C5 pending A2+B3",
        "C6 pending B4+C5",
      ]);
      await dropDelivery(ledger.pool, await idOf("A1"), PERSON);
      await deliver();
      expect(lab.got).toEqual(["A2+B3", "B4+C5", "C6"]);
    }));
});

describe("a result that no message could be made of", () => {
  test("keeps its place when one is made later", () =>
    withLedger(async (ledger) => {
      const { lab, places, deliver, happens, open } = aLab(ledger);
      await places("AB");
      lab.spoiled.add("A1");
      await happens("AAB");
      await deliver();
      expect(lab.got).toEqual(["B3"]);
      const [parked] = await listOpenDeliveries(ledger.pool, 10);
      const id = Number(parked?.deliveryId.slice(1));
      expect(await retryDelivery(ledger.pool, id, PERSON)).toBe(true);
      await deliver();
      expect((await open()).map((words) => words.split(" ").slice(1)[0])).toContain("could");
      lab.spoiled.clear();
      await retryDelivery(ledger.pool, id, PERSON);
      await deliver();
      expect(lab.got).toEqual(["B3", "A1", "A2"]);
    }));

  test.each([
    ["sent again", retryDelivery, "pending"],
    ["given up", dropDelivery, "dropped"],
  ] as const)("is made once where it is %s at the moment in which it is made", (_words, act, state) =>
    withLedger(async (ledger) => {
      const { lab, places, deliver, happens, pool } = aLab(ledger);
      await places("A");
      lab.spoiled.add("A1");
      await happens("A");
      await deliver();
      const [parked] = await listOpenDeliveries(pool, 10);
      const id = Number(parked?.deliveryId.slice(1));
      await retryDelivery(pool, id, PERSON);
      const composer = await pool.connect();
      await composer.query("begin");
      await composer.query(
        "update deliveries set file_name = 'A1', bytes = 'x', state = 'pending' where id = $1",
        [id],
      );
      await composer.query("update outcomes set is_composed = true");
      const acted = act(pool, id, PERSON);
      await waitForLockWaiter(pool);
      await composer.query("commit");
      composer.release();
      expect(await acted).toBe(true);
      const { rows } = await pool.query(
        "select d.state, t.is_composed from outcomes t join deliveries d on d.id = t.delivery_id where d.id = $1",
        [id],
      );
      expect(rows).toEqual([{ state, is_composed: true }]);
    }),
  );

  test("is not made any more when it is given up before that", () =>
    withLedger(async (ledger) => {
      const { lab, places, deliver, happens, pool } = aLab(ledger);
      await places("A");
      lab.spoiled.add("A1");
      await happens("AA");
      await deliver();
      const [parked] = await listOpenDeliveries(pool, 10);
      const id = Number(parked?.deliveryId.slice(1));
      await retryDelivery(pool, id, PERSON);
      await dropDelivery(pool, id, PERSON);
      lab.spoiled.clear();
      await deliver();
      expect(lab.got).toEqual(["A2"]);
    }));
});

describe("an answer", () => {
  test("about several orders goes before what happens to each of them later, and behind what happened before", () =>
    withLedger(async (ledger) => {
      const { lab, places, comes, deliver, happens, rounds } = aLab(ledger, { backoff: LONG });
      await places("ABC");
      lab.fails = failing("MLLP_RESULT_ERROR", "A1");
      await happens("A");
      await comes(asks("AB"));
      await happens("BC");
      await deliver();
      expect(lab.got).toEqual(["C4"]);
      lab.fails = () => undefined;
      await rounds(1);
      expect(lab.got).toEqual(["C4", "A1", "answer AB2", "B3"]);
    }));

  test("names all its orders where deliveries are shown, and in their timelines once the lab has it", () =>
    withLedger(async (ledger) => {
      const { comes, deliver, pool } = aLab(ledger);
      const ids = await comes((n) => aRecord(n, ["A", "B"].map(order)));
      await comes(asks("AB"));
      await deliver();
      const shown = await listOrderDeliveries(pool, ids[1] as number);
      expect(shown.map(({ fileName }) => fileName)).toEqual(["ack AB1", "answer AB2"]);
      expect((await findDelivery(pool, 2))?.orderIds).toEqual(ids.map((id) => `o${id}`));
      for (const id of ids) {
        const sent = (await listEvents(pool, id)).filter(({ kind }) => kind === "result_sent");
        expect(sent.map(({ detail }) => detail.deliveryId)).toEqual(["d2"]);
      }
    }));

  test("that a message came goes before the order's results, and holds back none once it is parked", () =>
    withLedger(async (ledger) => {
      const { lab, ids, comes, deliver, happens, open } = aLab(ledger, { backoff: LONG });
      lab.fails = failing("MLLP_RESULT_ERROR", "ack A1");
      const [id] = await comes((n) => aRecord(n, [order("A")]));
      ids.set("A", id as number);
      await happens("A");
      await deliver();
      expect(lab.got).toEqual([]);
      expect(await open()).toEqual(["ack A1 pending", "A2 pending ack A1"]);
      await ledger.pool.query("update deliveries set state = 'parked' where file_name = 'ack A1'");
      await deliver();
      expect(lab.got).toEqual(["A2"]);
    }));
});

test("whatever fails, is sent again or given up, and whenever: an order's results come in their order, and all of them", () => {
  const round = fc.record({
    happens: fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }),
    asks: fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 2 }),
    // Every third file fails so, or none does.
    fails: fc.constantFrom(0, 1, 2, undefined),
    code: fc.constantFrom<FailureCode>("MLLP_RESULT_REFUSED", "MLLP_NO_ANSWER", "MLLP_RESULT_ERROR"),
    isAway: fc.boolean(),
    act: fc.constantFrom("retry", "drop", "nothing"),
  });
  return fc.assert(
    fc.asyncProperty(fc.array(round, { maxLength: 10 }), fc.boolean(), (rounds, isOneFile) =>
      withLedger(async (ledger) => {
        const { lab, places, comes, deliver, happens, pool, rounds: again } = aLab(ledger, { parkAfter: 3 });
        await places("ABC");
        lab.isOneFile = isOneFile;
        const dropped = new Set<string>();
        for (const each of rounds) {
          await happens(each.happens.join(""));
          if (each.asks.length > 0) await comes(asks(each.asks.join("")));
          lab.fails = (name) => {
            if (each.isAway) return "MLLP_UNREACHABLE";
            return Number(name.match(/\d+/)) % 3 === each.fails ? each.code : undefined;
          };
          await deliver();
          const [first] = (await listOpenDeliveries(pool, 100)).filter(({ state }) => state === "parked");
          if (first === undefined) continue;
          const parked = Number(first.deliveryId.slice(1));
          if (each.act === "retry") await retryDelivery(pool, parked, PERSON);
          if (each.act === "drop" && (await dropDelivery(pool, parked, PERSON))) dropped.add(first.fileName);
        }
        lab.fails = () => undefined;
        // What failed before is counted against a result, and may park it, when the first one gets through now.
        for (const times of [1, 2]) {
          for (const { deliveryId, state } of await listOpenDeliveries(pool, 100)) {
            if (state === "parked") await retryDelivery(pool, Number(deliveryId.slice(1)), PERSON);
          }
          await again(times);
        }
        expect(await listOpenDeliveries(pool, 100)).toEqual([]);
        const { rows } = await pool.query<{ file_name: string }>(
          "select file_name from deliveries where file_name !~ '^ack' order by id",
        );
        const all = rows.map(({ file_name }) => file_name);
        expect(lab.got.toSorted()).toEqual(all.filter((name) => !dropped.has(name)).toSorted());
        for (const name of NAMES) {
          const of = (names: readonly string[]) => names.filter((each) => each.includes(name));
          expect(of(lab.got)).toEqual(of(all).filter((each) => !dropped.has(each)));
        }
      }),
    ),
    { numRuns: 10 },
  );
});

test.each([
  ["sent again", retryDelivery],
  ["given up", dropDelivery],
] as const)("a delivery is not %s unless the audit says who did it", (_words, act) =>
  withLedger(async (ledger) => {
    const { lab, places, deliver, happens, open, idOf } = aLab(ledger);
    await places("A");
    lab.fails = failing("MLLP_RESULT_REFUSED", "A1");
    await happens("A");
    await deliver();
    const id = await idOf("A1");
    await ledger.pool.query("alter table audit add constraint broken check (false) not valid");
    await expect(act(ledger.pool, id, PERSON)).rejects.toThrow();
    expect(await open()).toEqual(["A1 parked"]);
    await ledger.pool.query("alter table audit drop constraint broken");
    expect(await act(ledger.pool, id, PERSON)).toBe(true);
    const { rows } = await ledger.pool.query(
      "select actor, target, detail ->> 'reason' as reason from audit",
    );
    expect(rows).toEqual([{ actor: "kim", target: `d${id}`, reason: "fixed" }]);
  }),
);
