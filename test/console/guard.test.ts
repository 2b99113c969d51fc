import { describe, expect, it } from "vitest";
import { refuse } from "../../src/console/guard.ts";
import { isSessionValid, issueSession, SESSION_SECONDS } from "../../src/console/session.ts";
import { statusWithHost, TOKEN, withConsole } from "./console-fixture.ts";

const LOCKED = { settings: { token: TOKEN } };
const PATHS = ["/", "/readyz", "/metrics", "/api/status", "/nothing"];

async function login(url: string, token: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/login`, {
    method: "POST",
    headers,
    body: new URLSearchParams({ token }),
    redirect: "manual",
  });
}

describe("with a token", () => {
  it.each(PATHS)("%s wants it", async (path) => {
    await withConsole(LOCKED, async ({ url }) => {
      const answer = await fetch(url + path);
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toContain("Bearer");
    });
  });

  it("/healthz doesn't want it", async () => {
    await withConsole(LOCKED, async ({ url }) => expect((await fetch(`${url}/healthz`)).status).toBe(200));
  });

  it("programs give it as bearer", async () => {
    await withConsole(LOCKED, async ({ url }) => {
      const status = async (token: string) =>
        (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status;
      expect([await status(TOKEN), await status(`${TOKEN}x`), await status("")]).toEqual([200, 401, 401]);
    });
  });

  it("is not taken from the URL", async () => {
    await withConsole(LOCKED, async ({ url }) => {
      expect((await fetch(`${url}/api/status?token=${TOKEN}`)).status).toBe(401);
    });
  });

  it("a person exchanges it for a session that scripts and other sites can't use", async () => {
    await withConsole(LOCKED, async ({ url }) => {
      const answer = await login(url, TOKEN);
      expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"]);
      const cookie = answer.headers.get("set-cookie") ?? "";
      expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
      expect(cookie).not.toContain(TOKEN);
      const headers = { cookie: cookie.split(";")[0] ?? "" };
      expect((await fetch(`${url}/api/status`, { headers })).status).toBe(200);
    });
  });

  it("signing out takes the session from the browser", async () => {
    await withConsole(LOCKED, async ({ url }) => {
      const cookie = (await login(url, TOKEN)).headers.get("set-cookie")?.split(";")[0] ?? "";
      const answer = await fetch(`${url}/logout`, {
        method: "POST",
        headers: { cookie },
        redirect: "manual",
      });
      expect(answer.headers.get("set-cookie")).toContain("Max-Age=0");
    });
  });

  it("a wrong one is asked for again, and no more than ten times a minute", async () => {
    await withConsole(LOCKED, async ({ url }) => {
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 11; attempt++) statuses.push((await login(url, "wrong")).status);
      expect(statuses).toEqual([...Array(10).fill(401), 429]);
      expect((await login(url, TOKEN)).status).toBe(429);
    });
  });

  it("a login that another site sends is refused", async () => {
    await withConsole(LOCKED, async ({ url }) => {
      expect((await login(url, TOKEN, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    });
  });

  it("a form that is too large is refused", async () => {
    await withConsole(LOCKED, async ({ url }) =>
      expect((await login(url, "x".repeat(10_000))).status).toBe(413),
    );
  });
});

describe("without a token, on this machine alone", () => {
  it.each(["localhost", "127.0.0.1:1234", "[::1]:8088"])("a request to %s is answered", async (host) => {
    await withConsole({}, async ({ url }) =>
      expect(await statusWithHost(`${url}/api/status`, host)).toBe(200),
    );
  });

  it.each(["evil.example.org", "127.0.0.1.evil.example.org", "localhost.evil.example.org", "192.168.0.9"])(
    "a request to %j, whose name was bent to this machine, is refused",
    async (host) => {
      await withConsole({}, async ({ url }) =>
        expect(await statusWithHost(`${url}/api/status`, host)).toBe(421),
      );
    },
  );

  it("a request that names no host is refused", () => {
    const request = { method: "GET", path: "/api/status", headers: {} };
    expect(refuse(request, { host: "127.0.0.1" }, 0)).toBe("host");
  });

  it("no other site is allowed to read", async () => {
    await withConsole({}, async ({ url }) => {
      const answer = await fetch(`${url}/api/status`, { headers: { origin: "https://evil.example.org" } });
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
      expect(answer.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    });
  });
});

describe("a session", () => {
  const now = Date.parse("2026-11-21T08:00:00Z");
  const session = issueSession(TOKEN, now);

  it("lasts for a working day", () => {
    expect(isSessionValid(TOKEN, session, now + (SESSION_SECONDS - 1) * 1_000)).toBe(true);
    expect(isSessionValid(TOKEN, session, now + SESSION_SECONDS * 1_000)).toBe(false);
  });

  it("ends with its token", () => {
    expect(isSessionValid("another-token-altogether", session, now)).toBe(false);
  });

  it.each(["", ".", "9999999999", `9999999999.${session.split(".")[1]}`, `${session}x`])(
    "can't be made up (%j)",
    (forged) => expect(isSessionValid(TOKEN, forged, now)).toBe(false),
  );
});
