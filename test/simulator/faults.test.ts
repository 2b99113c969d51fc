import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import type { FaultRule } from "../../src/simulator/faults.ts";
import { eventually } from "../support/eventually.ts";
import { createFakeClock } from "./fake-clock.ts";
import { API_TOKEN, type Bench, STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

const CREATE = { method: "POST", path: "/api/procedure-requests" } as const;

/** A simulator that knows the subject, with one fault on the creation of procedure requests. */
const withFault = (fault: FaultRule, test: (bench: Bench) => Promise<void>, options = {}) =>
  withSimulator({ faults: [{ ...CREATE, name: "f", times: 1, ...fault }], ...options }, async (bench) => {
    bench.simulator.control.addSubject(SUBJECT);
    await test(bench);
  });

const create = ({ post }: Bench, signal?: AbortSignal) =>
  post("/api/procedure-requests", STORE, signal ? { signal } : {});

test("a connection that is dropped before leaves nothing done", () =>
  withFault({ before: "drop" }, async (bench) => {
    await expect(create(bench)).rejects.toThrow();
    expect(bench.simulator.tally().journal).toEqual([]);
    expect((await create(bench)).status).toBe(201);
  }));

test("a connection that is dropped after leaves the request made, without an answer", () =>
  withFault({ after: "drop" }, async (bench) => {
    await expect(create(bench)).rejects.toThrow();
    const { journal, routes, faults } = bench.simulator.tally();
    expect(journal).toHaveLength(1);
    expect(routes["POST /api/procedure-requests"]).toEqual({ received: 1, answered: {} });
    expect(faults).toEqual({ f: 1 });
    expect((await bench.ask("/api/procedure-requests?subjectCode=S-001")).json).toHaveLength(1);
  }));

test.each([
  ["before", 0],
  ["after", 1],
] as const)("a call that hangs %s never gets an answer, and %i request exists", (when, made) =>
  withFault({ [when]: "hang" }, async (bench) => {
    const { control } = bench.simulator;
    const giveUp = new AbortController();
    const hanging = create(bench, giveUp.signal);
    const failed = expect(hanging).rejects.toThrow();
    await eventually(() => bench.simulator.tally().faults.f === 1);
    giveUp.abort();
    await failed;
    expect(control.requests()).toHaveLength(made);
  }),
);

test.each([500, 502, 503, 504, 408])(
  "status %i may come with nothing done, or with the request made",
  async (status) => {
    await withFault({ status }, async (bench) => {
      expect((await create(bench)).status).toBe(status);
      expect(bench.simulator.tally().journal).toHaveLength(0);
    });
    await withFault({ status, executed: true }, async (bench) => {
      const reply = await create(bench);
      expect(reply.status).toBe(status);
      expect(reply.json).not.toHaveProperty("id");
      expect(bench.simulator.tally().journal).toHaveLength(1);
    });
  },
);

test("Retry-After comes as seconds or as anything", async () => {
  const faults: FaultRule[] = [
    { times: 1, status: 429, retryAfter: 7 },
    { times: 1, status: 503, retryAfter: "soon" },
  ];
  await withSimulator({}, async ({ ask, simulator }) => {
    const seen = [];
    for (const fault of faults) {
      simulator.control.setFaults([fault]);
      seen.push((await ask("/api/subjects")).headers["retry-after"]);
    }
    expect(seen).toEqual(["7", "soon"]);
  });
});

test.each([
  ["empty", (text: string) => text === ""],
  ["html", (text: string) => text.startsWith("<!doctype html>")],
  ["truncated", (text: string) => text.startsWith('{"id":') && !text.endsWith("}")],
] as const)("a successful answer may have a body that is %s", (body, isAsExpected) =>
  withFault({ body }, async (bench) => {
    const reply = await create(bench);
    expect(reply.status).toBe(201);
    expect(reply.text).toSatisfy(isAsExpected);
    expect(reply.json).toBeUndefined();
    expect(bench.simulator.tally().journal).toHaveLength(1);
  }),
);

test("a successful answer may lack its id", () =>
  withFault({ body: "without-ids" }, async (bench) => {
    const reply = await create(bench);
    expect(reply.json).toMatchObject({ status: "PENDING" });
    expect(reply.json).not.toHaveProperty("id");
  }));

test("an answer may end after any number of bytes", () =>
  withFault({ cutAfterBytes: 30 }, async ({ simulator }) => {
    const body = JSON.stringify(STORE);
    const socket = connect(Number(new URL(simulator.url).port), "127.0.0.1");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.write(
      `POST /api/procedure-requests HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${API_TOKEN}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await once(socket, "close");
    expect(Buffer.concat(chunks).toString()).toBe("HTTP/1.1 201 Created\r\ncontent-");
    expect(simulator.tally().journal).toHaveLength(1);
  }));

test("a late execution happens although the caller has gone", async () => {
  const clock = createFakeClock();
  await withFault(
    { executeAfterMs: 120_000 },
    async (bench) => {
      const giveUp = new AbortController();
      const failed = expect(create(bench, giveUp.signal)).rejects.toThrow();
      await eventually(() => bench.simulator.tally().faults.f === 1);
      giveUp.abort();
      await failed;
      await clock.pass(119_999);
      expect(bench.simulator.control.requests()).toEqual([]);
      await clock.pass(1);
      expect(bench.simulator.control.requests()).toHaveLength(1);
    },
    { clock },
  );
});

test("a late answer belongs to a call that was executed at once", async () => {
  const clock = createFakeClock();
  await withFault(
    { answerAfterMs: [2_000, 2_000] },
    async (bench) => {
      const creating = create(bench);
      await eventually(() => bench.simulator.control.requests().length === 1);
      await clock.pass(2_000);
      expect((await creating).status).toBe(201);
    },
    { clock },
  );
});

test("the token of a call may be revoked as it arrives", () =>
  withFault({ revokeToken: true }, async (bench) => {
    expect((await create(bench)).status).toBe(401);
    expect((await create(bench)).status).toBe(401);
    expect(bench.simulator.tally().journal).toEqual([]);
  }));

test("a fault may change the behaviour for single calls", () =>
  withSimulator(
    { faults: [{ path: "/api/subjects", times: 1, behave: { listEnvelope: "data", filters: "none" } }] },
    async ({ ask, simulator }) => {
      simulator.control.addSubject(SUBJECT);
      expect((await ask("/api/subjects?code=other")).json).toHaveProperty("data.0.code", "S-001");
      expect((await ask("/api/subjects?code=other")).json).toEqual([]);
    },
  ));

test("a rule meets its method and path only, lets the first calls through, and is spent in the end", () =>
  withSimulator(
    { faults: [{ method: "get", path: "/api/procedures/*", skip: 1, times: 2, status: 500 }] },
    async ({ ask, post }) => {
      const statuses = [];
      for (let call = 0; call < 4; call += 1) statuses.push((await ask("/api/procedures/1")).status);
      expect(statuses).toEqual([404, 500, 500, 404]);
      expect((await ask("/api/procedures")).status).toBe(200);
      expect((await post("/api/procedures/1", {})).status).toBe(404);
    },
  ));

test("two stars stand for any rest of a path, and the token endpoint may fail too", () =>
  withSimulator({ faults: [{ path: "/oauth/**", status: 503 }] }, async ({ ask, post }) => {
    expect((await post("/oauth/token", {})).status).toBe(503);
    expect((await ask("/api/subjects")).status).toBe(200);
  }));

test("a probability meets about its share of calls, the same ones for the same seed", async () => {
  const run = async (seed: number) => {
    const statuses: number[] = [];
    await withSimulator({ seed, faults: [{ probability: 0.3, status: 500 }] }, async ({ ask }) => {
      for (let call = 0; call < 100; call += 1) statuses.push((await ask("/api/storage")).status);
    });
    return statuses;
  };
  const first = await run(7);
  const failures = first.filter((status) => status === 500).length;
  expect(failures).toBeGreaterThan(15);
  expect(failures).toBeLessThan(45);
  expect(await run(7)).toEqual(first);
  expect(await run(8)).not.toEqual(first);
});

test("a connection may be ended in good order without an answer, with the request made", () =>
  withFault({ after: "close" }, async (bench) => {
    await expect(create(bench)).rejects.toThrow();
    expect(bench.simulator.tally().journal).toHaveLength(1);
  }));

test("the effects of several rules that meet one call add up, the first rule winning", () =>
  withSimulator({ faults: [{ status: 502 }, { status: 500, retryAfter: 9 }] }, async ({ ask }) => {
    const reply = await ask("/api/storage");
    expect([reply.status, reply.headers["retry-after"]]).toEqual([502, "9"]);
  }));
