import { describe, expect, it } from "vitest";
import { wayOfFacility } from "../../src/config/config.ts";
import { CONNECTORS, ConfigFolder, MINIMAL, SERVICE } from "./config-file.ts";

const withFacilities = (facilities: string, service = "") =>
  `${SERVICE}${service}facilities: ${facilities}\n${CONNECTORS}`;

describe("the surface of the service", () => {
  it("is the request surface, with subjects registered, unless said otherwise", () => {
    using folder = new ConfigFolder();
    const config = folder.load(MINIMAL);
    expect(wayOfFacility(config, 12)).toEqual({ surface: "request", subjects: "register" });
    expect(config.service.externalAuth).toBeUndefined();
  });

  it("is changed by one key for every facility, also for one that is no longer configured", () => {
    using folder = new ConfigFolder();
    const config = folder.load(MINIMAL.replace("  auth:", "  surface: external\n  auth:"));
    expect(wayOfFacility(config, 12).surface).toBe("external");
    expect(wayOfFacility(config, 99).surface).toBe("external");
  });

  it("may be another for a facility, so that both are served", () => {
    using folder = new ConfigFolder();
    const config = folder.load(
      withFacilities("{ NORTH: 12, SOUTH: { id: 13, surface: external, subjects: look } }"),
    );
    expect([...config.facilityIdByCode]).toEqual([
      ["NORTH", 12],
      ["SOUTH", 13],
    ]);
    expect(wayOfFacility(config, 12)).toEqual({ surface: "request", subjects: "register" });
    expect(wayOfFacility(config, 13)).toEqual({ surface: "external", subjects: "look" });
  });

  it("must be the same for two names of one facility", () => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(withFacilities("{ NORTH: 12, NORD: { id: 12, surface: external } }"))).toEqual([
      "4:32 facilities.NORD: is the facility 12 like NORTH, which has surface request and not external; one facility goes by one way",
    ]);
    expect(folder.load(withFacilities("{ NORTH: 12, NORD: { id: 12, surface: request } }")).warnings).toEqual(
      [],
    );
  });

  it.each([
    ["{ NORTH: { surface: external } }", /facilities\.NORTH\.id: missing; expected the service's id/],
    ["{ NORTH: { id: 12, surfase: external } }", /unknown key "surfase"; did you mean "surface"\?/],
    [
      "{ NORTH: { id: 12, surface: extern } }",
      /facilities\.NORTH\.surface: expected one of request, external/,
    ],
    ["{ NORTH: { id: zwölf } }", /facilities\.NORTH\.id: expected the service's id of the facility/],
    ["{ NORTH: twelve }", /facilities\.NORTH: expected the service's id of the facility/],
  ])("is refused with words where a facility reads %s", (facilities, words) => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(withFacilities(facilities)).join("\n")).toMatch(words);
  });

  it("may have credentials of its own, which are as secret as the others", () => {
    using folder = new ConfigFolder();
    const config = folder.load(
      withFacilities("{ NORTH: 12 }", "  externalAuth: { apiToken: another-token }\n"),
    );
    expect(config.service.externalAuth).toHaveProperty("apiToken");
    expect(JSON.stringify(config)).not.toContain("another-token");
    expect(config.warnings.map(({ path }) => path)).toEqual(["service.externalAuth.apiToken"]);
  });

  it("sends no credentials of its own over http:// to another machine", () => {
    using folder = new ConfigFolder();
    const auth = "{ tokenUrl: http://id.example.org/t, clientId: c, clientSecret: s }";
    expect(folder.mistakes(withFacilities("{ NORTH: 12 }", `  externalAuth: ${auth}\n`))[0]).toMatch(
      /service\.externalAuth\.tokenUrl: http:\/\/ would send credentials/,
    );
  });

  it("is warned of where subjects are not looked at, since nobody then notices the wrong patient", () => {
    using folder = new ConfigFolder();
    const config = folder.load(
      withFacilities("{ NORTH: 12, SOUTH: { id: 13, subjects: none } }", "  subjects: none\n"),
    );
    expect(config.warnings.map(({ path }) => path)).toEqual([
      "service.subjects",
      "facilities.SOUTH.subjects",
    ]);
    expect(config.warnings[0]?.message).toContain("another name or birth date");
  });
});
