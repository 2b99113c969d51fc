import { describe, expect, it } from "vitest";
import { ConfigFolder, MINIMAL } from "./config-file.ts";

const BENCH = `${MINIMAL}  - { name: bench, type: csv-drop, directory: ./bench }\n`;

describe("the section refills", () => {
  it("is off when it is absent", () => {
    using folder = new ConfigFolder();
    expect(folder.load(MINIMAL).refills).toBeUndefined();
  });

  it("reads every 10 minutes, tells nobody and alerts never, unless it says more", () => {
    using folder = new ConfigFolder();
    expect(folder.load(`${MINIMAL}refills: { facilities: [NORTH] }\n`).refills).toEqual({
      facilities: ["NORTH"],
      everyMs: 600_000,
      tellConnector: undefined,
      statuses: ["COMPLETED", "CANCELLED", "FAILED"],
      alertAfterMs: undefined,
      limitByTank: new Map(),
    });
  });

  it("says who is told of what, and when tanks alert", () => {
    using folder = new ConfigFolder();
    const text = `${BENCH}refills:
  facilities: [NORTH]
  every: 1m
  tell: { connector: bench, format: csv }
  statuses: [COMPLETED, FAILED]
  alertAfter: 14d
  tanks: { "Tank 4": 30d, "Tank 5": off }
`;
    expect(folder.load(text).refills).toEqual({
      facilities: ["NORTH"],
      everyMs: 60_000,
      tellConnector: "bench",
      statuses: ["COMPLETED", "FAILED"],
      alertAfterMs: 14 * 86_400_000,
      limitByTank: new Map<string, number | "off">([
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
        "8:1 refills.facilities: missing; expected the facilities whose refills are followed, by their names in the section facilities",
      ],
    ],
    [
      "an empty list",
      "{ facilities: [] }",
      ["8:24 refills.facilities: expected at least one facility, by its name in the section facilities"],
    ],
    [
      "a facility that there is none",
      "{ facilities: [NROTH] }",
      ['8:25 refills.facilities[0]: unknown facility "NROTH"; did you mean "NORTH"?'],
    ],
    [
      "a facility twice",
      "{ facilities: [NORTH, NORTH] }",
      ['8:32 refills.facilities[1]: "NORTH" is named twice'],
    ],
    [
      "a connector that there is none",
      "{ facilities: [NORTH], tell: { connector: ward } }",
      ['8:52 refills.tell.connector: unknown connector "ward"; there are: lims, bench'],
    ],
    [
      "a format that the connector doesn't carry",
      "{ facilities: [NORTH], tell: { connector: bench, format: hl7 } }",
      [
        "8:67 refills.tell.format: connector bench is of type csv-drop, which carries csv; expected csv, or no format at all",
      ],
    ],
    [
      "a status of another word",
      "{ facilities: [NORTH], statuses: [DONE] }",
      [
        '8:44 refills.statuses[0]: expected one of PENDING, CREATED, IN_PROGRESS, COMPLETED, CANCELLED, FAILED; got the text "DONE"',
      ],
    ],
    [
      "an age that is none",
      "{ facilities: [NORTH], tanks: { T: never } }",
      ["8:45 refills.tanks.T: expected a duration such as 30d, at least 1s, or off"],
    ],
  ])("with %s is refused in words", (_words, section, told) => {
    using folder = new ConfigFolder();
    expect(folder.told(`${BENCH}refills: ${section}\n`)).toEqual(told);
  });
});
