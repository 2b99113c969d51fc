import { describe, expect, it } from "vitest";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { leavesOf } from "../../../src/formats/hl7/tree.ts";

function leaves(body: string, head = "MSH|^~\\&|A") {
  const message = Hl7Message.parse(`${head}\r${body}`);
  return message.segments.flatMap((segment) => leavesOf(segment, message));
}

const shown = (body: string, head?: string) =>
  leaves(body, head)
    .filter(({ place }) => !place.startsWith("MSH"))
    .map(({ place, value }) => `${place}=${value}`);

describe("the leaves of a segment", () => {
  it("stand at the deepest level that each value has, decoded", () => {
    expect(shown('PID|1|a^b&c^|x~^y|m\\T\\n^o|""')).toEqual([
      "PID-1=1",
      "PID-2.1=a",
      "PID-2.2.1=b",
      "PID-2.2.2=c",
      "PID-3=x",
      "PID-3[2].2=y",
      "PID-4.1=m&n",
      "PID-4.2=o",
      'PID-5=""',
    ]);
  });

  it("are those of the delimiters that the message declares, with escapes and subcomponents or without", () => {
    expect(shown("NTE*1*a@b%c", "MSH*@#$%*A")).toEqual([
      "NTE-1=1",
      "NTE-2.1=a",
      "NTE-2.2.1=b",
      "NTE-2.2.2=c",
    ]);
    expect(shown("NTE|1|a&b\\c", "MSH|^~|A")).toEqual(["NTE-1=1", "NTE-2=a&b\\c"]);
  });

  it("keep the header's own delimiters as they are", () => {
    expect(leaves("", "MSH|^~\\&|A~B").map(({ place, value }) => `${place}=${value}`)).toEqual([
      "MSH-1=|",
      "MSH-2=^~\\&",
      "MSH-3=A",
      "MSH-3[2]=B",
    ]);
  });

  // Were the work quadratic, this would take hours.
  it("are listed by work that grows with the segment, however its parts are nested", () => {
    const field = Array.from({ length: 200_000 }, (_, n) => `X${n}^A`).join("~");
    const text = `ZZZ|${field}|${field.replaceAll("~", "^")}`;
    expect(leaves(text)).toHaveLength(800_003);
  });
});
