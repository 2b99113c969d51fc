import { describe, expect, test } from "vitest";
import { findOrders } from "../../src/ledger/operator/views.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { eventually } from "../support/eventually.ts";
import { type LabOrder, labCsv, omlO33, ormControl } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

const ADA = { code: "S-1", firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
const NORTH = 12;
const SOUTH = 13;

/** What becomes of an order that must not be sent. */
async function parkedBy(
  site: Site,
  order: LabOrder,
  text = labCsv([order]),
): Promise<LedgerOrder["failure"]> {
  await site.start();
  await site.drop("csv", "a.csv", text);
  const parked = await eventually(async () =>
    (await findOrders(site.pool, order.number)).find(({ state }) => state === "parked"),
  );
  expect(site.simulator.control.requests()).toEqual([]);
  return parked.failure;
}

describe.concurrent("an order about a patient whom the service knows otherwise", () => {
  const other: LabOrder = { number: "A-1", subject: "S-1", lastName: "Other", labels: ["V-1"] };

  test.each(["CRYO-STORE", "CRYO-RETRIEVE"] as const)("is parked when it is a %s", (operation) =>
    withSite({}, async (site) => {
      const { control } = site.simulator;
      control.addSubject({ facilityId: NORTH, ...ADA });
      control.addContainer({ facilityId: NORTH, subjectCode: "S-1", name: "V-1" });
      expect(await parkedBy(site, { ...other, operation })).toEqual({
        code: "SUBJECT_MISMATCH",
        text: "the service has this subject code with another last name",
      });
    }),
  );

  test("is parked when it only registers the patient", () =>
    withSite({}, async (site) => {
      site.simulator.control.addSubject({ facilityId: NORTH, ...ADA });
      const text = labCsv([other]).replace(",STORE,", ",REGISTER,").replace("V-1,vial", ",");
      expect(await parkedBy(site, other, text)).toMatchObject({ code: "SUBJECT_MISMATCH" });
      expect(site.simulator.control.subjects().filter(({ code }) => code === "S-1")).toHaveLength(1);
    }));

  test("stays parked when the lab changes it without telling the name", () =>
    withSite({}, async (site) => {
      site.simulator.control.addSubject({ facilityId: NORTH, ...ADA });
      await site.start();
      await site.drop("hl7", "a.hl7", omlO33({ ...other, labels: ["V-1"] }));
      const parked = (label: string) =>
        eventually(async () => {
          const [order] = await findOrders(site.pool, "A-1");
          return order?.state === "parked" && order.containers[0]?.label === label ? order : undefined;
        });
      await parked("V-1");
      const change = ormControl("XO", { number: "A-1", subject: "S-1", labels: ["V-2"] });
      await site.drop("hl7", "b.hl7", change.replace("|Example^Ada||19900131|F", ""));
      expect((await parked("V-2")).failure?.code).toBe("SUBJECT_MISMATCH");
      expect(site.simulator.control.requests()).toEqual([]);
    }));

  test("goes on when only a patient of another facility has the code", () =>
    withSite({}, async (site) => {
      site.simulator.control.addSubject({ facilityId: SOUTH, ...ADA });
      await site.start();
      await site.drop("csv", "a.csv", labCsv([other]));
      const [order] = await site.waitForOrders(1);
      expect(order?.state).toBe("completed");
      expect(site.simulator.control.subjects().filter(({ code }) => code === "S-1")).toHaveLength(2);
    }));
});

describe.concurrent("a retrieval", () => {
  const retrieval: LabOrder = { number: "A-1", operation: "CRYO-RETRIEVE", subject: "S-1", labels: ["V-1"] };

  test("is parked when only another patient has a container of that label", () =>
    withSite({}, async (site) => {
      const { control } = site.simulator;
      for (const code of ["S-1", "S-2"]) control.addSubject({ facilityId: NORTH, ...ADA, code });
      control.addContainer({ facilityId: NORTH, subjectCode: "S-2", name: "V-1" });
      expect(await parkedBy(site, retrieval)).toMatchObject({ code: "CONTAINER_UNKNOWN" });
    }));

  test("is parked when only a patient with the same code at another facility has one", () =>
    withSite({}, async (site) => {
      const { control } = site.simulator;
      for (const facilityId of [NORTH, SOUTH]) control.addSubject({ facilityId, ...ADA });
      control.addContainer({ facilityId: SOUTH, subjectCode: "S-1", name: "V-1" });
      expect(await parkedBy(site, retrieval)).toMatchObject({ code: "CONTAINER_UNKNOWN" });
    }));

  test("is parked when two containers of the patient have the label", () =>
    withSite({}, async (site) => {
      const { control } = site.simulator;
      control.addSubject({ facilityId: NORTH, ...ADA });
      for (const _ of [1, 2]) control.addContainer({ facilityId: NORTH, subjectCode: "S-1", name: "V-1" });
      expect(await parkedBy(site, retrieval)).toEqual({
        code: "CONTAINER_LABEL_AMBIGUOUS",
        text: "more than one container of the subject has the label V-1",
      });
    }));
});
