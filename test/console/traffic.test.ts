import { describe, expect, it } from "vitest";
import { listConnectors, type Traffic } from "../../src/console/traffic.ts";
import { systemClock } from "../../src/core/clock.ts";
import { cellText, recordJson } from "../../src/operator/column.ts";
import { CONNECTOR_COLUMNS } from "../../src/operator/connector-columns.ts";

const VIEWER = { clock: systemClock, mayShowPhi: false };
const CONNECTOR = {
  ...{ connector: "bench", type: "csv-drop", isTaking: true, isLabAway: false, labOutage: null },
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
