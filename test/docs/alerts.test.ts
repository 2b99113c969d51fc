import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ALERT_KINDS, CONDITION_KINDS } from "../../src/core/condition-kinds.ts";
import { ROOT } from "./markdown.ts";

const FILE = join(ROOT, "docs/guide/alerts.md");
const PLACE = /(<!-- kinds, made from the code -->\n\n)[\s\S]*?(<!-- end -->)/;

test("docs/guide/alerts.md names every kind of alert (UPDATE_DOCS=1 writes them)", () => {
  const list = ALERT_KINDS.map((kind) => {
    return `- \`${kind}\`: ${CONDITION_KINDS[kind].means}`;
  }).join("\n");
  const text = readFileSync(FILE, "utf8");
  expect(text).toMatch(PLACE);
  const wanted = text.replace(PLACE, `$1${list}\n\n$2`);
  if (process.env.UPDATE_DOCS === "1") writeFileSync(FILE, wanted);
  expect(readFileSync(FILE, "utf8")).toBe(wanted);
});
