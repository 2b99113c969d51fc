import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { Guard } from "../../src/console/guard.ts";
import { IDLE_SECONDS, SESSION_SECONDS, Sessions } from "../../src/console/session.ts";
import { systemClock } from "../../src/core/clock.ts";
import { condition } from "../../src/core/condition.ts";
import { depsOf, statusWithHost, TOKEN, USERS, withConsole } from "./console-fixture.ts";

const LOCKED = { settings: { users: USERS } };
const PATHS = ["/", "/metrics", "/api/status", "/nothing"];

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

  it("/readyz doesn't want it of this machine, where a health check has none, and does of any other", async () => {
    const settings = { users: USERS, trustedProxies: ["127.0.0.1", "::1"] };
    await withConsole({ settings }, async ({ url }) => {
      const ask = async (headers = {}) => (await fetch(`${url}/readyz`, { headers })).status;
      expect([await ask(), await ask({ "x-forwarded-for": "192.0.2.7" })]).toEqual([200, 401]);
    });
    const own = () => [condition("daemonTrouble", "", "the database is away", { stopsIntake: true })];
    await withConsole({ ...LOCKED, deps: { own } }, async ({ url }) =>
      expect((await fetch(`${url}/readyz`)).status).toBe(503),
    );
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

  it("leads to the page that was asked for, and never to another site", async () => {
    await withConsole(LOCKED, async ({ url }) => {
      const asked = await fetch(`${url}/orders/o7?x=1`, { headers: { accept: "text/html" } });
      expect(await asked.text()).toContain('name="to" value="/orders/o7?x=1"');
      for (const [to, location] of [
        ["/orders/o7?x=1", "/orders/o7?x=1"],
        ...["//example.org", "/\\example.org", "https://example.org", "/a\nb"].map((foreign) => [
          foreign,
          "/",
        ]),
      ] as const) {
        const body = new URLSearchParams({ token: TOKEN, to: to ?? "" });
        const answer = await fetch(`${url}/login`, { method: "POST", body, redirect: "manual" });
        expect(answer.headers.get("location")).toBe(location);
      }
    });
  });

  it("signing out takes the session from the browser, and ends it for every copy of the cookie", async () => {
    await withConsole(LOCKED, async ({ url }) => {
      const signIn = async () => (await login(url, TOKEN)).headers.get("set-cookie")?.split(";")[0] ?? "";
      const [cookie, another] = [await signIn(), await signIn()];
      const statusOf = async (given: string) =>
        (await fetch(`${url}/api/status`, { headers: { cookie: given } })).status;
      const signOut = (formToken: string) =>
        fetch(`${url}/logout`, {
          ...{ method: "POST", headers: { cookie }, redirect: "manual" },
          body: new URLSearchParams({ formToken }),
        });
      expect((await signOut("another page's")).status).toBe(403);
      expect(await statusOf(cookie)).toBe(200);
      const page = await (await fetch(url, { headers: { cookie } })).text();
      const formToken = /name="formToken" value="([^"]+)"/.exec(page)?.[1] ?? "";
      const answer = await signOut(formToken);
      expect([answer.status, answer.headers.get("set-cookie")]).toEqual([
        303,
        expect.stringMatching(/=; .*Max-Age=0/),
      ]);
      expect([await statusOf(cookie), await statusOf(another)]).toEqual([401, 200]);
      expect((await signOut(formToken)).status).toBe(303);
    });
  });

  it("wrong ones are counted as bearer, too, together with the form's, and logged", async () => {
    const lines: string[] = [];
    const logger = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    await withConsole({ ...LOCKED, deps: { logger } }, async ({ url }) => {
      const ask = async (token: string, path = "/api/status") =>
        (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).status;
      const statuses: number[] = [];
      for (let guess = 0; guess < 5; guess++)
        statuses.push(await ask(`guess-${guess}`), await ask("guess", "/"));
      expect(statuses).toEqual(Array(10).fill(401));
      expect(lines.filter((line) => line.includes("a wrong token was given"))).toHaveLength(10);
      expect(lines.join("")).not.toContain("guess-");
      // Whoever has guessed too often isn't told either that a guess was right.
      expect([await ask("guess"), await ask(TOKEN), (await login(url, TOKEN)).status]).toEqual([
        429, 429, 429,
      ]);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    });
  });

  it("guesses lock out nobody who has signed in", async () => {
    await withConsole(LOCKED, async ({ url }) => {
      const cookie = (await login(url, TOKEN)).headers.get("set-cookie")?.split(";")[0] ?? "";
      for (let guess = 0; guess < 11; guess++) await login(url, "wrong");
      expect((await fetch(`${url}/api/status`, { headers: { cookie } })).status).toBe(200);
    });
  });

  it("guesses that come at once on one connection are counted one by one", async () => {
    await withConsole(LOCKED, async ({ url }) => {
      const { hostname, port } = new URL(url);
      const guesses = Array.from({ length: 40 }, (_, guess) => (guess === 39 ? TOKEN : `guess-${guess}`));
      const asked = guesses.map(
        (guess, index) =>
          `GET /api/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${guess}\r\n` +
          `Connection: ${index === guesses.length - 1 ? "close" : "keep-alive"}\r\n\r\n`,
      );
      const socket = connect(Number(port), hostname);
      socket.write(asked.join(""));
      const statuses = [...(await text(socket)).matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]);
      expect(statuses).toEqual([...Array(10).fill("401"), ...Array(30).fill("429")]);
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
      const foreign = { "sec-fetch-site": "cross-site" };
      const answer = await login(url, TOKEN, foreign);
      expect([answer.status, await answer.json()]).toMatchObject([403, { error: { code: "CROSS_SITE" } }]);
      const page = await login(url, TOKEN, { ...foreign, accept: "text/html" });
      expect([page.status, await page.text()]).toEqual([
        403,
        expect.stringContaining("The form was sent by another site (CROSS_SITE)."),
      ]);
    });
  });

  it("a form that is too large is refused", async () => {
    await withConsole(LOCKED, async ({ url }) =>
      expect((await login(url, "x".repeat(10_000))).status).toBe(413),
    );
  });
});

