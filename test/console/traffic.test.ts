import { describe, expect, it, test } from "vitest";
import { listConnectors, type Traffic, watchTraffic } from "../../src/console/traffic.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { findTakers } from "../../src/ledger/operator/activity.ts";
import { cellText, recordJson } from "../../src/operator/column.ts";
import { CONNECTOR_COLUMNS } from "../../src/operator/connector-columns.ts";
import { csvMessage, withLab } from "../cli/with-lab.ts";
import { silent } from "../support/with-ledger.ts";

const VIEWER = { clock: systemClock, mayShowPhi: false };
const CONNECTOR = {
  ...{ connector: "bench", type: "csv-drop", isTaking: true, isLabAway: false, labOutage: null },
  hasTakenResults: true,
  ...{ trouble: null, warning: null, connections: null },
};
const QUIET = {
  from: new Date(),
  slotMs: 1,
  received: [],
  completed: [],
  inTrouble: [],
  byConnector: new Map(),
};

/** What is shown of a connector, by the titles of the columns, and what programs are given. */
function shown(traffic: Traffic, untakenFiles: [] | null) {
  const [row] = listConnectors({ connectors: [CONNECTOR], untakenFiles }, traffic);
  if (row === undefined) throw new RangeError("there is no connector");
  const titles = ["last message", "received", "refused", "sent", "last hour", "files not taken"];
  const columns = titles.flatMap((title) => CONNECTOR_COLUMNS.find((column) => column.title === title) ?? []);
  return {
    cells: columns.map((column) => cellText(column, row, VIEWER)),
    json: Object.values(recordJson(columns, row, VIEWER)),
  };
}

describe("what went through a connector", () => {
  it("is 0 and none where nothing did", () => {
    const traffic = { hour: QUIET, day: QUIET, lastMessages: new Map<string, Date>() };
    const { cells, json } = shown(traffic, []);
    expect(cells).toEqual(["none yet", "0", "0", "0", "0", "0"]);
    expect(json).toEqual([null, 0, 0, 0, 0, 0]);
  });

  it("is empty, and null for programs, while it is not known", () => {
    const { cells, json } = shown({ hour: undefined, day: undefined, lastMessages: undefined }, null);
    expect(cells).toEqual(["", "", "", "", "", ""]);
    expect(json).toEqual([null, null, null, null, null, null]);
  });
});

it("the counts of the day are never behind those of the last hour", () =>
  withLab(async ({ pool, take }) => {
    let passedMs = 0;
    const clock: Clock = { ...systemClock, monotonic: () => passedMs };
    const readTraffic = watchTraffic(
      { logger: silent, clock },
      { pool, config: { connectors: [{ name: "bench" }] as never } },
    );
    for (const [number, counted, ms] of [
      [1, 1, 14_000],
      [2, 1, 1_000],
      [3, 3, 0],
    ] as const) {
      await take("bench", [csvMessage(number)]);
      const { hour, day } = await readTraffic();
      const sums = [hour, day].map((each) => each?.received.reduce((all, one) => all + one, 0));
      expect(sums).toEqual([counted, counted]);
      expect(day?.received).toHaveLength(24);
      expect(day?.byConnector.get("bench")).toEqual(hour?.byConnector.get("bench"));
      passedMs += ms;
    }
  }));

test.each([
  [{ isLabAway: true, hasTakenResults: true }, "✗ takes no results, is tried again"],
  [{ isLabAway: false, hasTakenResults: true }, "✓ takes results"],
  [{ isLabAway: false, hasTakenResults: false }, "no result taken yet"],
  [{ isLabAway: false, hasTakenResults: null }, ""],
])("of a lab is said what is known: %j", (known, words) => {
  const [row] = listConnectors(
    { connectors: [{ ...CONNECTOR, ...known }], untakenFiles: [] },
    { hour: QUIET, day: QUIET, lastMessages: new Map() },
  );
  const column = CONNECTOR_COLUMNS.find(({ title }) => title === "lab");
  expect(row && column && cellText(column, row, VIEWER)).toBe(words);
});

test("a lab has taken results once one is delivered, not while one waits", () =>
  withLab(async ({ pool }) => {
    const takers = async () => [...(await findTakers(pool, ["bench", "ward"]))];
    await pool.query("insert into deliveries (connector, file_name) values ('bench', 'a'), ('ward', 'b')");
    expect(await takers()).toEqual([]);
    await pool.query(
      "update deliveries set state = 'delivered', delivered_at = now() where connector = 'ward'",
    );
    expect(await takers()).toEqual(["ward"]);
  }));
