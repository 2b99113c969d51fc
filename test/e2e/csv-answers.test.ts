import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

const HEADINGS =
  "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label,container_description";

/** A row of an invented person. */
const row = (
  number: string,
  parts: { operation?: string; facility?: string; born?: string; label?: string } = {},
) => {
  const { operation = "STORE", facility = "NORTH", born = "1980-11-04", label = `V-${number}` } = parts;
  return `${number},${operation},${facility},P-${number},Anna,Beispiel,${born},${label},Semen`;
};

const COLUMNS = [
  "order_number",
  "operation",
  "container_label",
  "status",
  "line",
  "error_code",
  "error",
] as const;

type Row = Readonly<Record<(typeof COLUMNS)[number], string>>;

/** A site whose lab reads these columns; `results` and what else the profile has may be others. */
async function withTables(profile: object, test: (site: Site) => Promise<void>): Promise<void> {
  const profiles = {
    table: { extends: "builtin/csv-orders", results: { columns: COLUMNS, quote: "'" }, ...profile },
  };
  const times = { stableFor: "50ms", scanInterval: "500ms", resultsEvery: "50ms" };
  const connectors = [{ name: "csv", type: "csv-drop", directory: "csv", profile: "table", ...times }];
  await withSite({ config: { profiles, connectors } }, async (site) => {
    await site.start();
    await test(site);
  });
}

/** The rows of all results so far, by the columns. */
async function readRows(site: Site, delimiter = ","): Promise<Row[]> {
  const files = await site.results("csv").catch(() => new Map<string, string>());
  return [...files.values()].flatMap((text) => {
    const [headings, ...lines] = text.split("\r\n").slice(0, -1);
    expect(headings).toBe(COLUMNS.join(delimiter));
    return lines.map((line) => {
      const cells = line.split(delimiter);
      const last = cells.slice(COLUMNS.length - 1).join(delimiter);
      return Object.fromEntries(COLUMNS.map((column, i) => [column, i < 6 ? cells[i] : last])) as Row;
    });
  });
}

const waitForRows = (site: Site, status: string, delimiter?: string) =>
  eventually(
    async () => {
      const found = (await readRows(site, delimiter)).filter((each) => each.status === status);
      return found.length > 0 ? found : undefined;
    },
    { what: status },
  );

describe("a table that is refused whole", () => {
  test("is reported to the lab in a row with its name, the line and the reason, as it is written itself", () =>
    withTables({}, async (site) => {
      const lines = [HEADINGS, row("A-1"), "A-2,STORE,NORTH"].map((line) => line.replaceAll(",", ";"));
      await site.drop("csv", "damaged.csv", `${lines.join("\n")}\n`);
      const rows = await waitForRows(site, "refused", ";");
      expect(rows).toMatchObject([
        { order_number: "", container_label: "", line: "3", error_code: "CSV_ROW_RAGGED" },
      ]);
      expect(rows[0]?.error).toMatch(
        /^'?the file damaged\.csv was refused, and nothing of it was taken: line 3: expected 9 columns/,
      );
      expect([...(await site.results("csv")).keys()]).toEqual(["damaged.csv.results-1.csv"]);
      expect(await readFile(join(site.folder, "csv", "error", "damaged.csv.error.txt"), "utf8")).toContain(
        "line 3",
      );
      expect(await site.orders()).toEqual([]);
    }));

  test("is reported where one bad row refuses all, by the first bad line", () =>
    withTables({ wholeFile: true }, async (site) => {
      const content = [HEADINGS, row("A-1"), row("A-2", { born: "1980-13-04" }), ""].join("\n");
      await site.drop("csv", "one-bad.csv", content);
      const rows = await waitForRows(site, "refused");
      expect(rows).toMatchObject([{ order_number: "", line: "3", error_code: "FILE_WHOLE_REFUSED" }]);
      expect(rows[0]?.error).toContain("line 3, column date_of_birth: ");
      expect(await site.orders()).toEqual([]);
    }));

  test("is reported in the profile's own form where nothing of it can be read", () =>
    withTables({ delimiter: ";" }, async (site) => {
      await site.drop("csv", "empty.csv", "");
      expect(await waitForRows(site, "refused", ";")).toMatchObject([{ line: "", error_code: "CSV_EMPTY" }]);
    }));

  test("is not reported where the profile sends no refusals, nor a second time where its orders are refused", () =>
    withTables({}, async (site) => {
      await site.drop("csv", "orders.csv", `${HEADINGS}\n${row("A-1", { born: "1980" })}\n`);
      const rows = await waitForRows(site, "refused");
      expect(rows.map(({ order_number }) => order_number)).toEqual(["A-1"]);
      const { rows: facts } = await site.pool.query("select kind, file_id from outcomes");
      expect(facts).toEqual([{ kind: "refused", file_id: null }]);
    }));
});

