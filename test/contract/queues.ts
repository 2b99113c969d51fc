import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { QueueBackend } from "../../src/jobs/queue-place.ts";
import { type JobQueues, type NewJob, openQueues, QUEUE_NAMES } from "../../src/jobs/queues.ts";
import { eventually } from "../support/eventually.ts";
import { silent } from "../support/with-ledger.ts";

/** A server that keeps the jobs, and that a test may take down. */
export interface QueueServer {
  /** Queues of the same ledger each time. */
  open(connectors?: readonly string[]): Promise<JobQueues>;
  crash(): Promise<void>;
  start(): Promise<void>;
}
export type WithServer = (test: (server: QueueServer) => Promise<void>) => Promise<void>;

/** Gives a test what opens queues in a place, and closes them afterwards; closing twice does no harm. */
export async function withQueues(
  backend: QueueBackend,
  test: (open: QueueServer["open"]) => Promise<void>,
): Promise<void> {
  const opened: JobQueues[] = [];
  try {
    await test(async (connectors = []) => {
      const queues = await openQueues(backend, connectors, silent);
      opened.push(queues);
      return queues;
    });
  } finally {
    for (const queues of opened) await queues.close(500);
  }
}

export const job = (nth: number): NewJob<"submit"> => ({ jobId: `submit-b${nth}`, data: { nth } });

const never = () => new Promise<void>(() => undefined);

/**
 * What the queues promise, whichever server keeps their jobs. Most cases share one, `withOwnServer` is for those that take it down, where
 * there is one.
 */
