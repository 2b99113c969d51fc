import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { FakeClock, settle } from "./fake-clock.ts";
import { send } from "./stub-service.ts";
import { failureOf, never, withClient, withStub } from "./with-client.ts";

describe("a read", () => {
  it.each([
    ["status 500", 500, { error: "boom" }],
    ["an HTML page", 200, "<html>maintenance</html>"],
    ["cut JSON", 200, '{"id":'],
    ["an unknown status", 299, ""],
    ["a 404 page of a gateway", 404, "<html>no route</html>"],
  ])("is transient after %s", (_name, status, body) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, status, body);
        return true;
      };
      expect((await failureOf(client.getRequest(1, never))).code).toBe("SERVICE_UNAVAILABLE");
      expect(stub.seen).toHaveLength(1);
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

  it("refuses a body beyond the cap, and one that was packed although that wasn't asked for", () =>
    withStub(
      async (stub, client) => {
        stub.intercept = (request, response) => {
          const isPacked = request.url?.endsWith("/2") === true;
          send(
            response,
            200,
            { id: 1, filler: "x".repeat(isPacked ? 10 : 5_000) },
            isPacked ? { "content-encoding": "gzip" } : {},
          );
          return true;
        };
        expect((await failureOf(client.getRequest(1, never))).message).toContain("larger than allowed");
        expect((await failureOf(client.getRequest(2, never))).code).toBe("SERVICE_UNAVAILABLE");
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
      const hostile = await client.getRequest(2, never);
      expect(hostile).toMatchObject({ id: 2, status: "UNKNOWN" });
      expect(Object.keys(hostile.raw.reveal())).toEqual(["id"]);
    }));

  it("refuses text that is no UTF-8 rather than put other characters into it", () =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        response.end(Buffer.from('{"id":1,"status":"\xff"}', "latin1"));
        return true;
      };
      expect((await failureOf(client.getRequest(1, never))).code).toBe("SERVICE_UNAVAILABLE");
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
  ])("is read as %s", (_name, headers, expected) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 429, {}, headers);
        return true;
      };
      const failure = await failureOf(client.getRequest(1, never));
      expect(failure).toMatchObject({ code: "SERVICE_BUSY", retryAfterMs: expected });
    }),
  );

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
      for (let call = 0; call < 5; call += 1) await failureOf(client.getRequest(1, never));
      expect((await failureOf(client.getRequest(1, never))).code).toBe("SERVICE_PAUSED");
      expect(stub.seen).toHaveLength(5);
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
    await client.getProcedure(7, never);
    await client.findSubject(12, phi("SUBJ-CANARY"), never);
    expect(Object.fromEntries(client.requestCounts)).toEqual({
      "GET /api/procedures/{id}": 1,
      "GET /api/subjects": 2,
    });
  }));

it("tells how far the service's clock is off", () =>
  withStub(async (stub, client) => {
    stub.rows.procedures = [{ id: 7 }];
    stub.intercept = (_request, response) => {
      response.setHeader("date", new Date(Date.now() + 600_000).toUTCString());
      return false;
    };
    await client.getProcedure(7, never);
    expect(Math.round(client.clockSkewMs! / 10_000)).toBe(60);
  }));
