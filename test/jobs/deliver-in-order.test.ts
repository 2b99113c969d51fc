import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Failure } from "../../src/core/failures.ts";
import { phi } from "../../src/core/phi.ts";
import { type DeliverDeps, deliverConnector } from "../../src/jobs/deliver.ts";
import { DeliveryEvidence } from "../../src/jobs/delivery-evidence.ts";
import { changeOrders, insertOrderOutcomes } from "../../src/ledger/change-orders.ts";
import { countHeldDeliveries } from "../../src/ledger/counts.ts";
import { retryDelivery } from "../../src/ledger/delivery-acts.ts";
import type { MessageRecord } from "../../src/ledger/message-record.ts";
import type { OpenOutcome } from "../../src/ledger/outcomes.ts";
import { findDelivery } from "../../src/ledger/queue-views.ts";
import { discardMessage, releaseMessages } from "../../src/ledger/release-messages.ts";
import { listEvents, listOrderDeliveries } from "../../src/ledger/views.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { aCancel, aWish } from "../support/wishes.ts";
import { silent, type TestLedger, withLedger } from "../support/with-ledger.ts";

const order = (name: string) =>
  anOrder({
    placerOrderNumber: name,
    code: `S-${name}`,
    containers: [{ label: `V-${name}`, description: "" }],
  });

/** What is told, in short: `ack AB`, `again AB` to a repeat, `wishes AB`, `changed A`, `waiting`. */
function wordsOf({ outcome }: OpenOutcome): string {
  switch (outcome.kind) {
    case "acknowledged":
      return [
        outcome.isDuplicate ? "again" : "ack",
        outcome.orders.map(({ placerOrderNumber }) => placerOrderNumber).join(""),
      ]
        .join(" ")
        .trim();
    case "wishes":
      return `wishes ${outcome.answers.map(({ placerOrderNumber }) => placerOrderNumber).join("")}`;
    case "changed":
      return `changed ${outcome.order.placerOrderNumber}`;
    default:
      return outcome.kind;
  }
}

