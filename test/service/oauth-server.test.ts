import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { phi } from "../../src/core/phi.ts";
import type { ServiceClient, ServiceDeps } from "../../src/service/client.ts";
import type { ServiceSettings } from "../../src/service/settings.ts";
import {
  type AuthorizationServer,
  type OAuthClient,
  RESOURCE,
  type TokenKind,
  withAuthorizationServer,
} from "../support/authorization-server.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "./fake-clock.ts";
import { type StubService, send } from "./stub-service.ts";
import { failureOf, logSink, never, withStub } from "./with-client.ts";

type OAuth = Extract<ServiceSettings["auth"], { tokenUrl: string }>;

interface Scene {
  readonly server: AuthorizationServer;
  readonly stub: StubService;
  readonly client: ServiceClient;
  /** Claims of the tokens with which calls got through. */
  readonly claims: Record<string, unknown>[];
}

const LAB: OAuthClient = { id: "lab", secret: "lab-secret_1.a" };

/** A client of a service that asks the authorization server about each token. */
function withOAuth(
  options: {
    readonly tokens?: TokenKind;
    readonly lifeSeconds?: number;
    readonly registered?: OAuthClient;
    readonly auth?: Partial<OAuth>;
    readonly settings?: Partial<ServiceSettings>;
    readonly deps?: Partial<ServiceDeps>;
  },
  test: (scene: Scene) => Promise<void>,
): Promise<void> {
  return withAuthorizationServer(options, (server) => {
    const registered = options.registered ?? LAB;
    server.register(registered);
    const auth: OAuth = {
      tokenUrl: server.tokenUrl,
      clientId: registered.id,
      clientSecret: registered.secret,
      method: registered.method ?? "basic",
      assumedLifetimeMs: 300_000,
      ...options.auth,
    };
    return withStub(
      async (stub, client) => {
        const claims: Record<string, unknown>[] = [];
        stub.rows.procedures = Array.from({ length: 60 }, (_, id) => ({ id, status: "PENDING" }));
        guard(stub, server, claims);
        await test({ server, stub, client, claims });
      },
      { auth, concurrency: 60, ...options.settings },
      options.deps,
    );
  });
}

/** Has the stub let through only what carries a valid token, found out after the call came. */
function guard(stub: StubService, server: AuthorizationServer, claims: Record<string, unknown>[]): void {
  const passed = new WeakSet<object>();
  stub.intercept = (request, response, body) => {
    if (passed.has(request)) return false;
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    void server.inspect(token).then((found) => {
      if (!found) {
        send(
          response,
          401,
          { error: "invalid_token" },
          { "www-authenticate": 'Bearer error="invalid_token"' },
        );
        return;
      }
      claims.push(found);
      passed.add(request);
      stub.answer(request, response, body);
    });
    return true;
  };
}

const bearerOf = (stub: StubService, index: number) =>
  stub.seen.at(index)?.headers.authorization?.replace("Bearer ", "") ?? "";

