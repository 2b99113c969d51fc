import { expect, test } from "vitest";
import { csvMessage } from "../../cli/with-lab.ts";
import { serviceView } from "../../support/service-view.ts";
import { withPages, wordsOf } from "./with-pages.ts";

const NOW = new Date().toISOString();

test("the queue's page says what waits, and pauses and resumes a queue by name", () =>
  withPages(async ({ lab, operator, viewer, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    await pool.query("update orders set state = 'parked', failure_code = 'SUBMIT_UNCERTAIN'");
    expect(await operator.open("/queue")).toContain('<span class="badge bad">parked</span>');
    await pool.query("update orders set state = 'received', failure_code = null");
    await pool.query("update orders set held_at = now()");
    expect(wordsOf(await operator.open("/queue"))).not.toContain("Try now");
    await pool.query("update orders set held_at = null");
    const page = wordsOf(await operator.open("/queue"));
    expect(page).toContain("Try now");
    expect(page).toContain("No daemon works on this ledger right now.");
    expect(page).toContain("C-1");
    expect(wordsOf(await operator.send("/queue/pause", { queue: "submit", reason: "upgrade" }))).toContain(
      "Queue submit is paused",
    );
    const again = await operator.send("/queue/pause", { queue: "submit" });
    expect(again).toContain('id="notice" class="banner good"');
    expect(wordsOf(again)).toContain("Queue submit was already paused");
    const paused = wordsOf(await operator.open("/queue"));
    expect(paused).toMatch(/submit .* paused by erika \(console\) now: upgrade/);
    expect(paused).toContain("Resume submit");
    expect(paused).toContain("Still to be made: 1.");
    await viewer.open("/queue");
    await viewer.send("/queue/resume", { queue: "submit" });
    await operator.send("/queue/resume", { queue: "submit" }, "another token");
    expect((await pool.query("select queue from paused_queues")).rows).toEqual([{ queue: "submit" }]);
    await operator.send("/queue/resume", { queue: "submit" });
    expect((await pool.query("select actor, action, target from audit order by id")).rows).toEqual([
      { actor: "erika (console)", action: "pause", target: "submit" },
      { actor: "erika (console)", action: "resume", target: "submit" },
    ]);
    expect(wordsOf(await operator.send("/queue/pause", { queue: "none" }))).toContain("Not found");
  }));

test("an order that is tried now from the queue's page leads back to that, and to no other site", () =>
  withPages(async ({ lab, operator }) => {
    await lab.take("bench", [csvMessage(1)]);
    expect(await operator.open("/queue")).toContain('name="back" value="/queue"');
    const page = await operator.send("/orders/o1/retry", { back: "/queue" });
    expect(operator.at()).toBe("/queue");
    expect(wordsOf(page)).toContain("o1 (C-1) will be tried again");
    await operator.send("/orders/o1/retry", { back: "//example.org" });
    expect(operator.at()).toBe("/orders/o1");
  }));

test("a task is done with a reason, which is kept, and without one it stays", () =>
  withPages(async ({ lab, operator, viewer, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    await pool.query("insert into tasks (order_id, kind, text) values (1, 'cancel', 'ring <b>them</b>')");
    const page = await operator.open("/tasks");
    expect(page).toContain('href="/orders/o1"');
    expect(page).not.toContain("<b>them");
    await operator.send("/tasks/k1/done");
    await viewer.open("/tasks");
    await viewer.send("/tasks/k1/done", { reason: "x" });
    expect((await pool.query("select closed_by from tasks")).rows).toEqual([{ closed_by: null }]);
    expect(wordsOf(await operator.send("/tasks/k1/done", { reason: "they rang" }))).toContain("k1 is done");
    expect((await pool.query("select closed_by from tasks")).rows).toEqual([
      { closed_by: "erika (console)" },
    ]);
    expect(wordsOf(await operator.open("/tasks"))).toContain("No task is open.");
  }));

test("where a file of a task lies is not shown in the list, since it may name a patient", () =>
  withPages(async ({ operator, pool }) => {
    await pool.query(
      `insert into files (connector, file_name, sha256, size_bytes, status) values ('bench', 'a.csv', 'x', 1, 'taken')`,
    );
    await pool.query(
      "insert into dropped_files (id, connector, file_name, file_id, path, size_bytes, modified) values ('1', 'csv', 'Quersack.csv', 1, '/in/Quersack.csv', 1, '1')",
    );
    await pool.query("insert into tasks (file_id, kind, text) values (1, 'late_write', 'was written to')");
    const page = await operator.open("/tasks");
    expect(page).toContain('href="/files/f1"');
    expect(page).not.toContain("Quersack");
  }));

test("how a daemon's configuration differs from its file is shown, and taking it over is asked for by those who act", () =>
  withPages(async ({ operator, viewer, pool }) => {
    const configuration = {
      file: "/etc/cryobridge.yaml",
      since: "2026-03-01T10:00:00Z",
      changed: ["facilities.WEST"],
      restart: [],
      problems: [],
      answered: null,
    };
    await pool.query(
      `insert into workers (name, host, pid, version, roles, connectors, configuration)
       values ('north', 'h', 1, '1', '{worker}', '{}', $1)`,
      [JSON.stringify(configuration)],
    );
    expect(wordsOf(await operator.open("/workers"))).toMatch(
      / changed changed in the file: facilities\.WEST/,
    );
    expect(wordsOf(await viewer.open("/workers"))).not.toContain("Reload the configuration");
    await viewer.send("/workers/reload");
    await operator.send("/workers/reload", { reason: "a new wing" });
    expect((await pool.query("select actor, action, detail from audit")).rows).toEqual([
      { actor: "erika (console)", action: "reload", detail: { reason: "a new wing" } },
    ]);
  }));

test("mistakes in the file stand above the daemons", () =>
  withPages(async ({ operator, pool }) => {
    const standing = {
      file: "/etc/cryobridge.yaml",
      since: "2026-03-01T10:00:00Z",
      changed: [],
      restart: [],
    };
    await pool.query(
      `insert into workers (name, host, pid, version, roles, connectors, configuration)
       values ('north', 'h', 1, '1', '{worker}', '{}', $1)`,
      [JSON.stringify({ ...standing, problems: ["a.yaml:1: twice", "a.yaml:2: unknown"], answered: null })],
    );
    expect(wordsOf(await operator.open("/workers"))).toMatch(
      / Workers Mistake in the file: a\.yaml:1: twice Mistake in the file: a\.yaml:2: unknown .* 2 mistakes What was read last without a mistake stays\. /,
    );
  }));

test("a worker is drained with a reason, under the name of who did it", () =>
  withPages(async ({ operator, pool }) => {
    await pool.query(
      `insert into workers (id, name, host, pid, version, roles, connectors) values (7, 'north', 'h', 1, '1', '{worker}', '{}')`,
    );
    expect(wordsOf(await operator.open("/workers"))).toContain("Stop north (w7)");
    expect(wordsOf(await operator.send("/workers/w7/drain"))).toContain("Say why");
    expect(wordsOf(await operator.send("/workers/w7/drain", { reason: "upgrade" }))).toContain("w7 finishes");
    expect((await pool.query("select drain_at is not null as is_asked from workers")).rows).toEqual([
      { is_asked: true },
    ]);
    expect((await pool.query("select actor, action, target from audit")).rows).toEqual([
      { actor: "erika (console)", action: "drain-worker", target: "w7" },
    ]);
  }));

test("tanks and refills are shown, by facility", () =>
  withPages(async ({ operator, pool }) => {
    await pool.query("insert into refill_subscriptions values (12, 'NORTH', 'request')");
    await pool.query("insert into tanks (facility_id, storage_id, name) values (12, 3, 'Dewar <3>')");
    const page = await operator.open("/refills");
    expect(wordsOf(page)).toContain("Dewar <3>");
    expect(wordsOf(page)).toContain("No refills are followed");
    await pool.query(
      `insert into refills (facility_id, facility_code, surface, procedure_id, status, reached, remote_status)
       values (12, 'NORTH', 'request', 1, 'PENDING', 0, 'PENDING')`,
    );
    expect(wordsOf(await operator.open("/refills"))).toContain("PENDING");
    const elsewhere = wordsOf(await operator.open("/refills?facility=SOUTH"));
    expect(elsewhere).toContain("No tanks.");
    expect(elsewhere).toContain("No refills.");
  }));

test("the overview shows each connector's day, the service and the charts, and leads to the pages where one acts", () =>
  withPages(
    async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2, { container_label: "" })]);
      await pool.query("update orders set state = 'parked', failure_code = 'SUBMIT_UNCERTAIN'");
      const page = await operator.open("/");
      expect(page).toContain('href="/orders?state=parked"');
      expect(page).toMatch(/<desc[^>]*>2 in all, at most \d in one minute\.<\/desc>/);
      const words = wordsOf(page);
      expect(words).toMatch(/bench ✓ looks for files ✓ takes results now 2 1 0/);
      expect(words).toContain("reachable ✗ no calls ✗ paused; one tries");
      expect(words).toContain("the service is away");
    },
    {
      deps: {
        takers: async () => new Set(["bench"]),
        connectors: () => [
          {
            ...{ connector: "bench", type: "csv-drop", isTaking: true },
            ...{ trouble: null, warning: null, isLabAway: false, labOutage: null, connections: null },
          },
        ],
        service: () =>
          serviceView({
            ...{ breaker: "open", isReachable: false, hasApiToken: true, callsLastMinute: 3, calls: 7 },
            opening: { since: NOW, text: "the service is away", nextTryAt: NOW },
          }),
      },
    },
  ));

