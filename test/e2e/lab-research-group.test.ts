import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { type Certificates, withCertificates } from "../connectors/mllp/with-certificates.ts";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { withFolder } from "../support/with-folder.ts";
import { readLab } from "./example-lab.ts";

const lab = await readLab("research-group");
const AUDIENCE = "https://biobank.example.org/api";

/** The biobank's gateway: TLS by its own authority, and 60 calls a minute, of which a few may come at once. */
interface Gateway {
  readonly url: string;
  /** The service behind it. */
  target: string;
  /** The calls that came, refused ones included. */
  calls: string[];
  refused: number;
  /** The form of each call for a token. */
  readonly tokenForms: Record<string, string>[];
}

const AT_ONCE = 3;
const CALL_EVERY_MS = 1_000;

async function withGateway(
  { cert, key }: Certificates["server"],
  run: (gateway: Gateway) => Promise<void>,
): Promise<void> {
  let room = AT_ONCE;
  let since = performance.now();
  const isTaken = () => {
    const now = performance.now();
    room = Math.min(AT_ONCE, room + (now - since) / CALL_EVERY_MS);
    since = now;
    if (room < 1) return false;
    room -= 1;
    return true;
  };
  const server = createServer({ cert, key }, async (request, response) => {
    const { method = "GET", url = "", headers } = request;
    const body = await text(request);
    gateway.calls.push(`${method} ${url.replace(/\?.*/, "")}`);
    if (url === "/oauth/token") gateway.tokenForms.push(Object.fromEntries(new URLSearchParams(body)));
    if (!isTaken()) {
      gateway.refused += 1;
      response.writeHead(429, { "retry-after": "1" }).end();
      return;
    }
    const { authorization = "", "content-type": type = "" } = headers;
    const answer = await fetch(gateway.target + url, {
      method,
      headers: { authorization, "content-type": type },
      ...(body === "" ? {} : { body }),
    });
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gateway: Gateway = { url, target: "", calls: [], refused: 0, tokenForms: [] };
  try {
    await run(gateway);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** A site of the lab behind the biobank's gateway, whose donors are registered. */
function withGroup(run: (site: Site, gateway: Gateway) => Promise<void>): Promise<void> {
  return withCertificates(({ ca, server }) =>
    withFolder((folder) =>
      withGateway(server, async (gateway) => {
        const caFile = join(folder, "biobank-ca.pem");
        await writeFile(caFile, ca);
        const service = {
          ...{ baseUrl: gateway.url, ca: caFile, auth: { tokenUrl: `${gateway.url}/oauth/token` } },
          polling: { first: "2s", max: "4s", factor: 1.5 },
          // A check that is due waits behind calls of other orders, at one a second.
          reconcile: { checks: ["5s", "30s"], giveUpAfter: "1m" },
        };
        const connector = {
          directory: "csv",
          stableFor: "50ms",
          scanInterval: "500ms",
          resultsEvery: "50ms",
        };
        const donors = ["D-0107", "D-0108"].map((code) => ({ facilityId: 12, code }));
        const simulator = { subjects: donors, tokens: { audience: AUDIENCE, methods: ["post" as const] } };
        await withSite({ simulator, config: lab.config({ service, connector }) }, async (site) => {
          gateway.target = site.simulator.url;
          await site.start();
          await run(site, gateway);
        });
      }),
    ),
  );
}

/** The rows of all results, each by its headings. */
async function readResults(site: Site): Promise<Record<string, string>[]> {
  const results = await site.results("csv").catch(() => new Map<string, string>());
  return [...results].flatMap(([name, content]) => {
    expect(name).toMatch(/^(?:freeze|thaw)\.stored-\d+\.tsv$/);
    const [headings = "", ...lines] = content.split("\n").filter((line) => line !== "");
    return lines.map((line) => {
      const cells = line.replace(/\r$/, "").split("\t");
      return Object.fromEntries(
        headings
          .replace(/\r$/, "")
          .split("\t")
          .map((heading, n) => [heading, cells[n] ?? ""]),
      );
    });
  });
}

describe("the example lab research-group", () => {
  test("stores and thaws through a gateway with its own authority, an audience and 60 calls a minute", () =>
    withGroup(async (site, gateway) => {
      await site.drop("csv", "freeze.tsv", await lab.sample("freeze.tsv"));
      const orders = await site.waitForOrders(2, ["completed"]);
      const rows = await eventually(
        async () => {
          const found = (await readResults(site)).filter(({ status }) => status === "completed");
          return found.length === 3 ? found : undefined;
        },
        { what: "a row for each aliquot" },
      );
      const expected = orders.flatMap((order) =>
        order.containers.map(({ label, location }) => ({
          collection: order.placerOrderNumber,
          aliquot: label,
          place: [location?.storageName, location?.canister, location?.cane].join("/"),
        })),
      );
      expect(rows).toHaveLength(expected.length);
      expect(rows).toEqual(expect.arrayContaining(expected.map((row) => expect.objectContaining(row))));
      expect(rows.every(({ procedure, place }) => procedure !== "" && !place?.startsWith("/"))).toBe(true);

      await site.drop("csv", "thaw.tsv", await lab.sample("thaw.tsv"));
      await site.waitForOrders(3, ["completed"]);

      expect(site.simulator.tally().doubled).toEqual([]);
      expect(gateway.tokenForms.map(({ audience }) => audience)).toContain(AUDIENCE);
      const made = gateway.calls.filter((call) => call.startsWith("POST /api"));
      expect(made).toEqual(Array(3).fill("POST /api/v1/external/procedures"));
      // At the usual 20 a second the gateway would have refused most of them.
      expect(gateway.calls.length).toBeGreaterThan(8);
      expect(gateway.refused).toBe(0);
    }));
});
