import { describe, expect, it, test } from "vitest";
import type { FileDialect } from "../../../src/core/intake.ts";
import { phi } from "../../../src/core/phi.ts";
import { csvResultFile, csvResultRows } from "../../../src/mapping/outbound/result-csv.ts";
import { csvResultColumns } from "../../../src/mapping/profile/results-schema.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { failureOf } from "../../formats/hl7/failure-of.ts";
import { at } from "../../support/places.ts";
import { csvProfile } from "../mapped.ts";
import { acknowledged, changed, outcomeOrder, refused } from "../outcomes.ts";

/** An input file of that name. */
const about = (inputName: string, dialect?: FileDialect) => ({
  ...{ inputName, dialect, connector: "bench", at: new Date("2026-11-20T23:30:00Z") },
});

describe("CSV results", () => {
  test("have the columns of the documentation and one row per container", async () => {
    const containers = [...outcomeOrder().containers, { label: "STRAW-2", description: "" }];
    const rows = csvResultRows(changed({ containers }), await csvProfile());
    expect(csvResultFile(about("orders.csv"), 3, rows, (await csvProfile()).results)).toEqual({
      fileName: "orders.csv.results-3.csv",
      bytes: Buffer.from(
        [
          "order_number,operation,subject_code,container_label,status,request_id,procedure_id,procedure_code,storage,canister,cane,position,stored_at,error,updated_at",
          "LAB-1,STORE,MRN-4711,STRAW-1,completed,123,77,ST-2026-77,Tank A,3,7,slot 2,2026-11-20T13:05:00Z,,2026-11-20T13:06:07.000Z",
          "LAB-1,STORE,MRN-4711,STRAW-2,completed,123,77,ST-2026-77,,,,,,,2026-11-20T13:06:07.000Z",
          "",
        ].join("\r\n"),
      ),
    });
  });

  test("say why an order was not done", async () => {
    const order = {
      state: "parked",
      reason: { code: "REQUEST_REJECTED", text: "another birth date at the service" },
    } as const;
    const [row] = csvResultRows(changed(order), await csvProfile());
    expect(row).toMatchObject({ status: "parked", error: "another birth date at the service" });
  });

  test("report a refused message in a row of its own with every reason", async () => {
    const problems = [
      { code: "MAPPING_DATE_INVALID", place: at("line 2, column date_of_birth"), message: "is no date" },
      { code: "MAPPING_FACILITY_UNKNOWN", place: at("line 2, column facility"), message: 'holds "WEST"' },
    ] as const;
    const rows = csvResultRows(refused(problems), await csvProfile());
    expect(rows).toEqual([
      {
        ...Object.fromEntries(csvResultColumns.map((column) => [column, ""])),
        status: "refused",
        error: 'line 2, column date_of_birth: is no date; line 2, column facility: holds "WEST"',
        updated_at: "2026-11-20T13:06:07.000Z",
      },
    ]);
  });

  test("have a row for each label of a refused order, and all that was read of it", async () => {
    const problems = Array.from({ length: 60 }, (_, i) => ({
      code: "MAPPING_VALUE_MISSING" as const,
      place: at(`line ${i + 2}`),
      message: "is empty",
    }));
    const asRead = { operation: "STORE", subjectCode: phi("P-7"), labels: ["V-1", "V-2"] };
    const outcome = { ...refused(problems), placerOrderNumber: "A-1", asRead };
    const rows = csvResultRows(outcome, await csvProfile());
    expect(rows).toMatchObject([
      { order_number: "A-1", container_label: "V-1", subject_code: "P-7", operation: "STORE", storage: "" },
      { order_number: "A-1", container_label: "V-2", subject_code: "P-7", status: "refused" },
    ]);
    // The reasons are the order's, so its rows share how many are listed.
    for (const { error } of rows) expect(error).toMatch(/; line 26: is empty; … \+35$/);
  });

  test("have each row of a refused order with its line and what was read of it", async () => {
    const rows = [
      { line: 3, placerOrderNumber: "7", subjectCode: phi("P-7"), labels: ["V-1"] },
      { line: 4, subjectCode: phi("P-8"), labels: [] },
    ];
    const outcome = { ...refused([]), placerOrderNumber: "7", asRead: { labels: ["V-1"], rows } };
    const columns = ["line", "order_number", "subject_code", "container_label", "status"] as const;
    expect(csvResultRows(outcome, await csvProfile({ results: { columns: [...columns] } }))).toMatchObject([
      { line: "3", order_number: "7", subject_code: "P-7", container_label: "V-1", status: "refused" },
      { line: "4", order_number: "", subject_code: "P-8", container_label: "", status: "refused" },
    ]);
  });

  test.each(["CANCEL", "HOLD", "RELEASE", "STATUS"])(
    "have a word of its own for the refusal of a row with %s, which is no refused order",
    async (operation) => {
      const problems = [
        { code: "MAPPING_VALUE_MISSING", place: at("line 2, column n"), message: "is empty" },
      ] as const;
      const outcome = { ...refused(problems), asRead: { operation, labels: [] } };
      expect(csvResultRows(outcome, await csvProfile())).toMatchObject([
        { operation, status: `${operation.toLowerCase()}_refused` },
      ]);
    },
  );

  test("name a file that was refused whole in the lab's words", async () => {
    const problems = Array.from({ length: 51 }, (_, i) => ({
      code: "CSV_ROW_RAGGED" as const,
      place: at(`line ${i + 2}`),
      message: "expected 9 columns, found 8",
    }));
    const outcome = { ...refused(problems), isFile: true };
    const reasons = {
      fileRefused: "{file} wurde nicht übernommen",
      line: "Zeile",
      CSV_ROW_RAGGED: "falsche Spaltenzahl",
    };
    const [row] = csvResultRows(outcome, await csvProfile({ results: { reasons } }));
    expect(row?.error).toMatch(/^order\.hl7 wurde nicht übernommen: Zeile 2: falsche Spaltenzahl; /);
    expect(row?.error).toMatch(/; … \+1$/);
  });

  test("list the first fifty reasons, so that the cell stays one that readers take", async () => {
    const problems = Array.from({ length: 5_000 }, (_, i) => ({
      code: "CSV_ROW_RAGGED" as const,
      place: at(`line ${i + 2}`),
      message: "expected 9 columns, found 8",
    }));
    const [row] = csvResultRows(refused(problems), await csvProfile());
    expect(row?.error).toMatch(/; line 51: expected 9 columns, found 8; … \+4950$/);
  });

  test("say that an order was received, and that it was received before", async () => {
    const profile = await csvProfile();
    const statuses = [false, true].map((isDuplicate) => {
      const order = outcomeOrder({ state: "received" });
      return csvResultRows(acknowledged([order], undefined, isDuplicate), profile)[0]?.status;
    });
    expect(statuses).toEqual(["received", "duplicate"]);
  });

  test("have a row for a registration, which has no containers", async () => {
    const rows = csvResultRows(changed({ operation: "REGISTER", containers: [] }), await csvProfile());
    expect(rows.map(({ operation, container_label }) => [operation, container_label])).toEqual([
      ["REGISTER", ""],
    ]);
  });

  test("are empty where the profile sends nothing", async () => {
    const profile = await csvProfile({ results: { send: ["completed"] } });
    expect(csvResultRows(changed({ state: "parked" }), profile)).toEqual([]);
  });

  test("never hold what a spreadsheet would run as a formula", async () => {
    const profile = await csvProfile();
    const rows = csvResultRows(changed({ placerOrderNumber: "=cmd|' /C calc'!A0" }), profile);
    expect(csvResultFile(about("orders.csv"), 1, rows, profile.results).bytes.toString()).toContain(
      "\r\n'=cmd|' /C calc'!A0,",
    );
  });

  test("keep input files with like names apart, whatever the names hold", async () => {
    const { results } = await csvProfile();
    const names = [
      "orders 1.csv",
      "a/b.csv",
      "a:b.csv",
      "a_b.csv",
      `${"x".repeat(300)}1`,
      `${"x".repeat(300)}2`,
    ];
    const written = names.map((name) => csvResultFile(about(name), 1, [], results).fileName);
    expect(new Set(written).size).toBe(names.length);
    expect(written[0]).toBe("orders 1.csv.results-1.csv");
    for (const name of written) expect(name).toMatch(/^[^/\\:]{1,200}$/);
  });
});

