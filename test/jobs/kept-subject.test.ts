import { expect, test } from "vitest";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { type SubmitLab, withSubmitLab } from "../support/submit-lab.ts";
import { byExternal } from "../support/ways.ts";

const PERSON = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };

async function submitted({ pool, submit }: SubmitLab) {
  await commit(pool, [aRecord(1, [anOrder()])]);
  await submit();
  const [order] = await findOrders(pool, "A-1");
  return order;
}

test("an order keeps the service's id of the subject that was found for it", () =>
  withSubmitLab(async (lab) => {
    const { id } = lab.simulator.control.addSubject({ facilityId: 12, code: "SUBJ-1", ...PERSON });
    expect(await submitted(lab)).toMatchObject({ state: "submitted", subjectId: id });
  }));

test("an order keeps the service's id of the subject that was registered for it, on either surface", async () => {
  for (const options of [{}, { settings: { wayOf: byExternal } }]) {
    await withSubmitLab(async (lab) => {
      const order = await submitted(lab);
      const [registered] = lab.simulator.tally().subjectsCreated;
      expect(order).toMatchObject({ state: "submitted", subjectId: registered?.subjectId });
    }, options);
  }
});

test("an order keeps no id of a subject that nobody asks about", () =>
  withSubmitLab(
    async (lab) => {
      lab.simulator.control.addSubject({ facilityId: 12, code: "SUBJ-1", ...PERSON });
      expect(await submitted(lab)).toMatchObject({ state: "submitted", subjectId: undefined });
    },
    { settings: { wayOf: () => ({ surface: "request", subjects: "none" }) } },
  ));