export function describeQueueContract(
  name: string,
  {
    isThere = true,
    withServer,
    withOwnServer,
  }: { readonly isThere?: boolean; readonly withServer: WithServer; readonly withOwnServer?: WithServer },
): void {
  describe.runIf(isThere).concurrent(`job queues on ${name}`, () => {
    test("take the same job id once while the first is there", () =>
      withServer(async ({ open }) => {
        const queues = await open();
        await queues.add("submit", [job(1), job(2)]);
        await queues.add("submit", [job(1)]);
        expect((await queues.list("submit", 10)).map(({ jobId }) => jobId).sort()).toEqual([
          "submit-b1",
          "submit-b2",
        ]);
      }));

    test("tell which jobs exist, how many wait, and what they carry", () =>
      withServer(async ({ open }) => {
        const queues = await open(["lims"]);
        await queues.add("submit", [job(1), job(2)]);
        await queues.add("track", [{ jobId: "track-f12", data: { facilityId: 12 } }]);
        const found = await queues.findExisting(["submit-b1", "submit-b3", "submit-b2"]);
        expect([...found].sort()).toEqual(["submit-b1", "submit-b2"]);
        const counts = await queues.counts();
        expect([counts.submit.waiting, counts.track.waiting, counts.deliver.waiting]).toEqual([2, 1, 0]);
        const [shown] = await queues.list("track", 10);
        expect(shown).toMatchObject({
          queue: "track",
          jobId: "track-f12",
          state: "waiting",
          data: { facilityId: 12 },
        });
      }));

    test("list no more jobs than were asked for, those that run first", () =>
      withServer(async ({ open }) => {
        const queues = await open();
        await queues.add("submit", [job(1), job(2), job(3)]);
        await queues.work("submit", 1, never);
        await eventually(async () => (await queues.counts()).submit.active === 1);
        const listed = await queues.list("submit", 2);
        expect(listed.map(({ state }) => state)).toEqual(["active", "waiting"]);
      }));

    test("run every job once and forget it, and take its id again afterwards", () =>
      withServer(async ({ open }) => {
        const queues = await open();
        const ran: number[] = [];
        await queues.work("submit", 4, async ({ nth }) => {
          ran.push(nth);
        });
        await queues.add(
          "submit",
          Array.from({ length: 20 }, (_, index) => job(index + 1)),
        );
        await eventually(() => ran.length === 20);
        await eventually(async () => (await queues.list("submit", 10)).length === 0);
        await queues.add("submit", [job(7)]);
        await eventually(() => ran.length === 21);
        expect(new Set(ran).size).toBe(20);
      }));

    test("have a job of their own go all the way, and keep nothing of it", () =>
      withServer(async ({ open }) => {
        const queues = await open();
        await queues.add("submit", [job(1)]);
        await queues.tryJob();
        expect(queues.trouble).toBeUndefined();
        expect((await queues.list("submit", 10)).map(({ jobId }) => jobId)).toEqual(["submit-b1"]);
      }));

    test("go on after a job that throws", () =>
      withServer(async ({ open }) => {
        const queues = await open();
        const ran: number[] = [];
        await queues.work("submit", 1, async ({ nth }) => {
          ran.push(nth);
          if (nth === 1) throw new Error("broken");
        });
        await queues.add("submit", [job(1), job(2)]);
        await eventually(() => ran.length === 2);
        await eventually(async () => (await queues.list("submit", 10)).length === 0);
      }));

    test("give out again what a dead worker held, and hold up nothing of another worker's number meanwhile", () =>
      withServer(async ({ open }) => {
        const dead = await open(["lims"]);
        const begun: string[] = [];
        await dead.work("submit", 1, async ({ nth }) => {
          begun.push(`b${nth}`);
          await never();
        });
        await dead.work("track", 1, async () => {
          begun.push("track");
          await never();
        });
        await dead.work("deliver", 1, async () => {
          begun.push("deliver");
          await never();
        });
        await dead.add("submit", [job(1)]);
        await dead.add("track", [{ jobId: "track-f12-w1", data: { facilityId: 12 } }]);
        await dead.add("deliver", [{ jobId: "deliver-lims-w1", data: { connector: "lims" } }]);
        await eventually(() => begun.length === 3);
        await dead.close(0);

        const queues = await open(["lims"]);
        const ran: string[] = [];
        await queues.work("submit", 1, async ({ nth }) => void ran.push(`b${nth}`));
        await queues.work("track", 1, async ({ facilityId }) => void ran.push(`f${facilityId}`));
        await queues.work("deliver", 1, async ({ connector }) => void ran.push(connector));
        await queues.add("track", [{ jobId: "track-f12-w2", data: { facilityId: 12 } }]);
        await queues.add("deliver", [{ jobId: "deliver-lims-w2", data: { connector: "lims" } }]);
        await eventually(() => ran.length === 2);
        expect(ran.sort()).toEqual(["f12", "lims"]);
        // As the feeder asks for what was handed over long ago. Its lock of 4 s, and two looks 2.5 s apart.
        expect(await queues.findExisting(["submit-b1"])).toEqual(new Set(["submit-b1"]));
        await eventually(() => ran.length === 5);
        expect(ran.sort()).toEqual(["b1", "f12", "f12", "lims", "lims"]);
      }));

    test("give a connector's results to those that have the connector, and to nobody else", () =>
      withServer(async ({ open }) => {
        const both = await open(["lims", "bench"]);
        const one = await open(["lims"]);
        const ran: string[] = [];
        await one.work("deliver", 1, async ({ connector }) => void ran.push(connector));
        await both.add(
          "deliver",
          ["bench", "lims"].map((connector) => ({ jobId: `deliver-${connector}-w1`, data: { connector } })),
        );
        await eventually(() => ran.length === 1);
        expect(ran).toEqual(["lims"]);
        await eventually(async () => (await both.counts()).deliver.active === 0);
        expect((await both.list("deliver", 10)).map(({ jobId }) => jobId)).toEqual(["deliver-bench-w1"]);
        expect((await both.counts()).deliver.waiting).toBe(1);
        await both.work("deliver", 1, async ({ connector }) => void ran.push(connector));
        await eventually(() => ran.length === 2);
        expect(ran).toEqual(["lims", "bench"]);
      }));

    test("leave the jobs to others while they are told to, and take them again", () =>
      withServer(async ({ open }) => {
        const [told, other] = [await open(), await open()];
        const ran: Record<"told" | "other", number[]> = { told: [], other: [] };
        await told.work("submit", 2, async ({ nth }) => void ran.told.push(nth));
        told.take("submit", false);
        const jobs = (from: number) => Array.from({ length: 10 }, (_, n) => job(from + n));
        await other.add("submit", jobs(1));
        // One may have been given out to a worker that waited for it.
        const isLeft = async () => (await other.counts()).submit.waiting === 10 - ran.told.length;
        await eventually(async () => ran.told.length <= 1 && (await isLeft()));
        await other.work("submit", 2, async ({ nth }) => void ran.other.push(nth));
        await eventually(() => ran.told.length + ran.other.length === 10);
        expect(ran.told.length).toBeLessThanOrEqual(1);
        await other.close(500);
        told.take("submit", true);
        await told.add("submit", jobs(11));
        await eventually(() => ran.told.length + ran.other.length === 20);
      }));

    test("wait for the jobs in hand when they are closed", () =>
      withServer(async ({ open }) => {
        const queues = await open();
        const begun = Promise.withResolvers<void>();
        let isDone = false;
        await queues.work("submit", 1, async () => {
          begun.resolve();
          await systemClock.sleep(300);
          isDone = true;
        });
        await queues.add("submit", [job(1)]);
        await begun.promise;
        await queues.close(60_000);
        expect(isDone).toBe(true);
      }));

    test("end by themselves when nothing is in hand, and don't use the deadline up", () =>
      withServer(async ({ open }) => {
        const queues = await open(["lims", "bench"]);
        for (const name of QUEUE_NAMES) await queues.work(name, 1, async () => undefined);
        // Longer than a test may take.
        await queues.close(3_600_000);
      }));

    test("give up on jobs that go on after the deadline, and say so to them", () =>
      withServer(async ({ open }) => {
        const queues = await open();
        let isReported = false;
        await queues.work("submit", 1, async (_data, signal) => {
          await systemClock.sleep(60_000, signal).catch(() => undefined);
          isReported = signal.aborted;
        });
        await queues.add("submit", [job(1)]);
        await eventually(async () => (await queues.counts()).submit.active === 1);
        await queues.close(200);
        await eventually(() => isReported, { what: "the news that it is too late" });
      }));

    if (!withOwnServer) return;

    test("go on after their server was lost, with workers that were idle and workers that were not", () =>
      withOwnServer(async ({ open, crash, start }) => {
        const queues = await open();
        const ran: string[] = [];
        await queues.work("submit", 2, async ({ nth }) => {
          ran.push(`b${nth}`);
        });
        await queues.work("track", 1, async ({ facilityId }) => {
          ran.push(`f${facilityId}`);
        });
        await queues.add("submit", [job(1)]);
        await eventually(() => ran.length === 1);
        expect(queues.trouble).toBeUndefined();
        await crash();
        // Longer than BullMQ waits for a job: its workers have been known to stay away after that.
        await systemClock.sleep(7_000);
        await start();
        await eventually(async () => queues.add("submit", [job(2)]).then(() => true));
        await eventually(async () =>
          queues.add("track", [{ jobId: "track-f12", data: { facilityId: 12 } }]).then(() => true),
        );
        await eventually(() => ran.includes("b2") && ran.includes("f12"));
        expect(queues.trouble).toBeUndefined();
      }));

    test("close within the deadline and a little when their server is out of reach", () =>
      withOwnServer(async ({ open, crash }) => {
        const queues = await open();
        await queues.work("submit", 2, async () => undefined);
        await crash();
        // Nobody would come back without the deadline.
        await queues.close(500);
      }));

    test("refuse to open when their server can't be reached", () =>
      withOwnServer(async ({ open, crash }) => {
        await crash();
        await expect(open()).rejects.toMatchObject({ class: "transient" });
      }));
  });
}
