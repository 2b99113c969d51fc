import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { openAlerts } from "../../src/app/alerts.ts";
import { daemonView } from "../../src/app/console.ts";
import type { Daemon } from "../../src/app.ts";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { systemClock } from "../../src/core/clock.ts";
import { readStatus } from "../../src/standing/status.ts";
import { withReceiver } from "../alerts/receivers.ts";
import { runCli } from "../cli/run-cli.ts";
import { startChildDaemon } from "../support/child-daemon.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { type Site, type SiteOptions, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

/** Writes further sections into the site's configuration; `undefined` takes one out. */
async function edit({ configFile }: Site, sections: Readonly<Record<string, unknown>>): Promise<void> {
  const before: object = parse(await readFile(configFile, "utf8"));
  await writeFile(configFile, stringify({ ...before, ...sections }), { mode: 0o600 });
}

const cli = (site: Site, ...argv: string[]) => runCli(["--config", site.configFile, ...argv]);

const MLLP: SiteOptions = {
  config: {
    connectors: [{ name: "hl7", type: "mllp", listen: { port: 0 }, results: { directory: "results" } }],
  },
};

/** One connection, over which message after message is sent. */
async function openLine(port: number): Promise<{ ask(text: string): Promise<string>; socket: Socket }> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const ask = async (text: string) => {
    socket.write(`\x0b${text}\x1c\r`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    return answer.toString();
  };
  return { socket, ask };
}

test("a changed configuration is taken over without losing a connection, and what waited for a code goes on", () =>
  withSite(MLLP, async (site) => {
    const daemon = await site.start();
    const { ask, socket } = await openLine((daemon.connectors[0] as MllpConnector).port ?? 0);
    await ask(omlO33({ number: "A-1", facility: "WEST" }));
    await ask(omlO33({ number: "A-2", operation: "CRYO-STORE" }));
    await site.waitForOrders(1);
    expect((await cli(site, "messages", "waiting")).stdout).toContain("WEST");

    await edit(site, { facilities: { NORTH: 12, SOUTH: 13, WEST: 13 } });
    const { stdout, status } = await cli(site, "reload", "--reason", "the new wing");
    expect([status, stdout]).toEqual([
      0,
      expect.stringMatching(/^✓ .* has taken over facilities\.WEST\nMessages that waited .*\n$/),
    ]);

    const orders = await site.waitForOrders(2);
    expect(orders.map(({ placerOrderNumber, facilityId }) => [placerOrderNumber, facilityId]).sort()).toEqual(
      [
        ["A-1", 13],
        ["A-2", 12],
      ],
    );
    expect(await ask(omlO33({ number: "A-3", facility: "WEST" }))).toContain("MSA|CA|");
    expect(socket.destroyed).toBe(false);
    await site.waitForOrders(3);
    socket.destroy();
    const { rows } = await site.pool.query("select action, detail from audit order by id");
    expect(rows).toEqual([
      { action: "reload", detail: { reason: "the new wing" } },
      { action: "reloaded", detail: { takenOver: ["facilities.WEST"], restart: [] } },
    ]);
  }));

test("with a mistake in the file the last good configuration stays, and status says so until it is corrected", () =>
  withSite({}, async (site) => {
    const daemon = await site.start();
    const good = await readFile(site.configFile, "utf8");
    await edit(site, { facilities: { WEST: 13 }, profiles: { lab: { extends: "builtin/none" } } });
    const { stderr, status } = await cli(site, "reload");
    expect([status, stderr]).toEqual([3, expect.stringContaining("builtin/none")]);
    await daemon.reload();
    expect([...daemon.configuration.config.facilityIdByCode.keys()]).toEqual(["NORTH", "SOUTH"]);
    await site.drop("csv", "day.csv", labCsv([{ number: "A-1" }]));
    await site.waitForOrders(1);
    expect((await statusOf(daemon)).join()).toContain("what was read last without any stays");

    await writeFile(site.configFile, good, { mode: 0o600 });
    await eventually(async () => !(await statusOf(daemon)).join().includes("the file has"));
    expect((await cli(site, "reload")).status).toBe(0);
  }));

