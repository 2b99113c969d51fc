import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ledgerView } from "../../../src/app/console.ts";
import type { Daemon } from "../../../src/app.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import { discardOrder, overrideOrder, resolveOrder, retryOrder } from "../../../src/ledger/orders/acts.ts";
import type { LedgerOrder } from "../../../src/ledger/orders/row.ts";
import {
  countMayBeThere,
  findRestored,
  liftRestored,
  type Restored,
} from "../../../src/ledger/restored/restore.ts";
import { readOrderDetails } from "../../../src/operator/order-details.ts";
import { describeRestored } from "../../../src/standing/attention/restored.ts";
import { readStatus } from "../../../src/standing/status.ts";
import { eventually } from "../../support/eventually.ts";
import { omlO33 } from "../../support/lab-messages.ts";
import { copyLedger, restoreLedger } from "../../support/ledger-copy.ts";
import { type Site, type SiteOptions, withSite } from "../../support/with-daemon.ts";
import { silent } from "../../support/with-ledger.ts";

type Surface = "request" | "external";
type Operation = "CRYO-STORE" | "CRYO-RETRIEVE";
const PATHS = { request: "/api/procedure-requests", external: "/api/v1/external/procedures" } as const;

const epochFile = (site: Site) => join(site.folder, "data.epoch");
const ended = ["completed", "parked"] as const;
const NOW = { nowMs: 0, config: { lanes: { parkedBlocks: false } } };

function seed(site: Site, code: string): void {
  const person = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
  site.simulator.control.addSubject({ facilityId: 12, code, ...person });
  site.simulator.control.addContainer({ facilityId: 12, subjectCode: code, name: `OLD-${code}` });
}

const order = (number: string, operation: Operation = "CRYO-STORE", subject = `S-${number}`) =>
  omlO33({
    number,
    subject,
    operation,
    labels: [operation === "CRYO-STORE" ? `V-${number}` : `OLD-${subject}`],
  });

async function get(site: Site, number: string): Promise<LedgerOrder> {
  const [found] = await findOrders(site.pool, number);
  if (!found) throw new Error(`no order ${number}`);
  return found;
}

const isAt = (site: Site, number: string, states: readonly string[]) =>
  eventually(async () => {
    const [found] = await findOrders(site.pool, number);
    return found && states.includes(found.state) ? found : undefined;
  });

/** What the service made for one subject, by number of the order that it was made for. */
const made = (site: Site, subject: string) =>
  site.simulator.tally().journal.filter((each) => each.subjectCode === subject);

async function stopped<T>(daemon: Daemon, then: () => Promise<T>): Promise<T> {
  await daemon.stop();
  return then();
}

/** Staff who do nothing, so that what was made stays as it is. */
const BY_HAND = { simulator: { staff: { auto: false } } } as const;

const optionsOf = (surface: Surface, correlation: string): SiteOptions => ({
  config: { service: { surface, correlation } },
});

