import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { phi } from "../../src/core/phi.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock, settle } from "./fake-clock.ts";
import { type StubService, send } from "./stub-service.ts";
import { failureOf, never, withClient, withStub } from "./with-client.ts";

/** Has the clock go on until something is over; it stands while a call is under way, however long that takes. */
async function whileTimePasses<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let isOver = false;
  const ended = work.finally(() => {
    isOver = true;
  });
  while (!isOver) await (clock.asleep > 0 ? clock.advance(100) : settle());
  return await ended;
}

describe("a read", () => {
  it.each([
    ["status 500", 500, { error: "boom" }, "status 500"],
    ["an HTML page", 200, "<html>maintenance</html>", "status 200: an HTML page"],
    ["nothing", 200, "", "status 200: an empty answer"],
    ["cut JSON", 200, '{"id":', "status 200: a text"],
    ["an unknown status", 299, "", "status 299: an empty answer"],
    ["a 404 page of a gateway", 404, "<html>no route</html>", "status 404: an HTML page"],
  ])("is transient after %s, and says so", (_name, status, body, words) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, status, body);
        return true;
      };
      const failure = await failureOf(client.getRequest(1, never));
      expect(failure.code).toBe("SERVICE_UNAVAILABLE");
      expect(failure.message).toContain(words);
    }),
  );

  it("doesn't follow a redirect, which could carry the token elsewhere", () =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 302, "", { location: `${stub.baseUrl}/elsewhere` });
        return true;
      };
      const failure = await failureOf(client.getRequest(1, never));
      expect(failure.message).toContain("redirect");
      expect(stub.seen).toHaveLength(1);
    }));

  it("refuses a body beyond the cap", () =>
    withStub(
      async (stub, client) => {
        stub.intercept = (_request, response) => {
          send(response, 200, { id: 1, filler: "x".repeat(5_000) });
          return true;
        };
        expect((await failureOf(client.getRequest(1, never))).message).toContain("larger than allowed");
      },
      { maxBodyBytes: 4_096 },
    ));

  it("survives hostile JSON: a prototype key, and deep nesting", () =>
    withStub(async (stub, client) => {
      stub.intercept = (request, response) => {
        const deep = `{"id":1,"deep":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
        send(
          response,
          200,
          request.url?.endsWith("/1") ? deep : '{"id":2,"__proto__":{"status":"COMPLETED"}}',
        );
        return true;
      };
      expect(await client.getRequest(1, never)).toMatchObject({ id: 1, status: "UNKNOWN" });
      expect(await client.getRequest(2, never)).toMatchObject({ id: 2, status: "UNKNOWN" });
    }));

  it("encodes values that would change the query", () =>
    withStub(async (stub, client) => {
      await client.findSubject(12, phi("a&status=X ../7%2f\n"), never);
      const url = new URL(stub.seen.at(-1)!.url, stub.baseUrl);
      expect(url.pathname).toBe("/api/subjects");
      expect(url.searchParams.get("code")).toBe("a&status=X ../7%2f\n");
      expect(url.searchParams.has("status")).toBe(false);
    }));

  it("keeps a base address's own path", () =>
    withStub((stub) =>
      withClient({ baseUrl: `${stub.baseUrl}/lab/` }, async (client) => {
        await client.getRequest(1, never).catch(() => {});
        expect(stub.seen[0]!.url).toBe("/lab/api/procedure-requests/1");
      }),
    ));

  it.each([1.5, -1, Number.NaN, 2 ** 53])("refuses to ask for the id %d", (id) =>
    withStub(async (stub, client) => {
      await expect(client.getRequest(id, never)).rejects.toThrow(RangeError);
      expect(stub.seen).toHaveLength(0);
    }),
  );
});

describe("a read that fails for now", () => {
  /** The stub's answers to its first calls: a status, or a connection that is cut. */
  const failFirst = (stub: StubService, failures: readonly (number | "cut")[], headers = {}) => {
    stub.rows["procedure-requests"] = [{ id: 1 }];
    const open = [...failures];
    stub.intercept = (_request, response) => {
      const failure = open.shift();
      if (failure === "cut") response.destroy();
      else if (failure !== undefined) send(response, failure, {}, headers);
      return failure !== undefined;
    };
  };

  it.each([
    ["an error 500", 500],
    ["an error 503", 503],
    ["a connection that was cut", "cut"],
    ["a 429 that names no time", 429],
  ] as const)("is tried again after %s, up to four times", (_name, failure) => {
    const clock = new FakeClock();
    return withStub(
      async (stub, client) => {
        failFirst(stub, Array(4).fill(failure));
        expect(await whileTimePasses(clock, client.getRequest(1, never))).toMatchObject({ id: 1 });
        expect(stub.seen).toHaveLength(5);
        failFirst(stub, Array(5).fill(failure));
        await whileTimePasses(clock, failureOf(client.getRequest(1, never)));
        expect(stub.seen).toHaveLength(10);
      },
      {},
      { clock },
    );
  });

  it("is no failure to the circuit breaker once another try went well", () =>
    withStub(async (stub, client) => {
      for (let read = 0; read < 3; read += 1) {
        failFirst(stub, [500, "cut", 502]);
        await client.getRequest(1, never);
      }
      expect(client.breaker.state).toBe("closed");
    }));

  it.each([400, 404, 409, 302])("is final when the answer is %d, which would come again", (status) =>
    withStub(async (stub, client) => {
      failFirst(stub, [status, 500]);
      await failureOf(client.getRequest(1, never));
      expect(stub.seen).toHaveLength(1);
    }),
  );

  it("waits as long as the service asks, up to some seconds", () => {
    const clock = new FakeClock();
    return withStub(
      async (stub, client) => {
        failFirst(stub, [503], { "retry-after": "3" });
        const reading = client.getRequest(1, never);
        await eventually(() => clock.asleep > 0);
        await clock.advance(2_900);
        expect(stub.seen).toHaveLength(1);
        await clock.advance(1_000);
        expect(await reading).toMatchObject({ id: 1 });
      },
      {},
      { clock },
    );
  });

  it("has a list go on with the page that failed", () =>
    withStub(
      async (stub, client) => {
        stub.rows.procedures = Array.from({ length: 30 }, (_, index) => ({ id: index + 1, facilityId: 12 }));
        let failures = 3;
        stub.intercept = (request, response) => {
          const isFailing = request.url?.includes("page=2&") === true && failures-- > 0;
          if (isFailing) send(response, 500, {});
          return isFailing;
        };
        const question = { list: "procedures", surface: "request", filters: { facilityId: 12 } } as const;
        let entries = 0;
        for await (const page of client.readList(question, never)) entries += page.entries.length;
        expect(entries).toBe(30);
        expect(stub.count("GET /api/procedures?facilityId=12&page=1&")).toBe(1);
        expect(stub.count("GET /api/procedures?facilityId=12&page=2&")).toBe(4);
      },
      { perPage: 10 },
    ));

  it("is what a call that creates something never is", () =>
    withStub(async (stub, client) => {
      failFirst(stub, [503, 503]);
      const containers = [{ label: "V-1", description: "" }];
      const request = { type: "STORE", facilityId: 12, subjectCode: phi("S-1"), containers } as const;
      await failureOf(client.create("request", request, never));
      expect(stub.count("POST")).toBe(1);
    }));
});

describe("Retry-After", () => {
  it.each([
    ["seconds", { "retry-after": "30" }, 30_000],
    [
      "a date, measured against the service's own clock",
      { "retry-after": "Sat, 01 Jan 2000 00:02:00 GMT", date: "Sat, 01 Jan 2000 00:00:00 GMT" },
      120_000,
    ],
    ["a negative number, as a second", { "retry-after": "-5" }, 1_000],
    ["an absurd number, as an hour", { "retry-after": "1000000000" }, 3_600_000],
    ["nonsense, as nothing", { "retry-after": "soon" }, undefined],
    ["nothing", {}, undefined],
  ])("is read as %s", (_name, headers, expected) => {
    const clock = new FakeClock();
    return withStub(
      async (stub, client) => {
        stub.intercept = (_request, response) => {
          send(response, 429, {}, headers);
          return true;
        };
        const failure = await whileTimePasses(clock, failureOf(client.getRequest(1, never)));
        expect(failure).toMatchObject({ code: "SERVICE_BUSY", retryAfterMs: expected });
      },
      {},
      { clock },
    );
  });

  it("holds all callers back, and lets them on when it is over", () => {
    const clock = new FakeClock();
    return withStub(
      async (stub, client) => {
        stub.rows["procedure-requests"] = [{ id: 1 }];
        let isBusy = true;
        stub.intercept = (_request, response) => {
          if (isBusy) send(response, 503, {}, { "retry-after": "60" });
          return isBusy;
        };
        await failureOf(client.getRequest(1, never));
        isBusy = false;
        expect((await failureOf(client.getRequest(1, never))).retryAfterMs).toBeGreaterThanOrEqual(60_000);
        expect(stub.seen).toHaveLength(1);
        await clock.advance(60_000);
        expect(await client.getRequest(1, never)).toMatchObject({ id: 1 });
      },
      {},
      { clock },
    );
  });
});

it("holds calls back while the service is down and probes until it is back", () => {
  const clock = new FakeClock();
  return withStub(
    async (stub, client) => {
      stub.rows["procedure-requests"] = [{ id: 1 }];
      let isDown = true;
      stub.intercept = (_request, response) => {
        if (isDown) send(response, 502, "");
        return isDown;
      };
      const failedRead = async () =>
        (await whileTimePasses(clock, failureOf(client.getRequest(1, never)))).code;
      for (let call = 0; call < 5; call += 1) expect(await failedRead()).toBe("SERVICE_UNAVAILABLE");
      expect((await failureOf(client.getRequest(1, never))).code).toBe("SERVICE_PAUSED");
      // Two reads are tried five times each; after that nobody believes that it passes.
      expect(stub.seen).toHaveLength(5 + 5 + 1 + 1 + 1);
      isDown = false;
      await clock.advance(6_000);
      await settle();
      await client.getRequest(1, never);
      expect(client.breaker.state).toBe("closed");
    },
    {},
    { clock },
  );
});

it("counts requests by route, never by address", () =>
  withStub(async (stub, client) => {
    stub.rows.procedures = [{ id: 7 }];
    await client.getProcedure("request", 7, never);
    await client.findSubject(12, phi("SUBJ-CANARY"), never);
    expect(Object.fromEntries(client.requestCounts)).toEqual({
      "GET /api/procedures/{id}": 1,
      "GET /api/subjects": 1,
    });
  }));

it("counts the requests of the last minute", () => {
  const clock = new FakeClock();
  return withStub(
    async (stub, client) => {
      stub.rows.procedures = [{ id: 7 }];
      await client.getProcedure("request", 7, never);
      await clock.advance(30_000);
      await client.getProcedure("request", 7, never);
      expect(client.lastMinute.calls).toBe(2);
      await clock.advance(30_000);
      expect(client.lastMinute.calls).toBe(1);
      await clock.advance(30_000);
      expect(client.lastMinute.calls).toBe(0);
    },
    {},
    { clock },
  );
});

it("learns nothing of the service's clock from an answer that the machine slept over, nor while the ledger's time isn't sure", () => {
  let sleptMs = 0;
  let isSure = true;
  let isSlept = false;
  const now = () => performance.timeOrigin + systemClock.monotonic() + sleptMs;
  return withStub(
    async (stub, client) => {
      stub.rows.procedures = [{ id: 7 }];
      stub.intercept = (_request, response) => {
        response.setHeader("date", new Date(now() + 600_000).toUTCString());
        if (isSlept) sleptMs += 3_600_000;
        return false;
      };
      const skewAfterCall = async () => {
        await client.getProcedure("request", 7, never);
        return Math.round(client.clockSkewMs! / 10_000);
      };
      expect(await skewAfterCall()).toBe(60);
      isSlept = true;
      expect(await skewAfterCall()).toBe(60);
      [isSlept, isSure] = [false, false];
      expect(await skewAfterCall()).toBe(60);
    },
    {},
    { clock: { ...systemClock, now }, ledgerNow: () => (isSure ? now() : undefined) },
  );
});

it("tells how far the service's clock is off", () =>
  withStub(async (stub, client) => {
    stub.rows.procedures = [{ id: 7 }];
    stub.intercept = (_request, response) => {
      response.setHeader("date", new Date(Date.now() + 600_000).toUTCString());
      return false;
    };
    await client.getProcedure("request", 7, never);
    expect(Math.round(client.clockSkewMs! / 10_000)).toBe(60);
  }));
