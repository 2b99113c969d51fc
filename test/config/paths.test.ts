import { describe, expect, it } from "vitest";
import { serviceSettings } from "../../src/app/service.ts";
import { CONNECTORS, ConfigFolder, FACILITIES, MINIMAL, SERVICE } from "./config-file.ts";

const withLines = (lines: readonly string[], facilities = FACILITIES) =>
  `${SERVICE}${lines.map((line) => `  ${line}\n`).join("")}${facilities}${CONNECTORS}`;

describe("service.paths", () => {
  it("is empty unless the site says otherwise", () => {
    using folder = new ConfigFolder();
    expect(folder.load(MINIMAL).service.paths).toEqual({});
  });

  it("reaches the client as it is written", () => {
    using folder = new ConfigFolder();
    const paths = {
      subjects: "/api/v1/external/subjects",
      locations: "/v2/containers/{id}/place",
      inventory: "none",
    };
    const config = folder.load(withLines([`paths: ${JSON.stringify(paths)}`]));
    expect(serviceSettings(config).paths).toEqual(paths);
  });

  it.each([
    ["subjects: api/subjects", "service.paths.subjects: expected a path that begins with /"],
    [
      "subjects: /api/subjects/",
      "service.paths.subjects: expected a path that begins with /, ends without one",
    ],
    ['subjects: "/api/subjects/{id}"', "service.paths.subjects: expected a path that begins with /"],
    ["locations: /api/locations", "service.paths.locations: expected a path"],
    ["requests: none", 'service.paths.requests: unknown key "requests"'],
  ])("refuses %s", (line, message) => {
    using folder = new ConfigFolder();
    expect(() => folder.load(withLines([`paths: { ${line} }`]))).toThrow(message);
  });

  it.each([
    ["procedureRequests", "NORTH, SOUTH go by the request surface, which needs it"],
    ["procedures", "NORTH, SOUTH go by the request surface, which needs it"],
    ["containers", "NORTH, SOUTH go by the request surface, which needs it"],
    ["subjects", "the subjects of orders of NORTH, SOUTH are looked up"],
  ])("refuses that %s is none where orders need it", (name, message) => {
    using folder = new ConfigFolder();
    const facilities = "facilities: { NORTH: 12, SOUTH: 13 }\n";
    const load = () => folder.load(withLines([`paths: { ${name}: none }`], facilities));
    expect(load).toThrow(new RegExp(`service\\.paths\\.${name}: none, and .*${message}`));
  });

  it("refuses that an external list is none for the one facility that goes by the external surface", () => {
    using folder = new ConfigFolder();
    const facilities = "facilities: { NORTH: 12, SOUTH: { id: 13, surface: external } }\n";
    const load = () => folder.load(withLines(["paths: { externalProcedures: none }"], facilities));
    expect(load).toThrow(/the orders of SOUTH go by the external surface/);
  });

  it("refuses locations by ids of the external surface for orders of the request surface, unless both have one list", () => {
    using folder = new ConfigFolder();
    const locations = 'locations: "/api/v1/external/sample-containers/{id}/location"';
    expect(() => folder.load(withLines([`paths: { ${locations} }`]))).toThrow(
      /service\.paths\.locations: lies below the external surface, and the orders of .* know containers by ids of the request surface/,
    );
    const shared = "containers: /api/v1/external/sample-containers";
    folder.load(withLines([`paths: { ${locations}, ${shared} }`]));
    folder.load(withLines(["surface: external", `paths: { ${locations} }`]));
  });

  it("takes none for what no order needs", () => {
    using folder = new ConfigFolder();
    const lines = [
      "surface: external",
      "subjects: none",
      "paths: { subjects: none, procedureRequests: none, procedures: none, containers: none, locations: none, storage: none }",
    ];
    expect(folder.load(withLines(lines)).service.paths.locations).toBe("none");
  });
});