test("what waits of a connector that is gone is given to another one, once it is said what that is", () =>
  withPages(async ({ lab, operator, viewer, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    for (const table of ["messages", "orders", "outcomes"])
      await pool.query(`update ${table} set connector = 'old'`);
    const page = await operator.open("/queue");
    expect(wordsOf(page)).toContain("“ Give it to another connector ”");
    // Of those of its type alone.
    expect(/<select name="to">(.*?)<\/select>/.exec(page)?.[1]).toBe("<option>bench</option>");
    expect(wordsOf(await viewer.open("/queue"))).not.toContain(
      "go out through the connector that you choose",
    );
    const choice = { from: "old", to: "bench" };
    const asked = wordsOf(await operator.send("/queue/move/choose", choice));
    expect(asked).toContain("Report 1 result and 1 order in work of old to the lab through bench?");
    expect(wordsOf(await operator.send("/queue/move/choose", { ...choice, to: "lims" }))).toContain(
      "it was of type csv-drop",
    );
    await viewer.send("/queue/move", choice);
    expect((await pool.query("select from orders where connector = 'old'")).rowCount).toBe(1);
    expect(wordsOf(await operator.send("/queue/move", { ...choice, reason: "renamed" }))).toContain(
      "1 result goes out through bench now",
    );
    expect(wordsOf(await operator.open("/queue"))).not.toContain("Connectors that are not configured");
    expect((await pool.query("select actor, action, target, detail from audit")).rows).toEqual([
      {
        ...{ actor: "erika (console)", action: "move", target: "connector old" },
        detail: { to: "bench", results: 1, reason: "renamed" },
      },
    ]);
  }));
