import { describe, expect, it } from "vitest";
import { condition } from "../../src/core/condition.ts";
import { readStatus } from "../../src/standing/status.ts";
import type { Status, StatusConnector } from "../../src/standing/status-document.ts";
import { countsOf, depsOf, USERS, withConsole } from "./console-fixture.ts";

describe("/api/status", () => {
  it("has counts by state", async () => {
    const deps = {
      counts: async () => ({ ...countsOf({ parked: 1, rejected: 2 }), oldestSecondsByState: { parked: 60 } }),
    };
    await withConsole({ deps }, async ({ url }) => {
      const status = (await (await fetch(`${url}/api/status`)).json()) as Status;
      expect(status).toMatchObject({
        version: "1.2.3",
        isReady: true,
        deliveries: { pending: 0, parked: 0 },
        tasks: { open: 0, oldestSeconds: null },
      });
      expect(status.states).toContainEqual({ state: "parked", count: 1, oldestSeconds: 60 });
      expect(status.endedLastDay?.slice(0, 2)).toEqual([
        { state: "completed", count: 0 },
        { state: "rejected", count: 2 },
      ]);
    });
  });

  it("counts parked orders also when some have a code that this release doesn't know", async () => {
    const parked = {
      kind: "parked",
      orderId: "o17",
      orderIds: [],
      count: 2,
      since: new Date("2026-11-21T08:00:00Z"),
      text: "it is so",
    } as const;
    const orders = [{ ...parked, code: "OF_ANOTHER_RELEASE" }];
    const attention = async () => ({
      orders,
      deliveries: [],
      pausedQueues: [],
      alertPlaces: [],
      refusals: [],
    });
    await withConsole({ deps: { attention } }, async ({ url }) => {
      const status = (await (await fetch(`${url}/api/status`)).json()) as Status;
      expect(status.stillOrders).toMatchObject([{ count: 2, code: "OF_ANOTHER_RELEASE", hint: null }]);
    });
  });

  it("holds no credential of the configuration, in whatever words it would stand", async () => {
    const own = () => [
      condition("daemonTrouble", "", "the service said: hunter2 is wrong", { stopsIntake: true }),
    ];
    const mask = (text: string) => text.replaceAll("hunter2", "[secret]");
    await withConsole({ deps: { own, mask } }, async ({ url }) => {
      for (const path of ["/api/status", "/readyz"])
        expect(await (await fetch(url + path)).text()).toContain("the service said: [secret] is wrong");
    });
  });

  it("says that the ledger is away rather than that nothing waits", async () => {
    const gone = () => Promise.reject(new Error("gone"));
    await withConsole({ deps: { counts: gone } }, async ({ url }) => {
      expect(await (await fetch(`${url}/api/status`)).json()).toMatchObject({
        states: null,
        deliveries: null,
        tasks: null,
      });
    });
  });
});

it.each([
  ["one of them", { lims: true, bench: false }, " through lims"],
  ["all of them", { lims: true, bench: true }, ""],
  ["the ledger, too", { lims: true, bench: false, ledger: true }, ""],
] as const)(
  "names the connectors that take no orders while others do, where what stops intake is %s",
  async (_, stopped, through) => {
    const names = ["lims", "bench"];
    const own = Object.entries(stopped).map(([name, stopsIntake]) =>
      condition(name === "ledger" ? "daemonTrouble" : "connectorDown", `${name} on lab-server`, "x", {
        stopsIntake,
      }),
    );
    const connectors = names.map(
      (connector) => ({ connector, trouble: null, warning: "one file is held" }) as StatusConnector,
    );
    const status = await readStatus(depsOf({ own: () => own, connectors: () => connectors }), "1.2.3");
    expect(status.parts[0]).toMatchObject({
      name: "intake",
      words: `takes no orders${through}`,
      connectors: through ? ["lims"] : [],
    });
  },
);

describe("the page", () => {
  const PEOPLE = { headers: { accept: "text/html" } };

  it("allows the console's own files and nothing else", async () => {
    await withConsole({}, async ({ url }) => {
      const answer = await fetch(url);
      const policy = answer.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).not.toContain("unsafe");
      expect(await answer.text()).not.toMatch(/<style|<script>| style=| on[a-z]+=/);
    });
  });

  it("loads nothing from elsewhere, and what it loads is there", async () => {
    await withConsole({}, async ({ url }) => {
      const html = await (await fetch(url)).text();
      expect(html).not.toMatch(/https?:\/\//);
      const paths = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((match) => match[1] ?? "");
      expect(paths).toHaveLength(4);
      for (const path of paths) {
        const answer = await fetch(url + path);
        expect(answer.status).toBe(200);
        expect(answer.headers.get("cache-control")).toContain("immutable");
        expect(answer.headers.get("content-type")).toMatch(/^text\/(css|javascript)/);
      }
    });
  });

  it("asks for the token first when there are users", async () => {
    await withConsole({ settings: { users: USERS } }, async ({ url }) => {
      const answer = await fetch(url, PEOPLE);
      const html = await answer.text();
      expect(answer.status).toBe(401);
      expect(html).toContain('name="token" type="password"');
      expect(html).not.toContain("Overview");
    });
  });

  it("is not kept by browsers or shown in frames", async () => {
    await withConsole({}, async ({ url }) => {
      const { headers } = await fetch(url);
      expect([headers.get("cache-control"), headers.get("x-frame-options")]).toEqual(["no-store", "DENY"]);
    });
  });

  it("that doesn't exist is answered in JSON, and for a person by a page", async () => {
    await withConsole({}, async ({ url }) => {
      const answer = await fetch(`${url}/nothing`);
      expect([answer.status, await answer.json()]).toEqual([
        404,
        { error: { code: "NOT_FOUND", message: "there is no such page" } },
      ]);
      const page = await fetch(`${url}/nothing`, { headers: { accept: "text/html" } });
      expect([page.status, page.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
      expect(await page.text()).toContain("<p>There is no such page (NOT_FOUND).</p>");
    });
  });
});
