import { describe, expect, test } from "vitest";
import { listOpenTasks } from "../../../src/ledger/operator/tasks.ts";
import { findOrders, listEvents } from "../../../src/ledger/operator/views.ts";
import { retryOrder } from "../../../src/ledger/orders/acts.ts";
import type { FaultRule } from "../../../src/simulator/faults.ts";
import { eventually } from "../../support/eventually.ts";
import { omlO33, ormCancel, ormControl } from "../../support/lab-messages.ts";
import { type Site, withSite } from "../../support/with-daemon.ts";

const PATHS = { request: "/api/procedure-requests", external: "/api/v1/external/procedures" } as const;
type Surface = keyof typeof PATHS;
type Operation = "CRYO-STORE" | "CRYO-RETRIEVE";

/** Short, so that a test that waits for reconcile.giveUpAfter is quick. */
const RECONCILE = { checks: ["50ms", "200ms"], giveUpAfter: "4s" };

/** The facility's subject with a stored container, which a retrieval needs; a storage has the same subject. */
function seed(site: Site, code = "S-1"): void {
  const subject = {
    facilityId: 12,
    code,
    firstName: "Ada",
    lastName: "Example",
    dateOfBirth: "1990-01-31",
  };
  site.simulator.control.addSubject(subject);
  site.simulator.control.addContainer({ facilityId: 12, subjectCode: code, name: `V-OLD-${code}` });
}

const order = (operation: Operation, number = "A-1", subject = "S-1") =>
  omlO33({
    number,
    subject,
    operation,
    labels: [`${operation === "CRYO-STORE" ? "V-NEW" : "V-OLD"}-${subject}`],
  });

const STATUSES = [429, 500, 502, 503, 504];
const BODIES: readonly FaultRule["body"][] = [undefined, "html", "empty"];
const ANSWERS = STATUSES.flatMap((status) => BODIES.map((body) => ({ status, body })));
/** Any two of surface, operation and correlation come together. */
const ways = [
  { surface: "request", operation: "CRYO-STORE", correlation: "token" },
  { surface: "request", operation: "CRYO-RETRIEVE", correlation: "labels" },
  { surface: "external", operation: "CRYO-STORE", correlation: "labels" },
  { surface: "external", operation: "CRYO-RETRIEVE", correlation: "token" },
] as const;

/** What the levels below show for each of these ways, a whole daemon shows for two. */
const twoWays = [ways[0], ways[3]];

const configOf = (surface: Surface, service: Record<string, unknown>) => ({
  service: { surface, timeout: "3s", reconcile: RECONCILE, ...service },
});

async function kinds(site: Site, number = "A-1"): Promise<string[]> {
  const [found] = await findOrders(site.pool, number);
  return found ? (await listEvents(site.pool, found.id)).map((event) => event.kind) : [];
}

const madeFor = (site: Site, subject: string) =>
  site.simulator.tally().journal.filter(({ subjectCode }) => subjectCode === subject);

describe.concurrent("a gateway that passes the call on and then answers that it failed", () => {
  test.each(ways.map((way, nth) => [way, ANSWERS.filter((_, n) => n % 2 === nth % 2)] as const))(
    "doubles nothing and needs no person, whatever its answer is: %j",
    ({ surface, operation, correlation }, answers) => {
      // What the site says of 503 changes nothing: the service is looked at before the call is repeated.
      const config = configOf(surface, { correlation, notExecuted: [429, 503] });
      const faults = answers.map(
        ({ status, body }, skip): FaultRule => ({
          method: "POST",
          path: PATHS[surface],
          skip,
          times: 1,
          status,
          executed: true,
          body,
        }),
      );
      return withSite({ config, simulator: { faults } }, async (site) => {
        for (const index of answers.keys()) seed(site, `S-${index}`);
        await site.start();
        for (const index of answers.keys()) {
          await site.drop("hl7", `${index}.hl7`, order(operation, `A-${index}`, `S-${index}`));
        }
        const orders = await site.waitForOrders(answers.length, ["completed", "parked"]);
        expect(orders.map(({ state }) => state)).toEqual(answers.map(() => "completed"));
        const { doubled, journal, faults: met } = site.simulator.tally();
        expect(doubled).toEqual([]);
        expect(journal).toHaveLength(answers.length);
        expect(Object.values(met)).toEqual(answers.map(() => 1));
        for (const index of answers.keys()) expect(await kinds(site, `A-${index}`)).toContain("adopted");
      });
    },
  );

  test("doubles nothing though its answer says that nothing was done, and the list lags behind", () => {
    // Not 429, by which the client would learn to make few calls.
    const fault = { method: "POST", path: PATHS.request, status: 503, executed: true, times: 6 } as const;
    const reconcile = { checks: ["2s", "3s"], giveUpAfter: "4s" };
    const simulator = { faults: [fault], behaviour: { listLagMs: 1_500 } };
    return withSite(
      { config: configOf("request", { reconcile, notExecuted: [503] }), simulator },
      async (site) => {
        const numbers = Array.from({ length: 6 }, (_, index) => index);
        for (const index of numbers) seed(site, `S-${index}`);
        const listedAt = Date.now() + 1_600;
        await site.start();
        // Subjects are listed late, too: an order before that would have one registered that is there already.
        await eventually(async () => Date.now() >= listedAt);
        for (const index of numbers)
          await site.drop("hl7", `${index}.hl7`, order("CRYO-STORE", `A-${index}`, `S-${index}`));
        await site.waitForOrders(6, ["completed", "parked"]);
        expect(site.simulator.tally().doubled).toEqual([]);
        expect(site.simulator.tally().journal).toHaveLength(6);
      },
    );
  });

  test("doubles nothing where it answers 503 and the configuration says nothing of it", () =>
    withSite({ config: configOf("request", {}) }, async (site) => {
      await site.start();
      for (const operation of ["CRYO-STORE", "CRYO-RETRIEVE"] as const) {
        const [number, subject] = [operation, `S-${operation}`];
        seed(site, subject);
        site.simulator.control.setFaults([
          { method: "POST", path: PATHS.request, status: 503, executed: true, times: 3, body: "html" },
        ]);
        await site.drop("hl7", `${number}.hl7`, order(operation, number, subject));
        expect((await site.waitForOrder(number, ["completed", "parked"])).state).toBe("completed");
        expect(madeFor(site, subject)).toHaveLength(1);
      }
    }));
});

