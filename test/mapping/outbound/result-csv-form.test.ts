import { describe, expect, it, test } from "vitest";
import type { FileDialect } from "../../../src/core/intake.ts";
import type { Outcome, OutcomeOrder } from "../../../src/core/outcome.ts";
import type { Place } from "../../../src/core/place.ts";
import { csvResultFile, csvResultRows, csvResultSeries } from "../../../src/mapping/outbound/result-csv.ts";
import { type ProfileDefinition, profileSchema } from "../../../src/mapping/profile/schema.ts";
import { failureOf } from "../../formats/hl7/failure-of.ts";
import { at } from "../../support/places.ts";
import { csvProfile, problemsOf } from "../mapped.ts";
import { changed, refused } from "../outcomes.ts";

type Results = NonNullable<ProfileDefinition["results"]>;

const EXCEL: FileDialect = { delimiter: ";", encoding: "windows-1252", hasByteOrderMark: false };

/** The file of results about an outcome, as bytes and as lines of cells. */
async function write(outcome: Outcome, results: Results, dialect?: FileDialect, inputName = "in.csv") {
  const profile = await csvProfile({ results });
  const about = { ...outcome, message: { ...outcome.message, dialect } } as Outcome;
  const target = { inputName, dialect, connector: "bench", at: outcome.occurredAt };
  const { fileName, bytes } = csvResultFile(target, 7, csvResultRows(about, profile), profile.results);
  return {
    fileName,
    bytes,
    text: bytes.toString("latin1"),
    series: csvResultSeries(target, profile.results),
  };
}
const rowsOf = async (order: Partial<OutcomeOrder>, results: Results, dialect?: FileDialect) =>
  (await write(changed(order), results, dialect)).text.split("\r\n").slice(0, -1);

const CELLS: Results = { columns: ["order_number", "storage", "canister", "position", "stored_at"] };
const stored = (location: object) => ({ containers: [{ label: "V-1", description: "", location }] });

test("a place is parted into its columns whichever surface shows it, and stands as it came where it can't be", async () => {
  const part = (from: string[], match: string) => ({
    from,
    header: from[0],
    as: { regex: { match, replace: "$1" } },
  });
  const results = {
    columns: [
      part(["canister", "position"], "^(?:Canister |)(\\d{1,3})\\b.*$"),
      part(["cane", "position"], "^(?:[^,]{1,15}, Cane |Cane |)(\\d{1,3})\\b.*$"),
    ],
  } as Results;
  const cellsOf = async (location: object) => (await rowsOf(stored(location), results))[1];
  expect(await cellsOf({ canister: "12", cane: "Cane 3" })).toBe("12,3");
  expect(await cellsOf({ position: "Canister 12, Cane 3, Slot 2" })).toBe("12,3");
  expect(await cellsOf({ position: "Canister 12" })).toBe("12,Canister 12");
  expect(await cellsOf({ position: "bottom shelf" })).toBe("bottom shelf,bottom shelf");
});

