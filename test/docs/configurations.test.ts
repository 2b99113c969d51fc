import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { listBlocks, listDocuments } from "./markdown.ts";

/** A whole configuration in a document begins with this comment. */
const MARK = /^# (?:\S*\/)?cryobridge\.yaml/;

const configurations = listDocuments().flatMap((document) =>
  listBlocks(document)
    .filter(({ language, text }) => language === "yaml" && MARK.test(text))
    .map(({ line, text }) => ({ place: `${document.path}:${line}`, text })),
);

test("the documents show whole configurations", () => {
  expect(configurations.length).toBeGreaterThanOrEqual(3);
});

test.each(configurations)("the configuration at $place is valid", ({ text }) => {
  const folder = mkdtempSync(join(tmpdir(), "cryobridge-docs-"));
  try {
    const file = join(folder, "cryobridge.yaml");
    writeFileSync(file, text);
    const names = [...text.matchAll(/\$\{([A-Z_]+)\}/g)].map((match) => match[1] ?? "");
    const env = Object.fromEntries(names.map((name) => [name, valueFor(name)]));
    const config = loadConfig(file, { env, profileSchema });
    expect(config.connectors.length).toBeGreaterThan(0);
    expect(
      config.warnings.map(({ message }) => message).filter((message) => /clear text/.test(message)),
    ).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** What the environment could hold under a name. */
function valueFor(name: string): string {
  if (name === "DATABASE_URL") return "postgres://user:word@127.0.0.1/cryobridge";
  if (name === "REDIS_URL") return "rediss://:word@queue.example.org:6379";
  return "a-value-long-enough-for-any-secret";
}
