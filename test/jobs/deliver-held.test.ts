import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Failure } from "../../src/core/failures.ts";
import { type DeliverDeps, deliverConnector } from "../../src/jobs/deliver.ts";
import { DeliveryEvidence } from "../../src/jobs/delivery-evidence.ts";
import { insertOrderOutcomes } from "../../src/ledger/change-orders.ts";
import { countHeldDeliveries } from "../../src/ledger/counts.ts";
import { findDueDeliveries } from "../../src/ledger/deliveries.ts";
import { dropDelivery, retryDelivery } from "../../src/ledger/delivery-acts.ts";
import type { Composition, OpenOutcome } from "../../src/ledger/outcomes.ts";
import { listOpenDeliveries } from "../../src/ledger/views.ts";
import { eventually } from "../support/eventually.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { silent, type TestLedger, withLedger } from "../support/with-ledger.ts";

const PERSON = { actor: "kim", reason: "corrected" };
const NAMES = ["A", "B", "C"];
const nameOf = ({ outcome }: OpenOutcome) =>
  outcome.kind === "changed" ? (outcome.order.placerOrderNumber ?? "") : "";

/** Orders A, B and C whose acknowledgements are told, and a lab for what follows. */
async function aLab({ pool }: TestLedger, backoff = { firstMs: 1, maxMs: 1 }) {
  const ids = await commit(
    pool,
    NAMES.map((placerOrderNumber, index) => aRecord(index + 1, [anOrder({ placerOrderNumber })])),
  );
  await pool.query("update outcomes set is_composed = true");
  const lab = {
    got: [] as string[],
    /** Files that the lab will never take, and outcomes that no message can be made of. */
    refused: new Set<string>(),
    /** Files that it answers with an error for now. */
    erring: new Set<string>(),
    isAway: false,
    spoiled: new Set<string>(),
    /** Whether all that is open goes into one file, as in CSV. */
    isOneFile: false,
  };
  let told = 0;
  const numbers = new Map<number, string>();
  const compose = async (open: readonly OpenOutcome[]): Promise<Composition> => {
    for (const each of open) {
      if (!numbers.has(each.id)) numbers.set(each.id, `${nameOf(each)}${++told}`);
    }
    const word = ({ id }: OpenOutcome) => numbers.get(id) ?? "";
    const bytes = Buffer.from("x");
    const fit = open.filter((each) => !lab.spoiled.has(word(each)));
    return {
      deliveries: lab.isOneFile
        ? [{ fileName: fit.map(word).join("+"), bytes, outcomeIds: fit.map(({ id }) => id) }]
        : fit.map((each) => ({ fileName: word(each), bytes, outcomeIds: [each.id] })),
      untold: [],
      uncomposed: open
        .filter((each) => lab.spoiled.has(word(each)))
        .map(({ id }) => ({ outcomeId: id, code: "UNCLASSIFIED", text: "no message" })),
    };
  };
  const target = {
    composeAtOnce: 100,
    evidence: new DeliveryEvidence(),
    compose,
    deliver: async ({ fileName }: { readonly fileName: string }) => {
      if (lab.refused.has(fileName)) throw new Failure("FILE_NAME_TAKEN", "another file has that name");
      if (lab.isAway) throw new Failure("MLLP_NO_ANSWER", "nothing came in time");
      if (lab.erring.has(fileName)) throw new Failure("MLLP_RESULT_ERROR", "the lab system says AE");
      lab.got.push(fileName);
    },
  };
  const deps: DeliverDeps = {
    pool,
    clock: systemClock,
    logger: silent,
    random: () => 0.5,
    backoff,
    targetByConnector: new Map([["lims", target]]),
    mayDeliver: () => true,
  };
  return {
    ...{ lab, pool },
    deliver: () => deliverConnector("lims", deps, new AbortController().signal),
    /** Something happens to the orders of these names, one after the other. */
    happens: async (names: string) => {
      const client = await pool.connect();
      for (const name of names) await insertOrderOutcomes(client, [ids[NAMES.indexOf(name)] as number]);
      client.release();
    },
    /** The deliveries that the lab doesn't have, with what they wait behind. */
    open: async () =>
      (await listOpenDeliveries(pool, 100)).map(({ fileName, state, waitsBehind }) =>
        [fileName, state, ...(waitsBehind === undefined ? [] : [waitsBehind])].join(" "),
      ),
  };
}

