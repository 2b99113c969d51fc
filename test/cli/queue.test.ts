import { describe, expect, it } from "vitest";
import { withLedger, withQueues } from "../../src/cli/open.ts";
import type { Session } from "../../src/cli/session.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { JobQueues } from "../../src/jobs/queues.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { openCalls } from "../support/calls.ts";
import { silent } from "../support/with-ledger.ts";
import { csvMessage, ENV, PATIENT, withLab } from "./with-lab.ts";

/** The queues of a lab, as a command opens them. */
function withJobs(configFile: string, work: (queues: JobQueues) => Promise<void>): Promise<void> {
  const session = { clock: systemClock, logger: silent } as Session;
  const config = loadConfig(configFile, { env: ENV, profileSchema });
  return withLedger(session, (site) => withQueues(session, site, work), config);
}

const FAIL = `
update orders
   set failure_code = 'SERVICE_UNREACHABLE', failure_text = 'connection refused', attempts = 3,
       next_at = now() + interval '5 minutes'
 where id = $1`;
const DELIVERY = `
insert into deliveries (connector, file_name, bytes, state, attempts, next_at, failure_code, failure_text)
values ('bench', $1, 'x', $2, 2, now() + interval '1 hour', 'FILE_SYSTEM_ERROR', 'no space left')`;

describe("queue list", () => {
  it("is what `queue` alone does: the ledger's counts, BullMQ's, and what is tried again", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2), csvMessage(3)]);
      await pool.query(FAIL, [2]);
      await pool.query(DELIVERY, ["a.csv", "pending"]);
      await pool.query(DELIVERY, ["b.csv", "parked"]);
      const { status, stdout } = await cli(["queue"]);
      expect(status).toBe(0);
      expect(stdout).toContain("No daemon works on this ledger right now.");
      expect(stdout).toMatch(/^ *submit +2 +1 +0 +0 +none +Orders go to the service$/m);
      expect(stdout).toMatch(/^ *deliver +3 +1 +0 +1 +none +Results go to the lab$/m);
      expect(stdout).toMatch(
        /^ *o2 +C-2 +received +3 +in 5m +SERVICE_UNREACHABLE: connection refused; no daemon works on this ledger$/m,
      );
      expect(stdout).toMatch(
        /^ *d1 +bench +a\.csv .* pending +2 +tried in 1h +FILE_SYSTEM_ERROR: no space left$/m,
      );
      for (const secret of Object.values(PATIENT)) expect(stdout).not.toContain(secret);
    });
  });

  it("says of each kind where nothing waits", () =>
    withLab(async ({ cli }) => {
      const { stdout } = await cli(["queue"]);
      expect(stdout).toMatch(/^Orders that wait\n {2}No order waits\.$/m);
      expect(stdout).toMatch(/^Results that the lab doesn't have\n {2}The lab has all results\.$/m);
      expect(stdout).not.toContain("not configured");
    }));

  it("names every order that waits, what for and when it goes on, those of a person first", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2), csvMessage(3), csvMessage(4), csvMessage(5)]);
      const change = (id: number, values: string) =>
        pool.query(`update orders set ${values} where id = $1`, [id]);
      await pool.query(FAIL, [2]);
      await change(3, "held_at = now()");
      await change(4, "state = 'submitting', failure_code = 'SERVICE_NO_ANSWER', failure_text = 'lost'");
      await openCalls(pool, { where: "o.id = 4", set: "look_at = now()" });
      await change(5, "state = 'parked', failure_code = 'SUBJECT_MISMATCH', failure_text = 'another name'");
      const { stdout } = await cli(["queue"]);
      expect(stdout).toContain("Orders that wait\n");
      const lines = stdout.split("\n").flatMap((line) => /^ *(o\d) .*$/.exec(line)?.[0].trim() ?? []);
      expect(lines.map((line) => line.slice(0, 2))).toEqual(["o5", "o4", "o2", "o1", "o3"]);
      expect(lines[0]).toMatch(/^o5 +C-5 +parked +0 +SUBJECT_MISMATCH: another name$/);
      expect(lines[1]).toMatch(
        /^o4 +C-4 +submitting +0 +due now +SERVICE_NO_ANSWER: lost; the service is searched for its call; no daemon works on this ledger$/,
      );
      expect(lines[3]).toMatch(
        /^o1 +C-1 +received +0 +due now +waits for o4 of the same subject; no daemon works on this ledger$/,
      );
      expect(lines[4]).toMatch(/^o3 +C-3 +received +0 +on hold by the lab$/);
      const listed = (await cli(["orders", "list"])).stdout;
      for (const words of [/o5 .*another name/, /o4 .*searched for its call/, /o3 .*on hold by the lab/])
        expect(listed).toMatch(words);
      const { orders } = JSON.parse((await cli(["orders", "list", "--json"])).stdout);
      expect(orders.at(-1)).toMatchObject({
        orderId: "o1",
        waitsFor: "waits for o4 of the same subject; no daemon works on this ledger",
        reason: null,
      });
    });
  });

  it("shows the same in JSON", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query(FAIL, [1]);
      const document = JSON.parse((await cli(["queue", "list", "--json"])).stdout);
      expect(Object.keys(document)).toEqual([
        "isDaemonRunning",
        "queues",
        "waitingOrders",
        "openDeliveries",
        "orphaned",
        "jobs",
      ]);
      expect(document.queues[0]).toEqual({
        queue: "submit",
        ...{ isPaused: false, pausedSince: null, pausedBy: null, pauseReason: null },
        ledger: { waiting: 0, delayed: 1, inHand: 0, parked: 0 },
        bullmq: expect.objectContaining({ waiting: 0 }),
      });
      for (const state of Object.keys(document.queues[0].bullmq)) expect(state).toMatch(/^[a-z]+$/i);
      expect(document.waitingOrders).toMatchObject([{ orderId: "o1", attempts: 3 }]);
    });
  });
});

