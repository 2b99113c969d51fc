import { describe, expect, test } from "vitest";
import type { Order } from "../../src/core/order.ts";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import type { BehaviourChange } from "../../src/simulator/behaviour.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { type SubmitLab, type SubmitLabOptions, withSubmitLab } from "../support/submit-lab.ts";
import { byExternal } from "../support/ways.ts";

const PERSON = {
  facilityId: 12,
  code: "SUBJ-1",
  firstName: "Ada",
  lastName: "Example",
  dateOfBirth: "1990-01-31",
};
const STORED = { facilityId: 12, subjectCode: "SUBJ-1", name: "V-9" };
const RETRIEVAL = anOrder({ operation: "RETRIEVAL", containers: [{ label: "V-9", description: "" }] });
const TEN = Array.from({ length: 10 }, (_, index) => ({ label: `V-${index}`, description: "straw" }));

/** The calls that submitting an order takes, in their sequence, and how it stands then. */
async function submitted({ pool, simulator, service, submit }: SubmitLab, order: Order) {
  const before = new Map(service.requestCounts);
  await commit(pool, [aRecord(1, [order])]);
  await submit();
  const calls = Object.fromEntries(
    [...service.requestCounts].flatMap(([route, count]) => {
      const more = count - (before.get(route) ?? 0);
      return more === 0 ? [] : [[route, more]];
    }),
  );
  const [found] = await findOrders(pool, "A-1");
  return { calls, state: found?.state, code: found?.failure?.code, made: simulator.tally().journal.length };
}

const known = ({ simulator }: SubmitLab, containers = [STORED]) => {
  simulator.control.addSubject(PERSON);
  for (const container of containers) simulator.control.addContainer(container);
};

/** Forms in which each list says by itself, or by its length, that it is whole. */
const FORMS: Readonly<Record<string, BehaviourChange>> = {
  plain: {},
  wrapped: { listEnvelope: "results", errorBody: "nested" },
  "with other words and ids": { ids: "string", words: { PENDING: "OPEN" } },
};

describe.each(Object.keys(FORMS))("on a service of the form %s, to submit", (form) => {
  const options: SubmitLabOptions = { simulator: { behaviour: FORMS[form] ?? {} } };
  const external = { ...options, settings: { wayOf: byExternal } };

  test("a storage for a new subject takes the search for it, its registration and the request", () =>
    withSubmitLab(async (lab) => {
      const { calls, state } = await submitted(lab, anOrder());
      expect(calls).toEqual({
        "GET /api/subjects": 1,
        "POST /api/subjects": 1,
        "POST /api/procedure-requests": 1,
      });
      expect(state).toBe("submitted");
    }, options));

  test("a storage of ten containers takes no more than one of one", () =>
    withSubmitLab(async (lab) => {
      const { calls } = await submitted(lab, anOrder({ containers: TEN }));
      expect(Object.values(calls)).toEqual([1, 1, 1]);
    }, options));

  test("a storage for a known subject takes one look at its containers besides", () =>
    withSubmitLab(async (lab) => {
      known(lab);
      const { calls, state } = await submitted(lab, anOrder());
      expect(calls).toEqual({
        "GET /api/subjects": 1,
        "GET /api/sample-containers": 1,
        "POST /api/procedure-requests": 1,
      });
      expect(state).toBe("submitted");
    }, options));

  test("a retrieval takes one look at the containers and one at what was asked for before", () =>
    withSubmitLab(async (lab) => {
      known(lab);
      const { calls, state } = await submitted(lab, RETRIEVAL);
      expect(calls).toEqual({
        "GET /api/subjects": 1,
        "GET /api/sample-containers": 1,
        "GET /api/procedure-requests": 1,
        "POST /api/procedure-requests": 1,
      });
      expect(state).toBe("submitted");
    }, options));

  test("orders of the external surface take no look before the call", () =>
    withSubmitLab(async (lab) => {
      known(lab);
      const { calls, state } = await submitted(lab, RETRIEVAL);
      expect(calls).toEqual({
        "GET /api/subjects": 1,
        "GET /api/v1/external/sample-containers": 1,
        "POST /api/v1/external/procedures": 1,
      });
      expect(state).toBe("submitted");
    }, external));
});

test("an order for a container that an open order of the subject stores is not submitted", () =>
  withSubmitLab(async (lab) => {
    await submitted(lab, anOrder());
    await commit(lab.pool, [aRecord(2, [anOrder({ placerOrderNumber: "A-2" })])]);
    await lab.submit();
    expect(await findOrders(lab.pool, "A-2")).toMatchObject([
      { state: "parked", failure: { code: "ORDER_CONTAINER_IN_OPEN_ORDER" } },
    ]);
    expect(lab.simulator.tally().journal).toHaveLength(1);
  }));

