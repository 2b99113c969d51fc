import { mkdir, readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import {
  endingSecrets,
  exceededLimitsOf,
  exceededPace,
  machineConditionsOf,
} from "../../src/app/exceeded.ts";
import { alertsSchema } from "../../src/config/alerts-schema.ts";
import { isFolderConnector } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Pace } from "../../src/ledger/operator/pace.ts";
import { registerWorker } from "../../src/ledger/workers/roster.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { configText, csvMessage, ENV, withLab } from "../cli/with-lab.ts";
import { withCertificates } from "../connectors/mllp/with-certificates.ts";
import { eventually } from "../support/eventually.ts";
import { hangFolder, impatientClock } from "../support/hanging-folder.ts";

const NOW = new Date(2026, 10, 23, 12);
const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000);
const QUIET: Pace = { oldest: [], ended: { wrong: 0, all: 0 }, messages: [], latest: [] };
const ALERTS = alertsSchema.parse({
  expectTraffic: [{ connector: "lims", days: "mon", from: "07:00", to: "18:00", quietFor: "2h" }],
});
const busy = { ...QUIET, latest: [{ connector: "lims", at: hoursAgo(1), since: undefined }] };
const exceeded = (pace: Partial<Pace>, now = NOW) =>
  exceededPace({ ...busy, ...pace }, ALERTS, now).map(({ kind, about }) => [kind, about]);

test("an order that has been in a stage for longer than its limit is old, and one right at it is not", () => {
  expect(exceeded({ oldest: [{ state: "received", since: hoursAgo(4) }] })).toEqual([]);
  expect(exceeded({ oldest: [{ state: "received", since: hoursAgo(4.1) }] })).toEqual([
    ["ordersOld", "received"],
  ]);
});

test("a share of failures or refusals counts above its limit, and of a few nothing is concluded", () => {
  expect(exceeded({ ended: { wrong: 4, all: 4 } })).toEqual([]);
  expect(exceeded({ ended: { wrong: 1, all: 5 } })).toEqual([]);
  expect(exceeded({ ended: { wrong: 2, all: 5 } })).toEqual([["ordersFailing", ""]]);
  const messages = [
    { connector: "lims", wrong: 3, all: 10 },
    { connector: "bench", wrong: 2, all: 10 },
  ];
  expect(exceeded({ messages })).toEqual([["messagesRefused", "lims"]]);
});

/** Monday 2026-11-23 at a time; further days on, or before. */
const monday = (hour: number, minute = 0, days = 0) => new Date(2026, 10, 23 + days, hour, minute);
const isMissed = (at: Date | undefined, now: Date, since = at) =>
  exceeded({ latest: [{ connector: "lims", at, since }] }, now).length > 0;

test("traffic is missed once its hours since the last message are more than it may be quiet for", () => {
  expect(isMissed(monday(10), monday(12))).toBe(false);
  expect(isMissed(monday(10), monday(12, 1))).toBe(true);
  // Before its hours, and after them, nothing is expected.
  expect(isMissed(monday(3), monday(9))).toBe(false);
  expect(isMissed(monday(3), monday(9, 1))).toBe(true);
  expect(isMissed(monday(16), monday(23))).toBe(false);
});

test("traffic that is missed is missed on after the hours, until a message comes", () => {
  const last = monday(15);
  expect(
    [monday(18), monday(23, 59), monday(3, 0, 1), monday(3, 0, 7)].map((now) => isMissed(last, now)),
  ).toEqual([true, true, true, true]);
  expect(isMissed(monday(3, 0, 1), monday(3, 0, 1))).toBe(false);
});

test("traffic may be quiet for longer than its hours of a day last", () => {
  const last = monday(17, 0, -7);
  // One hour of the week before, one of this Monday.
  expect(isMissed(last, monday(8))).toBe(false);
  expect(isMissed(last, monday(8, 1))).toBe(true);
});

test("where no message ever came, traffic is missed since a daemon works with the connector, and not before", () => {
  expect(isMissed(undefined, monday(9), monday(8))).toBe(false);
  expect(isMissed(undefined, monday(12), monday(8))).toBe(true);
  expect(isMissed(undefined, monday(12), undefined)).toBe(false);
});

test("traffic is missed through connectors that run, since their last message or the first daemon that had them", () =>
  withLab(async ({ pool, take, configFile }) => {
    await take("bench", [csvMessage(1)]);
    await pool.query("update messages set received_at = now() - interval '5 hours'");
    const always = 'from: "00:00", to: "24:00", quietFor: 1s';
    const each = ["bench", "lims"].map((name) => `{ connector: ${name}, ${always} }`);
    const alerts = `alerts: { expectTraffic: [${each.join()}] }`;
    await writeFile(configFile, configText(undefined, alerts));
    const config = loadConfig(configFile, { env: ENV, profileSchema });
    const missed = async (connectors = config.connectors) =>
      (await exceededLimitsOf(pool, { ...config, connectors }, systemClock)()).flatMap(({ kind, about }) =>
        kind === "noTraffic" ? [about] : [],
      );
    expect(await missed()).toEqual(["bench"]);
    // Nothing can come through one that waits for a restart.
    expect(await missed(config.connectors.filter(({ name }) => name !== "bench"))).toEqual([]);
    await registerWorker(pool, {
      name: "lab",
      host: "lab",
      pid: 1,
      version: "1",
      roles: ["intake"],
      connectors: ["lims"],
    });
    await pool.query(
      "update workers set started_at = now() - interval '1 hour', ended_at = now(), ended_as = 'stopped'",
    );
    expect(await missed()).toEqual(["bench", "lims"]);
  }));