describe("a queue that is longer than what is asked for", () => {
  it("says so, and one that is as long does not", async () => {
    await withLab(async ({ cli, take, pool, configFile }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      const { stdout, stderr } = await cli(["queue", "--limit", "1"]);
      expect((await cli(["queue", "--limit", "2"])).stderr).not.toContain("At most");
      expect(stdout).toMatch(/^ *o1 +C-1 /m);
      expect(stdout).not.toContain("o2");
      expect(stderr).toContain("At most 1 of each kind are shown: --limit shows more.");
      expect(JSON.parse((await cli(["queue", "--json"])).stdout).waitingOrders).toHaveLength(2);
      await pool.query("update orders set state = 'accepted', request_id = id");
      await withJobs(configFile, (queues) =>
        queues.add("submit", [
          { jobId: "submit-1", data: { nth: 1 } },
          { jobId: "submit-2", data: { nth: 2 } },
        ]),
      );
      const ofJobs = await cli(["queue", "--limit", "1"]);
      expect(ofJobs.stderr).toContain("At most 1 of each kind are shown: --limit shows more.");
      expect(ofJobs.stdout.match(/ submit +waiting /g)).toHaveLength(1);
      expect((await cli(["queue", "--limit", "2"])).stderr).not.toContain("At most");
    });
  });
});

describe("what is handed over to the workers", () => {
  it("is named by its orders, its facility or its connector, and has the data of the jobs for programs", async () => {
    await withLab(async ({ cli, take, pool, configFile }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      await pool.query("update orders set state = 'submitting', owner = 7");
      await withJobs(configFile, async (queues) => {
        await queues.add("submit", [{ jobId: "submit-1", data: { nth: 1 } }]);
        await queues.add("track", [{ jobId: "track-f12", data: { facilityId: 12 } }]);
        await queues.add("deliver", [{ jobId: "deliver-bench", data: { connector: "bench" } }]);
      });
      const { stdout } = await cli(["queue"]);
      expect(stdout).toMatch(/^ *2 orders: o1 \(C-1\), o2 \(C-2\) +submit +waiting /m);
      expect(stdout).toMatch(/^ *how orders stand at NORTH +track +waiting /m);
      expect(stdout).toMatch(/^ *results through bench +deliver +waiting /m);
      expect(stdout).not.toContain("{");
      const { jobs } = JSON.parse((await cli(["queue", "--json"])).stdout);
      expect(jobs).toContainEqual(
        expect.objectContaining({
          jobId: "submit-1",
          data: { nth: 1 },
          about: "2 orders: o1 (C-1), o2 (C-2)",
        }),
      );
    });
  });
});

describe("queue show", () => {
  it("shows a delivery with its last error and the hint", async () => {
    await withLab(async ({ cli, pool }) => {
      await pool.query(DELIVERY, ["a.csv", "pending"]);
      const { stdout } = await cli(["queue", "show", "d1"]);
      expect(stdout).toContain("Result d1: pending");
      expect(stdout).toContain("no space left (FILE_SYSTEM_ERROR)\n    Free space");
    });
  });

  it("shows an order, and ends with status 5 for what is none of the three", async () => {
    await withLab(async ({ cli, take }) => {
      await take("bench", [csvMessage(1)]);
      expect((await cli(["queue", "show", "o1"])).stdout).toContain("Order o1 (C-1)");
      expect((await cli(["queue", "show", "submit-9"])).status).toBe(5);
    });
  });
});

