import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import type { Schema } from "../../src/simulator/openapi/answer-schemas.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { type Bench, withSimulator } from "../simulator/with-simulator.ts";
import { OTHER_SERVICES } from "./openapi-services.ts";

const read = async ({ ask }: Bench) => (await ask("/openapi.json", { token: null })).json;

interface Described {
  readonly get?: {
    readonly parameters?: readonly { readonly in: string; readonly name: string; readonly schema: Schema }[];
  };
}

function valueFor({ type, enum: words }: Schema): string {
  return type === "integer"
    ? "1"
    : encodeURIComponent(String((words as string[] | undefined)?.[0] ?? "2026-03-01"));
}

describe("the OpenAPI description of the simulator", () => {
  test.each(Object.entries(OTHER_SERVICES))(
    "is valid OpenAPI 3.1 for a service that is %s",
    (_name, options) =>
      withSimulator(options, async (bench) => {
        const result = await new Validator().validate(await read(bench));
        expect(result).toEqual({ valid: true });
      }),
  );

  test("is refused by the validator when a response loses its description", () =>
    withSimulator({}, async (bench) => {
      const document = await read(bench);
      delete document.paths["/api/subjects"].get.responses[200].description;
      expect((await new Validator().validate(document)).valid).toBe(false);
    }));

  test("names every endpoint of the specification, with its query parameters", () =>
    withSimulator({}, async (bench) => {
      const { paths } = await read(bench);
      const named = Object.entries<Record<string, unknown>>(paths).flatMap(([path, item]) =>
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
      const query = (path: string) =>
        paths[path].get.parameters.map(({ name }: { name: string }) => name) as string[];
      expect(query("/api/procedure-requests")).toEqual(
        expect.arrayContaining(["page", "perPage", "status", "createdAt_from", "id_to", "subjectCode_like"]),
      );
      expect(query("/api/procedures")).toContain("facilityId");
      expect(query("/api/sample-containers")).toContain("subjectCode");
      expect(query("/api/storage")).toContain("facilityId");
      expect(query("/api/v1/external/procedures")).toEqual(expect.arrayContaining(["facilityId", "type"]));
      expect(query("/api/v1/external/sample-containers")).toContain("subjectCode");
    }));

  test("describes no query parameter that a service which refuses unknown ones doesn't take", () =>
    withSimulator({ behaviour: { unknownFilters: "refuse" } }, async (bench) => {
      const { paths } = await read(bench);
      const queries = Object.entries<Described>(paths).flatMap(([path, { get }]) =>
        (get?.parameters ?? [])
          .filter((each) => each.in === "query")
          .map(({ name, schema }) => `${path}?${name}=${valueFor(schema)}`),
      );
      expect(queries.length).toBeGreaterThan(150);
      const refused: string[] = [];
      for (const query of queries) if ((await bench.ask(query)).status !== 200) refused.push(query);
      expect(refused).toEqual([]);
    }));

  test("follows the settings while the simulator runs", () =>
    withSimulator({}, async (bench) => {
      const envelope = async () =>
        (await read(bench)).paths["/api/subjects"].get.responses[200].content["application/json"].schema.type;
      expect(await envelope()).toBe("array");
      bench.simulator.control.behave({ listEnvelope: "data" });
      expect(await envelope()).toBe("object");
    }));

  test("needs no credential and counts in no tally", () =>
    withSimulator({}, async (bench) => {
      expect((await read(bench)).servers).toEqual([{ url: bench.simulator.url }]);
      expect(bench.simulator.tally().received).toBe(0);
    }));

  test("can be had from a simulator that doesn't listen", async () => {
    const simulator = await createSimulator();
    expect(simulator.describe(4711).servers).toEqual([{ url: "http://127.0.0.1:4711" }]);
  });
});