type Results = NonNullable<ProfileDefinition["results"]>;

/** The bytes of a results file about one order. */
async function fileOf(order: Parameters<typeof changed>[0], results: Results): Promise<Buffer> {
  const profile = await csvProfile({ results });
  return csvResultFile(about("in.csv"), 1, csvResultRows(changed(order), profile), profile.results).bytes;
}
const labelled = (label: string) => ({ containers: [{ label, description: "" }] });

describe("a CSV file of results", () => {
  it("is UTF-8 without a byte order mark unless the profile says otherwise", async () => {
    const bytes = await fileOf(labelled("Ł1"), {});
    expect(bytes.toString("utf8").split(",")[0]).toBe("order_number");
    expect(bytes.includes(Buffer.from("Ł1"))).toBe(true);
  });

  it("begins with a byte order mark where one is wanted, and in UTF-16 always", async () => {
    const marked = await fileOf(labelled("Ł1"), { byteOrderMark: true });
    expect(marked.subarray(0, 8)).toEqual(Buffer.from("\ufefforder"));
    const wide = await fileOf(labelled("Ł1"), { encoding: "utf-16le" });
    expect(wide.subarray(0, 2)).toEqual(Buffer.from([0xff, 0xfe]));
    expect(wide.toString("utf16le")).toContain("Ł1");
  });

  it("has the bytes of the set that the profile names", async () => {
    expect(
      (await fileOf(labelled("é€"), { encoding: "windows-1252" })).includes(",\xe9\x80,", 0, "latin1"),
    ).toBe(true);
  });

  it("spells in its column error what the set does not have", async () => {
    const order = { state: "rejected", reason: { code: "REQUEST_REJECTED", text: "Łódź" } } as const;
    const bytes = await fileOf(order, { encoding: "windows-1252" });
    expect(bytes.toString("latin1")).toContain(",[U+0141]ód[U+017A],");
  });

  it.each([
    ["container_label", labelled("Ł1")],
    ["order_number", { placerOrderNumber: "Ł1" }],
    ["storage", { containers: [{ label: "1", description: "", location: { storageName: "Łódź" } }] }],
  ])("is not made where it would change %s", async (column, order) => {
    const profile = await csvProfile({ results: { encoding: "windows-1252" } });
    expect(failureOf(() => csvResultRows(changed(order), profile))).toEqual({
      code: "RESULT_NOT_ENCODABLE",
      message: `column ${column} holds a character that windows-1252 does not have`,
    });
  });
});
