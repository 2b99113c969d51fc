import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { daemonView } from "../../src/app/console.ts";
import { type Daemon, startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { Secret } from "../../src/config/secret.ts";
import { systemClock } from "../../src/core/clock.ts";
import { ROLES, type Role } from "../../src/core/role.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { readStatus } from "../../src/standing/status.ts";
import { withCutWay } from "../support/cut-way.ts";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

/** A daemon on a machine of this name, all of whose disks are too full. */
function startOn(
  host: string,
  { configFile, folder, url }: Pick<Site, "configFile" | "folder" | "url">,
  roles: readonly Role[] = ROLES,
): Promise<Daemon> {
  const config = loadConfig(configFile, { env: {}, profileSchema });
  const rules = { ...config.alerts.rules, diskFilling: { on: true, afterMs: 0, above: -1 } };
  const alerts = { ...config.alerts, rules };
  const dataDir = join(folder, `data-${host}`);
  return startDaemon(
    {
      ...config,
      dataDir,
      epochFile: `${dataDir}.epoch`,
      alerts,
      database: { ...config.database, url: new Secret(url) },
    },
    {
      ...{ host, roles: new Set(roles), logger: silent },
      onFatal: (failure) => {
        throw failure;
      },
    },
  );
}

const statusOf = (daemon: Daemon) =>
  readStatus({ ...daemonView(daemon, systemClock), clock: systemClock, logger: silent }, "1.2.3");

test("a machine's disk is the same alert whichever daemon leads or is asked, and another machine's is another", () =>
  withSite({}, async (site) => {
    const leader = await startOn("lab-1", site);
    const second = await startOn("lab-2", site);
    const attentionOf = async (daemon: Daemon) =>
      (await statusOf(daemon)).attention.filter(({ alerts: [first] }) => first?.kind === "diskFilling");
    const bothOf = (daemon: Daemon) =>
      eventually(async () => {
        const attention = await attentionOf(daemon);
        return attention.length > 1 && attention;
      });
    try {
      const [own, found] = await bothOf(leader);
      expect(found).toMatchObject({
        level: "act",
        command: "cryobridge workers",
        hint: own?.hint,
        who: "it",
      });
      expect(found?.what).toMatch(/^daemon lab-2 \(w\d+\) on lab-2: the disk of \S+ is \d+ % full/);
      expect(own?.what).toMatch(/^the disk of /);
      const abouts = (await Promise.all([leader, second].map(bothOf))).map((all) =>
        all.flatMap(({ alerts }) => alerts.map(({ about }) => about)).sort(),
      );
      expect(abouts[0]).toEqual([
        expect.stringMatching(/^\S+ on lab-1$/),
        expect.stringMatching(/^\S+ on lab-2$/),
      ]);
      expect(abouts[1]).toEqual(abouts[0]);
    } finally {
      await second.stop();
      await leader.stop();
    }
  }));

test("files that a daemon of the role intake does not take are known to the one that leads, and as urgent", () =>
  withSite({}, async (site) => {
    const inbox = join(site.folder, "csv/in");
    const own = { type: "csv-drop", directory: join(site.folder, "csv"), scanInterval: "50ms" };
    const before: object = parse(await readFile(site.configFile, "utf8"));
    const connectors = [{ name: "csv", ...own, alertAfter: "1s" }];
    await writeFile(site.configFile, stringify({ ...before, connectors }), { mode: 0o600 });
    await mkdir(inbox, { recursive: true });
    await writeFile(join(inbox, "list.csv.part"), "x");
    const leader = await startOn("lab-1", site, ["worker"]);
    const intake = await startOn("lab-2", site, ["intake"]);
    try {
      const found = await eventually(async () =>
        (await statusOf(leader)).attention.find(({ alerts: [first] }) => first?.kind === "filesUntaken"),
      );
      expect(found).toMatchObject({ level: "look", alerts: [{ about: "csv name" }] });
      expect(found.what).toMatch(
        /^daemon lab-2 \(w\d+\) on lab-2: in the drop folder of connector csv, 1 file /,
      );
    } finally {
      await intake.stop();
      await leader.stop();
    }
  }));

test("a lab that takes no results is known to a daemon that sends it none, with when it is tried next", () =>
  withSite({}, async (site) => {
    const own = { type: "csv-drop", directory: join(site.folder, "csv"), scanInterval: "50ms" };
    const before: object = parse(await readFile(site.configFile, "utf8"));
    await writeFile(site.configFile, stringify({ ...before, connectors: [{ name: "csv", ...own }] }), {
      mode: 0o600,
    });
    const sender = await startOn("lab-1", site, ["worker"]);
    const other = await startOn("lab-2", site, ["intake"]);
    try {
      const out = join(site.folder, "csv/out");
      await eventually(() =>
        rm(out, { recursive: true }).then(
          () => true,
          () => false,
        ),
      );
      await writeFile(out, "a file in the folder's place");
      await writeFile(join(site.folder, "csv/in/list.csv"), "order_number,operation\nC-1,UNKNOWN\n");
      const { parts, connectors, reasons } = await eventually(async () => {
        const status = await statusOf(other);
        return status.parts.some(({ name, nextTryAt }) => name === "lab of csv" && nextTryAt) && status;
      });
      expect(parts.find(({ name }) => name === "lab of csv")).toMatchObject({
        ...{
          state: "down",
          words: expect.stringMatching(/^takes no results: 1 result waits, .*SYSTEM_ERROR/),
        },
      });
      expect(connectors).toMatchObject([{ connector: "csv", isLabAway: true, labOutage: null }]);
      expect(reasons).toEqual([]);
    } finally {
      await other.stop();
      await sender.stop();
    }
  }));

test("what a daemon knows itself is said while the database hangs, and first that no orders are taken", () =>
  withSite({}, (site) =>
    withCutWay(site, async ({ url, hang }) => {
      const daemon = await startOn("lab-1", { ...site, url });
      const view = daemonView(daemon, systemClock);
      // What the ledger has not answered once the disks have is late.
      const haveDisks = Promise.withResolvers<void>();
      const machine = async () => (await view.machine?.().finally(haveDisks.resolve)) ?? [];
      const sleep = async (ms: number, signal?: AbortSignal) => {
        if (ms === 5_000) await haveDisks.promise;
        await systemClock.sleep(ms === 5_000 ? 100 : ms, signal);
      };
      const deps = { ...view, machine, clock: { ...systemClock, sleep }, logger: silent };
      const inbox = join(site.folder, "csv/in");
      await eventually(
        () =>
          daemon.isTaking &&
          rm(inbox, { recursive: true }).then(
            () => true,
            () => false,
          ),
      );
      await writeFile(inbox, "a file in the folder's place");
      await eventually(() => daemon.conditions().some(({ kind }) => kind === "connectorDown"));
      const goOn = hang();
      try {
        const { isReady, reasons, attention, parts, connectors } = await readStatus(deps, "1.2.3");
        expect({ isReady, first: reasons[0] }).toEqual({
          isReady: false,
          first: "the ledger gave no answer within 5 s (CONSOLE_LEDGER_SILENT)",
        });
        expect(reasons.slice(1)).toContainEqual(expect.stringMatching(/^connector csv: /));
        // No place says of a connector that it takes something, nor of a lab that it takes results.
        const halted = { state: "down", words: "takes no orders", connectors: [] };
        expect(parts).toContainEqual(expect.objectContaining({ name: "intake", ...halted }));
        expect(parts.map(({ name }) => name)).not.toContain("labs");
        expect(connectors?.map(({ connector, trouble }) => [connector, trouble])).toEqual([
          ["hl7", reasons[0]],
          ["csv", expect.stringContaining("in")],
        ]);
        expect(connectors?.map(({ hasTakenResults }) => hasTakenResults)).toEqual([null, null]);
        const kinds = attention.flatMap(({ alerts }) => alerts.map(({ kind }) => kind));
        expect(kinds).toEqual(expect.arrayContaining(["daemonTrouble", "connectorDown", "diskFilling"]));
      } finally {
        goOn();
        await daemon.stop();
      }
    }),
  ));