describe("the rows of an order", () => {
  test("that is refused, or waits, say what was read of it, and on which line", () =>
    withTables({}, async (site) => {
      const content = [
        HEADINGS,
        row("A-1", { label: "V-1" }),
        row("A-1", { label: "V-2", born: "1980-13-04" }),
        row("A-2", { facility: "WEST", label: "V-3" }),
        "",
      ];
      await site.drop("csv", "orders.csv", content.join("\n"));
      const about = { order_number: "A-1", operation: "STORE" };
      expect(await waitForRows(site, "refused")).toMatchObject([
        { ...about, container_label: "V-1", line: "2" },
        { ...about, container_label: "V-2", line: "3" },
      ]);
      expect(await waitForRows(site, "waiting")).toMatchObject([
        { order_number: "A-2", operation: "STORE", container_label: "V-3", line: "4" },
      ]);
    }));

  test("that waits stand in the report about a file that was taken in part", () =>
    withTables({}, async (site) => {
      const content = [
        HEADINGS,
        row("A-1"),
        row("A-2", { born: "1980-13-04" }),
        row("A-3", { facility: "WEST" }),
      ];
      await site.drop("csv", "orders.csv", [...content, ""].join("\n"));
      const report = (form: string) =>
        readFile(join(site.folder, "csv", "error", `orders.csv.error.${form}`), "utf8").catch(
          () => undefined,
        );
      const { problems, waiting } = JSON.parse((await eventually(() => report("json"))) ?? "");
      expect(problems).toMatchObject([
        {
          place: "line 3, column date_of_birth",
          message: "expected a day that exists, written as yyyy-MM-dd",
        },
      ]);
      expect(waiting).toMatchObject([{ place: "line 4, column facility", code: "MAPPING_FACILITY_UNKNOWN" }]);
      const text = (await report("txt")) ?? "";
      expect(text).toContain("What is named below was not taken, or waits; all the rest was taken.");
      expect(text).toMatch(
        /These wait\. .*\n\n1\. line 4, column facility\n {3}Waits, since: +names facility "WEST"/,
      );
    }));

  test("whose number another order has are known by line and label, and have no number", () =>
    withTables({}, async (site) => {
      await site.drop("csv", "first.csv", `${HEADINGS}\n${row("A-1")}\n`);
      await site.waitForOrders(1);
      await site.drop("csv", "second.csv", `${HEADINGS}\n${row("A-0")}\n${row("A-1", { label: "V-9" })}\n`);
      const rows = await waitForRows(site, "refused");
      expect(rows).toMatchObject([
        { order_number: "", container_label: "V-9", line: "3", error_code: "ORDER_NUMBER_REUSED" },
      ]);
    }));

  test("that was cancelled as asked differ from the row that grants the request", () =>
    withTables({}, async (site) => {
      await site.drop(
        "csv",
        "orders.csv",
        `${HEADINGS}\n${row("A-1")}\n${row("A-1", { operation: "CANCEL" })}\n`,
      );
      await waitForRows(site, "cancelled");
      const rows = (await readRows(site)).filter(({ status }) => status.startsWith("cancel"));
      expect(
        rows.map(({ operation, status, container_label }) => [operation, status, container_label]),
      ).toEqual([
        ["STORE", "cancelled", "V-A-1"],
        ["CANCEL", "cancelled", ""],
      ]);
    }));

  test("that want something of an order have their own, whatever becomes of a row with its number", () =>
    withTables({}, async (site) => {
      await site.drop("csv", "first.csv", `${HEADINGS}\n${row("A-1")}\n${row("A-2")}\n`);
      await site.waitForOrders(2, ["submitted", "accepted", "in_progress", "completed"]);
      const content = [
        HEADINGS,
        row("A-1", { label: "V-9" }),
        row("A-1", { operation: "CANCEL" }),
        row("A-2", { born: "1980-13-04" }),
        row("A-2", { operation: "STATUS" }),
        row("A-3", { label: "" }),
        row("A-3", { operation: "CANCEL" }),
        row("A-4", { operation: "CANCEL" }),
        row("A-4"),
      ];
      await site.drop("csv", "second.csv", [...content, ""].join("\n"));
      const answers = async () => {
        const rows = (await readRows(site)).filter(({ operation }) => /CANCEL|STATUS/.test(operation));
        return rows.length >= 4 ? rows.sort((a, b) => Number(a.line) - Number(b.line)) : undefined;
      };
      const rows = (await eventually(answers, { what: "an answer to each request" })) ?? [];
      expect(rows.map(({ order_number, line }) => [order_number, line])).toEqual([
        ["A-1", "3"],
        ["A-2", "5"],
        ["A-3", "7"],
        ["A-4", "8"],
      ]);
      expect(rows.map(({ status }) => status).filter((_, i) => i !== 1)).toEqual(
        Array(3).fill("cancel_refused"),
      );
      expect(rows.map(({ error_code }) => error_code)).toEqual([
        expect.stringMatching(/^CANCEL_(NOT_OFFERED|TOO_LATE)$/),
        "",
        "CANCEL_ORDER_UNKNOWN",
        "CANCEL_ORDER_UNKNOWN",
      ]);
      const refused = (await readRows(site)).filter(({ status }) => status === "refused");
      expect(refused.map(({ line }) => line)).toEqual(["2", "4", "6", "9"]);
      const orders = await site.orders();
      expect(orders.filter(({ state }) => state === "parked")).toHaveLength(1);
    }));

  test("that was cancelled as asked are all there is, where the lab's columns would show no difference", () => {
    const columns = ["order_number", "container_label", "status"];
    const results = { columns };
    return withTables({ results }, async (site) => {
      const content = [HEADINGS, row("A-1"), row("A-1", { operation: "CANCEL" }), ""];
      await site.drop("csv", "orders.csv", content.join("\n"));
      const cancelled = async () => {
        const files = [...(await site.results("csv").catch(() => new Map<string, string>())).values()];
        const lines = files.join("").split("\r\n");
        const found = lines.filter((line) => line.endsWith(",cancelled"));
        return found.length > 0 ? found : undefined;
      };
      expect(await eventually(cancelled, { what: "cancelled" })).toEqual(["A-1,V-A-1,cancelled"]);
    });
  });
});

test("a result value that the transforms of its column don't take is sent as it came, and the daemon says of which column", () => {
  const columns = [
    { order_number: "order_number" },
    { header: "Stand", from: "status", table: { received: "angenommen", duplicate: "bereits da" } },
  ];
  const profiles = { table: { extends: "builtin/csv-orders", results: { columns } } };
  const connector = {
    name: "csv",
    type: "csv-drop",
    directory: "csv",
    profile: "table",
    resultsEvery: "50ms",
  };
  const times = { stableFor: "50ms", scanInterval: "500ms" };
  return withSite({ config: { profiles, connectors: [{ ...connector, ...times }] } }, async (site) => {
    const daemon = await site.start();
    await site.drop("csv", "a.csv", `${HEADINGS}\n${row("A-1")}\n`);
    await eventually(async () =>
      [...(await site.results("csv")).values()].join("").includes("A-1,completed"),
    );
    expect(daemon.conditions().map(({ text, level }) => [level, text])).toEqual([
      [
        "look",
        expect.stringContaining("connector csv: the lab read 1 value of the column Stand as they came"),
      ],
    ]);
  });
});
