import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { AS_IT_WAS, changesOf, takeOver } from "../../src/config/take-over.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { siteConfig } from "../support/with-daemon.ts";
import { withFolder } from "../support/with-folder.ts";

type Sections = Readonly<Record<string, unknown>>;

/** Two readings of one file, which has other sections the second time. */
async function readTwice(
  before: Sections,
  after: Sections,
  test: (first: Config, second: Config) => void,
): Promise<void> {
  await withFolder(async (folder) => {
    const file = join(folder, "cryobridge.yaml");
    const read = async (sections: Sections) => {
      const whole = { ...siteConfig(folder, "http://127.0.0.1:1", "postgres://127.0.0.1/x"), ...sections };
      await writeFile(file, stringify(whole), { mode: 0o600 });
      return loadConfig(file, { env: {}, profileSchema });
    };
    test(await read(before), await read(after));
  });
}

test("a file that only looks different has no changes", () =>
  readTwice(
    { facilities: { NORTH: 12, SOUTH: 13 }, retention: { messages: "90d" } },
    { facilities: { SOUTH: 13, NORTH: 12 }, retention: { messages: "2160h" } },
    (first, second) => expect(changesOf(first, second)).toEqual({ live: [], restart: [] }),
  ));

test("changes are named by the keys of the file, without their values, and apart by what takes them over", () =>
  readTwice(
    { profiles: { lab: { extends: "builtin/hl7-orders" } } },
    {
      facilities: { NORTH: 12, SOUTH: 14, WEST: 15 },
      mapping: { unknownCodes: "refuse" },
      lanes: { parkedBlocks: true },
      console: { port: 0, token: "a token of sixteen" },
      profiles: { lab: { extends: "builtin/hl7-orders", results: { suffix: ".txt" } } },
      alerts: { to: [{ type: "log" }] },
    },
    (first, second) =>
      expect(changesOf(first, second)).toEqual({
        live: [
          "facilities.SOUTH",
          "facilities.WEST",
          "profiles.lab.results",
          "alerts.to",
          "mapping.unknownCodes",
        ],
        restart: ["console.token", "lanes.parkedBlocks"],
      }),
  ));

test("names that people gave stand in changes as they gave them, whatever they end in", () =>
  readTwice(
    { facilities: { M: 8, MMs: 7 } },
    { facilities: { M: 9, MMs: { id: 7, surface: "external" } }, retention: { messages: "91d" } },
    (first, second) =>
      expect(changesOf(first, second)).toEqual({
        live: ["facilities.M"],
        restart: ["facilities.MMs", "retention.messages"],
      }),
  ));

test("a profile that a connector keeps until the restart is no change of the file", () =>
  readTwice({}, {}, (first, second) => {
    const connectors = first.connectors.map((each) => ({ ...each, profile: `${each.profile}${AS_IT_WAS}` }));
    expect(changesOf({ ...first, connectors }, second)).toEqual({ live: [], restart: [] });
  }));

test("a credential that is another one is a change, though neither of them can be seen", () =>
  readTwice(
    { console: { port: 0, token: "a token of sixteen" } },
    { console: { port: 0, token: "another of sixteen" } },
    (first, second) => expect(changesOf(first, second).restart).toEqual(["console.token"]),
  ));

test("what is taken over leaves the rest as it was, and is no change any more", () =>
  readTwice(
    {},
    { facilities: { NORTH: 21, SOUTH: 13 }, lanes: { parkedBlocks: true }, service: SERVICE },
    (first, second) => {
      const next = takeOver(first, second);
      expect([...next.facilityIdByCode]).toEqual([
        ["NORTH", 21],
        ["SOUTH", 13],
      ]);
      // A facility without a surface of its own goes by the one that the daemon was started with.
      expect(next.facilityWayById.get(21)?.surface).toBe("request");
      expect(next.lanes.parkedBlocks).toBe(false);
      const left = changesOf(next, second);
      expect(left.live).toEqual([]);
      expect(left.restart).toContain("lanes.parkedBlocks");
      expect(left.restart).toContain("service.surface");
    },
  ));

const SERVICE = {
  baseUrl: "http://127.0.0.1:2",
  surface: "external",
  auth: { apiToken: "sixteen letters!" },
};

test("the way of a facility that has orders stays until a restart, and so does a way that a changed service brings", () =>
  readTwice(
    {},
    {
      facilities: {
        NORTH: { id: 12, surface: "external" },
        SOUTH: 13,
        WEST: { id: 14, surface: "external" },
      },
    },
    (first, second) => {
      const next = takeOver(first, second);
      expect(next.facilityWayById.get(12)?.surface).toBe("request");
      // A facility that is new has no orders that went another way.
      expect(next.facilityWayById.get(14)?.surface).toBe("external");
      expect(changesOf(first, second)).toEqual({ live: ["facilities.WEST"], restart: ["facilities.NORTH"] });
    },
  ).then(() =>
    readTwice(
      {},
      { facilities: { NORTH: 12, SOUTH: 13, WEST: { id: 14, surface: "external" } }, service: SERVICE },
      (first, second) => {
        expect(takeOver(first, second).facilityIdByCode.has("WEST")).toBe(false);
        expect(changesOf(first, second).restart).toContain("facilities.WEST");
      },
    ),
  ));

test("the way of a facility that the file has no more, or by another name, stays until a restart, since its orders may be in hand", () => {
  const before = { facilities: { NORTH: 12, EAST: { id: 7, surface: "external" } } };
  const wayOf = (config: Config) => config.facilityWayById.get(7)?.surface;
  return readTwice(before, { facilities: { NORTH: 12 } }, (first, second) => {
    const next = takeOver(first, second);
    expect([...next.facilityIdByCode.keys()]).toEqual(["NORTH"]);
    expect(wayOf(next)).toBe("external");
    // Nor does another reload bring it back by the other way.
    expect(wayOf(takeOver(next, { ...second, facilities: { NORTH: 12, EAST: 7 } }))).toBe("external");
  }).then(() =>
    readTwice(before, { facilities: { NORTH: 12, OST: 7 } }, (first, second) => {
      const next = takeOver(first, second);
      expect([...next.facilityIdByCode]).toEqual([
        ["EAST", 7],
        ["NORTH", 12],
      ]);
      expect(wayOf(next)).toBe("external");
      expect(changesOf(first, second)).toEqual({ live: [], restart: ["facilities.EAST", "facilities.OST"] });
    }),
  );
});

test("a facility whose refills are followed stays until a restart, since they are read by what it was", () =>
  readTwice(
    { refills: { facilities: ["NORTH"] } },
    { refills: { facilities: ["NORTH"] }, facilities: { NORTH: 22, SOUTH: 13 } },
    (first, second) => {
      expect(takeOver(first, second).facilityIdByCode.get("NORTH")).toBe(12);
      expect(changesOf(first, second)).toEqual({ live: [], restart: ["facilities.NORTH"] });
    },
  ));

test("a secret of the service that was replaced waits for nothing: it is read again when it is needed", () =>
  readTwice(
    { service: { ...SERVICE, auth: { apiToken: "a first of sixteen" } } },
    { service: { ...SERVICE, auth: { apiToken: "another of sixteen" } } },
    (first, second) => expect(changesOf(first, second)).toEqual({ live: [], restart: [] }),
  ));
