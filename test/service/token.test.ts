import { describe, expect, it } from "vitest";
import { createServiceClient } from "../../src/service/client.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "./fake-clock.ts";
import { issueTokens, tokenCalls, withOAuth } from "./oauth-stub.ts";
import { send } from "./stub-service.ts";
import { failureOf, logSink, never, settings } from "./with-client.ts";

describe("asking for a token", () => {
  it("proves the client by HTTP Basic with both parts form-encoded (RFC 6749, 2.3.1)", () =>
    withOAuth(async (stub, client) => {
      issueTokens(stub, { expires_in: 3_600 }, () => true);
      await client.checkToken(never);
      const [request] = stub.seen;
      const credentials = Buffer.from(request!.headers.authorization!.slice(6), "base64").toString();
      expect(credentials).toBe("client+id:s3cret%3A%26");
      expect(request!.body).toBe("grant_type=client_credentials");
    }));

  it("proves the client in the body, with scope and audience", () =>
    withOAuth(
      async (stub, client) => {
        issueTokens(stub, { expires_in: 3_600 }, () => true);
        await client.checkToken(never);
        expect(Object.fromEntries(new URLSearchParams(stub.seen[0]!.body))).toEqual({
          grant_type: "client_credentials",
          client_id: "client id",
          client_secret: "s3cret:&",
          scope: "storage",
          audience: "https://storage.example.org",
        });
      },
      new FakeClock(),
      { method: "post", scope: "storage", audience: "https://storage.example.org" },
    ));

  it("asks once for 50 callers that start together", () =>
    withOAuth(async (stub, client) => {
      issueTokens(stub, { expires_in: 3_600 }, () => true);
      await Promise.all(Array.from({ length: 50 }, () => client.checkToken(never)));
      expect(tokenCalls(stub)).toBe(1);
    }));

  it.each([
    ["3600 s, a minute before the end", { expires_in: 3_600 }, 3_540],
    ["60 s, at three quarters", { expires_in: 60 }, 45],
    ["5 s as text", { expires_in: "5" }, 3.75],
    ["no life, as if it were five minutes", {}, 240],
    ["a negative life, as if it were five minutes", { expires_in: -1 }, 240],
    ["nonsense, as if it were five minutes", { expires_in: "soon" }, 240],
    ["an absurd life, within a day", { expires_in: 1e12 }, 86_340],
  ])("renews a token of %s", (_name, answer, seconds) => {
    const clock = new FakeClock();
    return withOAuth(async (stub, client) => {
      issueTokens(stub, answer);
      await client.checkToken(never);
      await clock.advance(seconds * 1_000 - 1);
      await client.checkToken(never);
      expect(tokenCalls(stub)).toBe(1);
      await clock.advance(1);
      await client.checkToken(never);
      while (tokenCalls(stub) < 2) await new Promise((resolve) => setImmediate(resolve));
    }, clock);
  });

  it("lives from when it was asked for, and not from when its turn was waited for", () => {
    const clock = new FakeClock();
    return withOAuth(
      async (stub, client) => {
        issueTokens(stub, { expires_in: 5 });
        await client.checkToken(never);
        await clock.advance(6_000);
        const check = client.checkToken(never);
        await clock.advance(4_200);
        await check;
        expect(tokenCalls(stub)).toBe(2);
        expect(client.tokenLife?.leftMs).toBe(5_000);
      },
      clock,
      {},
      { maxRequestsPerMinute: 6 },
    );
  });

  it("lets the calls that waited for it leave one after the other", () => {
    const clock = new FakeClock();
    return withOAuth(
      async (stub, client) => {
        const cameAt: number[] = [];
        let issue = () => {};
        stub.intercept = (request, response) => {
          if (request.url === "/oauth/token")
            issue = () => send(response, 200, { access_token: "t", token_type: "Bearer", expires_in: 600 });
          else cameAt.push(clock.monotonic());
          return request.url === "/oauth/token";
        };
        const calls = Array.from({ length: 4 }, () => client.getSubject(1, never).catch(() => undefined));
        await eventually(() => tokenCalls(stub) === 1);
        await clock.advance(10_000);
        issue();
        for (let nth = 1; nth <= 4; nth += 1) {
          await eventually(() => cameAt.length === nth);
          await clock.advance(1_019);
          expect(cameAt).toHaveLength(nth);
          await clock.advance(1);
        }
        await Promise.all(calls);
      },
      clock,
      {},
      { maxRequestsPerMinute: 60 },
    );
  });

  it("counts its refusals too", () =>
    withOAuth(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 429, {});
        return true;
      };
      await failureOf(client.checkToken(never));
      expect(client.lastMinute).toMatchObject({ calls: 1, refused: 1 });
      expect([...client.lastMinute.byPurpose]).toEqual([["tokens", 1]]);
    }));

  it("counts as a call, where these are limited", () => {
    const clock = new FakeClock();
    return withOAuth(
      async (stub, client) => {
        issueTokens(stub, { expires_in: 3_600 });
        await client.checkToken(never);
        const call = client.getSubject(1, never).catch(() => undefined);
        await clock.advance(1_000);
        expect(stub.seen).toHaveLength(1);
        await clock.advance(20);
        await call;
        expect(stub.seen).toHaveLength(2);
      },
      clock,
      {},
      { maxRequestsPerMinute: 60 },
    );
  });

  it("has less and less of its life left", () => {
    const clock = new FakeClock();
    return withOAuth(async (stub, client) => {
      expect(client.tokenLife).toBeUndefined();
      issueTokens(stub, { expires_in: 3_600 });
      await client.checkToken(never);
      await clock.advance(600_000);
      expect(client.tokenLife).toEqual({ lifeMs: 3_600_000, leftMs: 3_000_000, isAssumed: false });
      await clock.advance(3_000_000);
      expect(client.tokenLife?.leftMs).toBe(0);
    }, clock);
  });

  it("is spread where several workers took their tokens at the same moment, and none asks twice", () => {
    const clock = new FakeClock();
    return withOAuth(async (stub) => {
      issueTokens(stub, { expires_in: 3_600 });
      const auth = {
        tokenUrl: `${stub.baseUrl}/oauth/token`,
        clientId: "c",
        clientSecret: "s",
        method: "post",
        assumedLifetimeMs: 300_000,
      } as const;
      const workers = Array.from({ length: 10 }, (_, nth) =>
        createServiceClient(
          { ...settings(stub.baseUrl), auth },
          { clock, logger: logSink().logger, random: () => nth / 10 },
        ),
      );
      const askAll = () =>
        Promise.all(workers.flatMap((worker) => Array.from({ length: 5 }, () => worker.checkToken(never))));
      await askAll();
      expect(tokenCalls(stub)).toBe(10);
      await clock.advance(3_480_000);
      const atOnce: number[] = [];
      for (let second = 0; second <= 60; second += 3) {
        const before = tokenCalls(stub);
        await askAll();
        // What was asked for in the background is answered before the next look.
        for (let turn = 0; turn < 40; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        atOnce.push(tokenCalls(stub) - before);
        await clock.advance(3_000);
      }
      await eventually(() => tokenCalls(stub) === 20);
      expect(Math.max(...atOnce)).toBeLessThanOrEqual(2);
      for (const worker of workers) await worker.close();
    }, clock);
  });

  it("lets a caller leave without spoiling the request for the others", () =>
    withOAuth(async (stub, client) => {
      issueTokens(stub, {});
      const stop = new AbortController();
      const leaver = client.checkToken(stop.signal);
      const stayer = client.checkToken(never);
      stop.abort(new Error("gone"));
      await expect(leaver).rejects.toThrow("gone");
      await stayer;
    }));
});