test("status names what differs in the file by itself, apart by what takes it over", () =>
  withSite({}, async (site) => {
    const daemon = await site.start();
    await eventually(
      async () => (await site.pool.query("select 1 from workers where configuration is not null")).rowCount,
    );
    expect(await statusOf(daemon)).toEqual([]);
    await edit(site, { facilities: { NORTH: 12, SOUTH: 14 }, lanes: { parkedBlocks: true } });
    const found = await eventually(async () => {
      const lines = await statusOf(daemon);
      return lines.length > 0 && lines;
    });
    expect(found).toEqual([
      expect.stringMatching(
        /^configuration of .*: changed in the file: facilities\.SOUTH; changed in the file, for a restart: lanes\.parkedBlocks$/,
      ),
    ]);
    const { stdout, stderr } = await cli(site, "reload");
    expect(stderr).toBe("");
    expect(stdout).toContain(
      "has taken over facilities.SOUTH; changed in the file, for a restart: lanes.parkedBlocks",
    );
    const again = await cli(site, "reload");
    expect(again.stdout).toMatch(
      /^! .* can take over nothing of it while it runs; changed in the file, for a restart: lanes\.parkedBlocks\n$/,
    );
  }));

/** What the status document says of configurations; read without the file, which may have mistakes. */
async function statusOf(daemon: Daemon): Promise<string[]> {
  const view = { ...daemonView(daemon, systemClock), clock: systemClock, logger: silent };
  const { attention } = await readStatus(view, "0");
  return attention.map(({ what }) => what).filter((what) => what.startsWith("configuration of"));
}

test("a profile, its module and a connector's choice of profile are taken over for the next file and the next result", () =>
  withSite({}, async (site) => {
    const module = join(site.folder, "order.mjs");
    const write = (label: string) =>
      writeFile(
        module,
        `export function order(order) { for (const each of order.containers) each.label = "${label}-" + each.label; }`,
        { mode: 0o644 },
      );
    await write("one");
    await site.start();
    await site.drop("csv", "1.csv", labCsv([{ number: "A-1", labels: ["V1"] }]));
    await site.waitForOrders(1);

    const connectors = (parse(await readFile(site.configFile, "utf8")) as { connectors: object[] })
      .connectors;
    const [hl7, csv] = connectors;
    await edit(site, {
      profiles: {
        lab: { extends: "builtin/csv-orders", module: "./order.mjs", results: { marker: ".ok" } },
      },
      connectors: [hl7, { ...csv, profile: "lab" }],
    });
    expect((await cli(site, "reload")).status).toBe(0);
    await site.drop("csv", "2.csv", labCsv([{ number: "A-2", labels: ["V2"] }]));
    await site.waitForOrders(2);

    await write("two");
    expect((await cli(site, "reload")).status).toBe(0);
    await site.drop("csv", "3.csv", labCsv([{ number: "A-3", labels: ["V3"] }]));
    await site.waitForOrders(3);
    const { rows } = await site.pool.query("select label from order_containers order by order_id");
    expect(rows.map(({ label }) => label)).toEqual(["V1", "one-V2", "two-V3"]);
    await eventually(async () =>
      [...(await site.results("csv")).keys()].some((name) => name.endsWith(".ok")),
    );
  }));

