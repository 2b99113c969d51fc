import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Failure, type FailureCode } from "../../src/core/failures.ts";
import { type DeliverDeps, deliverConnector } from "../../src/jobs/deliver.ts";
import { DeliveryEvidence } from "../../src/jobs/delivery-evidence.ts";
import { insertOrderOutcomes } from "../../src/ledger/change-orders.ts";
import { findDueDeliveries } from "../../src/ledger/deliveries.ts";
import { dropDelivery, retryDelivery } from "../../src/ledger/delivery-acts.ts";
import type { Composition, OpenOutcome } from "../../src/ledger/outcomes.ts";
import { listOpenDeliveries } from "../../src/ledger/views.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { silent, type TestLedger, withLedger } from "../support/with-ledger.ts";

const PERSON = { actor: "kim", reason: "corrected" };
const NAMES = ["A", "B", "C", "D"];
const nameOf = ({ outcome }: OpenOutcome) =>
  outcome.kind === "changed" ? (outcome.order.placerOrderNumber ?? "") : "";

/** What a lab does with a result: takes it, or fails with this code. */
type Way = (fileName: string, tries: number) => FailureCode | undefined;

/** Orders A to D, and a lab for what happens to them. Nothing is due again by itself but what is due at once. */
async function aLab({ pool }: TestLedger) {
  const ids = await commit(
    pool,
    NAMES.map((placerOrderNumber, index) => aRecord(index + 1, [anOrder({ placerOrderNumber })])),
  );
  await pool.query("update outcomes set is_composed = true");
  const lab = { got: [] as string[], tried: [] as string[], way: ((): undefined => undefined) as Way };
  let told = 0;
  const target = () => ({
    composeAtOnce: 100,
    evidence: new DeliveryEvidence(),
    compose: async (open: readonly OpenOutcome[]): Promise<Composition> => ({
      deliveries: open.map((each) => ({
        fileName: `${nameOf(each)}${++told}`,
        bytes: Buffer.from("x"),
        outcomeIds: [each.id],
      })),
      untold: [],
      uncomposed: [],
    }),
    deliver: async ({ fileName }: { readonly fileName: string }) => {
      lab.tried.push(fileName);
      const code = lab.way(fileName, lab.tried.filter((each) => each === fileName).length);
      if (code) throw new Failure(code, "the lab said so");
      lab.got.push(fileName);
    },
  });
  const targetByConnector = new Map([["lims", target()]]);
  const deps: DeliverDeps = {
    pool,
    clock: systemClock,
    logger: silent,
    random: () => 0.5,
    backoff: { firstMs: 3_600_000, maxMs: 3_600_000 },
    targetByConnector,
    mayDeliver: () => true,
  };
  const deliver = () => deliverConnector("lims", deps, new AbortController().signal);
  return {
    lab,
    deliver,
    /** Runs so often, and each time all that waits for its time is due. */
    rounds: async (count: number) => {
      for (let round = 0; round < count; round += 1) {
        await pool.query("update deliveries set next_at = now() where state = 'pending'");
        await deliver();
      }
    },
    restart: () => targetByConnector.set("lims", target()),
    happens: async (names: string) => {
      const client = await pool.connect();
      for (const name of names) await insertOrderOutcomes(client, [ids[NAMES.indexOf(name)] as number]);
      client.release();
    },
    open: async () =>
      (await listOpenDeliveries(pool, 100)).map(({ fileName, state, failure, waitsBehind }) =>
        [fileName, state, waitsBehind ?? failure?.code].filter((word) => word !== undefined).join(" "),
      ),
  };
}

const chokesOn =
  (...names: readonly string[]): Way =>
  (fileName) =>
    names.includes(fileName) ? "MLLP_NO_ANSWER" : undefined;

