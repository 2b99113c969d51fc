import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const CONFIG = join(import.meta.dirname, "../../config");

interface Node {
  readonly default?: unknown;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly allOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
}

/** What the example shows otherwise than it is by default: what is only so in places, or beside the default as the other way. */
const OTHERWISE = ["dataDir", "days", "forced", "inventory", "maxBytes", "tls"];

test("the example configuration names every setting of the schema, with its default", () => {
  const schema = JSON.parse(readFileSync(join(CONFIG, "schema.json"), "utf8")) as Node & {
    readonly definitions: Readonly<Record<string, Node>>;
  };
  const example = readFileSync(join(CONFIG, "cryobridge.yaml"), "utf8");
  const seen = new Set<Node>();
  const keys = new Set<string>();
  const defaults: [key: string, value: string][] = [];
  const visit = (node: Node | undefined) => {
    if (node === undefined || seen.has(node)) return;
    seen.add(node);
    visit(schema.definitions[node.$ref?.split("/").at(-1) ?? ""]);
    for (const each of [...(node.anyOf ?? []), ...(node.allOf ?? []), ...(node.oneOf ?? [])]) visit(each);
    visit(node.items);
    for (const [key, value] of Object.entries(node.properties ?? {})) {
      keys.add(key);
      if (value.default !== undefined && typeof value.default !== "object")
        defaults.push([key, String(value.default)]);
      // Profiles have a reference of their own.
      if (key !== "profiles") visit(value);
    }
  };
  visit(schema);
  expect(keys.size).toBeGreaterThan(100);
  expect([...keys].filter((key) => !new RegExp(`\\b${key}\\b`).test(example))).toEqual([]);
  expect(defaults.length).toBeGreaterThan(50);
  const wrong = defaults.filter(([key, value]) => {
    const shown = [...example.matchAll(new RegExp(`\\b${key}: "?([^\\s,}"]+)`, "g"))].map(([, each]) => each);
    return shown.length > 0 && !shown.includes(value) && !OTHERWISE.includes(key);
  });
  expect(wrong).toEqual([]);
});