describe.each<TokenKind>(["opaque", "jwt"])(
  "with a certified authorization server and %s tokens",
  (tokens) => {
    it.each<OAuthClient>([
      { id: "lab", secret: "plain-secret_1.a*", method: "basic" },
      { id: "lab:1 & co/%41+", secret: "s3cr:t &=+/%41~!*'()-_.\\\"", method: "basic" },
      { id: "lab:1 & co/%41+", secret: "s3cr:t &=+/%41~!*'()-_.\\\"", method: "post" },
    ])("proves the client $id by client_secret_$method", (registered) =>
      withOAuth({ tokens, registered }, async ({ client, claims }) => {
        await client.getProcedure("request", 1, never);
        expect(claims).toEqual([expect.objectContaining({ client_id: registered.id })]);
      }),
    );

    it("gets the scope and the resource that it asks for", () =>
      withOAuth(
        { tokens, auth: { scope: "storage:read", resource: RESOURCE, audience: "urn:storage" } },
        async ({ server, client, claims }) => {
          await client.getProcedure("request", 1, never);
          expect(server.tokenRequests.map(({ form }) => form)).toEqual([
            {
              grant_type: "client_credentials",
              scope: "storage:read",
              resource: RESOURCE,
              audience: "urn:storage",
            },
          ]);
          expect(claims[0]).toMatchObject({ scope: "storage:read", aud: RESOURCE });
        },
      ));

    it.concurrent.each([
      ["told", (answer: Record<string, unknown>) => answer],
      ["not told", ({ expires_in: _, ...answer }: Record<string, unknown>) => answer],
    ])("lives through the end of tokens whose life is %s", (_words, change) =>
      withOAuth({ tokens, lifeSeconds: 2 }, async ({ server, stub, client }) => {
        server.front = (pass) => pass(change);
        const used = new Set<string>();
        await eventually(async () => {
          await client.getProcedure("request", 1, never);
          used.add(bearerOf(stub, -1));
          return used.size >= 2;
        });
        expect(server.tokenRequests.length).toBeLessThanOrEqual(3);
      }),
    );

    it("renews once when a token was revoked, and repeats a read by itself and no call that creates something", () =>
      withOAuth({ tokens }, async ({ server, stub, client }) => {
        await client.getProcedure("request", 1, never);
        await server.revoke(bearerOf(stub, -1));
        stub.seen.length = 0;
        const request = {
          type: "RETRIEVAL",
          facilityId: 1,
          subjectCode: phi("S-1"),
          containerIds: [1],
        } as const;
        expect((await failureOf(client.create("request", request, never))).code).toBe(
          "SERVICE_TOKEN_REFUSED",
        );
        expect(server.tokenRequests).toHaveLength(2);
        expect(stub.count("POST /api/procedure-requests")).toBe(1);
        await client.create("request", request, never);
        expect(server.tokenRequests).toHaveLength(2);
        await server.revoke(bearerOf(stub, -1));
        await client.getProcedure("request", 1, never);
        expect(server.tokenRequests).toHaveLength(3);
        expect(stub.rows["procedure-requests"]).toHaveLength(1);
      }));

    it("takes one new token for 50 workers whose token was revoked", () =>
      withOAuth({ tokens }, async ({ server, stub, client }) => {
        await client.getProcedure("request", 1, never);
        await server.revoke(bearerOf(stub, -1));
        await Promise.all(Array.from({ length: 50 }, (_, id) => client.getProcedure("request", id, never)));
        expect(server.tokenRequests).toHaveLength(2);
      }));
  },
);

describe("what the authorization server refuses", () => {
  it.each<[string, Partial<OAuth>, string]>([
    ["a wrong secret", { clientSecret: "wrong" }, "invalid_client"],
    ["an unknown client", { clientId: "nobody" }, "invalid_client"],
    ["a scope that the client may not have", { scope: "storage:write" }, "invalid_scope"],
    ["an unknown resource", { resource: "https://other.example.org" }, "invalid_target"],
  ])("is told with its code, holds calls back and sends none: %s", (_words, auth, code) =>
    withOAuth({ auth, registered: { ...LAB, scope: "storage:read" } }, async ({ stub, client }) => {
      const failure = await failureOf(client.getProcedure("request", 1, never));
      expect(failure).toMatchObject({ code: "SERVICE_CREDENTIALS_REFUSED", class: "permanent" });
      expect(failure.message).toContain(code);
      expect(failure.message).not.toMatch(/wrong|lab-secret/);
      expect(client.breaker).toMatchObject({
        state: "open",
        opening: { cause: { code: "SERVICE_CREDENTIALS_REFUSED" } },
      });
      expect(stub.seen).toHaveLength(0);
    }),
  );

  it("is tried again within seconds of a corrected secret, however long the next try was away", () => {
    const clock = new FakeClock();
    let secret = "old";
    return withOAuth(
      { auth: { clientSecret: async () => secret }, deps: { clock, random: () => 0 } },
      async ({ server, client }) => {
        // An hour of refusals: the pauses have grown to five minutes.
        for (let minute = 0; minute < 60; minute += 1) {
          await client.getProcedure("request", 1, never).catch(() => {});
          await clock.advance(60_000);
        }
        await client.getProcedure("request", 1, never).catch(() => {});
        const refused = server.tokenRequests.length;
        expect(refused).toBeLessThan(25);
        expect(client.breaker.state).toBe("open");
        secret = `${LAB.secret}\n`;
        await clock.advance(5_000);
        expect(client.breaker.state).toBe("half-open");
        await client.getProcedure("request", 1, never);
        expect(client.breaker.state).toBe("closed");
        expect(server.tokenRequests).toHaveLength(refused + 1);
      },
    );
  });

  it("may be a secret that was rotated there first: the old token serves on, then the new secret does", () => {
    let secret = LAB.secret;
    return withOAuth({ auth: { clientSecret: async () => secret } }, async ({ server, stub, client }) => {
      await client.getProcedure("request", 1, never);
      server.register({ ...LAB, secret: "rotated" });
      await client.getProcedure("request", 2, never);
      await server.revoke(bearerOf(stub, -1));
      secret = "rotated";
      await client.getProcedure("request", 3, never);
      expect(server.tokenRequests).toHaveLength(2);
    });
  });
});