describe.concurrent("after the ledger was restored from an older copy", () => {
  test.each(["request", "external"] as const)(
    "what was open in the copy and is at the service by now is adopted, and an order that the ledger has forgotten, and the lab sends again, waits for a person who links it: %s",
    (surface) =>
      withSite({ ...optionsOf(surface, "labels"), ...BY_HAND }, async (site) => {
        // A request for a retrieval doesn't show its containers while it is pending.
        const operation = surface === "external" ? "CRYO-RETRIEVE" : "CRYO-STORE";
        for (const code of ["S-A", "S-B", "S-C"]) seed(site, code);
        // While nothing can be sent orders are open; then the copy is made.
        site.simulator.control.setFaults([{ path: "/**", before: "close" }]);
        const first = await site.start();
        await site.drop("hl7", "b.hl7", order("B"));
        await site.drop("hl7", "c.hl7", order("C", operation));
        await eventually(async () => (await site.orders()).length === 2);
        const copy = await stopped(first, () => copyLedger(site.pool));
        site.simulator.control.setFaults([]);
        const second = await site.start();
        const open = new Map<string, LedgerOrder>();
        for (const number of ["B", "C"]) open.set(number, await isAt(site, number, ["submitted"]));
        await site.drop("hl7", "a.hl7", order("A", operation));
        await isAt(site, "A", ["submitted"]);
        await stopped(second, () => restoreLedger(site.pool, copy));

        await site.start();
        for (const [number, { requestId, procedureId }] of open)
          expect(await isAt(site, number, ["submitted", "parked"])).toMatchObject({
            ...{ state: "submitted", requestId, procedureId },
          });
        await site.drop("hl7", "again.hl7", order("A", operation));
        const parked = await isAt(site, "A", ["submitted", "parked"]);
        const id = made(site, "S-A")[0]?.[surface === "request" ? "requestId" : "procedureId"] as number;
        const name = `${surface === "request" ? "request" : "procedure"} ${id} at the service`;
        expect(parked.failure).toMatchObject({
          ...{ code: "SUBMIT_FORGOTTEN_REQUEST", text: expect.stringContaining(name) },
        });
        const link =
          surface === "request"
            ? ({ surface: "request", requestId: id } as const)
            : ({ surface: "external", procedureId: id } as const);
        expect(await resolveOrder(site.pool, parked, link, { actor: "test" })).toBe("done");
        expect(await isAt(site, "A", ["submitted"])).toMatchObject(link);
        for (const code of ["S-A", "S-B", "S-C"]) expect(made(site, code)).toHaveLength(1);
        // What the service had by then doesn't look like another restore.
        await site.drop("hl7", "d.hl7", order("D"));
        await isAt(site, "D", ["submitted"]);
        const { rows } = await site.pool.query("select restores, restored_by from ledger");
        expect(rows).toEqual([{ restores: 1, restored_by: expect.stringMatching(/^it is at/) }]);
      }),
  );

  test.each(["request", "external"] as const)(
    "one whose containers are stored by now is named with the ready command, and discarding it says nothing untrue: %s",
    (surface) =>
      withSite(optionsOf(surface, "token"), async (site) => {
        const first = await site.start();
        const copy = await copyLedger(site.pool);
        await site.drop("hl7", "a.hl7", order("A"));
        await isAt(site, "A", ["completed"]);
        await stopped(first, () => restoreLedger(site.pool, copy));
        await site.start();
        await site.drop("hl7", "again.hl7", order("A"));
        const [only] = made(site, "S-A");
        const id = surface === "request" ? only?.requestId : only?.procedureId;
        const ready = (orderId: number) =>
          `\`cryobridge orders resolve o${orderId} --${surface === "request" ? "request" : "procedure"}-id ${id}\``;
        const whyOf = async (found: LedgerOrder) =>
          (await readOrderDetails({ pool: site.pool, ...NOW }, found)).why;
        const forgotten = await isAt(site, "A", [...ended]);
        expect(forgotten.failure?.code).toBe("SUBMIT_FORGOTTEN_REQUEST");
        expect(await whyOf(forgotten)).toContain(ready(forgotten.id));
        expect(await countMayBeThere(site.pool)).toBe(1);
        // Also once nothing is compared any more, and where nobody knows of a restore.
        await liftRestored(site.pool, { actor: "test" });
        expect(await retryOrder(site.pool, forgotten, { actor: "test" })).toBe("done");
        const stored = await eventually(async () => {
          const found = await get(site, "A");
          return found.failure?.code === "ORDER_CONTAINER_STORED_ALREADY" ? found : undefined;
        });
        expect(await whyOf(stored)).toContain(ready(stored.id));
        expect(await discardOrder(site.pool, stored, { actor: "test" })).toBe("reason wanted");
        expect(await discardOrder(site.pool, stored, { actor: "test", reason: "tidying" })).toBe("done");
        expect((await get(site, "A")).failure?.text).toContain("may have the request");
        expect(made(site, "S-A")).toHaveLength(1);
      }),
  );

  test("a retrieval that was open in the copy waits for a person where the service doesn't show its containers", () =>
    withSite(
      { simulator: { staff: { auto: false }, behaviour: { listedRequest: "short" } } },
      async (site) => {
        seed(site, "S-A");
        site.simulator.control.setFaults([{ path: "/**", before: "close" }]);
        const first = await site.start();
        await site.drop("hl7", "a.hl7", order("A", "CRYO-RETRIEVE"));
        await eventually(async () => (await site.orders()).length === 1);
        const copy = await stopped(first, () => copyLedger(site.pool));
        site.simulator.control.setFaults([]);
        const second = await site.start();
        const { requestId } = await isAt(site, "A", ["submitted"]);
        await stopped(second, () => restoreLedger(site.pool, copy));
        await site.start();
        const parked = await isAt(site, "A", ["submitted", "parked"]);
        expect(parked.failure).toMatchObject({
          code: "SUBMIT_FORGOTTEN_REQUEST",
          text: expect.stringContaining(`request ${requestId} at the service`),
        });
        // It is reported to the lab, and nothing is sent until a person has decided.
        expect(
          await overrideOrder(site.pool, parked, { actor: "test", reason: "that one is the ward's" }),
        ).toBe("done");
        await eventually(async () => made(site, "S-A").length === 2);
      },
    ));

  test("an order that the service doesn't have goes on by itself, once all open ones were compared", () =>
    withSite({}, async (site) => {
      site.simulator.control.setFaults([{ path: "/**", before: "close" }]);
      const first = await site.start();
      for (const number of ["A", "B", "C"]) await site.drop("hl7", `${number}.hl7`, order(number));
      await eventually(async () => (await site.orders()).length === 3);
      const copy = await stopped(first, () => copyLedger(site.pool));
      const second = await site.start();
      await stopped(second, () => restoreLedger(site.pool, copy));
      const third = await site.start();
      // The service is away still, so nothing can be compared and nothing is submitted.
      const restored = await eventually(() => findRestored(site.pool));
      expect(restored).toMatchObject({ open: 3, uncompared: 3 });
      const [trouble] = await eventually(async () => {
        const view = ledgerView(site.pool, third.configuration.config, systemClock);
        const own = () => [];
        const status = await readStatus({ ...view, own, logger: silent, clock: systemClock }, "test");
        return status.attention;
      });
      expect(trouble?.what).toMatch(
        /^the ledger is an older copy \(restored; .*\); 0 of 3 open orders were compared with the service \(0 found there, 0 parked, 0 not there and sent as usual\), and nothing is submitted until all are$/,
      );
      expect(trouble?.hint).toContain("orders release-after-restore --reason");
      site.simulator.control.setFaults([]);
      const orders = await site.waitForOrders(3, ended);
      expect(orders.map(({ state }) => state)).toEqual(["completed", "completed", "completed"]);
      expect(site.simulator.tally().doubled).toEqual([]);
      const compared = (await findRestored(site.pool)) as Restored;
      expect(describeRestored(compared)).toContain(
        "open orders were compared with the service (0 found there, 0 parked, 3 not there and sent as usual); what came since",
      );
    }));

  test("a person's word has what was not compared submitted, and ends the comparing", () =>
    withSite({}, async (site) => {
      site.simulator.control.setFaults([{ method: "GET", path: "/api/procedure-requests", status: 500 }]);
      const first = await site.start();
      const copy = await stopped(first, () => copyLedger(site.pool));
      await stopped(await site.start(), () => restoreLedger(site.pool, copy));
      const daemon = await site.start();
      await site.drop("hl7", "a.hl7", order("A"));
      await eventually(async () => (await get(site, "A")).failure?.code === "SERVICE_UNAVAILABLE");
      expect(made(site, "S-A")).toEqual([]);
      expect(await liftRestored(site.pool, { actor: "kim", reason: "nothing was sent since" })).toBe(0);
      expect(await liftRestored(site.pool, { actor: "kim", reason: "again" })).toBeUndefined();
      site.simulator.control.setFaults([]);
      await isAt(site, "A", ["completed"]);
      const { rows } = await site.pool.query("select actor, action, detail from audit order by id");
      expect(rows.map(({ actor, action }) => [actor, action])).toEqual([
        ["cryobridge", "restore-noticed"],
        ["kim", "release-after-restore"],
      ]);
      expect(rows[1]?.detail).toMatchObject({ reason: "nothing was sent since" });
      await daemon.stop();
    }));

  test("it is noticed by the service's own newest requests where the file beside it went back as well", () =>
    withSite({}, async (site) => {
      const first = await site.start();
      const copy = await copyLedger(site.pool);
      await copyFile(epochFile(site), `${epochFile(site)}.copy`);
      await site.drop("hl7", "a.hl7", order("A"));
      await isAt(site, "A", ["completed"]);
      await stopped(first, () => restoreLedger(site.pool, copy));
      await copyFile(`${epochFile(site)}.copy`, epochFile(site));
      const third = await site.start();
      await site.drop("hl7", "again.hl7", order("A"));
      const restored = await eventually(() => findRestored(site.pool));
      expect(restored?.by).toMatch(
        /^the service has request \d+ with the mark \[ref .{15}\], and the ledger knows of no such call$/,
      );
      expect((await isAt(site, "A", ended)).state).toBe("parked");
      expect(made(site, "S-A")).toHaveLength(1);
      // The next start knows of it already, and finds nothing new.
      await third.stop();
      const fourth = await site.start();
      await site.drop("hl7", "b.hl7", order("B"));
      await isAt(site, "B", ["completed"]);
      expect((await findRestored(site.pool))?.at).toEqual(restored?.at);
      await fourth.stop();
    }));

  test("it is noticed so by a worker that enters anew while it runs, though others have raised the ledger's number since", () =>
    withSite({}, async (site) => {
      await site.start();
      const { tables, sequences } = await copyLedger(site.pool);
      await site.drop("hl7", "a.hl7", order("A"));
      await isAt(site, "A", ["completed"]);
      const change = (table: string, values: Readonly<Record<string, unknown>>) => {
        const rows: object[] = JSON.parse(tables.get(table) ?? "[]");
        return [table, JSON.stringify(rows.map((row) => ({ ...row, ...values })))] as const;
      };
      const raised = change("ledger", { epoch: 1_000_000 });
      const ended = change("workers", { ended_at: new Date(), ended_as: "lost" });
      await restoreLedger(site.pool, { tables: new Map([...tables, raised, ended]), sequences });
      await site.drop("hl7", "b.hl7", order("B"));
      const restored = await eventually(() => findRestored(site.pool));
      expect(restored?.by).toContain("and the ledger knows of no such call");
      await isAt(site, "B", ["completed"]);
      expect(made(site, "S-B")).toHaveLength(1);
    }));

  test.each([
    ["request", "CRYO-RETRIEVE", "token"],
    ["external", "CRYO-STORE", "token"],
  ] as const)(
    "an order that was open in the copy and is at the service by now is not sent again where the file beside it went back as well: %s %s %s",
    (surface, operation, correlation) =>
      withSite({ ...optionsOf(surface, correlation), ...BY_HAND }, async (site) => {
        seed(site, "S-A");
        site.simulator.control.setFaults([{ path: "/**", before: "close" }]);
        const first = await site.start();
        await site.drop("hl7", "a.hl7", order("A", operation));
        await eventually(async () => (await site.orders()).length === 1);
        const copy = await stopped(first, () => copyLedger(site.pool));
        await copyFile(epochFile(site), `${epochFile(site)}.copy`);
        site.simulator.control.setFaults([]);
        const second = await site.start();
        const { requestId, procedureId } = await isAt(site, "A", ["submitted"]);
        await stopped(second, () => restoreLedger(site.pool, copy));
        await copyFile(`${epochFile(site)}.copy`, epochFile(site));
        await site.start();
        // A request for a retrieval doesn't show its containers while it is pending.
        const isReported = operation === "CRYO-STORE";
        expect(await isAt(site, "A", ["submitted", "parked"])).toMatchObject(
          isReported
            ? { state: "submitted", requestId, procedureId }
            : { state: "parked", failure: { code: "SUBMIT_FORGOTTEN_REQUEST" } },
        );
        expect(made(site, "S-A")).toHaveLength(1);
        expect((await findRestored(site.pool))?.by).toContain(`${requestId ?? procedureId}`);
      }),
  );

  test("what a lost call made of an order doesn't look like it for the next order of the subject", () =>
    withSite(
      { config: { service: { reconcile: { checks: ["2s", "30s"], giveUpAfter: "10m" } } }, ...BY_HAND },
      async (site) => {
        seed(site, "S-A");
        site.simulator.control.setFaults([{ method: "POST", path: PATHS.request, times: 1, after: "drop" }]);
        const first = await site.start();
        await site.drop("hl7", "b.hl7", order("B", "CRYO-RETRIEVE", "S-A"));
        await site.drop("hl7", "a.hl7", order("A", "CRYO-RETRIEVE", "S-A"));
        await eventually(async () => (await site.orders()).length === 2 && made(site, "S-A").length === 1);
        await first.stop();
        await site.start();
        await eventually(async () => (await site.orders()).some(({ state }) => state === "submitted"));
        expect(await findRestored(site.pool)).toBeUndefined();
      },
    ));

  test("a lost call of a new order is not found in the request of a forgotten one that had its id", () =>
    withSite({}, async (site) => {
      seed(site, "S-1");
      const first = await site.start();
      const copy = await stopped(first, () => copyLedger(site.pool));
      await rm(epochFile(site));
      const second = await site.start();
      await site.drop("hl7", "a.hl7", order("VIAL-A", "CRYO-STORE", "S-1"));
      const forgotten = await isAt(site, "VIAL-A", ["completed"]);
      await stopped(second, () => restoreLedger(site.pool, copy));
      site.simulator.control.setFaults([{ method: "POST", path: PATHS.request, times: 1, after: "drop" }]);
      await site.start();
      await site.drop("hl7", "b.hl7", order("VIAL-B", "CRYO-STORE", "S-1"));
      const parked = await isAt(site, "VIAL-B", ["parked"]);
      // Nobody knows whether the order asked for that vial before it was changed.
      expect(parked.failure?.text).toContain(
        `request ${forgotten.requestId} at the service is for other containers`,
      );
      await overrideOrder(site.pool, parked, { actor: "test", reason: "that one is another order's" });
      const found = await isAt(site, "VIAL-B", ["completed"]);
      expect(found.requestId).not.toBe(forgotten.requestId);
      expect(found.id).not.toBe(forgotten.id);
      expect(made(site, "S-1").map((each) => each.sampleContainers[0]?.name)).toEqual([
        "V-VIAL-A",
        "V-VIAL-B",
      ]);
    }));
});
