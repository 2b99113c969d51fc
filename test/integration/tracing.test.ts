import { describe, expect, test } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import { traceOf } from "../../src/core/order-step.ts";
import { findInstanceCode } from "../../src/ledger/migrate.ts";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { type CollectedSpan, withCollector } from "../support/trace-collector.ts";
import { withSite } from "../support/with-daemon.ts";

const ORDER = omlO33({ number: "A-1", subject: "SUBJ-1", labels: ["LABEL-1"], lastName: "Sentinel" });

const attribute = (span: CollectedSpan | undefined, name: string) =>
  Object.values(span?.attributes.find(({ key }) => key === name)?.value ?? {})[0];

describe("traces of orders", () => {
  test("have every step of an order in one trace, in their sequence, and nothing about a patient", () =>
    withCollector((collector) => {
      const headers = { authorization: "Bearer token-of-the-collector" };
      const config = { tracing: { endpoint: collector.url, headers } };
      return withSite({ config }, async (site) => {
        const daemon = await site.start();
        await site.drop("hl7", "a.hl7", ORDER);
        await site.waitForOrders(1, ["completed"]);
        await eventually(async () => (await site.results("hl7")).size >= 2);
        // What was not sent yet is sent at the end.
        await daemon.stop();
        const { traceId, rootSpanId } = traceOf(await findInstanceCode(site.pool), 1);
        expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
        const shown = await runCli(["--config", site.configFile, "orders", "show", "o1"]);
        expect(shown.stdout).toContain(traceId);
        const own = collector.spans.filter(({ parentSpanId }) => parentSpanId === rootSpanId);
        const byEnd = own.toSorted((a, b) => Number(a.endTimeUnixNano) - Number(b.endTimeUnixNano));
        const names = byEnd.map(({ name }) => name);
        const steps = ["message taken", "claimed", "submitted", "completed", "result delivered"];
        expect(steps.map((name) => names.lastIndexOf(name))).toEqual(
          steps.map((name) => names.lastIndexOf(name)).toSorted((a, b) => a - b),
        );
        for (const name of [...steps, "submit", "result composed"]) expect(names).toContain(name);
        const submit = own.find(({ name }) => name === "submit");
        const calls = collector.spans.filter(({ parentSpanId }) => parentSpanId === submit?.spanId);
        expect(calls.map(({ name }) => name)).toContain("POST /api/subjects");
        for (const call of calls) expect(call.name).toMatch(/^(GET|POST) \/api\/[a-z/{}-]+$/);
        const root = collector.spans.find(({ spanId }) => spanId === rootSpanId);
        expect(root).toMatchObject({ name: "order", traceId });
        expect(root?.parentSpanId).toBeFalsy();
        expect(attribute(submit, "cryobridge.attempt")).toBe(1);
        expect(attribute(root, "cryobridge.order")).toBe("o1");
        expect(attribute(root, "cryobridge.state")).toBe("completed");
        expect(collector.headers.authorization).toBe(headers.authorization);
        const sent = collector.bodies.join("\n");
        for (const secret of ["Sentinel", "Ada", "SUBJ-1", "LABEL-1", "19900131"])
          expect(sent).not.toContain(secret);
      });
    }));

  test("go on in the same trace when another daemon takes the order up", () =>
    withCollector((collector) => {
      const config = { tracing: { endpoint: collector.url } };
      return withSite({ config, simulator: { staff: { auto: false } } }, async (site) => {
        const first = await site.start();
        await site.drop("csv", "a.csv", labCsv([{ number: "A-1" }]));
        await site.waitForOrders(1, ["submitted"]);
        await first.stop();
        const before = collector.spans.length;
        expect(before).toBeGreaterThan(0);
        const second = await site.start();
        for (const { id } of site.simulator.control.requests()) site.simulator.control.fulfilRequest(id);
        await site.waitForOrders(1, ["completed"]);
        await second.stop();
        expect(collector.spans.length).toBeGreaterThan(before);
        expect(new Set(collector.spans.map((span) => span.traceId)).size).toBe(1);
        expect(collector.spans.map(({ name }) => name)).toContain("completed");
      });
    }));

  test("have one span of the whole for an order that failed and was retried, with one of what failed below it", () =>
    withCollector((collector) => {
      const config = { tracing: { endpoint: collector.url } };
      return withSite({ config }, async (site) => {
        const daemon = await site.start();
        site.simulator.control.configure({ device: { failureRate: 1 } });
        await site.drop("csv", "a.csv", labCsv([{ number: "A-1" }]));
        await site.waitForOrders(1, ["failed"]);
        site.simulator.control.configure({ device: { failureRate: 0 } });
        const retry = ["orders", "retry", "A-1", "--reason", "the device works again"];
        expect((await runCli(["--config", site.configFile, ...retry])).status).toBe(0);
        await site.waitForOrders(1, ["completed"]);
        await daemon.stop();
        const { rootSpanId } = traceOf(await findInstanceCode(site.pool), 1);
        const whole = collector.spans.filter(({ name }) => name === "order");
        expect(whole.map((span) => attribute(span, "cryobridge.state"))).toEqual(["failed", "completed"]);
        const [failed, completed] = whole;
        expect(completed?.spanId).toBe(rootSpanId);
        expect(failed?.spanId).not.toBe(rootSpanId);
        expect(failed?.parentSpanId).toBe(rootSpanId);
      });
    }));

  test("are dropped with one line in the log while the collector refuses them, and the work goes on", () =>
    withCollector((collector) => {
      collector.status = 400;
      const lines: { readonly level: number; readonly msg: string }[] = [];
      const stream = { write: (text: string) => void lines.push(JSON.parse(text)) };
      const logger = createLogger({ level: "info" }, stream);
      return withSite({ logger, config: { tracing: { endpoint: collector.url } } }, async (site) => {
        const daemon = await site.start();
        await site.drop("hl7", "a.hl7", ORDER);
        await site.waitForOrders(1, ["completed"]);
        await eventually(() => daemon.droppedSpans() > 0);
        expect(daemon.conditions()).toMatchObject([
          {
            level: "look",
            text: expect.stringMatching(/^the collector takes no traces: \d+ spans were dropped since /),
          },
        ]);
        await daemon.stop();
        const said = lines.filter(({ msg }) => msg.includes("traces"));
        expect(said.map(({ level }) => level)).toEqual([40]);
      });
    }));

  test("are made of no order when the ratio is 0, and of all by default", () =>
    withCollector((collector) => {
      const config = { tracing: { endpoint: collector.url, sampleRatio: 0 } };
      return withSite({ config }, async (site) => {
        const daemon = await site.start();
        await site.drop("hl7", "a.hl7", ORDER);
        await site.waitForOrders(1, ["completed"]);
        await daemon.stop();
        expect(collector.spans).toEqual([]);
      });
    }));
});
