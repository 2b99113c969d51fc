import { describe, expect, test } from "vitest";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { listOrderRequests } from "../../src/ledger/orders/control-requests.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import type { CancelRoute, SimulatorOptions } from "../../src/simulator/options.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { labCsv, omlO33, ormCancel } from "../support/lab-messages.ts";
import { type ConfigParts, type Site, sharedSite, withSite } from "../support/with-daemon.ts";

const PATH = "/api/procedure-requests/{id}/cancel";
const ROUTE: CancelRoute = { method: "POST", path: PATH };
/** Nobody reviews anything, so that an order stays where it is. */
const IDLE: SimulatorOptions = { staff: { auto: false }, device: { auto: false }, cancelRoute: ROUTE };

function offering(cancel: unknown): ConfigParts {
  return {
    service: { timeout: "700ms", reconcile: { checks: ["50ms", "200ms"], giveUpAfter: "1500ms" }, cancel },
  };
}
const OFFERED = offering({ method: "POST", path: PATH });

/** Where nothing goes wrong. What becomes of lost answers and late ones: test/simulation, and `npm run test:chaos`. */
const common = sharedSite({ config: OFFERED, simulator: IDLE });

async function ordered(site: Site, number = "A-1"): Promise<LedgerOrder> {
  await site.drop("hl7", `${number}.hl7`, omlO33({ number }));
  return site.waitForOrder(number, ["submitted"]);
}

/** Segments of the order response to the message that cancels. */
async function answerTo(site: Site, number = "A-1"): Promise<string[]> {
  const text = await eventually(async () =>
    [...(await site.results("hl7")).values()].find(
      (each) => each.includes(`|AA|CAN-${number}`) && /\rORC\|(CR|UC)\|/.test(each),
    ),
  );
  return text.split("\r");
}

const orcOf = (segments: readonly string[]) => segments.find((each) => each.startsWith("ORC|"))?.split("|");
const requestOf = (site: Site, id: number | undefined) =>
  site.simulator.control.requests().find((each) => each.id === id);
const stateOf = async (site: Site, number = "A-1") => (await findOrders(site.pool, number))[0]?.state;

describe.concurrent("an order that the service has", () => {
  test("is cancelled there, and reported to the lab once the service shows it", async () => {
    const site = common();
    const { requestId } = await ordered(site, "THERE");
    await site.drop("hl7", "there-c.hl7", ormCancel({ number: "THERE" }));
    const answer = await answerTo(site, "THERE");
    expect(answer[0]).toMatch(/\|ORR\^O02\^ORR_O02\|/);
    expect(orcOf(answer)).toMatchObject({ 1: "CR", 2: "THERE^LIMS", 4: "GRP-1", 5: "CA" });
    expect(requestOf(site, requestId)?.status).toBe("CANCELLED");
    expect(await stateOf(site, "THERE")).toBe("cancelled");
    const [order] = await findOrders(site.pool, "THERE");
    expect(order?.calls.filter(({ kind }) => kind === "cancel")).toHaveLength(1);
  });

  test("is cancelled by any method and body, and by an answer without a word", () => {
    const body = { status: "CANCELLED", notify: false };
    const route: CancelRoute = {
      method: "PATCH",
      path: "/api/procedure-requests/{id}",
      body,
      answer: "empty",
    };
    const config = offering({ method: route.method, path: route.path, body });
    return withSite({ config, simulator: { ...IDLE, cancelRoute: route } }, async (site) => {
      await site.start();
      await ordered(site);
      await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
      expect(orcOf(await answerTo(site))).toMatchObject({ 1: "CR" });
    });
  });

  test("goes on with the service's reason when it refuses, and a person gets a task", async () => {
    const site = common();
    const { control } = site.simulator;
    const { requestId: id = 0 } = await ordered(site, "REFUSED");
    const procedure = control.acceptRequest(id);
    await site.waitForOrder("REFUSED", ["accepted"]);
    await site.drop("hl7", "refused-c.hl7", ormCancel({ number: "REFUSED" }));
    const orc = orcOf(await answerTo(site, "REFUSED"));
    expect(orc).toMatchObject({ 1: "UC", 3: `R${id}^CRYOBRIDGE`, 5: "SC" });
    expect(orc?.[16]).toMatch(/^CANCEL_REFUSED\^.*shows CREATED.*status 409: INVALID_STATE\^L$/);
    expect(await listOpenTasks(site.pool, 10)).toMatchObject([{ placerOrderNumber: "REFUSED" }]);
    control.startProcedure(procedure.id);
    control.completeProcedure(procedure.id);
    await site.waitForOrder("REFUSED", ["completed"]);
  });

  test("goes on where no cancel call is configured, and the lab and a person hear that", () =>
    withSite({ config: offering("none"), simulator: IDLE }, async (site) => {
      await site.start();
      await ordered(site);
      await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
      const answer = await answerTo(site);
      expect(orcOf(answer)?.[16]).toMatch(/^CANCEL_NOT_OFFERED\^/);
      expect(answer.find((each) => each.startsWith("NTE|"))).toContain("offers no call to cancel it");
      expect(site.simulator.control.requests()[0]?.status).toBe("PENDING");
      expect(await listOpenTasks(site.pool, 10)).toHaveLength(1);
    }));

  test("is found by the filler order number of its results", async () => {
    const site = common();
    const { requestId } = await ordered(site, "FILLER");
    const filler = `R${requestId}`;
    await site.drop("hl7", "filler-c.hl7", ormCancel({ filler, subject: "S-FILLER" }));
    expect(orcOf(await answerTo(site, filler))).toMatchObject({ 1: "CR", 3: `${filler}^CRYOBRIDGE` });
    expect(await stateOf(site, "FILLER")).toBe("cancelled");
  });

  test("of the external surface is cancelled by its procedure", () => {
    const path = "/api/v1/external/procedures/{id}/cancel";
    const simulator: SimulatorOptions = {
      ...IDLE,
      cancelRoute: { method: "DELETE", path, surface: "external" },
    };
    const cancel = { request: { method: "POST", path: PATH }, external: { method: "DELETE", path } };
    const { service } = offering(cancel) as { service: object };
    return withSite({ config: { service: { ...service, surface: "external" } }, simulator }, async (site) => {
      await site.start();
      await ordered(site);
      await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
      expect(orcOf(await answerTo(site))).toMatchObject({ 1: "CR" });
      expect(site.simulator.control.procedures()[0]?.status).toBe("CANCELLED");
      expect(await stateOf(site)).toBe("cancelled");
    });
  });
});