describe("queue retry", () => {
  it("makes deliveries due now, as orders retry does orders", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      await pool.query(FAIL, [1]);
      await pool.query(
        "update orders set state = 'accepted', request_id = 7, next_at = now() + interval '1 hour' where id = 2",
      );
      await pool.query(DELIVERY, ["a.csv", "parked"]);
      expect((await cli(["queue", "retry", "o1"])).stderr).toContain("cryobridge orders retry o1");
      const orders = await cli(["orders", "retry", "o1", "o2", "--yes"]);
      expect(orders.stdout).toBe("✓ o1 (C-1) will be tried again\n✓ o2 (C-2) will be tried again\n");
      expect((await cli(["queue", "retry", "d1"])).stdout).toBe("✓ d1 is due now\n");
      const due = await pool.query(
        "select 1 from orders where next_at <= now() union all select 1 from deliveries where state = 'pending' and next_at <= now()",
      );
      expect(due.rowCount).toBe(3);
    });
  });
});

describe("queue remove", () => {
  it("gives up one delivery without asking, but asks before several, and discards no order", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      for (const name of ["a.csv", "b.csv", "c.csv"]) await pool.query(DELIVERY, [name, "parked"]);
      expect((await cli(["queue", "remove", "d1"])).stdout).toBe("✓ d1 is given up\n");
      expect((await cli(["queue", "remove", "o1"])).status).toBe(2);
      expect((await cli(["queue", "remove", "d2", "d3"])).status).toBe(2);
      expect((await cli(["queue", "remove", "d2", "d3"], { answer: "yes" })).status).toBe(0);
      expect((await pool.query("select state from orders")).rows).toEqual([{ state: "received" }]);
      const audit = await pool.query("select action, target from audit order by id");
      expect(audit.rows).toEqual([
        { action: "remove", target: "d1" },
        { action: "remove", target: "d2" },
        { action: "remove", target: "d3" },
      ]);
    });
  });
});

describe("queue pause and resume", () => {
  it("hold a queue back and let it go on, once each in the audit", async () => {
    await withLab(async ({ cli, pool }) => {
      expect((await cli(["queue", "pause", "deliver", "--reason", "they move"])).stdout).toBe(
        "✓ Queue deliver is paused: nothing new is handed to it\n",
      );
      expect((await cli(["queue", "pause", "deliver"])).stdout).toBe("✓ Queue deliver was already paused\n");
      expect((await cli(["queue", "list"])).stdout).toMatch(
        /^ *deliver .* paused by \S+ (now|\d+s ago): they move$/m,
      );
      expect(JSON.parse((await cli(["queue", "resume", "deliver", "--json"])).stdout)).toEqual({
        queue: "deliver",
        isPaused: false,
        hasChanged: true,
      });
      const audit = await pool.query("select action, target from audit order by id");
      expect(audit.rows).toEqual([
        { action: "pause", target: "deliver" },
        { action: "resume", target: "deliver" },
      ]);
    });
  });
});

describe("a result that waits for one that is parked", () => {
  const ABOUT = `
insert into outcomes (connector, message_id, order_id, kind, payload, delivery_id, is_composed)
select 'bench', 1, 1, 'changed', '{}', d.id, true
  from deliveries d`;
  const OF_ORDER = "update deliveries set order_ids = '{1}'";

  it("is shown with what it waits for, in every list and to who has it tried again", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      for (const [name, state] of [
        ["a.csv", "parked"],
        ["b.csv", "pending"],
      ]) {
        await pool.query(DELIVERY, [name, state]);
      }
      await pool.query(ABOUT);
      await pool.query(OF_ORDER);
      expect((await cli(["queue", "list"])).stdout).toMatch(/^ *d2 .* pending +2 +waits for d1 /m);
      expect((await cli(["orders", "show", "o1"])).stdout).toMatch(/d2 .* waits for d1 /);
      expect((await cli(["queue", "show", "d2"])).stdout).toMatch(/next try +once d1, which came before it,/);
      const { openDeliveries } = JSON.parse((await cli(["queue", "--json"])).stdout);
      expect(openDeliveries.map((each: { waitsBehind: string }) => each.waitsBehind)).toEqual([null, "d1"]);
      expect((await cli(["queue", "retry", "d2"])).stdout).toBe(
        "✓ d2 is due once d1 is delivered or given up\n",
      );
      expect((await cli(["queue", "remove", "d1"])).status).toBe(0);
      expect((await cli(["queue", "list"])).stdout).toMatch(/^ *d2 .* pending +2 +due now /m);
    });
  });
});
