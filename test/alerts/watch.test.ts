import { expect, test } from "vitest";
import { alertRounds } from "../../src/alerts/watch.ts";
import type { AlertNews } from "../../src/core/alert.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { AlertCondition } from "../../src/core/condition.ts";
import type { AlertKind } from "../../src/core/condition-kinds.ts";
import { never } from "../service/with-client.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

test("an alert whose kind is turned off ends, and nobody is told that it is over", () =>
  withLedger(async ({ pool }) => {
    const sent: string[] = [];
    const hook = {
      name: "hook",
      send: async ({ event, alert }: AlertNews) => {
        sent.push(`${alert.kind} ${event}`);
      },
    };
    const condition = (kind: AlertKind): AlertCondition => ({
      ...{ kind, about: "lims", level: "act", text: "it is so", hint: null },
    });
    let holding = [condition("noTraffic"), condition("tasksOpen")];
    const noTraffic = { on: true, afterMs: 0 };
    const rules = { noTraffic, tasksOpen: { on: true, afterMs: 0 } };
    const round = alertRounds({
      ...{ pool, places: () => [hook], sender: { host: "lab", version: "1" }, clock: systemClock },
      ...{ logger: silent, rules: () => ({ rules, overAfterMs: 0 }), keptMs: 86_400_000 },
      conditions: async () => holding,
      isMaintenance: () => false,
    });
    await round(never);
    expect(sent).toEqual(["noTraffic started", "tasksOpen started"]);
    noTraffic.on = false;
    holding = [condition("noTraffic")];
    await round(never);
    await round(never);
    expect(sent.slice(2)).toEqual(["tasksOpen over"]);
    const { rows } = await pool.query("select over_at from alerts where kind = 'noTraffic'");
    expect(rows).toEqual([{ over_at: expect.any(Date) }]);
  }));
