import { describe, expect, it } from "vitest";
import { readSendableFrame, withCarriageReturns } from "../../src/cli/commands/hl7/sendable.ts";
import { hl7Text } from "./with-lab.ts";

const BATCH = `FHS|^~\\&|L|N|C|B|||||F-1\rBHS|^~\\&|L|N|C|B|||||B-1\r${hl7Text()}BTS|1\rFTS|1\r`;
const read = (content: string | Buffer) => readSendableFrame("b.hl7", Buffer.from(content));

describe("a file for one frame", () => {
  it("keeps its bytes, batch segments included", () => {
    const { content, messages, batchControlIds, problems } = read(BATCH);
    expect(content.toString()).toBe(BATCH);
    expect(messages.map(({ controlId }) => controlId)).toEqual(["MSG0001"]);
    expect(batchControlIds).toEqual(["F-1", "B-1"]);
    expect(problems).toEqual([]);
  });

  it.each([
    ["a byte order mark", `\ufeff${BATCH}`],
    ["the blocks of the frame that it was captured in", `\v${BATCH}\x1c\r`],
    ["the end that files had of old", `${BATCH}\x1a`],
    ["blank lines", `\n\n${BATCH}\n\n`],
    ["a missing last line end", BATCH.slice(0, -1)],
  ])("is sent without %s around it", (_, content) => {
    expect(read(content).content.toString()).toBe(BATCH);
  });

  it("keeps a wrong count, with its messages known all the same", () => {
    const { content, messages, problems } = read(BATCH.replace("BTS|1", "BTS|9"));
    expect(content.toString()).toContain("BTS|9");
    expect(problems.map(({ code }) => code)).toEqual(["HL7_BATCH_COUNT"]);
    expect(messages.map(({ controlId }) => controlId)).toEqual(["MSG0001"]);
  });

  it("keeps a message that is broken, or in another character set than it says", () => {
    const bytes = Buffer.from(BATCH.replace("Ottilie", "Ottilië").replace("ORC|", "ORC?"), "latin1");
    const { content, messages } = read(bytes);
    expect(content.equals(bytes)).toBe(true);
    expect(messages).toMatchObject([{ controlId: "MSG0001", problem: { class: "permanent" } }]);
  });

  it.each([
    ["several frames", `\v${hl7Text()}\x1c\r\v${hl7Text()}\x1c\r`, "CLI_USAGE", "leave out --one-frame"],
    ["UTF-16", Buffer.from(`\ufeff${hl7Text()}`, "utf16le"), "CLI_USAGE", "it is UTF-16"],
    ["a table", "order_number,operation\nA-1,STORE\n", "HL7_NO_MSH", "no MSH at all"],
    ["nothing", "", "HL7_FILE_EMPTY", "found nothing"],
  ])("is refused when it holds %s", (_, content, code, message) => {
    expect(() => read(content)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );
  });
});

describe("line ends", () => {
  it("become CR, each one", () => {
    expect(withCarriageReturns(Buffer.from("a\nb\r\nc\rd\n\n")).toString()).toBe("a\rb\rc\rd\r\r");
  });
});
