import { expect, test } from "vitest";
import type { Order } from "../../src/core/order.ts";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import { describeEvent } from "../../src/operator/timeline.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withSubmitLab } from "../support/submit-lab.ts";

const PERSON = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
/** Subjects with a nested facility, and without a birth date. */
const SHY: SimulatorOptions = { behaviour: { subjects: "nested" } };

/** Submits an order of a subject that the service knows; gives its state, and the timeline in words. */
async function submitted(simulator: SimulatorOptions, parts: Partial<Order> = {}) {
  return withSubmitLab(
    async ({ pool, submit, ...lab }) => {
      lab.simulator.control.addSubject({ facilityId: 12, code: "SUBJ-1", ...PERSON });
      await commit(pool, [aRecord(1, [anOrder(parts)])]);
      await submit();
      const [order] = await findOrders(pool, "A-1");
      if (order === undefined) throw new Error("the order is in the ledger");
      return { state: order.state, timeline: (await listEvents(pool, order.id)).map(describeEvent) };
    },
    { simulator },
  );
}

const UNCOMPARED =
  "the service knows its subject, and doesn't show the date of birth, which could not be compared";

test("an order's timeline says what of its subject the service doesn't show, so that nobody compared it", async () => {
  const { state, timeline } = await submitted(SHY);
  expect(state).toBe("submitted");
  expect(timeline).toContain(UNCOMPARED);
});

test("nothing is said where everything could be compared", async () => {
  const { state, timeline } = await submitted({});
  expect(state).toBe("submitted");
  expect(timeline.join("\n")).not.toContain("compared");
});

test("an order that only registers its subject says so too", async () => {
  const { state, timeline } = await submitted(SHY, { operation: "REGISTER", containers: [] });
  expect(state).toBe("completed");
  expect(timeline).toContain(UNCOMPARED);
});

test("news of a subject are the same as far as the service shows them", async () => {
  const { state, timeline } = await submitted(SHY, { operation: "UPDATE", containers: [] });
  expect(state).toBe("completed");
  expect(timeline.at(-1)).toContain(
    "the storage service has the subject with the same data, as far as it shows them: not the date of birth",
  );
});

test("a name that differs still parks the order", async () => {
  const subject = { ...anOrder().subject };
  const { state } = await submitted(SHY, { subject: { ...subject, lastName: anOrder().subject.firstName } });
  expect(state).toBe("parked");
});