describe("a result that the lab never answers, while it answers others", () => {
  test.each(["MLLP_NO_ANSWER", "FILE_NOT_PLACED", "UNCLASSIFIED"] as const)(
    "is set aside with %s, and those of other orders go on",
    (code) =>
      withLedger(async (ledger) => {
        const { lab, rounds, happens, open } = await aLab(ledger);
        lab.way = (name) => (name === "A1" ? code : undefined);
        await happens("ABAC");
        await rounds(2);
        expect(lab.got).toEqual([]);
        await rounds(1);
        expect(lab.got).toEqual(["B2", "C4"]);
        expect(await open()).toEqual(["A1 pending DELIVERY_FAILS_ALONE", "A3 pending d1"]);
      }),
  );

  test("lets what comes later pass at once, and is tried again when it is due", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, rounds, happens, open } = await aLab(ledger);
      lab.way = chokesOn("A1");
      await happens("AB");
      await rounds(3);
      await happens("AC");
      await deliver();
      expect(lab.got).toEqual(["B2", "C4"]);
      expect(await findDueDeliveries(ledger.pool)).toEqual([]);
      lab.way = () => undefined;
      await rounds(1);
      expect(lab.got).toEqual(["B2", "C4", "A1", "A3"]);
      expect(await open()).toEqual([]);
    }));

  test("needs a person after ten failures with another result between them, and goes out when that one says so", () =>
    withLedger(async (ledger) => {
      const { lab, rounds, happens, open } = await aLab(ledger);
      lab.way = chokesOn("A1");
      await happens("AA");
      for (let round = 0; round < 11; round += 1) {
        await happens("B");
        await rounds(1);
      }
      expect(await open()).toEqual(["A1 pending DELIVERY_FAILS_ALONE", "A2 pending d1"]);
      await happens("B");
      await rounds(1);
      expect(await open()).toEqual(["A1 parked DELIVERY_FAILS_ALONE", "A2 pending d1"]);
      expect(lab.got).toHaveLength(12);
      lab.way = () => undefined;
      await retryDelivery(ledger.pool, 1, PERSON);
      await rounds(1);
      expect(lab.got.slice(-2)).toEqual(["A1", "A2"]);
    }));

  test("stops nothing when a person has it sent again in vain", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, rounds, happens, open } = await aLab(ledger);
      lab.way = chokesOn("A1");
      await happens("AB");
      await rounds(3);
      await ledger.pool.query("update deliveries set state = 'parked' where id = 1");
      await retryDelivery(ledger.pool, 1, PERSON);
      await deliver();
      await happens("C");
      await deliver();
      expect(lab.got).toEqual(["B2", "C3"]);
      expect(await open()).toEqual(["A1 pending DELIVERY_FAILS_ALONE"]);
    }));

  test("is not counted against while nothing else is there to be sent", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, rounds, happens, open } = await aLab(ledger);
      lab.way = chokesOn("A1");
      await happens("AB");
      await rounds(40);
      expect(await open()).toEqual(["A1 pending DELIVERY_FAILS_ALONE"]);
      await happens("C");
      await deliver();
      expect(lab.got).toEqual(["B2", "C3"]);
    }));

  test("lets those of its order go when it is given up", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, rounds, happens, open } = await aLab(ledger);
      lab.way = chokesOn("A1");
      await happens("ABA");
      await rounds(3);
      await dropDelivery(ledger.pool, 1, PERSON);
      await deliver();
      expect(lab.got).toEqual(["B2", "A3"]);
      expect(await open()).toEqual([]);
    }));

  test("is found among several that are like it, by trying another one each time", () =>
    withLedger(async (ledger) => {
      const { lab, rounds, happens, open } = await aLab(ledger);
      lab.way = chokesOn("A1", "B2", "C3");
      await happens("ABCD");
      await rounds(5);
      expect(lab.got).toEqual(["D4"]);
      for (let round = 0; round < 30; round += 1) {
        await happens("D");
        await rounds(1);
      }
      expect(lab.got).toHaveLength(31);
      expect(await open()).toEqual(["A1", "B2", "C3"].map((name) => expect.stringContaining(`${name} p`)));
      expect((await open()).every((words) => words.endsWith("DELIVERY_FAILS_ALONE"))).toBe(true);
    }));

  test("is known after a restart, and stops the others no more than once", () =>
    withLedger(async (ledger) => {
      const { lab, rounds, happens, open, restart } = await aLab(ledger);
      lab.way = chokesOn("A1");
      await happens("AB");
      await rounds(3);
      restart();
      await happens("C");
      await rounds(1);
      expect(lab.got).toEqual(["B2", "C3"]);
      expect(await open()).toEqual(["A1 pending DELIVERY_FAILS_ALONE"]);
    }));

  test("that the lab breaks down over is set aside, though the lab is away behind it every time", () =>
    withLedger(async (ledger) => {
      const { lab, rounds, happens, open } = await aLab(ledger);
      let isDown = false;
      lab.way = (name) => {
        if (isDown) return "MLLP_UNREACHABLE";
        isDown = name === "A1";
        return isDown ? "MLLP_NO_ANSWER" : undefined;
      };
      await happens("ABC");
      for (let round = 0; round < 8; round += 1) {
        await rounds(1);
        // It takes a while to come up again.
        isDown = false;
      }
      expect(lab.got).toEqual(["B2", "C3"]);
      expect(await open()).toEqual(["A1 pending DELIVERY_FAILS_ALONE"]);
    }));
});

test("a result that the lab breaks down over is found out behind others that the lab refuses, and none of it is said of it", () =>
  withLedger(async (ledger) => {
    const { lab, rounds, happens, open } = await aLab(ledger);
    let isDown = false;
    lab.way = (name) => {
      if (isDown) return "MLLP_UNREACHABLE";
      if (name === "B2") return "MLLP_RESULT_REFUSED";
      isDown = name === "A1";
      return isDown ? "MLLP_NO_ANSWER" : undefined;
    };
    await happens("ABC");
    const said = new Set<string>();
    for (let round = 0; round < 8; round += 1) {
      await rounds(1);
      said.add((await open())[0] ?? "");
      isDown = false;
    }
    expect(lab.got).toEqual(["C3"]);
    expect([...said]).toEqual(["A1 pending MLLP_NO_ANSWER", "A1 pending DELIVERY_FAILS_ALONE"]);
    expect(await open()).toEqual(["A1 pending DELIVERY_FAILS_ALONE", "B2 parked MLLP_RESULT_REFUSED"]);
  }));

