import { describe, expect, test } from "vitest";
import { splitHl7File } from "../../../src/formats/hl7/file.ts";

const MSH = "MSH|^~\\&|LIMS|NORTH|||2026||ORM^O01|C|P|2.4";
const outlineOf = (...lines: string[]) => splitHl7File(Buffer.from(`${lines.join("\r")}\r`)).outline;

describe("the outline of a file", () => {
  test("has its headers as they stand and how many messages are in each batch", () => {
    expect(outlineOf("FHS|^~\\&", "BHS|^~\\&|a", MSH, MSH, "BTS|2", "BHS|^~\\&|b", "BTS|0", "FTS|2")).toEqual(
      {
        fileHeader: "FHS|^~\\&",
        batches: [
          { header: "BHS|^~\\&|a", messages: 2 },
          { header: "BHS|^~\\&|b", messages: 0 },
        ],
      },
    );
  });

  test("is absent for a file without any batch segment", () => {
    expect(outlineOf(MSH, MSH)).toBeUndefined();
  });

  test("puts messages outside any batch where they stand", () => {
    expect(outlineOf(MSH, "BHS|^~\\&", MSH, "BTS", MSH, MSH)?.batches).toEqual([
      { messages: 1 },
      { header: "BHS|^~\\&", messages: 1 },
      { messages: 2 },
    ]);
    expect(outlineOf("FHS|^~\\&", MSH, "FTS|1")).toEqual({
      fileHeader: "FHS|^~\\&",
      batches: [{ messages: 1 }],
    });
  });

  test("is there when the counts are wrong too, so that the refusal can refer to it", () => {
    const { parts, problems, outline } = splitHl7File(Buffer.from(`BHS|^~\\&\r${MSH}\rBTS|2\r`));
    expect([parts, problems.map(({ code }) => code)]).toEqual([[], ["HL7_BATCH_COUNT"]]);
    expect(outline?.batches).toEqual([{ header: "BHS|^~\\&", messages: 1 }]);
  });

  test.each([
    ["UTF-8", Buffer.from("BHS|^~\\&|Röhrchen\r")],
    ["Latin-1", Buffer.from("BHS|^~\\&|Röhrchen\r", "latin1")],
    ["UTF-16", Buffer.from("\ufeffBHS|^~\\&|Röhrchen\r", "utf16le")],
  ])("has a header that was written in %s", (_, bytes) => {
    expect(splitHl7File(Buffer.concat([bytes])).outline?.batches[0]?.header).toBe("BHS|^~\\&|Röhrchen");
  });
});
