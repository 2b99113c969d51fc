import { expect, test } from "vitest";
import { alertsSchema } from "../../src/config/alerts-schema.ts";
import { withAbsolutePaths } from "../../src/config/schema-at.ts";
import { ALERT_KINDS } from "../../src/core/condition-kinds.ts";
import { maintenanceUntil } from "../../src/operator/maintenance.ts";

const alertsOf = (given: unknown) =>
  alertsSchema.parse(withAbsolutePaths(alertsSchema, given, "/etc/cryobridge"));
const MAIL = { type: "email", host: "mail.example.org", from: "a@example.org", to: ["b@example.org"] };

test("every kind of alert is on with its own delay, until the configuration says otherwise", () => {
  const usual = Object.entries(alertsOf({}).rules);
  expect(usual.flatMap(([kind, { on }]) => (on ? [kind] : []))).toEqual(ALERT_KINDS);
  const { rules } = alertsOf({ rules: { tasksOpen: { on: false }, resultsNotTaken: { after: "1h" } } });
  expect(rules.tasksOpen.on).toBe(false);
  expect(rules.resultsNotTaken.afterMs).toBe(3_600_000);
  expect(rules.serviceUnreachable.afterMs).toBe(120_000);
});

test("a place is called by its type unless it has a name, and its files start at the configuration's folder", () => {
  const { to } = alertsOf({
    to: [
      { ...MAIL, ca: "ca.pem" },
      { ...MAIL, name: "night" },
    ],
  });
  expect(to).toMatchObject([{ name: "email", ca: "/etc/cryobridge/ca.pem", port: 587 }, { name: "night" }]);
});

test("maintenance holds once or each week, up to its end", () => {
  const alerts = alertsOf({
    maintenance: [
      { start: "2026-12-01T20:00", end: "2026-12-01T23:00" },
      { days: "sun", from: "02:00", to: "04:00" },
    ],
  });
  const until = (text: string) => maintenanceUntil(alerts, new Date(text));
  const once = new Date("2026-12-01T23:00");
  expect(["2026-12-01T20:00", "2026-12-01T22:59", "2026-12-01T23:00"].map(until)).toEqual([
    ...[once, once, undefined],
  ]);
  const sunday = new Date("2026-11-29T04:00");
  expect(["2026-11-29T03:59", "2026-11-29T04:00", "2026-11-30T03:00"].map(until)).toEqual([
    ...[sunday, undefined, undefined],
  ]);
});

test.each([
  { to: [{ ...MAIL, to: ["a@example.org, b@example.org"] }] },
  { to: [{ type: "webhook", url: "ftp://example.org", secret: "invented-key-of-the-hook" }] },
  { to: [{ type: "webhook", url: "https://example.org", secret: "short" }] },
  { to: [{ type: "command", command: [] }] },
  { maintenance: [{ start: "2026-12-01T20:00", end: "2026-12-01T20:00" }] },
  { maintenance: [{ days: "sun", from: "22:00", to: "02:00" }] },
  { expectTraffic: [{ connector: "lims", days: "monday", from: "07:00", to: "18:00", quietFor: "2h" }] },
  { expiries: [{ name: "x", on: "2027-02-30" }] },
])("%j is refused", (given) => {
  expect(alertsSchema.safeParse(given).success).toBe(false);
});