describe("a result that is parked", () => {
  test("holds back the later ones of its order, and no others", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens, open } = await aLab(ledger);
      lab.refused.add("A1");
      await happens("ABA");
      await deliver();
      expect(lab.got).toEqual(["B2"]);
      await happens("ABC");
      await deliver();
      expect(lab.got).toEqual(["B2", "B5", "C6"]);
      expect(await open()).toEqual(["A1 parked", "A3 pending d1", "A4 pending d1"]);
      expect(await countHeldDeliveries(ledger.pool)).toBe(2);
    }));

  test("goes before them when it is sent again", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens } = await aLab(ledger);
      lab.refused.add("A1");
      await happens("AA");
      await deliver();
      lab.refused.clear();
      expect(await retryDelivery(ledger.pool, 1, PERSON)).toBe(true);
      await deliver();
      expect(lab.got).toEqual(["A1", "A2"]);
    }));

  test("lets them go when it is given up", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens, open } = await aLab(ledger);
      lab.refused.add("A1");
      await happens("AA");
      await deliver();
      await dropDelivery(ledger.pool, 1, PERSON);
      await deliver();
      expect(lab.got).toEqual(["A2"]);
      expect(await open()).toEqual([]);
    }));

  test("makes nothing due while all the rest waits behind it", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens } = await aLab(ledger);
      lab.refused.add("A1");
      await happens("AA");
      await deliver();
      expect(await findDueDeliveries(ledger.pool)).toEqual([]);
      await happens("B");
      await deliver();
      expect(lab.got).toEqual(["B3"]);
    }));

  test("with several orders holds back what follows of each of them, and of those that wait with it", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens, open } = await aLab(ledger);
      lab.isOneFile = true;
      lab.refused.add("A1");
      for (const names of ["A", "AB", "BC", "C"]) {
        await happens(names);
        await deliver();
      }
      expect(lab.got).toEqual([]);
      expect(await open()).toEqual(["A1 parked", "A2+B3 pending d1", "B4+C5 pending d1", "C6 pending d1"]);
      await dropDelivery(ledger.pool, 1, PERSON);
      await deliver();
      expect(lab.got).toEqual(["A2+B3", "B4+C5", "C6"]);
    }));

  test("keeps its place where no message could be made of it and one is made now", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens, open } = await aLab(ledger);
      lab.spoiled.add("A1");
      await happens("AAB");
      await deliver();
      expect(lab.got).toEqual(["B3"]);
      expect(await retryDelivery(ledger.pool, 1, PERSON)).toBe(true);
      await deliver();
      expect((await open()).map((words) => words.split(" ").at(-1))).toEqual(["parked", "d1"]);
      lab.spoiled.clear();
      await retryDelivery(ledger.pool, 1, PERSON);
      await deliver();
      expect(lab.got).toEqual(["B3", "A1", "A2"]);
    }));

  test.each([
    ["sent again", retryDelivery, "pending"],
    ["given up", dropDelivery, "dropped"],
  ] as const)("is made once where it is %s at the moment in which it is made", (_words, act, state) =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens, pool } = await aLab(ledger);
      lab.spoiled.add("A1");
      await happens("A");
      await deliver();
      await retryDelivery(pool, 1, PERSON);
      const composer = await pool.connect();
      await composer.query("begin");
      await composer.query("update deliveries set file_name = 'A1', bytes = 'x', state = 'pending'");
      await composer.query("update outcomes set is_composed = true");
      const acted = act(pool, 1, PERSON);
      const blocked =
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await eventually(async () => (await pool.query(blocked)).rowCount === 1);
      await composer.query("commit");
      composer.release();
      expect(await acted).toBe(true);
      const { rows } = await pool.query(
        "select d.state, t.is_composed from outcomes t join deliveries d on d.id = t.delivery_id",
      );
      expect(rows).toEqual([{ state, is_composed: true }]);
    }),
  );

  test("is not made and sent any more when it is given up before that", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens } = await aLab(ledger);
      lab.spoiled.add("A1");
      await happens("AA");
      await deliver();
      await retryDelivery(ledger.pool, 1, PERSON);
      await dropDelivery(ledger.pool, 1, PERSON);
      lab.spoiled.clear();
      await deliver();
      expect(lab.got).toEqual(["A2"]);
    }));
});

