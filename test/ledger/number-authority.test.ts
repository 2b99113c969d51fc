import type pg from "pg";
import { describe, expect, test } from "vitest";
import type { AssigningAuthority } from "../../src/core/order.ts";
import type { ControlRequest } from "../../src/core/order-control.ts";
import { phi } from "../../src/core/phi.ts";
import { releaseMessages } from "../../src/ledger/messages/release.ts";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { overrideOrder } from "../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { findMatches } from "../../src/ledger/orders/same-containers.ts";
import { aCancel, aControl, answers, reportedKinds } from "../support/order-control.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { at } from "../support/places.ts";
import { withLedger } from "../support/with-ledger.ts";

const LAB = { namespaceId: "LAB" } as const;
const EPIC = { namespaceId: "EPIC", universalId: "1.2.3", universalIdType: "ISO" } as const;
const KIM = { actor: "kim", reason: "the lab says that it is another one" };

/** Order 1 of an authority, of a subject whose vial has the same name. */
const numbered = (placerAuthority: AssigningAuthority | undefined, parts = {}) =>
  anOrder({ placerOrderNumber: "1", placerAuthority, ...parts });

/** Commits orders of these authorities, each by a message of its own, and gives their ids. */
const place = (pool: pg.Pool, ...authorities: (AssigningAuthority | undefined)[]) =>
  commit(
    pool,
    authorities.map((authority, n) => aRecord(n + 1, [numbered(authority, { code: `S-${n}` })])),
  ) as Promise<[number, number, number]>;

/** The orders of number 1, oldest first, each with its state and why. */
const orders = async (pool: pg.Pool) =>
  (await findOrders(pool, "1")).toReversed().map(({ state, failure }) => [state, failure?.code]);

describe("an order number that came before", () => {
  test.each([
    ["of the same authority", LAB, { namespaceId: "lab" }],
    ["without an authority", LAB, undefined],
    ["where the earlier order has none", undefined, LAB],
    ["told by its name, and then by its universal id", LAB, { universalId: "9" }],
  ])("%s is a repeat of the order", (_words, first, second) =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [numbered(first)])]);
      await commit(pool, [aRecord(2, [numbered(second)])]);
      expect(await orders(pool)).toEqual([["received", undefined]]);
    }),
  );

  test("of another authority waits for a person, though the content is the same, and both are named", () =>
    withLedger(async ({ pool }) => {
      const [first] = await commit(pool, [aRecord(1, [numbered(LAB)])]);
      const [second] = await commit(pool, [aRecord(2, [numbered(EPIC)])]);
      expect(second).not.toBe(first);
      const [, parked] = (await findOrders(pool, "1")).toReversed();
      expect(parked).toMatchObject({
        state: "parked",
        placerAuthority: EPIC,
        failure: {
          code: "ORDER_NUMBER_OTHER_AUTHORITY",
          text: `another order with this number exists, of assigning authority LAB, and this one is of EPIC^1.2.3^ISO`,
        },
      });
      expect(await reportedKinds(pool)).toEqual(["acknowledged", "refused"]);
    }));

  test("of another authority is seen within one batch, too", () =>
    withLedger(async ({ pool }) => {
      await place(pool, LAB, EPIC);
      expect(await orders(pool)).toEqual([
        ["received", undefined],
        ["parked", "ORDER_NUMBER_OTHER_AUTHORITY"],
      ]);
    }));

  test("of another authority waits for a person also when the earlier order has ended", () =>
    withLedger(async ({ pool }) => {
      const [first] = await place(pool, LAB);
      await changeOrders(pool, [{ orderId: first, to: "cancelled" }]);
      await commit(pool, [aRecord(9, [numbered(EPIC)])]);
      expect(await orders(pool)).toEqual([
        ["cancelled", undefined],
        ["parked", "ORDER_NUMBER_OTHER_AUTHORITY"],
      ]);
    }));

  test("of another authority waits once, however often a list comes again with the same numbers of both", () =>
    withLedger(async ({ pool }) => {
      const other = { containers: [{ label: "V-9", description: "" }] };
      const list = [numbered(EPIC), numbered(EPIC, other), numbered(LAB, other)];
      for (let night = 0; night < 3; night++) {
        for (const [n, order] of list.entries()) await commit(pool, [aRecord(night * 10 + n + 1, [order])]);
      }
      expect(await orders(pool)).toEqual([
        ["received", undefined],
        ["parked", "ORDER_NUMBER_REUSED"],
        ["parked", "ORDER_NUMBER_OTHER_AUTHORITY"],
      ]);
    }));

  test("of another authority goes on when a person says why, and the submitter knows the reason until then", () =>
    withLedger(async ({ pool }) => {
      const [, second] = await place(pool, LAB, EPIC);
      expect((await findMatches(pool, [second])).get(second)?.numberHolder).toEqual({
        authorities: ["LAB", "EPIC^1.2.3^ISO"],
      });
      expect(await overrideOrder(pool, { id: second }, { actor: "kim" })).toBe("reason wanted");
      expect(await overrideOrder(pool, { id: second }, KIM)).toBe("done");
      expect((await orders(pool))[1]).toEqual(["received", undefined]);
      expect((await findMatches(pool, [second])).get(second)?.overrides).toEqual(new Set(["number"]));
    }));
});

