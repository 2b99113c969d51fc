import { describe, expect, it } from "vitest";
import { csvResultFile, csvResultRows } from "../../../src/mapping/outbound/result-csv.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { failureOf } from "../../formats/hl7/failure-of.ts";
import { csvProfile } from "../mapped.ts";
import { changed } from "../outcomes.ts";

type Results = NonNullable<ProfileDefinition["results"]>;

/** The bytes of a results file about one order. */
async function fileOf(order: Parameters<typeof changed>[0], results: Results): Promise<Buffer> {
  const profile = await csvProfile({ results });
  return csvResultFile("in.csv", 1, csvResultRows(changed(order), profile), profile.results).bytes;
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
    const order = { state: "rejected", reason: { text: "Łódź" } } as const;
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