test("whatever is refused, sent again or given up, and whenever: an order's results come in their order", () => {
  const round = fc.record({
    happens: fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }),
    // Every third file is one that the lab won't take, or none is.
    refuses: fc.constantFrom(0, 1, 2, undefined),
    act: fc.constantFrom("retry", "drop", "nothing"),
  });
  return fc.assert(
    fc.asyncProperty(fc.array(round, { maxLength: 12 }), fc.boolean(), (rounds, isOneFile) =>
      withLedger(async (ledger) => {
        const { lab, deliver, happens, open, pool } = await aLab(ledger);
        lab.isOneFile = isOneFile;
        let refused: number | undefined;
        lab.refused.has = (name) => Number(name.match(/\d+/)) % 3 === refused;
        for (const each of rounds) {
          await happens(each.happens.join(""));
          refused = each.refuses;
          await deliver();
          const [first] = (await listOpenDeliveries(pool, 100)).filter(({ state }) => state === "parked");
          const parked = Number(first?.deliveryId.slice(1) ?? 0);
          if (each.act === "retry") await retryDelivery(pool, parked, PERSON);
          if (each.act === "drop") await dropDelivery(pool, parked, PERSON);
        }
        refused = undefined;
        await deliver();
        const told = lab.got.flatMap((name) => name.split("+"));
        for (const name of NAMES) {
          const numbers = told.filter((each) => each.startsWith(name)).map((each) => Number(each.slice(1)));
          expect(numbers).toEqual([...new Set(numbers)].sort((x, y) => x - y));
        }
        expect((await open()).every((words) => / parked$| d\d+$/.test(words))).toBe(true);
      }),
    ),
    { numRuns: 30 },
  );
});

test.each([
  ["sent again", retryDelivery],
  ["given up", dropDelivery],
] as const)("a delivery is not %s unless the audit says who did it", (_words, act) =>
  withLedger(async (ledger) => {
    const { lab, deliver, happens, open } = await aLab(ledger);
    lab.refused.add("A1");
    await happens("A");
    await deliver();
    await ledger.pool.query("alter table audit add constraint broken check (false) not valid");
    await expect(act(ledger.pool, 1, PERSON)).rejects.toThrow();
    expect(await open()).toEqual(["A1 parked"]);
    await ledger.pool.query("alter table audit drop constraint broken");
    expect(await act(ledger.pool, 1, PERSON)).toBe(true);
    const { rows } = await ledger.pool.query(
      "select actor, target, detail ->> 'reason' as reason from audit",
    );
    expect(rows).toEqual([{ actor: "kim", target: "d1", reason: "corrected" }]);
  }),
);

describe("a result that the lab answers with an error", () => {
  const LONG = { firstMs: 60_000, maxMs: 60_000 };
  const makeDue = ({ pool }: TestLedger) => pool.query("update deliveries set next_at = now()");

  test("holds back the later ones of its order until it is due again, and no others", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens, open } = await aLab(ledger, LONG);
      lab.erring.add("A1");
      await happens("ABA");
      await deliver();
      expect(lab.got).toEqual(["B2"]);
      expect(await open()).toEqual(["A1 pending", "A3 pending d1"]);
      await happens("AC");
      expect(await findDueDeliveries(ledger.pool)).toEqual([]);
      await deliver();
      expect(lab.got).toEqual(["B2", "C5"]);
      lab.erring.clear();
      await makeDue(ledger);
      await deliver();
      expect(lab.got).toEqual(["B2", "C5", "A1", "A3", "A4"]);
    }));

  test("is an outage of the lab when the next one is answered so, too: then all wait", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens } = await aLab(ledger, LONG);
      for (const name of ["A1", "B2"]) lab.erring.add(name);
      await happens("ABC");
      await deliver();
      await deliver();
      expect(lab.got).toEqual([]);
      expect(await findDueDeliveries(ledger.pool)).toEqual([]);
      lab.erring.delete("B2");
      await makeDue(ledger);
      await deliver();
      expect(lab.got).toEqual(["B2", "C3"]);
    }));

  test("is set aside for a person after twenty errors, but not while the lab answers others so, too", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens, open } = await aLab(ledger, LONG);
      for (const name of ["A1", "B2", "C3"]) lab.erring.add(name);
      await happens("ABC");
      await deliver();
      await ledger.pool.query("update deliveries set next_at = now(), error_answers = 19");
      await deliver();
      expect(await open()).toEqual(["A1 pending", "B2 pending", "C3 pending"]);
      for (const name of ["B2", "C3"]) lab.erring.delete(name);
      await makeDue(ledger);
      await deliver();
      expect(lab.got).toEqual(["B2", "C3"]);
      await makeDue(ledger);
      await deliver();
      expect(await open()).toEqual(["A1 parked"]);
    }));

  test("lets none pass when the next try finds the lab away", () =>
    withLedger(async (ledger) => {
      const { lab, deliver, happens } = await aLab(ledger, LONG);
      lab.erring.add("A1");
      await happens("A");
      await deliver();
      await happens("B");
      lab.isAway = true;
      await makeDue(ledger);
      await deliver();
      lab.isAway = false;
      expect(await findDueDeliveries(ledger.pool)).toEqual([]);
      await deliver();
      expect(lab.got).toEqual([]);
    }));
});
