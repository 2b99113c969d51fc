import { expect, test } from "vitest";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withSubmitLab } from "../support/submit-lab.ts";

const PERSON = {
  facilityId: 12,
  code: "SUBJ-1",
  firstName: "Ada",
  lastName: "Example",
  dateOfBirth: "1990-01-31",
};

/** Submits a storage whose subject somebody else registers, with a container, right before our own call comes and is refused. */
async function submitted(container: string, simulator: SimulatorOptions = {}) {
  return withSubmitLab(
    async ({ pool, submit, service, ...lab }) => {
      const register = service.registerSubject.bind(service);
      Object.assign(service, {
        registerSubject: async (...call: Parameters<typeof register>) => {
          lab.simulator.control.addSubject(PERSON);
          lab.simulator.control.addContainer({ facilityId: 12, subjectCode: "SUBJ-1", name: container });
          return register(...call);
        },
      });
      await commit(pool, [aRecord(1, [anOrder()])]);
      await submit();
      const [order] = await findOrders(pool, "A-1");
      if (order === undefined) throw new Error("the order is in the ledger");
      const events = (await listEvents(pool, order.id)).map(({ kind }) => kind);
      const { subjectsCreated, journal } = lab.simulator.tally();
      return {
        state: order.state,
        code: order.failure?.code,
        calls: order.calls.map(({ kind, outcome }) => `${kind} ${outcome}`),
        events,
        created: subjectsCreated.length,
        requests: journal.length,
      };
    },
    { simulator },
  );
}

test("what somebody else stored for a subject that they registered meanwhile is not stored once more", async () => {
  const { events, ...order } = await submitted("V-1");
  expect(order).toEqual({
    state: "parked",
    code: "ORDER_CONTAINER_STORED_ALREADY",
    calls: ["subject refused"],
    created: 0,
    requests: 0,
  });
});

test("a subject that somebody else registered meanwhile is used, and not called registered by us", async () => {
  const { state, events, calls, created, requests } = await submitted("V-2");
  expect([state, created, requests]).toEqual(["submitted", 0, 1]);
  expect(calls).toEqual(["subject refused", "request made"]);
  expect(events).not.toContain("subject_registered");
  expect(events).not.toContain("subject_compared");
});

test("what nobody could compare of a subject that somebody else registered meanwhile is said", async () => {
  const { state, events } = await submitted("V-2", { behaviour: { subjects: "nested" } });
  expect(state).toBe("submitted");
  expect(events).toContain("subject_compared");
});