/** A lab that gets each outcome in a message of its own, or for now all in one file, and answers those of `erring` with an error. */
function aLab({ pool }: TestLedger) {
  const got: string[] = [];
  const erring = new Set<string>();
  const choking = new Set<string>();
  const isOneFile = { now: false };
  let ordinal = 0;
  const deps: DeliverDeps = {
    ...{ pool, clock: systemClock, logger: silent, random: () => 0.5 },
    backoff: { firstMs: 60_000, maxMs: 60_000 },
    targetByConnector: new Map([
      [
        "lims",
        {
          composeAtOnce: 100,
          evidence: new DeliveryEvidence(),
          compose: async (open: readonly OpenOutcome[]) => ({
            deliveries: (isOneFile.now ? [open] : open.map((each) => [each])).map((files) => ({
              fileName: `${files.map(wordsOf).join("+")} #${files[0]?.id}`,
              bytes: Buffer.from("x"),
              outcomeIds: files.map(({ id }) => id),
            })),
            untold: [],
            uncomposed: [],
          }),
          deliver: async ({ fileName }: { readonly fileName: string }) => {
            const words = fileName.replace(/ #\d+$/, "");
            if (erring.has(words)) throw new Failure("MLLP_RESULT_ERROR", "the lab system says AE");
            if (choking.has(words)) throw new Failure("MLLP_NO_ANSWER", "nothing came in time");
            got.push(words);
          },
        },
      ],
    ]),
    mayDeliver: () => true,
  };
  return {
    ...{ got, erring, choking, isOneFile },
    deliver: () => deliverConnector("lims", deps, new AbortController().signal),
    /** A message comes in; gives the ids of its orders. */
    comes: (make: (ordinal: number) => MessageRecord) => commit(pool, [make(++ordinal)]),
    /** All that waits for its time is tried now, and the lab takes everything. */
    recovers: async () => {
      erring.clear();
      await pool.query("update deliveries set next_at = now()");
      await deliverConnector("lims", deps, new AbortController().signal);
    },
    happens: async (...orderIds: number[]) => {
      const client = await pool.connect();
      for (const id of orderIds) await insertOrderOutcomes(client, [id]);
      client.release();
    },
  };
}

const asks = (names: string) => (n: number) =>
  aWish(
    n,
    "status",
    [...names].map((placerOrderNumber) => ({ placerOrderNumber })),
  );
const places = (names: string) => (n: number) => aRecord(n, [...names].map(order));

describe("an answer about several orders that the lab answers with an error", () => {
  test("goes before what is told of each of them later, and lets the others go", () =>
    withLedger(async (ledger) => {
      const { got, erring, comes, deliver, recovers } = aLab(ledger);
      for (const name of "ABCD") await comes(places(name));
      await deliver();
      got.length = 0;
      erring.add("wishes AB");
      for (const names of ["AB", "BC", "CD", "D"]) await comes(asks(names));
      await deliver();
      expect(got).toEqual([]);
      expect(await countHeldDeliveries(ledger.pool)).toBe(3);
      await comes(places("E"));
      await comes(asks("E"));
      await deliver();
      expect(got).toEqual(["ack E", "wishes E"]);
      await recovers();
      expect(got.slice(2)).toEqual(["wishes AB", "wishes BC", "wishes CD", "wishes D"]);
    }));

  test("waits behind what was told before of one of them", () =>
    withLedger(async (ledger) => {
      const { got, erring, comes, deliver, recovers, happens } = aLab(ledger);
      const [a] = (await comes(places("A"))) as [number];
      await comes(places("B"));
      await deliver();
      erring.add("changed A");
      await happens(a);
      await comes(asks("BA"));
      await comes(asks("B"));
      await deliver();
      await recovers();
      expect(got).toEqual(["ack A", "ack B", "changed A", "wishes BA", "wishes B"]);
    }));

  test("is the same for one that comes again with its message", () =>
    withLedger(async (ledger) => {
      const { got, erring, comes, deliver, recovers, happens } = aLab(ledger);
      const [a, b] = (await comes(places("AB"))) as [number, number];
      const asking = asks("AB")(9);
      await comes(() => asking);
      await deliver();
      got.length = 0;
      await comes(() => asking);
      erring.add("wishes AB");
      await happens(a, b);
      await deliver();
      await recovers();
      expect(got).toEqual(["wishes AB", "changed A", "changed B"]);
    }));

  test("names all of them where deliveries are shown, and in their timelines once the lab has it", () =>
    withLedger(async (ledger) => {
      const { comes, deliver } = aLab(ledger);
      const ids = await comes(places("AB"));
      await comes(asks("AB"));
      await deliver();
      const [acknowledged, answered] = await listOrderDeliveries(ledger.pool, ids[1] as number);
      expect([acknowledged?.fileName, answered?.fileName]).toEqual(["ack AB #1", "wishes AB #2"]);
      const orderIds = ids.map((id) => `o${id}`);
      expect((await findDelivery(ledger.pool, 2))?.orderIds).toEqual(orderIds);
      for (const id of ids) {
        const told = (await listEvents(ledger.pool, id)).filter(({ kind }) => kind === "told");
        expect(told.map(({ detail }) => detail.deliveryId)).toEqual(["d2"]);
      }
    }));
});

describe("an acknowledgement that the lab answers with an error", () => {
  /** The deliveries that were given up, with the code of the reason. */
  const givenUp = async ({ pool }: TestLedger) => {
    const { rows } = await pool.query<{ file_name: string; failure_code: string }>(
      "select file_name, failure_code from deliveries where state = 'dropped' order by id",
    );
    return rows.map(({ file_name, failure_code }) => `${file_name.replace(/ #.*/, "")}: ${failure_code}`);
  };

  test("is sent again as long as nothing later was told of its orders", () =>
    withLedger(async (ledger) => {
      const { got, erring, comes, deliver, recovers, happens } = aLab(ledger);
      erring.add("ack AB");
      await comes(places("AB"));
      const [c] = (await comes(places("C"))) as [number];
      await happens(c);
      await deliver();
      await recovers();
      expect(got).toEqual(["ack C", "changed C", "ack AB"]);
    }));

  test.each(["A", "AB"])("holds up nothing, and does not come behind what was told since: %s", (names) =>
    withLedger(async (ledger) => {
      const { got, erring, comes, deliver, recovers, happens } = aLab(ledger);
      erring.add(`ack ${names}`);
      const [first] = (await comes(places(names))) as [number];
      await happens(first);
      await deliver();
      expect(got).toEqual(["changed A"]);
      await recovers();
      expect(got).toEqual(["changed A"]);
      expect(await givenUp(ledger)).toEqual([`ack ${names}: DELIVERY_OVERTAKEN`]);
    }),
  );

  test("is no reason to keep results from a lab that chokes on it, be they of the same order", () =>
    withLedger(async (ledger) => {
      const { got, choking, comes, deliver, happens } = aLab(ledger);
      choking.add("ack A");
      const [a] = (await comes(places("A"))) as [number];
      await happens(a);
      for (let round = 0; round < 6; round++) {
        await ledger.pool.query("update deliveries set next_at = now()");
        await deliver();
      }
      expect(got).toEqual(["changed A"]);
    }));

  test("that an order came again does not come behind what was told of that order since", () =>
    withLedger(async (ledger) => {
      const { got, erring, comes, deliver, recovers, happens } = aLab(ledger);
      const [a] = (await comes(places("A"))) as [number];
      await deliver();
      erring.add("again A");
      await comes(places("A"));
      await happens(a);
      await deliver();
      await recovers();
      expect(got).toEqual(["ack A", "changed A"]);
    }));

  test("waits behind what was told before of one of its orders", () =>
    withLedger(async (ledger) => {
      const { got, erring, comes, deliver, recovers, happens } = aLab(ledger);
      const [a] = (await comes(places("A"))) as [number];
      await deliver();
      erring.add("changed A");
      await happens(a);
      await comes(places("AB"));
      await deliver();
      expect(got).toEqual(["ack A"]);
      await recovers();
      expect(got).toEqual(["ack A", "changed A", "ack BA"]);
    }));

  test.each(["ack", "again"])(
    "of a wish does not come behind its answer, also where it came again: %s",
    (erred) =>
      withLedger(async (ledger) => {
        const { got, erring, comes, deliver, recovers } = aLab(ledger);
        const [a] = (await comes(places("A"))) as [number];
        await deliver();
        await ledger.pool.query(
          "update orders set state = 'submitting', surface = 'request', intent = 'request', intent_at = now()",
        );
        const cancel = aCancel(9, [{ placerOrderNumber: "A" }]);
        erring.add(erred);
        await comes(() => cancel);
        await comes(() => cancel);
        await changeOrders(ledger.pool, [
          { orderId: a, from: ["submitting"], to: "received", isIntentSettled: true, isReleased: true },
        ]);
        await deliver();
        await recovers();
        const other = erred === "ack" ? "again" : "ack";
        expect(got).toEqual(["ack A", other, "changed A", "wishes A"]);
      }),
  );

  test.each(["ack A", "refused"])(
    "that a message waits does not come behind its second answer: %s",
    (second) =>
      withLedger(async (ledger) => {
        const { got, erring, comes, deliver, recovers } = aLab(ledger);
        const problem = {
          code: "MAPPING_FACILITY_UNKNOWN",
          place: "MSH-4",
          message: "unknown",
          unknownCode: "W",
        } as const;
        erring.add("waiting");
        await comes((n) =>
          aRecord(n, [], {
            verdict: "waiting",
            problems: [problem],
            subjectCodes: [phi("S-A")],
            orderNumbers: ["A"],
          }),
        );
        await deliver();
        if (second === "refused") await discardMessage(ledger.pool, 1, { actor: "kim" });
        else await releaseMessages(ledger.pool, ({ ordinal }) => places("A")(ordinal));
        await deliver();
        await recovers();
        expect(got).toEqual([second]);
        expect(await givenUp(ledger)).toEqual(["waiting: DELIVERY_OVERTAKEN"]);
      }),
  );

  test("that a message waits does not come behind its second answer, though that went ahead to see whether the lab is there", () =>
    withLedger(async (ledger) => {
      const { got, choking, comes, deliver } = aLab(ledger);
      const problem = {
        code: "MAPPING_FACILITY_UNKNOWN",
        place: "MSH-4",
        message: "unknown",
        unknownCode: "W",
      } as const;
      let tries = 0;
      choking.has = (words) => words === "waiting" && ++tries <= 3;
      await comes((n) =>
        aRecord(n, [], {
          verdict: "waiting",
          problems: [problem],
          subjectCodes: [phi("S-A")],
          orderNumbers: ["A"],
        }),
      );
      await deliver();
      await releaseMessages(ledger.pool, ({ ordinal }) => places("A")(ordinal));
      for (let round = 0; round < 2; round++) {
        await ledger.pool.query("update deliveries set next_at = now()");
        await deliver();
      }
      expect(got).toEqual(["ack A"]);
      expect(await givenUp(ledger)).toEqual(["waiting: DELIVERY_OVERTAKEN"]);
    }));

  test("and was set aside for a person is not sent behind what was told since, though the person has it sent again", () =>
    withLedger(async (ledger) => {
      const { got, erring, comes, deliver, happens } = aLab(ledger);
      erring.add("ack A");
      const [a] = (await comes(places("A"))) as [number];
      await deliver();
      await ledger.pool.query("update deliveries set state = 'parked'");
      await happens(a);
      await deliver();
      erring.clear();
      expect(await retryDelivery(ledger.pool, 1, { actor: "kim" })).toBe(true);
      await deliver();
      expect(got).toEqual(["changed A"]);
      expect(await givenUp(ledger)).toEqual(["ack A: DELIVERY_OVERTAKEN"]);
    }));
});

test("a file of several acknowledgements holds up what follows of each of their orders, like one of results", () =>
  withLedger(async (ledger) => {
    const { got, erring, comes, deliver, recovers, happens, isOneFile } = aLab(ledger);
    isOneFile.now = true;
    erring.add("ack A+ack B");
    const [a] = (await comes(places("A"))) as [number];
    await comes(places("B"));
    await deliver();
    isOneFile.now = false;
    await comes(places("C"));
    await happens(a);
    await deliver();
    expect(got).toEqual(["ack C"]);
    await recovers();
    expect(got).toEqual(["ack C", "ack A+ack B", "changed A"]);
  }));

test("whatever the lab answers with an error, and whenever: what it is told of an order comes in its order, and all but acknowledgements", () => {
  const names = fc.uniqueArray(fc.constantFrom("A", "B", "C"), { minLength: 1, maxLength: 3 });
  const round = fc.record({
    does: fc.array(fc.tuple(fc.constantFrom("asks", "places", "happens"), names), {
      minLength: 1,
      maxLength: 4,
    }),
    // Every third thing is answered with an error, or nothing is.
    errs: fc.constantFrom(0, 1, 2, undefined),
    isLater: fc.boolean(),
  });
  return fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 2, maxLength: 6 }), (rounds) =>
      withLedger(async (ledger) => {
        const { pool } = ledger;
        const { comes, deliver, happens, recovers, erring, got } = aLab(ledger);
        const ids = new Map<string, number>();
        for (const name of "ABC") ids.set(name, (await comes(places(name)))[0] as number);
        for (const { does, errs, isLater } of rounds) {
          for (const [what, which] of does) {
            if (what === "asks") await comes(asks(which.join("")));
            if (what === "places") await comes(places(which.join("")));
            if (what === "happens") await happens(...which.map((name) => ids.get(name) as number));
          }
          erring.has = (words) => errs !== undefined && words.length % 3 === errs;
          if (isLater) await pool.query("update deliveries set next_at = now()");
          await deliver();
        }
        erring.has = () => false;
        await recovers();
        const { rows } = await pool.query<{ name: string; words: string[] }>(
          `select o.placer_order_number as name, array_agg(d.file_name order by t.id) as words
             from outcomes t
             join deliveries d on d.id = t.delivery_id
             join orders o on t.payload::text like '%"placerOrderNumber": "' || o.placer_order_number || '"%'
            where d.state = 'delivered' or t.kind <> 'acknowledged'
            group by 1`,
        );
        for (const { name, words } of rows) {
          const mine = got.filter((each) => each.split(" ").at(-1)?.includes(name));
          expect(mine).toEqual(words.map((each) => each.replace(/ #\d+$/, "")));
        }
      }),
    ),
    { numRuns: 8 },
  );
});
