import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mayMove, ORDER_STATES } from "../../src/core/order-state.ts";
import { firstTable, ROOT, readDocument, sectionOf } from "./markdown.ts";

const document = readDocument("ARCHITECTURE.md");

/** `a, b` as a list; a dash stands for none. */
const listOf = (cell: string) => (cell === "-" ? [] : cell.split(",").map((word) => word.trim()));

describe("ARCHITECTURE.md", () => {
  test("names every order state with the states that it may move to", () => {
    const rows = firstTable(sectionOf(document, "Order states"));
    expect(rows.map(([state, , next]) => ({ state, next: listOf(next ?? "") }))).toEqual(
      ORDER_STATES.map((state) => ({ state, next: ORDER_STATES.filter((to) => mayMove(state, to)) })),
    );
  });

  test("has the import table that test/architecture.test.ts holds", () => {
    const source = readFileSync(join(ROOT, "test/architecture.test.ts"), "utf8");
    const table = /MAY_IMPORT[^=]*= \{(.*?)\n\};/s.exec(source)?.[1] ?? "";
    const held = [...table.matchAll(/^ {2}(\w+): \[(.*)\],$/gm)].map(([, folder = "", list = ""]) => ({
      folder,
      imports: [...list.matchAll(/"(\w+)"/g)].map((match) => match[1]),
    }));
    const rows = firstTable(sectionOf(document, "Who may import whom"));
    expect(held.length).toBeGreaterThan(5);
    expect(rows.map(([folder, , imports]) => ({ folder, imports: listOf(imports ?? "") }))).toEqual(held);
  });

  test("names every table of the ledger", () => {
    const sql = readFileSync(join(ROOT, "src/ledger/migrations/0001_initial.sql"), "utf8");
    const tables = [...sql.matchAll(/^create table (\w+)/gm)].map(([, name]) => name);
    const rows = firstTable(sectionOf(document, "The ledger"));
    const named = rows.flatMap(([, list = ""]) => listOf(list.replaceAll(/ \([^)]*\)/g, "")));
    expect(named.sort()).toEqual(["migrations", ...tables].sort());
  });

  test("names files that exist", () => {
    const paths = [...document.text.matchAll(/`((?:src|test|bin)\/[\w./-]+\.\w+)`/g)].map(
      (match) => match[1] ?? "",
    );
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
