import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/simulator/description.ts";
import { withSimulator } from "../simulator/with-simulator.ts";

interface Described {
  readonly get?: {
    readonly parameters?: readonly {
      readonly in: string;
      readonly name: string;
      readonly schema: { readonly type?: string; readonly enum?: readonly string[] };
    }[];
  };
}

const paths = openApiDocument().paths as Readonly<Record<string, Described>>;
const queryOf = (path: string) =>
  (paths[path]?.get?.parameters ?? []).filter((each) => each.in === "query").map(({ name }) => name);

describe("the OpenAPI description of the simulator", () => {
  test("is valid OpenAPI 3.1", async () => {
    expect(await new Validator().validate(openApiDocument())).toEqual({ valid: true });
  });

  test("is refused by the validator when a response loses its description", async () => {
    const document = JSON.parse(JSON.stringify(openApiDocument()));
    delete document.paths["/api/subjects"].get.responses[200].description;
    expect((await new Validator().validate(document)).valid).toBe(false);
  });

  test("names every endpoint of the specification, with its query parameters", () => {
    const named = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(named.sort()).toEqual(
      [
        "POST /oauth/token",
        "POST /api/subjects",
        "GET /api/subjects",
        "GET /api/subjects/{id}",
        "POST /api/procedure-requests",
        "GET /api/procedure-requests",
        "GET /api/procedure-requests/{id}",
        "GET /api/procedures",
        "GET /api/procedures/{id}",
        "GET /api/sample-containers",
        "GET /api/sample-containers/{id}/location",
        "GET /api/storage",
        "GET /api/storage/{id}/inventory",
        "POST /api/v1/external/procedures",
        "GET /api/v1/external/procedures",
        "GET /api/v1/external/procedures/{id}",
        "GET /api/v1/external/sample-containers",
      ].sort(),
    );
    expect(queryOf("/api/procedure-requests")).toEqual(
      expect.arrayContaining(["page", "perPage", "status", "createdAt_from", "id_to", "subjectCode_like"]),
    );
    expect(queryOf("/api/procedures")).toContain("facilityId");
    expect(queryOf("/api/sample-containers")).toContain("subjectCode");
    expect(queryOf("/api/storage")).toContain("facilityId");
    expect(queryOf("/api/v1/external/procedures")).toEqual(expect.arrayContaining(["facilityId", "type"]));
    expect(queryOf("/api/v1/external/sample-containers")).toContain("subjectCode");
  });

  test("describes no query parameter that a service which refuses unknown ones doesn't take", () =>
    withSimulator({ behaviour: { unknownFilters: "refuse" } }, async ({ ask }) => {
      const queries = Object.entries(paths).flatMap(([path, { get }]) =>
        (get?.parameters ?? [])
          .filter((each) => each.in === "query")
          .map(({ name, schema }) => {
            const value = schema.type === "integer" ? "1" : (schema.enum?.[0] ?? "2026-03-01");
            return `${path}?${name}=${encodeURIComponent(value)}`;
          }),
      );
      expect(queries.length).toBeGreaterThan(150);
      const refused: string[] = [];
      for (const query of queries) if ((await ask(query)).status !== 200) refused.push(query);
      expect(refused).toEqual([]);
    }));

  test("is given by the simulator without a credential, and counts in no tally", () =>
    withSimulator({}, async ({ ask, simulator }) => {
      expect((await ask("/openapi.json", { token: null })).json).toEqual(openApiDocument());
      expect(simulator.tally().received).toBe(0);
    }));
});