describe("without a token, on this machine alone", () => {
  it.each(["localhost", "LOCALHOST:80", "127.0.0.1:1234", "[::1]:8088", "[::1]"])(
    "a request to %s is answered",
    async (host) => {
      await withConsole({}, async ({ url }) =>
        expect(await statusWithHost(`${url}/api/status`, host)).toBe(200),
      );
    },
  );

  it.each([
    "evil.example.org",
    "127.0.0.1.evil.example.org",
    "localhost.evil.example.org",
    "evil-localhost.example",
    "192.168.0.9",
    "evil.example.org@127.0.0.1",
    "127.0.0.1/evil.example.org",
    "localhost#.evil.example.org",
    "localhost?evil.example.org",
    "localhost:80:80",
    "localhost:",
    "::1",
    "[::1",
    "[fd00::1]:8088",
  ])("a request to %j, whose name was bent to this machine, is refused", async (host) => {
    await withConsole({}, async ({ url }) =>
      expect(await statusWithHost(`${url}/api/status`, host)).toBe(421),
    );
  });

  it("a request that names no host is refused", () => {
    const request = {
      method: "GET",
      path: "/api/status",
      headers: {},
      address: "127.0.0.1",
      isRefresh: false,
      sessionNumber: undefined,
    };
    expect(new Guard({ host: "127.0.0.1", users: [] }, depsOf()).admit(request)).toEqual({ refusal: "host" });
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
  const clock = () => {
    let nowMs = 0;
    return { clock: { ...systemClock, monotonic: () => nowMs }, pass: (ms: number) => (nowMs += ms) };
  };

  const user = { name: "anna", token: TOKEN, role: "operator" } as const;

  it("lasts for a working day, while a person uses it", () => {
    const time = clock();
    const sessions = new Sessions(time.clock);
    const session = sessions.begin(user);
    for (let used = 0; used < SESSION_SECONDS - 60; used += 60) {
      expect(sessions.find(session, true)?.user).toBe(user);
      time.pass(60_000);
    }
    time.pass(60_000);
    expect(sessions.find(session, true)).toBeUndefined();
  });

  it("ends when nobody has used it for half an hour, though its page refreshes itself", () => {
    const time = clock();
    const sessions = new Sessions(time.clock);
    const session = sessions.begin(user);
    for (let open = 0; open < IDLE_SECONDS; open += 5) {
      expect(sessions.find(session, false)).toBeDefined();
      time.pass(5_000);
    }
    expect(sessions.find(session, false)).toBeUndefined();
  });

  it("is one of a thousand, of which the oldest ends for a new one", () => {
    const sessions = new Sessions(clock().clock);
    const [first = "", second = ""] = Array.from({ length: 1_001 }, () => sessions.begin(user));
    expect(sessions.find(first, true)).toBeUndefined();
    expect(sessions.find(second, true)).toBeDefined();
  });

  it.each(["", ".", "9999999999", "A".repeat(43), "__proto__"])("can't be made up (%j)", (forged) => {
    const sessions = new Sessions(clock().clock);
    sessions.begin(user);
    expect(sessions.find(forged, true)).toBeUndefined();
  });
});

describe("behind a proxy with TLS", () => {
  const PROXIED = { settings: { users: USERS, trustedProxies: ["127.0.0.0/8", "::1"] } };
  const cookieAfter = async (url: string, headers: Record<string, string>) =>
    (await login(url, TOKEN, headers)).headers.get("set-cookie") ?? "";

  it("the session's cookie is Secure when the browser came over TLS", async () => {
    await withConsole(PROXIED, async ({ url }) => {
      expect(await cookieAfter(url, { "x-forwarded-proto": "https" })).toMatch(/; Secure(;|$)/);
      expect(await cookieAfter(url, { "x-forwarded-proto": "http" })).not.toContain("Secure");
    });
  });

  it.each([{ trustedProxies: [] }, { trustedProxies: ["10.0.0.0/8"] }])(
    "nobody's word is taken who is none of the proxies (%j)",
    async ({ trustedProxies }) => {
      await withConsole({ settings: { users: USERS, trustedProxies } }, async ({ url }) => {
        expect(await cookieAfter(url, { "x-forwarded-proto": "https" })).not.toContain("Secure");
        for (let guess = 0; guess < 10; guess++)
          await login(url, "wrong", { "x-forwarded-for": `10.9.9.${guess}` });
        expect((await login(url, TOKEN, { "x-forwarded-for": "10.9.9.99" })).status).toBe(429);
      });
    },
  );

  it("wrong tokens are counted by the address that the proxy tells, so that one guesser locks nobody else out", async () => {
    await withConsole(PROXIED, async ({ url }) => {
      const from = (address: string) => ({ "x-forwarded-for": address });
      for (let guess = 0; guess < 10; guess++) await login(url, "wrong", from("10.1.1.1"));
      expect((await login(url, TOKEN, from("10.1.1.1"))).status).toBe(429);
      // What the guesser itself puts before it doesn't help.
      expect((await login(url, TOKEN, from("10.7.7.7, 10.1.1.1"))).status).toBe(429);
      expect((await login(url, TOKEN, from("10.2.2.2"))).status).toBe(303);
    });
  });

  it("an entry that is no address keeps the console from starting", async () => {
    const settings = { users: USERS, trustedProxies: ["10.0.0.0/64"] };
    await expect(withConsole({ settings }, async () => undefined)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("console.trustedProxies"),
    });
  });
});
