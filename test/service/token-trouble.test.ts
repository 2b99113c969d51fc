import { describe, expect, it } from "vitest";
import { FakeClock } from "./fake-clock.ts";
import { issueTokens, tokenCalls, withOAuth } from "./oauth-stub.ts";
import { send } from "./stub-service.ts";
import { failureOf, logSink, never, withStub } from "./with-client.ts";

describe("a token endpoint that fails", () => {
  it("is asked with growing pauses, and callers in between are told when to come back", () => {
    const clock = new FakeClock();
    return withOAuth(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 500, "<html>down</html>");
        return true;
      };
      for (let second = 0; second < 3_600; second += 1) {
        await client.checkToken(never).catch(() => {});
        await clock.advance(1_000);
      }
      expect(tokenCalls(stub)).toBeGreaterThan(10);
      expect(tokenCalls(stub)).toBeLessThan(30);
      const failure = await failureOf(client.checkToken(never));
      expect(failure).toMatchObject({ code: "SERVICE_TOKEN_UNAVAILABLE", class: "transient" });
      expect(failure.retryAfterMs).toBeGreaterThan(0);
    }, clock);
  });

  it("is told apart from refused credentials, which a rotated secret ends without a restart", () => {
    const clock = new FakeClock();
    let secret = "old";
    return withOAuth(
      async (stub, client) => {
        stub.intercept = (request, response, body) => {
          if (request.url !== "/oauth/token") return false;
          if (body.includes("client_secret=new")) send(response, 200, { access_token: "t" });
          else send(response, 401, { error: "invalid_client", error_description: "unknown client" });
          return true;
        };
        const failure = await failureOf(client.checkToken(never));
        expect(failure).toMatchObject({ code: "SERVICE_CREDENTIALS_REFUSED", class: "permanent" });
        expect(failure.message).toMatch(/\(status 401: invalid_client; it says: unknown client\)$/);
        secret = "new\n";
        await clock.advance(10_000);
        await client.checkToken(never);
      },
      clock,
      { method: "post", clientSecret: async () => secret },
    );
  });

  it.each([
    [401, "invalid_client", "`service.auth.method: post`"],
    [400, "invalid_request", "`service.auth.audience`, `service.auth.resource` or `service.auth.scope`"],
    [400, "invalid_scope", "`service.auth.scope`"],
    [400, "invalid_target", "`service.auth.audience` or `service.auth.resource`"],
    [403, "access_denied", "`service.auth.audience` or `service.auth.resource`"],
    [400, "unauthorized_client", "`service.auth.clientId`"],
    [400, undefined, "`service.auth.audience`"],
    [401, undefined, "`service.auth.clientSecret`"],
  ] as const)("names the settings that a refusal is about: %s %s", (status, error, setting) =>
    withOAuth(async (stub, client) => {
      stub.intercept = (request, response) => {
        if (request.url !== "/oauth/token") return false;
        send(response, status, { error, error_description: "it must not be" });
        return true;
      };
      const failure = await failureOf(client.checkToken(never));
      expect(failure.hint).toContain(setting);
      expect(failure.message).toContain("it says: it must not be");
      await failureOf(client.readPage({ list: "procedures", surface: "request", filters: {} }, 1, never));
      if (failure.class === "permanent")
        expect(client.breaker.opening?.cause.text).toContain(`it must not be). ${failure.hint}`);
    }),
  );

  it("is quoted with what it says, but for our secret in any form and words in quotes that are not ours", () =>
    withOAuth(
      async (stub, client) => {
        stub.intercept = (request, response) => {
          if (request.url !== "/oauth/token") return false;
          const said = `'audience' of "lab" is "other", not "a-secret-of-ours" ${btoa("lab:a-secret-of-ours")} a-secret-of-ours`;
          send(response, 400, { error: "invalid_request", error_description: `${said}${"x".repeat(900)}` });
          return true;
        };
        const { message } = await failureOf(client.checkToken(never));
        expect(message).toContain(`it says: 'audience' of "lab" is "[masked]", not "[masked]"`);
        expect(message).not.toContain("secret-of-ours");
        expect(message).not.toContain(btoa("lab:a-secret-of-ours").slice(6, 20));
        expect(message.length).toBeLessThan(400);
      },
      undefined,
      { clientId: "lab", clientSecret: "a-secret-of-ours" },
    ));

  it.each([
    ["no token", { access_token: undefined }],
    ["a token that would split the header", { access_token: "a\r\nx-evil: 1" }],
    ["a token of another kind", { token_type: "mac" }],
  ])("is not believed when it issues %s", (_name, answer) =>
    withOAuth(async (stub, client) => {
      issueTokens(stub, answer);
      expect((await failureOf(client.checkToken(never))).code).toBe("SERVICE_TOKEN_UNAVAILABLE");
    }),
  );
});