test("a module that was only saved is not run, and one that a reload refuses stays named as refused", () =>
  withSite({}, async (site) => {
    const module = join(site.folder, "order.mjs");
    const ran = join(site.folder, "ran");
    await writeFile(module, "export const order = () => undefined;", { mode: 0o644 });
    await edit(site, { profiles: { lab: { extends: "builtin/csv-orders", module: "./order.mjs" } } });
    const daemon = await site.start();
    const word = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(ran)}, "");`;
    await writeFile(module, `${word} export const order = 1;`, { mode: 0o644 });
    await eventually(async () =>
      (await statusOf(daemon)).join().includes("changed in the file: profiles.lab.module"),
    );
    await expect(readFile(ran)).rejects.toThrow("ENOENT");

    const { connectors } = parse(await readFile(site.configFile, "utf8")) as { connectors: object[] };
    const [hl7, csv] = connectors;
    await edit(site, { connectors: [hl7, { ...csv, encoding: "latin99" }] });
    await daemon.reload();
    const refused = async () => (await statusOf(daemon)).join();
    expect(await refused()).toContain("what was read last without any stays");
    // The next look says the same.
    await site.pool.query("update workers set configuration = null");
    await edit(site, { connectors: [hl7, { ...csv, encoding: "latin98" }] });
    await eventually(async () => (await refused()).includes("latin98"));
    expect(await refused()).toContain("what was read last without any stays");
  }));

test("a connector that the file has no more runs on by its profile until a restart, and keeps nothing else from being taken over", () =>
  withSite({}, async (site) => {
    const profiles = { lab: { extends: "builtin/csv-orders" } };
    const { connectors } = parse(await readFile(site.configFile, "utf8")) as { connectors: object[] };
    const [hl7, csv] = connectors;
    await edit(site, { profiles, connectors: [hl7, { ...csv, profile: "lab" }] });
    await site.start();
    await edit(site, {
      profiles: undefined,
      connectors: [hl7],
      facilities: { NORTH: 12, SOUTH: 13, WEST: 13 },
    });
    const { stdout, stderr } = await cli(site, "reload");
    expect([stdout, stderr]).toEqual([expect.stringContaining("for a restart: connectors.csv"), ""]);
    await site.drop("csv", "1.csv", labCsv([{ number: "A-1", facility: "WEST" }]));
    await site.waitForOrders(1);
  }));

test("a file is taken by one configuration to its end, and a reload waits for that", () =>
  withSite({}, async (site) => {
    const daemon = await site.start();
    const release = await daemon.configuration.hold();
    await edit(site, { facilities: { NORTH: 12, SOUTH: 13, WEST: 13 } });
    const reloading = daemon.reload();
    await site.drop("csv", "1.csv", labCsv([{ number: "A-1", facility: "WEST" }]));
    await eventually(
      async () =>
        daemon.configuration.config.facilityIdByCode.has("WEST") === false &&
        (await site.orders()).length === 0,
    );
    release();
    await reloading;
    await site.waitForOrders(1);
    expect((await site.orders())[0]?.facilityId).toBe(13);
  }));

test("a place for alerts that is added is told of what is wrong already, by the daemon that runs", () =>
  withReceiver("invented-key-of-the-hook", (hook) =>
    withSite({ config: { alerts: { checkEvery: "100ms" } } }, async (site) => {
      const daemon = await site.start();
      const close = openAlerts(daemon, { version: "0", logger: silent, clock: systemClock, path: undefined });
      await cli(site, "queue", "pause", "submit", "--reason", "a trial");
      await edit(site, {
        alerts: {
          checkEvery: "100ms",
          rules: { queuePaused: { after: "0s" } },
          to: [{ type: "webhook", url: hook.url, secret: "invented-key-of-the-hook" }],
        },
      });
      expect((await cli(site, "reload")).status).toBe(0);
      await eventually(() => hook.taken.length > 0);
      await close();
    }),
  ));

test("a daemon in a process of its own reloads at SIGHUP and goes on", () =>
  withSite({}, async (site) => {
    const log = join(site.folder, "daemon.log");
    await writeFile(log, "");
    const child = startChildDaemon(site.configFile, log);
    await child.running;
    await edit(site, { facilities: { NORTH: 12, SOUTH: 13, WEST: 13 } });
    process.kill(child.pid, "SIGHUP");
    await eventually(async () => (await readFile(log, "utf8")).includes("the configuration was taken over"));
    await site.drop("csv", "day.csv", labCsv([{ number: "A-1", facility: "WEST" }]));
    await site.waitForOrders(1);
    expect(child.hasEnded).toBe(false);
    expect(await child.end("SIGTERM")).toBe(0);
  }));

test("reload says that no daemon works on the ledger, with status 5", () =>
  withSite({}, async (site) => {
    await (await site.start()).stop();
    const { stderr, status } = await cli(site, "reload");
    expect(status).toBe(5);
    expect(stderr).toContain("no daemon works on this ledger; the next start reads the configuration");
  }));