describe("a CSV file of results", () => {
  it("is written as its input file: delimiter, character set and byte order mark", async () => {
    const order = stored({ storageName: "Kühlraum" });
    expect(await rowsOf(order, CELLS, EXCEL)).toEqual([
      "order_number;storage;canister;position;stored_at",
      "LAB-1;K\xfchlraum;;;",
    ]);
    const marked = { delimiter: "\t", encoding: "utf-8", hasByteOrderMark: true };
    expect((await rowsOf(order, CELLS, marked))[0]).toBe(
      "\xef\xbb\xbforder_number\tstorage\tcanister\tposition\tstored_at",
    );
    const wide = { delimiter: ",", encoding: "utf-16le", hasByteOrderMark: true };
    expect((await write(changed(order), CELLS, wide)).bytes.toString("utf16le")).toMatch(
      /^\ufefforder_number,/,
    );
  });

  it("is written otherwise where the profile says so", async () => {
    const results: Results = { ...CELLS, delimiter: "|", encoding: "utf-8", quote: "'" };
    expect(await rowsOf(stored({ storageName: "Kühl|raum" }), results, EXCEL)).toEqual([
      "order_number|storage|canister|position|stored_at",
      `LAB-1|'${Buffer.from("Kühl|raum").toString("latin1")}'|||`,
    ]);
    const unmarked = { delimiter: ",", encoding: "utf-8", hasByteOrderMark: true };
    expect((await rowsOf({}, { ...CELLS, byteOrderMark: false }, unmarked))[0]).toMatch(/^order_number/);
  });

  it("is not made where the input's character set would change a value", async () => {
    const profile = await csvProfile();
    const outcome = changed(stored({ storageName: "Łódź" }));
    const about = { ...outcome, message: { ...outcome.message, dialect: EXCEL } } as Outcome;
    expect(failureOf(() => csvResultRows(about, profile))).toEqual({
      code: "RESULT_NOT_ENCODABLE",
      message: "column storage holds a character that windows-1252 does not have",
    });
    const without = await csvProfile({ results: { columns: ["order_number", "status"] } });
    expect(csvResultRows(about, without)).toEqual([{ order_number: "LAB-1", status: "completed" }]);
  });

  it("is not made where the input's character set lacks a heading", async () => {
    const profile = await csvProfile({ results: { columns: [{ status: "Stan zamówienia Ł" }] } });
    const outcome = changed();
    const about = { ...outcome, message: { ...outcome.message, dialect: EXCEL } } as Outcome;
    expect(failureOf(() => csvResultRows(about, profile))?.message).toBe(
      "the heading Stan zamówienia Ł holds a character that windows-1252 does not have",
    );
  });

  it("has the columns that the profile names, in its order and with its headings", async () => {
    const columns: Results["columns"] = [
      { status: "Stand" },
      { value: "LAB-7", header: "Quelle" },
      { container_label: "Röhrchen" },
      "facility",
      "container_id",
      "input_file",
      { order_number: "Auftrag" },
    ];
    expect(await rowsOf({}, { columns }, EXCEL)).toEqual([
      "Stand;Quelle;R\xf6hrchen;facility;container_id;input_file;Auftrag",
      "completed;LAB-7;STRAW-1;NORTH;9001;order.hl7;LAB-1",
    ]);
  });

  it("has no headings where the profile wants none, whatever they are", async () => {
    const columns: Results["columns"] = [{ order_number: "Łab" }, "status"];
    expect(await rowsOf({}, { columns, header: false }, EXCEL)).toEqual(["LAB-1;completed"]);
  });

  it("has the lab's words for states, operations and facilities, and its own for others", async () => {
    const columns: Results["columns"] = ["status", "operation", "facility"];
    const words: Results["words"] = {
      status: { completed: "erledigt", refused: "abgelehnt" },
      operation: { STORE: "Einlagern" },
      facility: { NORTH: "Nord" },
    };
    expect((await rowsOf({}, { columns, words }))[1]).toBe("erledigt,Einlagern,Nord");
    expect((await rowsOf({ state: "failed", operation: "RETRIEVAL" }, { columns, words }))[1]).toBe(
      "failed,RETRIEVAL,Nord",
    );
    expect((await write(refused([]), { columns, words })).text).toBe(
      "status,operation,facility\r\nabgelehnt,,\r\n",
    );
  });

  it("has the lab's words for a state by operation", async () => {
    const words: Results["words"] = {
      status: { completed: { STORE: "ST", "*": "OK" }, failed: { STORE: "X" } },
    };
    const wordOf = async (order: Parameters<typeof rowsOf>[0]) =>
      (await rowsOf(order, { columns: ["status"], words }))[1];
    expect(await wordOf({})).toBe("ST");
    expect(await wordOf({ operation: "RETRIEVAL" })).toBe("OK");
    expect(await wordOf({ operation: "RETRIEVAL", state: "failed" })).toBe("failed");
  });

  it("has times in the lab's format and zone", async () => {
    const columns: Results["columns"] = ["stored_at", "updated_at"];
    const timeZone = "Europe/Vienna";
    expect((await rowsOf({}, { columns, dateFormat: "dd.MM.yyyy HH:mm", timeZone }))[1]).toBe(
      "20.11.2026 14:05,20.11.2026 14:06",
    );
    expect((await rowsOf({}, { columns, timeZone }))[1]).toBe(
      "2026-11-20T14:05:00+01:00,2026-11-20T14:06:07+01:00",
    );
    const odd = stored({ storedAt: "yesterday" });
    expect((await rowsOf(odd, { columns, dateFormat: "d.M.yyyy" }))[1]).toBe("yesterday,20.11.2026");
  });

  it("has places that are numbers with the lab's decimal mark, and all else as it is", async () => {
    const order = stored({ storageName: "1.5", canister: "1.5", position: "A 1.5" });
    expect((await rowsOf(order, { ...CELLS, decimal: "," }, EXCEL))[1]).toBe("LAB-1;1.5;1,5;A 1.5;");
    expect((await rowsOf(order, CELLS, EXCEL))[1]).toBe("LAB-1;1.5;1.5;A 1.5;");
  });

  it("has a part of a place, by a pattern of the profile, and nothing where that does not fit", async () => {
    const part = (name: string) => ({
      ...{ from: ["canister", "position"], header: name, default: "?" },
      as: { regex: { match: "^\\D*([0-9]{1,4}).*$", replace: "$1" } },
    });
    const results: Results = { columns: [part("Kanister"), "position"] };
    expect((await rowsOf(stored({ position: "canister 12, cane 3" }), results))[1]).toBe(
      '12,"canister 12, cane 3"',
    );
    expect((await rowsOf(stored({ canister: "7", position: "slot 2" }), results))[1]).toBe("7,slot 2");
    expect((await rowsOf(stored({ position: "shelf A" }), results))[1]).toBe("?,shelf A");
  });

  it("has several values joined in one cell, of which an empty one keeps its place", async () => {
    const place = { from: { join: ["storage", "canister", "position"], with: " / " }, header: "Platz" };
    const results: Results = { columns: [{ ...place, default: "?" }] };
    const order = stored({ storageName: "Tank A", canister: "1.5", position: "slot 2" });
    expect((await rowsOf(order, { ...results, decimal: "," }))[1]).toBe('"Tank A / 1,5 / slot 2"');
    expect((await rowsOf(stored({ storageName: "Tank A", position: "2" }), results))[1]).toBe(
      "Tank A /  / 2",
    );
    expect((await rowsOf(stored({ canister: "3" }), results))[1]).toBe(" / 3 / ");
    expect((await rowsOf(stored({}), results))[1]).toBe("?");
  });

  it("leaves out the empty ones of joined values where the profile says so, and names the others", async () => {
    const join = ["storage", { from: "canister", name: "K " }, { from: "position", name: "P " }] as const;
    const named = (empty?: "drop"): Results => ({
      columns: [{ from: { join: [...join], with: ", ", ...(empty ? { empty } : {}) }, header: "Platz" }],
    });
    const order = stored({ storageName: "Tank A", position: "2" });
    expect((await rowsOf(order, named()))[1]).toBe('"Tank A, K , P 2"');
    expect((await rowsOf(order, named("drop")))[1]).toBe('"Tank A, P 2"');
  });

  it("has one row for an order with the values of its containers in one cell where the profile joins them", async () => {
    const containers = [
      {
        label: "V-1",
        description: "",
        location: { storageName: "Tank A", storedAt: "2026-11-20T13:05:00Z" },
      },
      { label: "V-2", description: "", location: { storageName: "Tank A" } },
    ];
    const columns: Results["columns"] = [
      "order_number",
      { container_label: "Proben" },
      "storage",
      "cane",
      "stored_at",
      "status",
    ];
    const results: Results = { columns, joinContainers: "|", dateFormat: "dd.MM.yyyy" };
    expect(await rowsOf({ containers }, results)).toEqual([
      "order_number,Proben,storage,cane,stored_at,status",
      "LAB-1,V-1|V-2,Tank A|Tank A,,20.11.2026|,completed",
    ]);
    expect((await rowsOf({ containers: [] }, results))[1]).toBe("LAB-1,,,,,completed");
    const asRead = { labels: ["V-1", "V-2"] };
    const about = { ...refused([]), placerOrderNumber: "A-1", asRead };
    expect((await write(about, results)).text).toContain("\nA-1,V-1|V-2,,,,refused\r");
  });

  it("has the first date that there is, and codes of the lab's own for its words", async () => {
    const results: Results = {
      dateFormat: "dd.MM.yyyy",
      words: { status: { completed: "erledigt" } },
      columns: [
        { from: ["stored_at", "updated_at"], header: "Datum" },
        { from: "status", table: { erledigt: "2", failed: "9" }, default: "0", header: "Code" },
        { from: "order_number", as: [{ prefix: "N-" }], header: "Nummer" },
      ],
    };
    expect(await rowsOf(stored({ storedAt: "2026-11-19T10:00:00Z" }), results)).toEqual([
      "Datum,Code,Nummer",
      "19.11.2026,2,N-LAB-1",
    ]);
    expect((await rowsOf({ ...stored({}), state: "parked" }, results))[1]).toBe("20.11.2026,0,N-LAB-1");
  });

  it("says of each row on which line of its file the order begins", async () => {
    const lineOf = async (outcome: Outcome, place: Place | undefined) => {
      const about = { ...outcome, message: { ...outcome.message, place } } as Outcome;
      return (await write(about, { columns: ["status", "line"] })).text.split("\r\n")[1];
    };
    expect(await lineOf(changed(), at("lines 12-14"))).toBe("completed,12");
    expect(await lineOf(refused([]), at("line 3"))).toBe("refused,3");
    expect(await lineOf(changed(), undefined)).toBe("completed,");
  });

  it("has the failure's code and the lab's words for it", async () => {
    const results: Results = {
      columns: ["error", "error_code"],
      reasons: { MAPPING_CODE_UNKNOWN: "unbekannter Schlüssel", SUBJECT_MISMATCH: "andere Person" },
    };
    const problems = [
      { code: "MAPPING_CODE_UNKNOWN", place: at("line 2, column Ort"), message: 'holds "WEST"' },
      { code: "MAPPING_DATE_INVALID", place: at("line 2, column geboren"), message: "is no date" },
    ] as const;
    const lineOf = async (about: typeof problems | readonly [(typeof problems)[0]]) =>
      (await write(refused(about), results, EXCEL)).text.split("\r\n")[1];
    expect(await lineOf([problems[0]])).toBe(
      "line 2, column Ort: unbekannter Schl\xfcssel;MAPPING_CODE_UNKNOWN",
    );
    expect(await lineOf(problems)).toBe(
      '"line 2, column Ort: holds ""WEST""; line 2, column geboren: is no date";MAPPING_CODE_UNKNOWN',
    );
    const parked = { state: "parked", reason: { code: "SUBJECT_MISMATCH", text: "another name" } } as const;
    expect((await rowsOf(parked, results))[1]).toBe("andere Person,SUBJECT_MISMATCH");
  });
});