describe.concurrent("a call that was answered and not carried out", () => {
  test.each(twoWays)("is made again after one look: %j", ({ surface, operation, correlation }) =>
    withSite(
      {
        config: configOf(surface, { correlation, reconcile: { ...RECONCILE, giveUpAfter: "10m" } }),
        simulator: {
          faults: [{ method: "POST", path: PATHS[surface], times: 2, status: 429, retryAfter: 0 }],
        },
      },
      async (site) => {
        seed(site);
        await site.start();
        await site.drop("hl7", "a.hl7", order(operation));
        const [found] = await site.waitForOrders(1, ["completed", "parked"]);
        expect(found?.state).toBe("completed");
        expect(site.simulator.tally().journal).toHaveLength(1);
        const seen = await kinds(site);
        expect(seen.filter((kind) => kind === "refused_for_now" || kind === "reconciled")).toEqual([
          "refused_for_now",
          "reconciled",
          "refused_for_now",
          "reconciled",
        ]);
        expect(seen).not.toContain("checked");
      },
    ),
  );

  test("is made again after one check when its token was refused", () =>
    withSite(
      {
        config: configOf("request", { reconcile: { ...RECONCILE, giveUpAfter: "10m" } }),
        simulator: { faults: [{ method: "POST", path: PATHS.request, times: 1, revokeToken: true }] },
      },
      async (site) => {
        seed(site);
        await site.start();
        await site.drop("hl7", "a.hl7", order("CRYO-STORE"));
        const [found] = await site.waitForOrders(1, ["completed", "parked"]);
        expect(found?.state).toBe("completed");
        expect(site.simulator.tally().journal).toHaveLength(1);
        expect(await kinds(site)).toEqual(expect.arrayContaining(["refused_for_now", "reconciled"]));
      },
    ));

  test("can be cancelled by the lab meanwhile only once it is known that the service has nothing of it", () =>
    withSite(
      {
        config: configOf("request", {}),
        simulator: {
          staff: { auto: false },
          faults: [
            { method: "POST", path: PATHS.request, times: 1, status: 429, retryAfter: 3, executed: true },
          ],
        },
      },
      async (site) => {
        seed(site);
        await site.start();
        await site.drop("hl7", "a.hl7", order("CRYO-STORE"));
        await eventually(async () => (await kinds(site)).includes("refused_for_now"));
        await site.drop("hl7", "c.hl7", ormCancel({ number: "A-1", subject: "S-1" }));
        const [found] = await site.waitForOrders(1, ["submitted", "cancelled"]);
        // The service has it and offers no call to cancel: that is what is reported to the lab, and not that it is cancelled.
        expect(found?.state).toBe("submitted");
        await eventually(async () => (await kinds(site)).includes("cancel_refused"));
      },
    ));
});

