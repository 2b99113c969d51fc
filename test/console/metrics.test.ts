import { describe, expect, it } from "vitest";
import { createMetrics } from "../../src/console/metrics.ts";
import { serviceView } from "../support/service-view.ts";
import { countsOf, withConsole } from "./console-fixture.ts";

async function scrape(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

describe("/metrics", () => {
  it("counts the orders that haven't ended by state, and the age of what waits", async () => {
    const counts = async () => ({
      ...countsOf({ submitting: 3, completed: 40 }),
      oldestSecondsByState: { submitting: 12.5 },
    });
    await withConsole({ deps: { counts } }, async ({ url }) => {
      const text = await scrape(url);
      expect(text).toContain('cryobridge_orders{state="submitting"} 3\n');
      expect(text).toContain('cryobridge_orders{state="parked"} 0\n');
      expect(text).toContain('cryobridge_order_oldest_age_seconds{state="submitting"} 12.5\n');
      expect(text).not.toContain('cryobridge_orders{state="completed"}');
      expect(text).not.toContain('oldest_age_seconds{state="completed"}');
    });
  });

  it("counts the orders that ended since the start, from zero", async () => {
    const metrics = createMetrics("1");
    const step = { connector: "lims", stage: { name: "in_progress", seconds: 70 } } as const;
    metrics.recordStep({ ...step, to: "completed" });
    metrics.recordStep({ ...step, to: "completed" });
    metrics.recordStep({ ...step, to: "accepted" });
    const text = await metrics.render({ isReady: true, counts: countsOf({ completed: 40 }) });
    expect(text).toContain('cryobridge_orders_ended_total{state="completed"} 2\n');
    expect(text).toContain('cryobridge_orders_ended_total{state="failed"} 0\n');
    expect(text).toContain('cryobridge_stage_seconds_count{connector="lims",stage="in_progress"} 3\n');
    expect(text).toContain(
      'cryobridge_stage_seconds_bucket{le="60",connector="lims",stage="in_progress"} 0\n',
    );
    expect(text).toContain(
      'cryobridge_stage_seconds_bucket{le="300",connector="lims",stage="in_progress"} 3\n',
    );
  });

  it("tells what the lab has not been told", async () => {
    const counts = async () => ({ ...countsOf(), deliveriesPending: 2, deliveriesParked: 1 });
    await withConsole({ deps: { counts } }, async ({ url }) => {
      const text = await scrape(url);
      expect(text).toContain('cryobridge_deliveries{state="pending"} 2\n');
      expect(text).toContain('cryobridge_deliveries{state="parked"} 1\n');
    });
  });

  it("tells how many tasks wait for a person, and for how long", async () => {
    const counts = async () => ({
      ...countsOf(),
      tasks: [{ kind: "hold", count: 2, oldestSeconds: 90 } as const],
    });
    await withConsole({ deps: { counts } }, async ({ url }) => {
      const text = await scrape(url);
      expect(text).toContain('cryobridge_tasks_open{kind="hold"} 2\n');
      expect(text).toContain('cryobridge_tasks_open{kind="cancel"} 0\n');
      expect(text).toContain('cryobridge_task_oldest_age_seconds{kind="hold"} 90\n');
    });
  });

  it("answers without the ledger, and says that it is away rather than that there are no orders", async () => {
    let isUp = true;
    const counts = () =>
      isUp ? Promise.resolve(countsOf({ submitting: 3 })) : Promise.reject(new Error("gone"));
    await withConsole({ deps: { counts } }, async ({ url }) => {
      expect(await scrape(url)).toContain("cryobridge_ledger_up 1\n");
      isUp = false;
      const text = await scrape(url);
      expect(text).toContain("cryobridge_ledger_up 0\n");
      expect(text).not.toContain("cryobridge_orders{");
    });
  });

  it("has no conditions of alerts while a question is not answered, since what is unknown is not over", async () => {
    const asked = (answers: boolean) => async () => {
      if (!answers) throw new Error("gone");
      return { counts: [], tanks: [] };
    };
    for (const answers of [true, false])
      await withConsole({ deps: { refills: asked(answers) } }, async ({ url }) => {
        const text = await scrape(url);
        expect(text.includes('cryobridge_alert_conditions{kind="ordersParked"} 0\n')).toBe(answers);
      });
  });

  it("counts the calls to the service by route and outcome, never by what a path holds", async () => {
    const metrics = createMetrics("1");
    metrics.recordServiceRequest({ route: "GET /api/subjects/{id}", outcome: "200", seconds: 0.2 });
    metrics.recordServiceRequest({ route: "GET /api/subjects/77?code=S-1", outcome: "200", seconds: 0.2 });
    metrics.recordServiceRequest({
      route: "GET /api/subjects/{id}",
      outcome: "timeout",
      seconds: 15,
    });
    await withConsole({ deps: { metrics } }, async ({ url }) => {
      const text = await scrape(url);
      expect(text).toContain(
        'cryobridge_service_requests_total{route="GET /api/subjects/{id}",outcome="200"} 2\n',
      );
      expect(text).toContain('{route="GET /api/subjects/{id}",outcome="timeout"} 1\n');
      const times = 'cryobridge_service_request_seconds_count{route="GET /api/subjects/{id}",outcome=';
      expect(text).toContain(`${times}"2xx"} 2\n`);
      expect(text).toContain(`${times}"none"} 1\n`);
      expect(text).not.toContain("S-1");
    });
  });

  it("shows what calls are for, the limit in force, and the backlog", async () => {
    const callsByPurposeInAll = { ...serviceView().callsByPurpose, submitting: 31, tokens: 1 };
    const backlog = { orders: 12, callsPerOrder: 4, calls: 50, seconds: 300 };
    const limit = { calls: 10, seconds: 10, source: "learned" } as const;
    const view = serviceView({ callsByPurposeInAll, refused: 2, limit, backlog });
    await withConsole({ deps: { service: () => view } }, async ({ url }) => {
      const text = await scrape(url);
      expect(text).toContain('cryobridge_service_calls_total{purpose="submitting"} 31\n');
      expect(text).toContain('cryobridge_service_calls_total{purpose="other"} 0\n');
      expect(text).toContain("cryobridge_service_calls_refused_total 2\n");
      expect(text).toContain('cryobridge_service_limit_calls_per_minute{source="learned"} 60\n');
      expect(text).toContain("cryobridge_service_backlog_calls 50\n");
      expect(text).toContain("cryobridge_service_backlog_seconds 300\n");
    });
    await withConsole({}, async ({ url }) => {
      expect(await scrape(url)).not.toMatch(/^cryobridge_service_(backlog|limit|calls_total)\S* \d/m);
    });
  });

  it("shows the one state of the circuit breaker", async () => {
    const metrics = createMetrics("1");
    metrics.setBreaker("open");
    await withConsole({ deps: { metrics } }, async ({ url }) => {
      const text = await scrape(url);
      const shown = [...text.matchAll(/^cryobridge_service_breaker_state{state="(.*)"} (.)$/gm)];
      expect(shown.map(([, state, value]) => `${state} ${value}`)).toEqual([
        "closed 0",
        "open 1",
        "half-open 0",
      ]);
    });
  });

  it("is text that Prometheus takes, with the process's own figures", async () => {
    await withConsole({}, async ({ url }) => {
      const answer = await fetch(`${url}/metrics`);
      expect(answer.headers.get("content-type")).toContain("text/plain; version=0.0.4");
      expect(await answer.text()).toContain("process_resident_memory_bytes ");
    });
  });

  it("keeps two programs in one process apart", async () => {
    const [first, second] = [createMetrics("1"), createMetrics("2")];
    first.recordMessages("lims", "accepted");
    const text = await second.render({ isReady: true, counts: undefined });
    expect(text).not.toContain('connector="lims"');
  });
});