describe.concurrent("a CSV file that cancels", () => {
  const rowsOf = async (site: Site, name: string) => {
    const files = await site.results("csv");
    return [...files]
      .filter(([file]) => file.startsWith(name))
      .map(([, text]) => text)
      .join("");
  };

  test("needs no more than number and operation, and is answered by a row of its own", async () => {
    const port = await findPort();
    await withSite({ config: OFFERED, simulator: { ...IDLE, port } }, async (site) => {
      await site.simulator.close();
      await site.start();
      await site.drop("csv", "orders.csv", labCsv([{ number: "A-1" }, { number: "A-2" }]));
      await eventually(async () => (await site.orders()).length === 2);
      await site.drop("csv", "cancel.csv", "order_number,operation\r\nA-1,CANCEL\r\nA-9,CANCEL\r\n");
      const rows = await eventually(async () => {
        const text = await rowsOf(site, "cancel.csv");
        return text.includes("A-9") && text.includes("A-1") && text;
      });
      expect(rows).toMatch(/^A-1,CANCEL,S-A-1,,cancelled,/m);
      expect(rows).toMatch(/^A-9,CANCEL,,,cancel_refused,.*there is no such order/m);
      await site.simulator.listen(port);
      await site.waitForOrders(2, ["cancelled", "submitted"]);
      expect(site.simulator.control.requests()).toHaveLength(1);
    });
  });

  test("is done when it comes again with the same bytes, after the order that it came before", async () => {
    const site = common();
    const cancel = "order_number,operation\nEARLY,CANCEL\n";
    await site.drop("csv", "early.csv", cancel);
    await eventually(async () => (await rowsOf(site, "early.csv")).includes("cancel_refused"));
    await site.drop("csv", "orders.csv", labCsv([{ number: "EARLY" }]));
    await site.waitForOrder("EARLY", ["received", "submitting", "submitted"]);
    await site.drop("csv", "late.csv", cancel);
    await eventually(async () =>
      (await rowsOf(site, "late.csv")).includes("EARLY,CANCEL,S-EARLY,,cancelled,"),
    );
    await site.waitForOrder("EARLY", ["cancelled"]);
  });

  test("is refused in the row when the order is completed already", () =>
    withSite({ config: OFFERED }, async (site) => {
      await site.start();
      await site.drop("csv", "orders.csv", labCsv([{ number: "A-1" }]));
      await site.waitForOrders(1, ["completed"]);
      await site.drop("csv", "cancel.csv", "order_number,operation,subject_code\nA-1,CANCEL,S-A-1\n");
      const rows = await eventually(async () => (await rowsOf(site, "cancel.csv")) || undefined);
      expect(rows).toMatch(
        /^A-1,CANCEL,S-A-1,,cancel_refused,\d+,\d+,.*completed before it could be cancelled/m,
      );
      const [order] = await findOrders(site.pool, "A-1");
      expect(await listOrderRequests(site.pool, order?.id ?? 0)).toMatchObject([
        { state: "unable", actor: "connector csv", failure: { code: "CANCEL_TOO_LATE" } },
      ]);
    }));
});