describe.concurrent("a call that was refused for good", () => {
  test.each(twoWays)(
    "is looked for before a person's retry makes it again, and before the order is sent as the lab has changed it: %j",
    ({ surface, operation, correlation }) =>
      withSite(
        {
          config: configOf(surface, { correlation }),
          simulator: {
            staff: { auto: false },
            faults: [{ method: "POST", path: PATHS[surface], times: 2, status: 422, executed: true }],
          },
        },
        async (site) => {
          for (const code of ["S-RETRY", "S-CHANGE"]) seed(site, code);
          site.simulator.control.addContainer({ facilityId: 12, subjectCode: "S-CHANGE", name: "V-OTHER" });
          await site.start();
          await site.drop("hl7", "retry.hl7", order(operation, "RETRY", "S-RETRY"));
          await site.drop("hl7", "change.hl7", order(operation, "CHANGE", "S-CHANGE"));
          const refused = await site.waitForOrder("RETRY", ["parked"]);
          expect(refused.failure?.code).toBe("SERVICE_REFUSED");
          await site.waitForOrder("CHANGE", ["parked"]);

          expect(await retryOrder(site.pool, refused, { actor: "test" })).toBe("done");
          await site.waitForOrder("RETRY", ["submitted"]);
          expect(madeFor(site, "S-RETRY")).toHaveLength(1);
          expect(await kinds(site, "RETRY")).toContain("adopted");

          const labels = [operation === "CRYO-STORE" ? "V-CHANGED" : "V-OTHER"];
          const change = { number: "CHANGE", subject: "S-CHANGE", operation, labels };
          await site.drop("hl7", "xo.hl7", ormControl("XO", change));
          await eventually(async () => (await kinds(site, "CHANGE")).includes("changed"));
          const parked = await site.waitForOrder("CHANGE", ["parked", "submitted"]);
          const [made, ...others] = madeFor(site, "S-CHANGE");
          expect(others).toEqual([]);
          const id = surface === "request" ? `request ${made?.requestId}` : `procedure ${made?.procedureId}`;
          const text = `${id} at the service may be what the order asked for before it was changed`;
          expect(parked).toMatchObject({ state: "parked", failure: { code: "SUBMIT_UNCERTAIN", text } });
          // A person has seen it.
          expect(await retryOrder(site.pool, parked, { actor: "test" })).toBe("done");
          await site.waitForOrder("CHANGE", ["submitted"]);
          expect(madeFor(site, "S-CHANGE")).toHaveLength(2);
          const { rows } = await site.pool.query("select distinct look_at from calls");
          expect(rows).toEqual([{ look_at: null }]);
        },
      ),
  );

  test.each(["request", "external"] as const)(
    "is looked for once more after the order was sent as the lab has changed it, since lists lag: %s",
    (surface) =>
      withSite(
        {
          config: configOf(surface, { subjects: "none" }),
          simulator: {
            staff: { auto: false },
            faults: [{ method: "POST", path: PATHS[surface], times: 1, status: 422, executed: true }],
          },
        },
        async (site) => {
          seed(site);
          await site.start();
          await site.drop("hl7", "a.hl7", order("CRYO-STORE"));
          await site.waitForOrders(1, ["parked"]);
          site.simulator.control.behave({ listLagMs: 3_600_000 });
          await site.drop(
            "hl7",
            "b.hl7",
            ormControl("XO", { number: "A-1", subject: "S-1", labels: ["V-2"] }),
          );
          await site.waitForOrders(1, ["submitted"]);
          site.simulator.control.behave({ listLagMs: 0 });
          await site.pool.query("update calls set look_at = now() where look_at is not null");
          await eventually(async () => (await kinds(site)).includes("rechecked"));
          const made = site.simulator
            .tally()
            .journal.map((each) => (surface === "request" ? each.requestId : each.procedureId));
          expect(made).toHaveLength(2);
          const [task, ...others] = await listOpenTasks(site.pool, 10);
          expect(others).toEqual([]);
          expect(task).toMatchObject({ kind: "duplicate", placerOrderNumber: "A-1" });
          for (const id of made) expect(task?.text).toContain(String(id));
        },
      ),
  );

  test("needs nobody once the lab has changed the order, where it was not carried out", () =>
    withSite(
      {
        config: configOf("request", {}),
        simulator: {
          staff: { auto: false },
          faults: [{ method: "POST", path: PATHS.request, times: 1, status: 422 }],
        },
      },
      async (site) => {
        seed(site);
        await site.start();
        await site.drop("hl7", "a.hl7", order("CRYO-STORE"));
        await site.waitForOrders(1, ["parked"]);
        await site.drop("hl7", "b.hl7", ormControl("XO", { number: "A-1", subject: "S-1", labels: ["V-2"] }));
        await site.waitForOrders(1, ["submitted"]);
        expect(site.simulator.tally().journal).toMatchObject([{ subjectCode: "S-1" }]);
      },
    ));
});
