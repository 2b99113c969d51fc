import { describe, expect, it } from "vitest";
import { ConfigFolder, MINIMAL } from "./config-file.ts";

describe("the section refills", () => {
  it("is off when it is absent", () => {
    using folder = new ConfigFolder();
    expect(folder.load(MINIMAL).refills).toBeUndefined();
  });

  it("reads every 10 minutes and alerts never, unless it says more", () => {
    using folder = new ConfigFolder();
    expect(folder.load(`${MINIMAL}refills: { facilities: [NORTH] }\n`).refills).toEqual({
      facilities: ["NORTH"],
      everyMs: 600_000,
      alertAfterMs: undefined,
      tanks: new Map(),
    });
  });

  it("says how often to read, and when tanks alert", () => {
    using folder = new ConfigFolder();
    const text = `${MINIMAL}refills:
  facilities: [NORTH]
  every: 1m
  alertAfter: 14d
  tanks: { "Tank 4": 30d, "Tank 5": off }
`;
    expect(folder.load(text).refills).toEqual({
      facilities: ["NORTH"],
      everyMs: 60_000,
      alertAfterMs: 14 * 86_400_000,
      tanks: new Map<string, number | "off">([
        ["Tank 4", 30 * 86_400_000],
        ["Tank 5", "off"],
      ]),
    });
  });

  it.each<[string, string, string[]]>([
    [
      "no facility",
      "{ every: 5m }",
      [
        "7:1 refills.facilities: missing; expected the facilities whose refills are followed, by their names in the section facilities",
      ],
    ],
    [
      "an empty list",
      "{ facilities: [] }",
      ["7:24 refills.facilities: expected at least one facility, by its name in the section facilities"],
    ],
    [
      "a facility that there is none",
      "{ facilities: [NROTH] }",
      ['7:25 refills.facilities[0]: unknown facility "NROTH"; did you mean "NORTH"?'],
    ],
    [
      "a facility twice",
      "{ facilities: [NORTH, NORTH] }",
      ['7:32 refills.facilities[1]: "NORTH" is named twice'],
    ],
    [
      "a connector to which nothing is sent any more",
      "{ facilities: [NORTH], tell: { connector: lims } }",
      ['7:33 refills.tell: unknown key "tell"; known here: facilities, every, alertAfter, tanks'],
    ],
    [
      "an age that is none",
      "{ facilities: [NORTH], tanks: { T: never } }",
      ["7:45 refills.tanks.T: expected a duration such as 30d, at least 1s, or off"],
    ],
  ])("with %s is refused in words", (_words, section, mistakes) => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(`${MINIMAL}refills: ${section}\n`)).toEqual(mistakes);
  });
});