test("the ledger, the disks, certificates and declared ends are read as they are", () =>
  withCertificates(({ ca }) =>
    withLab(async ({ folder, pool, take, configFile }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query("update orders set changed_at = now() - interval '5 hours'");
      await pool.query("update messages set received_at = now() - interval '5 hours'");
      const file = `${folder}/ca.pem`;
      await writeFile(file, ca);
      const alerts = `
alerts:
  expiries: [{ name: the old secret, on: 2020-01-31 }, { name: the new one, on: 2199-01-31 }]
  expectTraffic: [{ connector: bench, from: "00:00", to: "24:00", quietFor: 1s }]
`;
      const text = configText(undefined, alerts).replace(
        "http://127.0.0.1:9",
        `https://127.0.0.1:9\n  ca: ${file}`,
      );
      await writeFile(configFile, text);
      const config = loadConfig(configFile, { env: ENV, profileSchema });
      // Every disk is fuller than that.
      const rules = { ...config.alerts.rules, diskFilling: { on: true, afterMs: 0, above: -1 } };
      const site = { ...config, dataDir: folder, alerts: { ...config.alerts, rules } };
      const peers = { list: () => [{ peer: "storage.example", endsAt: new Date(0) }] };
      const ofMachine = machineConditionsOf(site, { host: "lab-server", clock: systemClock, peers });
      const found = [
        ...(await exceededLimitsOf(pool, site, systemClock)()),
        ...(await ofMachine()),
        ...endingSecrets(site, new Date()),
      ];
      expect(found.map(({ kind, text: words }) => `${kind}: ${words}`)).toEqual([
        "ordersOld: the oldest order that is received has been so for longer than 4h",
        expect.stringMatching(
          /^noTraffic: no message came through bench for longer than 1s: the last came at /,
        ),
        expect.stringMatching(/^diskFilling: the disk of \S+ is \d+ % full: \d+ MB are left$/),
        expect.stringMatching(/^certificateExpiring: the certificate \S+ca\.pem ends in 1 day, at /),
        "certificateExpiring: the certificate of storage.example ended, at 1970-01-01 00:00 UTC",
        expect.stringMatching(/^secretExpiring: the old secret ended, at /),
      ]);
      const abouts = found.map(({ about }) => about);
      expect(abouts.slice(2)).toEqual([
        expect.stringMatching(/^\/\S* on lab-server$/),
        `${file} on lab-server`,
        "of storage.example",
        "the old secret",
      ]);
      // Another daemon of the machine may have other folders on that disk.
      const other = { ...site, dataDir: `${folder}/other`, connectors: [], database: { url: undefined } };
      await mkdir(other.dataDir);
      const [disk] = await machineConditionsOf(other, { host: "lab-server", clock: systemClock })();
      expect(disk).toMatchObject({ text: expect.stringContaining(other.dataDir), about: abouts[2] });
    }),
  ));

test("a backup that is older than it may be is named; of a server's own ledger only where an age is set", () =>
  withLab(async ({ pool, configFile }) => {
    const text = (await readFile(configFile, "utf8")).replace(/^database:.*$/m, "");
    const found = async (url: string | undefined, above = "", on = true) => {
      const database = url === undefined ? "" : `database: { url: "${url}" }`;
      const rule = `alerts: { rules: { backupOld: { on: ${on}${above} } } }`;
      await writeFile(configFile, `${text}${database}\n${rule}\n`);
      const config = loadConfig(configFile, { env: ENV, profileSchema });
      const all = await exceededLimitsOf(pool, config, systemClock)();
      return all.flatMap(({ kind, text }) => (kind === "backupOld" ? [text] : []));
    };
    expect(await found(undefined)).toEqual([]);
    await pool.query("update ledger set created_at = now() - interval '2 days'");
    const none = "the ledger has had no backup for longer than 1.5d: none was ever made";
    expect(await found(undefined)).toEqual([none]);
    const written = (ago: string) =>
      pool.query(
        `insert into audit (at, actor, action, target) values (now() - interval '${ago}', 'x', 'backup-written', 'ledger')`,
      );
    await written("37h");
    expect(await found(undefined)).toEqual([
      expect.stringMatching(/^the ledger has had no backup for longer than 1.5d: the last is of 2\d{3}-/),
    ]);
    expect(await found(undefined, "", false)).toEqual([]);
    expect(await found("postgres://x")).toEqual([]);
    expect(await found("postgres://x", ", above: 1h")).toHaveLength(1);
    await written("35h");
    expect(await found(undefined)).toEqual([]);
  }));

test("a disk that does not answer is named, and hides nothing of the others", ({ skip }) =>
  withLab(async ({ folder, configFile }) => {
    const hanging = await hangFolder(`${folder}/share`);
    if (!hanging) return skip("this user may mount nothing");
    try {
      const config = loadConfig(configFile, { env: ENV, profileSchema });
      const rules = { ...config.alerts.rules, diskFilling: { on: true, afterMs: 0, above: -1 } };
      const [first] = config.connectors.filter(isFolderConnector);
      if (!first) throw new Error("no connector has folders");
      const site = {
        ...{ ...config, dataDir: folder, alerts: { ...config.alerts, rules } },
        connectors: [{ ...first, in: folder, out: `${folder}/share/out` }],
      };
      const read = machineConditionsOf(site, { host: "lab-server", clock: impatientClock });
      const silent = `the disk of ${folder}/share/out does not answer`;
      // A busy machine is late for the others too now and then.
      const found = await eventually(async () => {
        const texts = (await read()).map(({ text }) => text);
        return texts.length === 2 && texts.some((text) => text.includes("% full: ")) && texts;
      });
      expect(found).toEqual([expect.stringMatching(/ % full: /), silent]);
    } finally {
      await hanging.end();
    }
  }));
