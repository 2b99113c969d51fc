import { describe, expect, test } from "vitest";
import { listOpenDeliveries } from "../../../src/ledger/operator/views.ts";
import { retryDelivery } from "../../../src/ledger/results/deliveries.ts";
import { withLedger } from "../../support/with-ledger.ts";
import { aLab, failing, LONG, PERSON } from "./result-lanes.ts";

describe("a result that fails while others get through", () => {
  test("is parked when it has done so often enough, whatever it fails with, and listed with the reason", () =>
    withLedger(async (ledger) => {
      for (const code of ["MLLP_NO_ANSWER", "MLLP_RESULT_ERROR", "UNCLASSIFIED"] as const) {
        await ledger.pool.query("truncate messages, orders, outcomes, deliveries restart identity cascade");
        const { lab, places, happens, rounds } = aLab(ledger, { parkAfter: 3, backoff: LONG });
        await places("AB");
        lab.fails = failing(code, "A1");
        await happens("A");
        for (const nth of [1, 2, 3]) {
          const [failing] = await listOpenDeliveries(ledger.pool, 10);
          expect([nth, failing?.state ?? "pending"]).toEqual([nth, "pending"]);
          await happens("B");
          await rounds(1);
        }
        expect(lab.got).toHaveLength(3);
        expect(await listOpenDeliveries(ledger.pool, 10)).toMatchObject([
          { fileName: "A1", state: "parked", failure: { code: "DELIVERY_FAILS_ALONE", text: "invented" } },
        ]);
      }
    }));

  test("is counted anew when a person has it sent again", () =>
    withLedger(async (ledger) => {
      const { lab, places, happens, rounds, open, idOf } = aLab(ledger, { parkAfter: 2, backoff: LONG });
      await places("AB");
      lab.fails = failing("MLLP_RESULT_ERROR", "A1");
      await happens("ABB");
      await rounds(1);
      await happens("B");
      await rounds(1);
      expect(await open()).toEqual(["A1 parked"]);
      await retryDelivery(ledger.pool, await idOf("A1"), PERSON);
      await happens("B");
      await rounds(1);
      expect(await open()).toEqual(["A1 pending"]);
    }));

  test("is not counted against while nothing else gets through, however long that lasts", () =>
    withLedger(async (ledger) => {
      for (const code of [
        "MLLP_NO_ANSWER",
        "MLLP_UNREACHABLE",
        "FILE_SYSTEM_ERROR",
        "MLLP_RESULT_ERROR",
      ] as const) {
        await ledger.pool.query("truncate messages, orders, outcomes, deliveries restart identity cascade");
        const { lab, places, happens, rounds, open } = aLab(ledger, { parkAfter: 2, backoff: LONG });
        await places("ABC");
        lab.fails = () => code;
        await happens("ABACB");
        await rounds(30);
        expect(lab.got).toEqual([]);
        expect((await open()).every((words) => / pending/.test(words))).toBe(true);
        lab.fails = () => undefined;
        await rounds(3);
        expect(lab.got.toSorted()).toEqual(["A1", "A3", "B2", "B5", "C4"]);
      }
    }));

  test("and takes the lab down with it is found out, since others get through in between", () =>
    withLedger(async (ledger) => {
      const { lab, places, deliver, happens, rounds, open } = aLab(ledger, { parkAfter: 3, backoff: LONG });
      await places("AB");
      let isDown = false;
      lab.fails = (name) => {
        if (isDown) return "MLLP_UNREACHABLE";
        if (name !== "A1") return undefined;
        isDown = true;
        return "MLLP_NO_ANSWER";
      };
      await happens("A");
      for (let round = 0; round < 3; round += 1) {
        await rounds(1);
        expect(isDown).toBe(true);
        // The lab is back before the result is due again.
        isDown = false;
        await happens("B");
        await deliver();
      }
      expect(lab.got).toHaveLength(3);
      expect(await open()).toEqual(["A1 parked"]);
    }));
});

test("a lab that is away is tried with one result, and nothing else is tried until that gets through", () =>
  withLedger(async (ledger) => {
    const { lab, places, happens, rounds } = aLab(ledger);
    await places("ABC");
    const tried: string[] = [];
    let isAway = true;
    lab.fails = (name) => {
      tried.push(name);
      return isAway ? "MLLP_UNREACHABLE" : undefined;
    };
    await happens("ABC");
    await rounds(3);
    expect(tried).toHaveLength(3);
    isAway = false;
    await rounds(1);
    expect(lab.got).toHaveLength(3);
  }));
