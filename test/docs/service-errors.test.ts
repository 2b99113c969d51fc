import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { listBlocks, ROOT, readDocument, sectionOf } from "./markdown.ts";
import { renderTables } from "./render-service-errors.ts";

const FILE = join(ROOT, "docs/guide/service-errors.md");
const PLACE = /<!-- (\w+), made from the code -->\n\n([\s\S]*?)\n\n<!-- end -->/g;

test("the tables of docs/guide/service-errors.md are those of the code (UPDATE_DOCS=1 writes them)", () => {
  const text = readFileSync(FILE, "utf8");
  const tables = renderTables();
  const wanted = text.replace(
    PLACE,
    (_whole, name: string) => `<!-- ${name}, made from the code -->\n\n${tables.get(name)}\n\n<!-- end -->`,
  );
  if (process.env.UPDATE_DOCS === "1") writeFileSync(FILE, wanted);
  const there = readFileSync(FILE, "utf8");
  expect([...there.matchAll(PLACE)].map((match) => match[1]).sort()).toEqual([...tables.keys()].sort());
  expect(there).toBe(wanted);
});

test("the rules that docs/guide/service-errors.md shows are valid, and none of them is dangerous", () => {
  const section = sectionOf(readDocument("docs/guide/service-errors.md"), "Rules of your own").join("\n");
  const [block] = listBlocks({ path: "", text: section });
  const folder = mkdtempSync(join(tmpdir(), "cryobridge-docs-"));
  try {
    const file = join(folder, "cryobridge.yaml");
    const rest = `  baseUrl: https://storage.example.org
  auth: { apiToken: "\${TOKEN}" }
facilities: { NORTH: 12 }
connectors: [{ name: lims, type: hl7-drop, directory: ./lims }]
`;
    writeFileSync(file, `${block?.text}${rest}`);
    const config = loadConfig(file, { env: { TOKEN: "invented-token" }, profileSchema });
    expect(config.service.errors.length).toBeGreaterThanOrEqual(4);
    expect(config.warnings).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
