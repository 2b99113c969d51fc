import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import { csvFileFormat } from "../../../src/connectors/csv-drop/csv-drop.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { csvProfile, mapOne } from "../../mapping/mapped.ts";
import { HEADER, outcomeOf, row } from "./file-outcomes.ts";

/** The descriptions of all containers of a file. */
async function descriptionsOf(bytes: Buffer, definition: ProfileDefinition): Promise<string[]> {
  const profile = await csvProfile(definition);
  const format = csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading });
  const content = await format.examine(bytes);
  const found: string[] = [];
  for await (const batch of content.batches()) {
    const orders = batch.flatMap((message) => mapOne(profile, message).orders);
    found.push(...orders.flatMap(({ containers }) => containers.map(({ description }) => description)));
  }
  return found;
}

describe("a heading with an accent", () => {
  const composed = "Num\u00e9ro";
  const apart = "Nume\u0301ro";
  const file = (heading: string) => `${HEADER.replace("order_number", heading)}${row("A-1", "V-1")}`;
  const accepted = ["line 2 accepted: A-1 V-1"];

  test.each([
    ["of two characters in the file and of one in the profile", apart, composed],
    ["of one character in the file and of two in the profile", composed, apart],
  ])("is found when it is %s", async (_, written, named) => {
    expect(await outcomeOf(file(written), { placerOrderNumber: named })).toEqual(accepted);
  });

  test("is still a heading when it comes again written the other way", async () => {
    const again = `${file(composed)}${HEADER.replace("order_number", apart)}${row("A-2", "V-2")}`;
    expect(await outcomeOf(again, { placerOrderNumber: composed })).toEqual([
      ...accepted,
      "line 4 accepted: A-2 V-2",
    ]);
  });

  test("leaves values as they are", async () => {
    const bytes = Buffer.from(file(composed).replace("serum", apart));
    expect(await descriptionsOf(bytes, { placerOrderNumber: composed })).toEqual([apart]);
  });
});

describe("a header", () => {
  test("with a column that nobody needs under nearly its name is refused, since it would be left out", async () => {
    const file = HEADER.replace("date_of_birth", "Date of birth") + row("O-1", "V-1");
    expect(await outcomeOf(file)).toEqual(["file refused: CSV_COLUMN_MISSING header"]);
  });

  test("may have such a column beside the one that is meant", async () => {
    const file = HEADER.replace("container_description", "Date of birth") + row("O-1", "V-1");
    expect(await outcomeOf(file)).toEqual(["line 2 accepted: O-1 V-1"]);
  });

  test("may lack the columns that nobody needs", async () => {
    const file = "order_number,operation,facility,subject_code,container_label\nO-1,STORE,NORTH,P-1,V-1\n";
    expect(await outcomeOf(file)).toEqual(["line 2 accepted: O-1 V-1"]);
  });

  test("that comes once more, as where files were joined, is passed over", async () => {
    const file = `${HEADER}${row("O-1", "V-1")}\ufeff${HEADER}${row("O-1", "V-2")}`;
    expect(await outcomeOf(file)).toEqual(["lines 2, 4 accepted: O-1 V-1,V-2"]);
  });

  test("is passed over where the profile lists the names of a file that should have none", async () => {
    const header = HEADER.trim().split(",");
    expect(await outcomeOf(HEADER + row("O-1", "V-1"), { header })).toEqual(["line 2 accepted: O-1 V-1"]);
  });

  test("parted by another delimiter than the profile's is refused with both", async () => {
    const profile = await csvProfile({ delimiter: "," });
    const bytes = Buffer.from("order_number;operation\nO-1;CANCEL\n");
    const content = await csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading }).examine(bytes);
    expect(content.problems[0]?.message).toMatch(
      /1 columns is; its values are separated by ;, and , is expected$/,
    );
  });

  test("and rows may end with delimiters, as many programs write them", async () => {
    const file = (HEADER + row("O-1", "V-1")).replaceAll("\n", ",,\n");
    expect(await outcomeOf(file)).toEqual(["line 2 accepted: O-1 V-1"]);
  });
});

describe("encoding auto", () => {
  const text = HEADER + row("Ü-1", "V-1");

  test.each([
    ["utf-8", false],
    ["utf-8", true],
    ["utf-16le", true],
    ["utf-16be", true],
    ["windows-1252", false],
  ])("reads %s (byte order mark: %s)", async (encoding, addBOM) => {
    const bytes = iconv.encode(text, encoding, { addBOM });
    const definition = { placerOrderNumber: { value: "1" }, containers: { description: "order_number" } };
    expect(await descriptionsOf(bytes, definition)).toEqual(["Ü-1"]);
  });

  test.each([
    [
      "two encodings stand in one file",
      3,
      iconv.encode(row("1", "ü"), "utf-8"),
      iconv.encode(row("2", "ü"), "latin1"),
    ],
    ["two encodings stand in one line", 2, iconv.encode("ü", "utf-8"), iconv.encode("ü\n", "latin1")],
    [
      "Windows-1252 has no such byte either",
      3,
      Buffer.from(row("1", "2")),
      Buffer.from(row("1", "\x81"), "latin1"),
    ],
  ])("refuses the file at the first byte that is not UTF-8 where %s", async (_, line, one, other) => {
    expect(await outcomeOf(Buffer.concat([Buffer.from(HEADER), one, other]))).toEqual([
      `file refused: CSV_BYTES line ${line}`,
    ]);
  });
});
