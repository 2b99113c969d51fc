import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { openConsole } from "../../src/app/console.ts";
import { loadConfig } from "../../src/config/load.ts";
import { listSecrets } from "../../src/config/secret.ts";
import { systemClock } from "../../src/core/clock.ts";
import { createLogger } from "../../src/core/logger.ts";
import { SecretMask } from "../../src/core/secret-mask.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { type PassedCall, type Rewritten, startRewritingFront } from "../support/rewriting-front.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

const SECRET = "Cnry-S3cret-of-the-client";
const CONSOLE_TOKEN = "Cnry-token-of-the-console";
/** Each in a form of its own, so that a part that is left shows. */
const CANARIES = [
  SECRET,
  CONSOLE_TOKEN,
  encodeURIComponent(SECRET),
  Buffer.from(`cryobridge:${SECRET}`).toString("base64").slice(16),
  Buffer.from(SECRET).toString("base64").slice(0, -4),
];

const echo = ({ sent, authorization = "" }: PassedCall) =>
  `${sent} ${authorization} ${decodeURIComponent(sent)} ${Buffer.from(SECRET).toString("base64")}`;

/** A token endpoint that quotes what it was sent, in every way, and a service that quotes the token. */
function rewrite(call: PassedCall): Rewritten | undefined {
  if (call.url.startsWith("/oauth/token")) {
    return {
      status: 401,
      contentType: "application/json",
      body: JSON.stringify({ error: "invalid_client", error_description: echo(call), [SECRET]: SECRET }),
    };
  }
  return undefined;
}

async function surfaces(site: Site, log: readonly string[], url: string): Promise<Map<string, string>> {
  const headers = { authorization: `Bearer ${CONSOLE_TOKEN}` };
  const read = async (path: string) => (await fetch(url + path, { headers })).text();
  const cli = async (...words: string[]) => {
    const { stdout, stderr } = await runCli(["--config", site.configFile, ...words]);
    return stdout + stderr;
  };
  const rows = async (query: string) => JSON.stringify((await site.pool.query(query)).rows);
  return new Map([
    ["log", log.join("")],
    ["status", await read("/api/status")],
    ["readiness", await read("/readyz")],
    ["metrics", await read("/metrics")],
    ["orders list", await cli("orders", "list")],
    ["orders list --json", await cli("orders", "list", "--json")],
    ["orders show", await cli("--show-phi", "orders", "show", "o1")],
    ["orders show --json", await cli("--show-phi", "--json", "orders", "show", "o1")],
    ["check", await cli("check")],
    ["check --verbose", await cli("--verbose", "check")],
    ["service requests", await cli("--verbose", "service", "requests", "--facility", "NORTH")],
    ["service requests --json", await cli("service", "requests", "--facility", "NORTH", "--json")],
    ["no such order", await cli("orders", "show", SECRET)],
    ["order_events", await rows("select detail from order_events")],
    ["order_answers", await rows("select * from order_answers")],
  ]);
}

test.each(["post", "basic"])(
  "credentials that a token endpoint quotes (%s) stand in no text, nor where the lab wrote them",
  (method) => {
    const lines: string[] = [];
    const secrets = new SecretMask();
    const logger = createLogger({ level: "trace" }, { write: (line: string) => lines.push(line) }, secrets);
    return withSite({ logger }, async (site) => {
      const front = await startRewritingFront(site.simulator.url, rewrite);
      try {
        const written = (await readFile(site.configFile, "utf8")).replaceAll(site.simulator.url, front.url);
        const given = parse(written);
        given.service.auth = { ...given.service.auth, clientSecret: SECRET, method };
        given.console.token = CONSOLE_TOKEN;
        await writeFile(site.configFile, stringify(given), { mode: 0o600 });
        const config = loadConfig(site.configFile, { env: {}, profileSchema });
        for (const secret of listSecrets(config)) secrets.add(secret);
        const daemon = await site.start();
        const running = await openConsole(daemon, { version: "1.2.3", logger, clock: systemClock, secrets });
        // The number of the second one is a credential: then it is in the ledger, and only the edges can hide it.
        await site.drop(
          "hl7",
          "a.hl7",
          omlO33({ number: "A-1" }) + omlO33({ number: SECRET, labels: ["V-9"] }),
        );
        await eventually(async () => {
          const orders = await site.orders();
          const isLogged = lines.some((line) => line.includes("invalid_client"));
          return orders.length === 2 && isLogged;
        });
        const open = await surfaces(site, lines, running.url).finally(() => running.close());
        const found = [...open].flatMap(([place, words]) => {
          const canary = CANARIES.find((each) => words.includes(each));
          return canary === undefined
            ? []
            : [`${place}: …${words.slice(Math.max(0, words.indexOf(canary) - 80))}`];
        });
        expect(found.map((words) => words.slice(0, 300))).toEqual([]);
        expect(open.get("orders list")).toContain("[secret]");
        expect(open.get("check")).toContain(
          "the token endpoint refused the client (status 401: invalid_client; it says: ",
        );
      } finally {
        await front.close();
      }
    });
  },
);

test("a service that quotes the token of a call gets it into nothing that is kept", () =>
  withSite({}, async (site) => {
    const tokens: string[] = [];
    const front = await startRewritingFront(site.simulator.url, (call) => {
      if (call.method !== "POST" || !call.url.startsWith("/api/procedure-requests")) return undefined;
      tokens.push(call.authorization?.replace("Bearer ", "") ?? "");
      return {
        status: 409,
        contentType: "application/json",
        body: JSON.stringify({ message: call.authorization }),
      };
    });
    try {
      const config = await readFile(site.configFile, "utf8");
      await writeFile(site.configFile, config.replaceAll(site.simulator.url, front.url));
      await site.start();
      await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
      await site.waitForOrders(1, ["parked"]);
      const { rows } = await site.pool.query<{ body: string }>("select body from order_answers");
      expect(rows).toHaveLength(1);
      expect(tokens[0]).toMatch(/.{8}/);
      expect(rows[0]?.body).not.toContain(tokens[0]);
      expect(rows[0]?.body).toContain("[secret]");
    } finally {
      await front.close();
    }
  }));