describe("the name of a file of results", () => {
  test.each([
    [undefined, "in.csv.results-7.csv", "in.csv.results-{number}.csv"],
    ["{stem}_{number:4}.txt", "in_0007.txt", "in_{number}.txt"],
    ["{connector}-{date}-{number}.csv", "bench-20261120-7.csv", "bench-20261120-{number}.csv"],
  ])("of %s is numbered among those that differ in nothing else", async (fileName, name, series) => {
    expect(await write(changed(), fileName === undefined ? {} : { fileName })).toMatchObject({
      fileName: name,
      series,
    });
  });

  it("has no character of the input's name that a file system takes amiss", async () => {
    const { fileName } = await write(changed(), { fileName: "{stem}-{number}.csv" }, undefined, "a/b:c.csv");
    expect(fileName).toMatch(/^a_b_c~[0-9a-f]{8}-7\.csv$/);
  });
});

test.each([
  ["{stem}.csv", "expected {number} once: it makes each name another one"],
  ["{stem}{number}.csv", "expected {number} apart from other values and digits"],
  ["{name}-{number}.csv", "{name} stands for nothing; expected {input}, {stem}"],
  ["../{number}.csv", "expected a name without any folder"],
  ["{number}.tmp", ".tmp is the ending of files that are not done"],
  [".{number}.csv", "expected a name that does not begin with a dot"],
  ["x-{number}", "expected an ending such as .csv"],
  ["", "expected {number} once"],
])("the name %j for files of results is refused by the schema, with what is expected", (fileName, words) => {
  const issues = profileSchema.safeParse({ results: { fileName } }).error?.issues;
  expect(issues).toEqual([
    expect.objectContaining({ path: ["results", "fileName"], message: expect.stringContaining(words) }),
  ]);
});