describe("a token endpoint in trouble", () => {
  const html = (status: number, headers: Record<string, string> = {}) =>
    ((_pass, response) =>
      send(response, status, "<html>sorry</html>", {
        "content-type": "text/html",
        ...headers,
      })) satisfies AuthorizationServer["front"];

  it.each<[string, AuthorizationServer["front"], RegExp]>([
    ["fails with a page", html(502), /status 502: an HTML page/],
    ["refuses with a gateway's page", html(401), /status 401: an HTML page/],
    ["redirects", html(302, { location: "http://127.0.0.1:1/token" }), /a redirect, which is not followed/],
    ["is slow", () => {}, /gave no whole answer in time/],
    ["drops the connection", (_pass, response) => void response.socket?.destroy(), /gave no whole answer/],
    [
      "sends too much",
      (_pass, response) => void response.end("x".repeat(100_000)),
      /gave no whole answer: the answer is larger than allowed/,
    ],
    [
      "sends no token",
      (pass) => pass(({ access_token: _, ...rest }) => rest),
      /issued no token \(status 200\)/,
    ],
    [
      "is busy and blames the client",
      (_pass, response) => send(response, 429, { error: "invalid_client" }),
      /status 429/,
    ],
  ])("is transient, and nothing reaches the service, when it %s", (_words, front, words) =>
    withOAuth({ settings: { timeoutMs: 1_500, maxBodyBytes: 50_000 } }, async ({ server, stub, client }) => {
      server.front = front;
      const failure = await failureOf(client.getProcedure("request", 1, never));
      expect(failure).toMatchObject({ code: "SERVICE_TOKEN_UNAVAILABLE", class: "transient" });
      expect(failure.message).toMatch(words);
      expect(stub.seen).toHaveLength(0);
    }),
  );

  it("is left alone for as long as it asks, and then serves again", () => {
    const clock = new FakeClock();
    return withOAuth({ deps: { clock } }, async ({ server, client }) => {
      server.front = (_pass, response) =>
        send(response, 503, { error: "temporarily_unavailable" }, { "retry-after": "90" });
      expect((await failureOf(client.checkToken(never))).retryAfterMs).toBe(90_000);
      server.front = (pass) => pass();
      await clock.advance(89_000);
      expect((await failureOf(client.checkToken(never))).retryAfterMs).toBe(1_000);
      expect(server.tokenRequests).toHaveLength(1);
      await clock.advance(1_000);
      await client.checkToken(never);
    });
  });

  it("does not stop work while the token that is there is still good", () => {
    const clock = new FakeClock();
    return withOAuth({ lifeSeconds: 600, deps: { clock } }, async ({ server, client }) => {
      await client.getProcedure("request", 1, never);
      server.front = html(500);
      await clock.advance(560_000);
      for (let id = 0; id < 10; id += 1) await client.getProcedure("request", id, never);
      await eventually(() => server.tokenRequests.length === 2);
      expect(client.breaker.state).toBe("closed");
    });
  });

  it("that is down is told apart from one that refuses", () =>
    withOAuth({ auth: { tokenUrl: "http://127.0.0.1:1/token" } }, async ({ client }) => {
      const failure = await failureOf(client.checkToken(never));
      expect(failure.code).toBe("SERVICE_TOKEN_UNAVAILABLE");
      expect(failure.message).toContain(
        "the token endpoint at 127.0.0.1:1 could not be reached: nothing listens at that address",
      );
    }));
});

it("says once when less scope is granted than was asked for, since calls will be refused", () => {
  const sink = logSink();
  const clock = new FakeClock();
  return withOAuth(
    {
      auth: { scope: "storage:read storage:admin", resource: RESOURCE },
      deps: { clock, logger: sink.logger },
    },
    async ({ server, client }) => {
      await client.checkToken(never);
      await clock.advance(600_000);
      await client.checkToken(never);
      expect(server.tokenRequests).toHaveLength(2);
      expect(sink.text().match(/"missing":\["storage:admin"\]/g)).toHaveLength(1);
    },
  );
});

it.each([
  ["back", -86_400_000],
  ["forward", 86_400_000],
])("keeps its token when the clock jumps a day %s", (_words, jumpMs) => {
  let offsetMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + offsetMs };
  return withOAuth({ deps: { clock } }, async ({ server, client }) => {
    await client.getProcedure("request", 1, never);
    offsetMs = jumpMs;
    await client.getProcedure("request", 2, never);
    expect(server.tokenRequests).toHaveLength(1);
  });
});
