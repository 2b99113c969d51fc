import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { configJsonSchema } from "../../src/config/schema-at.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";

describe("the configuration's JSON Schema", () => {
  it("is the committed config/schema.json (cryobridge schema > config/schema.json)", () => {
    expect(JSON.parse(readFileSync("config/schema.json", "utf8"))).toEqual(
      configJsonSchema({ profileSchema }),
    );
  });

  it("describes every key", () => {
    expect(undescribed(configJsonSchema(), "")).toEqual([]);
  });

  it("describes mapping profiles when it is given their schema", () => {
    const schema = configJsonSchema({ profileSchema: z.strictObject({ accept: z.string() }) });
    expect(schema.properties?.profiles).toMatchObject({
      additionalProperties: { properties: { accept: { type: "string" } } },
    });
  });

  it("refers to nothing that is not in it", () => {
    const schema = configJsonSchema({ profileSchema });
    const references = [...JSON.stringify(schema).matchAll(/"#\/definitions\/([^"]+)"/g)].map(
      ([, name]) => name,
    );
    expect(Object.keys(schema.definitions ?? {})).toEqual(expect.arrayContaining(references));
  });

  it("admits a reference to the environment where a number stands", () => {
    const console = configJsonSchema().properties?.console;
    expect(console).toMatchObject({
      properties: { port: { anyOf: [{ type: "integer" }, { type: "string" }], default: 8088 } },
    });
  });
});

/** The keys without a description, by path. */
function undescribed(node: unknown, path: string): string[] {
  if (Array.isArray(node)) return node.flatMap((child, index) => undescribed(child, `${path}/${index}`));
  if (typeof node !== "object" || node === null) return [];
  const missing = Object.entries("properties" in node && node.properties ? node.properties : {})
    .filter(([, schema]) => typeof schema !== "object" || !("description" in schema))
    .map(([key]) => `${path}/${key}`);
  return [
    ...missing,
    ...Object.entries(node).flatMap(([key, child]) => undescribed(child, `${path}/${key}`)),
  ];
}