describe("a mistake in the settings of CSV results", () => {
  const mistakes = (results: Results) => problemsOf({ extends: "builtin/csv-orders", results });

  test.each([
    [
      { dateFormat: "DD.MM.YYYY" },
      "results.dateFormat: DD.MM.YYYY: D stands for nothing; expected yyyy, MM, dd",
    ],
    [
      { dateFormat: "dd.MM." },
      "results.dateFormat: dd.MM.: expected yyyy, MM and dd, as in dd.MM.yyyy HH:mm",
    ],
    [{ marker: "{stem}.csv" }, "results.marker: {stem}.csv is the name of the file of results itself"],
    [
      { columns: ["status", { operation: "status" }] },
      "results.columns: two columns have the heading status; expected each heading once",
    ],
    [
      { encoding: "windows-1252", words: { status: { completed: "Łódź" } } },
      "results.words.status.completed: holds Ł (U+0141), ź (U+017A), which windows-1252 of results.encoding does not have",
    ],
    [
      { columns: ["colour"] },
      "results.columns[0]: there is no column colour; expected one of order_number, ",
    ],
    [
      { columns: ["status", { value: "x" }] },
      "results.columns[1]: expected a column, { COLUMN: its heading }",
    ],
    [{ columns: [{ order_number: "A", status: "B" }] }, "results.columns[0]: expected a column, { COLUMN"],
    [
      { columns: [{ from: ["status", "colour"], header: "A" }] },
      "results.columns[0]: there is no column colour",
    ],
    [
      { columns: [{ from: { join: ["status", "colour"], with: "-" }, header: "A" }] },
      "results.columns[0]: there is no column colour",
    ],
    [
      { encoding: "us-ascii", columns: [{ from: { join: ["storage", "cane"], with: "–" }, header: "A" }] },
      "results.columns[0]: holds – (U+2013)",
    ],
    [{ columns: [{ from: "status" }] }, "results.columns[0]: status: expected the words of its heading"],
    [
      { columns: [{ from: "status", header: "A", as: { regex: { match: "(a+)+", replace: "" } } }] },
      "results.columns[0]: regex (a+)+: a quantifier on a group that holds a quantifier",
    ],
    [
      { encoding: "windows-1252", columns: [{ from: "status", header: "A", default: "Łódź" }] },
      "results.columns[0]: holds Ł (U+0141), ź",
    ],
    [{ columns: [{ status: " " }] }, "results.columns[0]: status: expected the words of its heading"],
    [{ suffix: ".txt" }, "results.suffix: is for HL7 profiles"],
  ] as [Results, string][])("%j is refused with its place and what is expected", async (results, words) => {
    const [mistake, ...more] = await mistakes(results);
    expect(mistake).toContain(words);
    expect(more).toEqual([]);
  });

  test.each(["delimiter", "quote", "columns", "header", "dateFormat", "decimal", "joinContainers"])(
    "%s is refused for HL7",
    async (key) => {
      const values: Record<string, unknown> = {
        ...{
          delimiter: ";",
          quote: "'",
          columns: ["status"],
          header: true,
          dateFormat: "yyyy-MM-dd",
        },
        ...{ decimal: ",", joinContainers: "|" },
      };
      const results = { [key]: values[key] } as Results;
      expect(await problemsOf({ extends: "builtin/hl7-orders", results })).toEqual([
        `results.${key}: is for CSV profiles`,
      ]);
    },
  );

  test("words that HL7 results have no place for are refused for HL7", async () => {
    const words = { status: { completed: "fait", duplicate: "double" }, facility: { NORTH: "Nord" } };
    expect(await problemsOf({ extends: "builtin/hl7-orders", results: { words } })).toEqual([
      "results.words.facility: is for CSV profiles",
      expect.stringMatching(
        /^results\.words\.status\.duplicate: is for CSV profiles; HL7 results have received, refused, waiting, submitted,/,
      ),
    ]);
  });

  test.each([
    { columns: [7] },
    { columns: [{ from: "status", header: "A", colour: "red" }] },
    { words: { status: { done: "x" } } },
    { reasons: { NO_SUCH_CODE: "x" } },
    { marker: "ok" },
    { quote: ";" },
    { quote: "|" },
  ])("%j does not fit the schema", (results) => {
    expect(profileSchema.safeParse({ results }).success).toBe(false);
  });
});