describe("a request about an order number", () => {
  const naming = (placerAuthority: AssigningAuthority | undefined, parts: Partial<ControlRequest> = {}) => ({
    ...{ placerOrderNumber: "1", placerAuthority },
    ...parts,
  });
  const states = async (pool: pg.Pool) => (await orders(pool)).map(([state]) => state);

  test.each([
    ["of the second one's authority", LAB, EPIC, EPIC, "CANCEL_ORDER_DIFFERS"],
    ["of a third authority", LAB, undefined, EPIC, "CANCEL_ORDER_DIFFERS"],
    [
      "of the second one's authority, where the first tells none",
      undefined,
      LAB,
      LAB,
      "CANCEL_ORDER_AMBIGUOUS",
    ],
  ])("%s touches none of two orders that have it", (_words, first, second, own, answer) =>
    withLedger(async ({ pool }) => {
      await place(pool, first, second);
      await commit(pool, [aCancel(9, [naming(own)])]);
      expect(await answers(pool)).toEqual([[answer]]);
      expect(await states(pool)).toEqual(["received", "parked"]);
    }),
  );

  test("is about neither of two authorities where it tells none itself", () =>
    withLedger(async ({ pool }) => {
      await place(pool, LAB, EPIC);
      await commit(pool, [aCancel(9, [naming(undefined)])]);
      expect(await answers(pool)).toEqual([["CANCEL_ORDER_AMBIGUOUS"]]);
    }));

  test("is never about the second order of it, also once a person has it done", () =>
    withLedger(async ({ pool }) => {
      const [first] = await commit(pool, [aRecord(1, [numbered(LAB)])]);
      const [second] = (await commit(pool, [aRecord(2, [numbered(EPIC)])])) as [number];
      const asked = naming(EPIC, { subjectCode: phi("SUBJ-1") });
      await commit(pool, [aCancel(8, [asked])]);
      expect(await states(pool)).toEqual(["received", "parked"]);
      expect((await listOpenTasks(pool, 10)).map(({ orderId }) => orderId)).toEqual([`o${first}`]);
      await overrideOrder(pool, { id: second }, KIM);
      await commit(pool, [aCancel(9, [asked])]);
      expect(await answers(pool)).toEqual([["CANCEL_ORDER_DIFFERS"], ["CANCEL_ORDER_DIFFERS"]]);
      expect(await states(pool)).toEqual(["received", "received"]);
    }));

  test.each([
    ["is about neither where both are open", "received", "received", "CANCEL_ORDER_AMBIGUOUS"],
    ["is about the one that is open", "received", "discarded", "CR"],
    ["is about neither where the first one has ended", "cancelled", "received", "CANCEL_ORDER_AMBIGUOUS"],
  ] as const)(
    "of a subject that has the number without an authority as well %s",
    (_words, untold, told, answer) =>
      withLedger(async ({ pool }) => {
        const [first] = (await commit(pool, [aRecord(1, [numbered(undefined)])])) as [number];
        const corrected = numbered(LAB, { containers: [{ label: "V-2", description: "" }] });
        const [second] = (await commit(pool, [aRecord(2, [corrected])])) as [number];
        if (untold === "cancelled") await changeOrders(pool, [{ orderId: first, to: untold }]);
        if (told === "discarded") await changeOrders(pool, [{ orderId: second, to: told }]);
        await commit(pool, [aCancel(9, [naming(LAB, { subjectCode: phi("SUBJ-1") })])]);
        expect(await answers(pool)).toEqual([[answer]]);
        if (answer === "CR") expect(await states(pool)).not.toContain("received");
      }),
  );

  test.each([
    [
      "is about neither of two authorities where it tells none itself, though one's order has ended",
      "cancelled",
      "CANCEL_ORDER_AMBIGUOUS",
    ],
    [
      "is about neither of two authorities where it tells none itself, though the first one is discarded",
      "discarded",
      "CANCEL_ORDER_AMBIGUOUS",
    ],
  ] as const)("%s", (_words, ended, answer) =>
    withLedger(async ({ pool }) => {
      const [first] = (await commit(pool, [aRecord(1, [numbered(LAB)])])) as [number];
      await commit(pool, [aRecord(2, [numbered(EPIC)])]);
      await changeOrders(pool, [{ orderId: first, to: ended }]);
      await commit(pool, [aCancel(9, [naming(undefined, { subjectCode: phi("SUBJ-1") })])]);
      expect(await answers(pool)).toEqual([[answer]]);
    }),
  );

  test.each([
    ["cancel", "CANCEL_ORDER_DIFFERS", 1],
    ["discontinue", "CANCEL_ORDER_DIFFERS", 1],
    ["hold", "CONTROL_ORDER_DIFFERS", 1],
    ["release", "CONTROL_ORDER_DIFFERS", 1],
    ["status", "CONTROL_ORDER_DIFFERS", 0],
  ] as const)(
    "of another authority is refused when it is to %s it, and a person sees to it",
    (control, code, tasks) =>
      withLedger(async ({ pool }) => {
        await place(pool, LAB);
        await commit(pool, [aControl(9, control, [naming(EPIC, { subjectCode: phi("S-0") })])]);
        expect(await answers(pool)).toEqual([[code]]);
        expect(await states(pool)).toEqual(["received"]);
        const { rows } = await pool.query("select failure_text as text from control_requests");
        expect(rows[0].text).toContain(
          "of assigning authority LAB, and this names EPIC^1.2.3^ISO; nothing was c",
        );
        const open = await listOpenTasks(pool, 10);
        expect(open.map(({ placerAuthority }) => placerAuthority)).toEqual(tasks === 1 ? [LAB] : []);
        const told = await pool.query(
          "select payload #> '{answers,0,order}' as answered from outcomes where kind = 'control'",
        );
        expect(told.rows).toEqual([{ answered: null }]);
      }),
  );

  test.each(["change", "replace"] as const)(
    "of another authority is refused when it is to %s it",
    (control) =>
      withLedger(async ({ pool }) => {
        await commit(pool, [aRecord(1, [numbered(LAB)])]);
        const content = numbered(EPIC, { containers: [{ label: "V-2", description: "" }] });
        await commit(pool, [
          aControl(9, control, [naming(EPIC, { content, subjectCode: content.subject.code })]),
        ]);
        expect(await answers(pool)).toEqual([["CONTROL_ORDER_DIFFERS"]]);
        expect((await findOrders(pool, "1"))[0]?.containers).toMatchObject([{ label: "V-1" }]);
      }),
  );

  test("with a number of ours as well is about neither where that is an order of another authority", () =>
    withLedger(async ({ pool }) => {
      const ids = await place(pool, LAB, EPIC);
      const request = { surface: "request", requestId: 7 } as const;
      await changeOrders(pool, [{ orderId: ids[0], from: ["received"], to: "submitted", request }]);
      await commit(pool, [aCancel(9, [naming(EPIC, { fillerNumber: { kind: "request", id: 7 } })])]);
      expect(await answers(pool)).toEqual([["CANCEL_ORDER_DIFFERS"]]);
      expect(await states(pool)).toEqual(["submitted", "parked"]);
    }));

  test("waits behind a message that waits for a code table where the order that is here is of another authority", () =>
    withLedger(async ({ pool }) => {
      await place(pool, LAB);
      const waits = aRecord(7, [], {
        verdict: "waiting",
        problems: [
          { code: "MAPPING_FACILITY_UNKNOWN", place: at("MSH-4"), message: "unknown", unknownCode: "WEST" },
        ],
        subjectCodes: [phi("S-1")],
        orderNumbers: ["1"],
      });
      await commit(pool, [waits]);
      const cancel = aCancel(9, [naming(EPIC, { subjectCode: phi("S-1") })]);
      await commit(pool, [cancel]);
      expect(await answers(pool)).toEqual([]);
      const ordered = aRecord(7, [numbered(EPIC, { code: "S-1" })]);
      await releaseMessages(pool, ({ ordinal }) => (ordinal === 7 ? ordered : cancel));
      // The message that waited has another order's number, and is refused.
      expect(await states(pool)).toEqual(["received", "parked"]);
      expect(await answers(pool)).toEqual([["CANCEL_ORDER_DIFFERS"]]);
    }));

  test("that changes the order says who numbered it from then on, where that was not known", () =>
    withLedger(async ({ pool }) => {
      const content = (placerAuthority: AssigningAuthority, label: string) =>
        numbered(placerAuthority, { containers: [{ label, description: "" }] });
      await commit(pool, [aRecord(1, [numbered(undefined)])]);
      for (const [n, authority] of [LAB, { ...LAB, universalId: "9" }].entries()) {
        const changed = content(authority, `V-${n + 5}`);
        const { code: subjectCode } = changed.subject;
        await commit(pool, [
          aControl(9 + n, "change", [naming(authority, { content: changed, subjectCode })]),
        ]);
      }
      const [changed] = await findOrders(pool, "1");
      expect(changed?.containers).toMatchObject([{ label: "V-6" }]);
      expect(changed?.placerAuthority).toEqual(LAB);
      await commit(pool, [aCancel(20, [naming(EPIC)])]);
      expect((await answers(pool)).at(-1)).toEqual(["CANCEL_ORDER_DIFFERS"]);
    }));
});