it("reads a static API token again after a 401", async () => {
  let token = "old-token";
  const sink = logSink();
  await withStub(
    async (stub, client) => {
      stub.rows.procedures = [{ id: 1 }];
      issueTokens(stub, {}, (given) => given === "new-token");
      expect((await failureOf(client.getProcedure("request", 1, never))).code).toBe(
        "SERVICE_CREDENTIALS_REFUSED",
      );
      token = "new-token\n";
    },
    { auth: { apiToken: async () => token } },
    { logger: sink.logger },
  );
  await withStub(
    async (stub, client) => {
      stub.rows.procedures = [{ id: 1 }];
      token = "old-token";
      issueTokens(stub, {}, (given) => {
        token = "new-token";
        return given === "new-token";
      });
      await client.getProcedure("request", 1, never);
      expect(stub.seen).toHaveLength(2);
    },
    { auth: { apiToken: async () => token } },
    { logger: sink.logger },
  );
  expect(sink.text()).not.toMatch(/old-token|new-token/);
});

it("looks at the file of a refused API token again within seconds, and lets a call through at once", () => {
  const clock = new FakeClock();
  let token = "old-token";
  return withStub(
    async (stub, client) => {
      stub.rows.procedures = [{ id: 1 }];
      issueTokens(stub, {}, (given) => given === "new-token");
      for (let minute = 0; minute < 30; minute += 1) {
        await client.getProcedure("request", 1, never).catch(() => {});
        await clock.advance(60_000);
      }
      await client.getProcedure("request", 1, never).catch(() => {});
      expect(client.breaker).toMatchObject({
        state: "open",
        opening: { cause: { code: "SERVICE_CREDENTIALS_REFUSED" } },
      });
      token = "new-token";
      await clock.advance(5_000);
      await client.getProcedure("request", 1, never);
      expect(client.breaker.state).toBe("closed");
    },
    { auth: { apiToken: async () => token } },
    { clock },
  );
});

describe("an answer that a site's rule calls `credentials`", () => {
  it("has the token renewed and the call repeated once, as a 401 does", () =>
    withOAuth(
      async (stub, client) => {
        issueTokens(stub, { expires_in: 3_600 }, () => true);
        const issue = stub.intercept;
        let isExpired = false;
        stub.intercept = (request, response, body) => {
          if (!isExpired || request.headers.authorization !== "Bearer t1")
            return issue(request, response, body);
          send(response, 403, { error: "token_expired" });
          return true;
        };
        stub.rows.procedures = [{ id: 1 }];
        await client.getProcedure("request", 1, never);
        isExpired = true;
        await client.getProcedure("request", 1, never);
        expect(tokenCalls(stub)).toBe(2);
        expect(stub.count("GET /api/procedures/1")).toBe(3);
      },
      new FakeClock(),
      {},
      { errors: [{ status: [403], code: ["token_expired"], means: "credentials" }] },
    ));

  it("isn't a 401 any more where a rule says otherwise", () =>
    withOAuth(
      async (stub, client) => {
        issueTokens(stub, { expires_in: 3_600 }, () => false);
        expect((await failureOf(client.getProcedure("request", 1, never))).code).toBe("SERVICE_REFUSED");
        expect(tokenCalls(stub)).toBe(1);
      },
      new FakeClock(),
      {},
      { errors: [{ status: [401], means: "refused" }] },
    ));
});
