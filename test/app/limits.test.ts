import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { exceededPace, limitsOf } from "../../src/app/limits.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Pace } from "../../src/ledger/operator/pace.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { configText, csvMessage, ENV, withLab } from "../cli/with-lab.ts";
import { withCertificates } from "../connectors/mllp/with-certificates.ts";

const NOW = new Date(2026, 10, 23, 12);
const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000);
const QUIET: Pace = { oldest: [], ended: { wrong: 0, all: 0 }, messages: [], latest: [] };
const ALERTS = {
  limits: {
    oldMsByState: {
      ...{ received: 4 * 3_600_000, queued: 1, submitting: 1 },
      ...{ submitted: 1, accepted: 1, in_progress: 1 },
    },
    failing: { percent: 20, atLeast: 5 },
    refused: { percent: 20, atLeast: 5 },
    ...{ diskPercent: 90, certificateMs: 1, secretMs: 1 },
  },
  expectTraffic: [
    { connector: "lims", days: new Set([1]), fromMinute: 420, toMinute: 1_080, quietForMs: 7_200_000 },
  ],
};
const busy = { ...QUIET, latest: [{ connector: "lims", at: hoursAgo(1) }] };
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

test("traffic is missed within its hours alone, counted from their beginning", () => {
  const none = { latest: [] };
  expect(exceeded(none)).toEqual([["noTraffic", "lims"]]);
  expect(exceeded(none, new Date(2026, 10, 23, 9))).toEqual([]);
  expect(exceeded(none, new Date(2026, 10, 23, 9, 1))).toEqual([["noTraffic", "lims"]]);
  expect(exceeded(none, new Date(2026, 10, 24, 12))).toEqual([]);
  expect(exceeded({ latest: [{ connector: "lims", at: hoursAgo(3) }] })).toEqual([["noTraffic", "lims"]]);
});

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
      const limits = { ...config.alerts.limits, diskPercent: -1 };
      const site = { ...config, dataDir: folder, alerts: { ...config.alerts, limits } };
      const found = await limitsOf(pool, site, systemClock)();
      expect(found.map(({ kind, text: words }) => `${kind}: ${words}`)).toEqual([
        "ordersOld: the oldest order that is received has been so for longer than 4h",
        expect.stringMatching(
          /^noTraffic: no message came through bench for longer than 1s: the last came at /,
        ),
        expect.stringMatching(/^diskFilling: the disk of \S+ is \d+ % full: \d+ MB are left$/),
        expect.stringMatching(/^certificateExpiring: the certificate \S+ca\.pem ends in 1 day, at /),
        expect.stringMatching(/^secretExpiring: the old secret ended, at /),
      ]);
    }),
  ));
