import { expect, test } from "vitest";
import {
  findPath,
  hasPath,
  LISTS,
  locationSurface,
  PATHS,
  RECORDS,
  surfaceAt,
} from "../../src/core/service-catalogue.ts";
import { openApiDocument } from "../../src/simulator/description.ts";

interface Operation {
  readonly parameters?: readonly { readonly name: string }[];
}

const { paths } = openApiDocument() as {
  readonly paths: Readonly<Record<string, { readonly get?: Operation }>>;
};

test("the catalogue and the simulator's description have the same paths", () => {
  const known = [...Object.values(LISTS).map(({ path }) => path), ...Object.values(RECORDS)];
  const described = Object.keys(paths).filter((path) => path.startsWith("/api/"));
  expect(known.sort()).toEqual(described.sort());
});

test("each filter of the catalogue is in the simulator's description of its list", () => {
  for (const { path, filters } of Object.values(LISTS)) {
    const described = paths[path]?.get?.parameters?.map(({ name }) => name);
    expect(described).toEqual(expect.arrayContaining([...filters]));
  }
});

test("what lies below a path moves with it, unless it has a path of its own", () => {
  const given = { containers: "/v2/vials", storage: "/v2/tanks", inventory: "/v2/content/{id}" };
  expect(findPath(given, LISTS.containers.path)).toBe("/v2/vials");
  expect(findPath(given, RECORDS.location)).toBe("/v2/vials/{id}/location");
  expect(findPath(given, RECORDS.inventory)).toBe("/v2/content/{id}");
  expect(findPath(given, RECORDS.procedure)).toBe(RECORDS.procedure);
});

test("what lies below a path that is none is not there either, unless it has a path of its own", () => {
  expect(hasPath({ containers: "none" }, "locations")).toBe(false);
  expect(hasPath({ containers: "none", locations: "/v2/places/{id}" }, "locations")).toBe(true);
  expect(findPath({ procedureRequests: "none" }, RECORDS.request)).toBeUndefined();
});

test("a path that only begins like another one stays", () => {
  expect(findPath({ procedures: "/v2/procedures" }, PATHS.procedureRequests)).toBe(PATHS.procedureRequests);
});

test("calls of the external surface and those below its base take its credentials", () => {
  expect(surfaceAt({}, LISTS.subjects.path)).toBe("request");
  expect(surfaceAt({ subjects: "/api/v1/external/subjects" }, RECORDS.subject)).toBe("external");
  expect(surfaceAt({ externalProcedures: "/v2/procedures" }, LISTS.externalProcedures.path)).toBe("external");
});

test("locations are asked by ids of the external surface where that is the only one to list containers", () => {
  const external = LISTS.externalContainers.path;
  expect(locationSurface({})).toBe("request");
  expect(locationSurface({ containers: external })).toBe("external");
  expect(locationSurface({ containers: "none" })).toBe("external");
  expect(locationSurface({ locations: `${external}/{id}/location` })).toBe("external");
});
