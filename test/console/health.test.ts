import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { connectorConditions } from "../../src/app/own-conditions.ts";
import { startConsole } from "../../src/console/server.ts";
import { systemClock } from "../../src/core/clock.ts";
import { type Condition, condition } from "../../src/core/condition.ts";
import { Failure } from "../../src/core/failures.ts";
import { depsOf, USERS, withConsole } from "./console-fixture.ts";

describe("/healthz", () => {
  it("answers even when nothing else does", async () => {
    const deps = { byLedger: () => Promise.reject(new Error("broken")) };
    await withConsole({ deps }, async ({ url }) => {
      const answer = await fetch(`${url}/healthz`);
      expect([answer.status, await answer.json()]).toEqual([200, { alive: true }]);
    });
  });
});

describe("/readyz", () => {
  it("is 200 while orders can be taken", async () => {
    await withConsole({}, async ({ url }) => {
      const answer = await fetch(`${url}/readyz`);
      expect([answer.status, await answer.json()]).toEqual([200, { ready: true, reasons: [] }]);
    });
  });

  it("is 503 with the reasons while they can't", async () => {
    const text = "the folder in of lims can't be read";
    const own = () => [condition("connectorDown", "lims", text, { stopsIntake: true })];
    await withConsole({ deps: { own } }, async ({ url }) => {
      const answer = await fetch(`${url}/readyz`);
      expect([answer.status, await answer.json()]).toEqual([503, { ready: false, reasons: [text] }]);
    });
  });

  it("is 503 when it can't be found out, without the words of a foreign error", async () => {
    const byLedger = () => Promise.reject(new Error("duplicate key (Nora Example)"));
    await withConsole({ deps: { byLedger } }, async ({ url }) => {
      const answer = await fetch(`${url}/readyz`);
      expect(answer.status).toBe(503);
      expect(await answer.text()).not.toContain("Nora");
    });
  });

  it("tells a ledger that is away once, and not what comes of that; what has a cause of its own stays", async () => {
    const connectors = [
      { name: "lims", trouble: "intake is waiting", failureCode: "LEDGER_UNAVAILABLE" },
      { name: "lims2", trouble: "its folder can't be read", failureCode: "FILE_SYSTEM_ERROR" },
    ] as const;
    const own = () => [
      ...connectorConditions(connectors, "lab-server"),
      condition("daemonTrouble", "feeder on lab-server", "the feeder is silent", { cause: "ledger" }),
    ];
    const away = new Failure("LEDGER_UNAVAILABLE", "the ledger's database can't be reached");
    const reasonsOf = async (byLedger: () => Promise<readonly Condition[]>) => {
      let reasons: unknown;
      await withConsole({ deps: { own, byLedger } }, async ({ url }) => {
        reasons = ((await (await fetch(`${url}/readyz`)).json()) as { reasons: string[] }).reasons;
      });
      return reasons;
    };
    expect(await reasonsOf(() => Promise.reject(away))).toEqual([
      "the ledger's database can't be reached (LEDGER_UNAVAILABLE)",
      "connector lims2: its folder can't be read",
    ]);
    expect(await reasonsOf(async () => [])).toEqual([
      "connector lims: intake is waiting",
      "connector lims2: its folder can't be read",
      "the feeder is silent",
    ]);
  });

  it("is 503 when a part of the daemon can't say how it is, whether the ledger answers or not", async () => {
    const own = () => {
      throw new TypeError("cannot read the name of Nora Example");
    };
    const unknown = "whether this daemon takes orders could not be found out; the log says more";
    const answerOf = async (byLedger: () => Promise<readonly Condition[]>) => {
      const found: unknown[] = [];
      await withConsole({ deps: { own, byLedger } }, async ({ url }) => {
        const answer = await fetch(`${url}/readyz`);
        found.push(answer.status, await answer.json(), (await fetch(`${url}/api/status`)).status);
      });
      return found;
    };
    expect(await answerOf(async () => [])).toEqual([503, { ready: false, reasons: [unknown] }, 200]);
    expect(await answerOf(() => Promise.reject(new Error("away")))).toEqual([
      503,
      { ready: false, reasons: ["the ledger's database gives an error; the log says more", unknown] },
      200,
    ]);
  });

  it("is 503 within seconds while the ledger hangs", async () => {
    // The deadline's clock runs fast; the ledger never answers.
    const clock = {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal),
    };
    const byLedger = () => new Promise<never>(() => undefined);
    await withConsole({ deps: { byLedger, clock } }, async ({ url }) => {
      const answer = await fetch(`${url}/readyz`);
      expect(await answer.json()).toEqual({
        ready: false,
        reasons: ["the ledger gave no answer within 5 s (CONSOLE_LEDGER_SILENT)"],
      });
    });
  });
});

describe("starting the console", () => {
  it("on a port that is taken fails with words", async () => {
    await withConsole({}, async ({ url }) => {
      const port = Number(new URL(url).port);
      await expect(
        startConsole({ host: "127.0.0.1", port, version: "1", users: [] }, depsOf()),
      ).rejects.toThrow(
        expect.objectContaining({
          code: "CONSOLE_PORT_TAKEN",
          message: `127.0.0.1:${port} is in use by another program`,
        }),
      );
    });
  });

  it("on an address of another machine fails with words", async () => {
    const settings = { host: "192.0.2.1", port: 0, version: "1", users: USERS };
    await expect(startConsole(settings, depsOf())).rejects.toMatchObject({ code: "CONSOLE_NOT_LISTENING" });
  });

  it("and closing it frees the port, whoever is still connected", async () => {
    let port = 0;
    await withConsole({}, async ({ url }) => {
      port = Number(new URL(url).port);
      await fetch(`${url}/healthz`);
    });
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(port, "127.0.0.1", resolve);
    });
    await new Promise((resolve) => server.close(resolve));
  });
});