test("a result that alone fails is found out however much of its own order waits behind it", () =>
  withLedger(async (ledger) => {
    const { lab, rounds, happens, open } = await aLab(ledger);
    lab.way = chokesOn("A1", "B61");
    await happens(`${"A".repeat(60)}BBC`);
    await rounds(4);
    expect(lab.got).toEqual(["C63"]);
    expect((await open())[0]).toBe("A1 pending DELIVERY_FAILS_ALONE");
  }));

describe("a lab that is away", () => {
  test.each([
    ["answers nothing", () => "MLLP_NO_ANSWER"],
    ["can't be reached", () => "MLLP_UNREACHABLE"],
    ["takes no file", () => "FILE_SYSTEM_ERROR"],
    ["does now this, now that", (_name, tries) => (tries % 2 ? "MLLP_NO_ANSWER" : "MLLP_UNREACHABLE")],
  ] satisfies [string, Way][])(
    "and %s gets everything in its order once it is back, however long that took",
    (_words, way) =>
      withLedger(async (ledger) => {
        const { lab, rounds, happens, open } = await aLab(ledger);
        lab.way = way;
        await happens("ABACBD");
        await rounds(60);
        expect(lab.got).toEqual([]);
        expect(
          (await open()).filter((words) => !/ pending( |$)/.test(words) || / DELIVERY| d\d/.test(words)),
        ).toEqual([]);
        lab.way = () => undefined;
        await rounds(1);
        expect(lab.got).toEqual(["A1", "B2", "A3", "C4", "B5", "D6"]);
      }),
  );

  test("again counts nothing against a result that was set aside before, and has that one first", () =>
    withLedger(async (ledger) => {
      const { lab, rounds, happens, open } = await aLab(ledger);
      lab.way = chokesOn("A1");
      await happens("AB");
      await rounds(3);
      lab.way = () => "MLLP_NO_ANSWER";
      await happens("CA");
      await rounds(60);
      expect(await open()).toEqual(["A1 pending MLLP_NO_ANSWER", "C3 pending MLLP_NO_ANSWER", "A4 pending"]);
      lab.way = () => undefined;
      await rounds(1);
      expect(lab.got).toEqual(["B2", "A1", "C3", "A4"]);
    }));

  test("makes the first result no suspect when it comes back behind a try of it", () =>
    withLedger(async (ledger) => {
      const { lab, rounds, happens, open } = await aLab(ledger);
      lab.way = (name, tries) => (name === "A1" && tries <= 3 ? "MLLP_NO_ANSWER" : undefined);
      await happens("ABC");
      await rounds(3);
      expect(lab.got).toEqual(["B2", "A1", "C3"]);
      expect(await open()).toEqual([]);
    }));
});

test("whatever a lab chokes on, and whenever it is away: an order's results come in their order, and all but those come", () => {
  const round = fc.record({
    happens: fc.array(fc.constantFrom(...NAMES), { maxLength: 3 }),
    lab: fc.constantFrom("there", "there", "silent", "away"),
    restarts: fc.boolean(),
  });
  return fc.assert(
    fc.asyncProperty(fc.array(round, { maxLength: 10 }), fc.integer({ min: 2, max: 5 }), (all, nth) =>
      withLedger(async (ledger) => {
        const { lab, rounds, happens, open, restart } = await aLab(ledger);
        const isBad = (name: string) => Number(name.slice(1)) % nth === 0;
        const there: Way = (name) => (isBad(name) ? "MLLP_NO_ANSWER" : undefined);
        for (const each of all) {
          await happens(each.happens.join(""));
          lab.way =
            each.lab === "there"
              ? there
              : () => (each.lab === "away" ? "MLLP_UNREACHABLE" : "MLLP_NO_ANSWER");
          if (each.restarts) restart();
          await rounds(1);
        }
        lab.way = there;
        const heldUp = async () => {
          const left = (await open()).map((words) => words.split(" ")[0] ?? "");
          const isBehindBad = (name: string, index: number) =>
            left.slice(0, index).some((other) => other[0] === name[0] && isBad(other));
          return left.filter((name, index) => !isBad(name) && !isBehindBad(name, index));
        };
        for (let round = 0; round < 40 && (await heldUp()).length > 0; round += 1) await rounds(1);
        expect(await heldUp()).toEqual([]);
        lab.way = () => undefined;
        for (const { deliveryId, state } of await listOpenDeliveries(ledger.pool, 100)) {
          if (state === "parked") await retryDelivery(ledger.pool, Number(deliveryId.slice(1)), PERSON);
        }
        await rounds(2);
        expect(await open()).toEqual([]);
        for (const name of NAMES) {
          const numbers = lab.got
            .filter((each) => each.startsWith(name))
            .map((each) => Number(each.slice(1)));
          expect(numbers).toEqual([...new Set(numbers)].sort((x, y) => x - y));
        }
      }),
    ),
    { numRuns: 8 },
  );
});