test("an order with a label that another subject's container has registers nobody, and is not submitted", () =>
  withSubmitLab(async (lab) => {
    await submitted(lab, anOrder());
    await commit(lab.pool, [aRecord(2, [anOrder({ placerOrderNumber: "A-2", code: "SUBJ-2" })])]);
    await lab.submit();
    expect(await findOrders(lab.pool, "A-2")).toMatchObject([
      { state: "parked", failure: { code: "ORDER_LABEL_OF_OTHER_SUBJECT" }, calls: [] },
    ]);
    const { subjectsCreated, journal } = lab.simulator.tally();
    expect([subjectsCreated.length, journal.length]).toEqual([1, 1]);
  }));

test("a call without an answer is looked for, and neither made again nor a person's at first", () =>
  withSubmitLab(
    async (lab) => {
      known(lab);
      const { state, made } = await submitted(lab, anOrder());
      await lab.submit();
      expect([state, made, lab.simulator.tally().journal.length]).toEqual(["submitting", 1, 1]);
      expect(await findOrders(lab.pool, "A-1")).toMatchObject([
        { failure: { code: "SERVICE_NO_ANSWER" }, calls: [{ outcome: undefined }] },
      ]);
    },
    {
      simulator: {
        faults: [{ name: "lost answer", method: "POST", path: "/api/procedure-requests", after: "drop" }],
      },
    },
  ));

test("a subject that was registered a moment ago and isn't listed yet is not registered once more", () =>
  withSubmitLab(
    async (lab) => {
      await submitted(lab, anOrder());
      const containers = [{ label: "V-2", description: "" }];
      await commit(lab.pool, [aRecord(2, [anOrder({ placerOrderNumber: "A-2", containers })])]);
      await lab.submit();
      expect(await findOrders(lab.pool, "A-2")).toMatchObject([
        { state: "received", failure: { code: "SUBJECT_NOT_LISTED_YET" }, calls: [] },
      ]);
      expect(lab.simulator.tally().subjectsCreated).toHaveLength(1);
    },
    {
      simulator: { behaviour: { listLagMs: 3_600_000 } },
      settings: { backoff: { firstMs: 3_600_000, maxMs: 3_600_000 } },
      random: () => 1,
    },
  ));

/** Forms that hide what is there from a reader who believes too early that he has seen all of a list. */
const HOSTILE: Readonly<Record<string, BehaviourChange>> = {
  "ignores filters and gives few entries a page": { filters: "none", maxPerPage: 3 },
  "gives few entries a page": { maxPerPage: 2 },
  "wraps lists and gives few entries a page": { listEnvelope: "results", maxPerPage: 1 },
  "refuses filters and large pages": {
    filters: ["subjectCode"],
    otherFilters: "refuse",
    overPerPage: "refuse",
    maxPerPage: 10,
  },
  "shows lists in any order, all of them": { filters: "none", sort: "random" },
};

describe.each(Object.keys(HOSTILE))("on a service that %s", (form) => {
  const options: SubmitLabOptions = { simulator: { behaviour: HOSTILE[form] ?? {} } };
  /** What the order is about comes last, behind others' and the subject's own. */
  const crowd = (lab: SubmitLab, last: typeof STORED) => {
    for (let n = 0; n < 12; n += 1) lab.simulator.control.addSubject({ ...PERSON, code: `OTHER-${n}` });
    known(lab, [...Array.from({ length: 12 }, (_, n) => ({ ...STORED, name: `B-${n}` })), last]);
  };

  test("a container that is stored already is not stored once more", () =>
    withSubmitLab(async (lab) => {
      crowd(lab, { ...STORED, name: "V-1" });
      const { code, made } = await submitted(lab, anOrder());
      expect([code, made]).toEqual(["ORDER_CONTAINER_STORED_ALREADY", 0]);
    }, options));

  test("a subject is not registered once more, nor taken for another person", () =>
    withSubmitLab(async (lab) => {
      crowd(lab, STORED);
      const { code } = await submitted(
        lab,
        anOrder({ subject: { ...anOrder().subject, lastName: anOrder().subject.firstName } }),
      );
      expect([code, lab.simulator.tally().subjectsCreated]).toEqual(["SUBJECT_MISMATCH", []]);
    }, options));

  test("a label that the subject has twice is not retrieved", () =>
    withSubmitLab(async (lab) => {
      known(lab, [STORED, ...Array.from({ length: 12 }, (_, n) => ({ ...STORED, name: `B-${n}` })), STORED]);
      const { code, made } = await submitted(lab, RETRIEVAL);
      expect([code, made]).toEqual(["CONTAINER_LABEL_AMBIGUOUS", 0]);
    }, options));
});

test("makes no outcome of a state that the lab is not sent, and has it in the timeline", () =>
  withSubmitLab(
    async ({ pool, submit }) => {
      const [orderId] = await commit(pool, [aRecord(1, [anOrder({})])]);
      await submit();
      const { rows } = await pool.query("select payload from outcomes where kind = 'changed'");
      expect(rows).toEqual([]);
      const events = await listEvents(pool, orderId as number);
      expect(events.map(({ kind }) => kind)).toContain("submitted");
    },
    { sends: ["completed"] },
  ));