describe("a 401 from the service", () => {
  it("makes 50 concurrent callers take one new token and succeed", () => {
    const clock = new FakeClock();
    return withOAuth(async (stub, client) => {
      stub.rows.procedures = Array.from({ length: 60 }, (_, id) => ({ id, status: "PENDING" }));
      let revoked = "";
      issueTokens(stub, { expires_in: 3_600 }, (token) => token !== revoked);
      await client.getProcedure("request", 1, never);
      revoked = "t1";
      await Promise.all(Array.from({ length: 50 }, (_, id) => client.getProcedure("request", id, never)));
      expect(tokenCalls(stub)).toBe(2);
    }, clock);
  });

  it("takes a new token after a creation, and leaves it to the caller to look before the next one", () =>
    withOAuth(async (stub, client) => {
      let revoked = "";
      issueTokens(stub, { expires_in: 3_600 }, (token) => token !== revoked);
      await client.getInventory(1, never).catch(() => {});
      stub.rows.storage = [];
      stub.seen.length = 0;
      revoked = "t1";
      const request = {
        type: "RETRIEVAL",
        facilityId: 1,
        subjectCode: (await import("../../src/core/phi.ts")).phi("S"),
        containerIds: [1],
      } as const;
      expect(await failureOf(client.create("request", request, never))).toMatchObject({
        code: "SERVICE_TOKEN_REFUSED",
        class: "transient",
        isAnswered: true,
      });
      expect(stub.count("POST /api/procedure-requests")).toBe(1);
      await client.create("request", request, never);
      expect(stub.count("POST /api/procedure-requests")).toBe(2);
      expect(stub.rows["procedure-requests"]).toHaveLength(1);
    }));

  it("is the credentials' fault when a creation is refused with the new token as well", () =>
    withOAuth(async (stub, client) => {
      issueTokens(stub, { expires_in: 3_600 }, () => true);
      stub.rows.storage = [];
      const isCreation = (method: string | undefined) => method === "POST";
      const before = stub.intercept;
      stub.intercept = (request, response, body) => {
        if (!isCreation(request.method) || request.url === "/oauth/token") {
          return before(request, response, body);
        }
        send(response, 401, {});
        return true;
      };
      const request = {
        type: "RETRIEVAL",
        facilityId: 1,
        subjectCode: (await import("../../src/core/phi.ts")).phi("S"),
        containerIds: [1],
      } as const;
      await client.getInventory(1, never).catch(() => {});
      expect((await failureOf(client.create("request", request, never))).code).toBe("SERVICE_TOKEN_REFUSED");
      await client.getInventory(1, never).catch(() => {});
      expect(await failureOf(client.create("request", request, never))).toMatchObject({
        code: "SERVICE_CREDENTIALS_REFUSED",
        isAnswered: true,
      });
    }));

  it("slows down and gives up when each fresh token is refused", () => {
    const clock = new FakeClock();
    return withOAuth(async (stub, client) => {
      issueTokens(stub, { expires_in: 3_600 }, () => false);
      const call = failureOf(client.getProcedure("request", 1, never));
      while (clock.asleep === 0) await new Promise((resolve) => setImmediate(resolve));
      expect(tokenCalls(stub)).toBe(1);
      await clock.advance(2_000);
      expect((await call).code).toBe("SERVICE_CREDENTIALS_REFUSED");
      expect(tokenCalls(stub)).toBe(2);
      expect(client.breaker).toMatchObject({
        state: "open",
        opening: { cause: { code: "SERVICE_CREDENTIALS_REFUSED" } },
      });
    }, clock);
  });

  it("teaches how long tokens live where the service doesn't tell", () => {
    const clock = new FakeClock();
    return withOAuth(async (stub, client) => {
      stub.rows.procedures = [{ id: 1 }];
      let issuedAt = 0;
      let calls = 0;
      issueTokens(stub, {}, () => {
        if (tokenCalls(stub) > calls) issuedAt = clock.monotonic();
        calls = tokenCalls(stub);
        return clock.monotonic() - issuedAt < 10_000;
      });
      await client.getProcedure("request", 1, never);
      await clock.advance(10_000);
      await client.getProcedure("request", 1, never);
      const refused = stub.count("GET /api/procedures/1");
      await clock.advance(7_000);
      await client.getProcedure("request", 1, never);
      while (tokenCalls(stub) < 3) await new Promise((resolve) => setImmediate(resolve));
      expect(stub.count("GET /api/procedures/1")).toBe(refused + 1);
    }, clock);
  });
});
