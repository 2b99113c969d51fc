import { describe, expect, it } from "vitest";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { findValue, parsePath } from "../../../src/formats/hl7/path.ts";
import { failureOf } from "./failure-of.ts";
import { messageOf } from "./sample.ts";

const message = Hl7Message.parse(
  messageOf(
    "ORM^O01",
    "PID|1||A17^^^CLINIC&1.2.3&ISO^MR~998^^^STATE&9.9&ISO^MR~^^^CLINIC&1.2.3&ISO^PI||Larsen&van^Mia~Olsen^Mia",
    "OBX|1|TX|NOTE||first",
    "OBX|2|TX|LABEL||",
    "OBX|3|TX|LABEL||V-1",
    "ZA1|a]b|x&y",
  ),
);

function find(path: string, scope = message.segments) {
  const found = findValue(parsePath(path), scope);
  return found && { value: found.value, place: found.place };
}

describe("a field path", () => {
  it.each([
    ["PID-3", "A17", "PID-3"],
    ["PID-3.1", "A17", "PID-3.1"],
    ["PID-5.1.2", "van", "PID-5.1.2"],
    ["PID-3[2].1", "998", "PID-3[2].1"],
    ["PID-5[2].1", "Olsen", "PID-5[2].1"],
    ["PID-3[5=MR].1", "A17", "PID-3[1].1"],
    ["PID-3[4.2=9.9&5=MR].1", "998", "PID-3[2].1"],
    ["PID-3[4.1!=CLINIC].1", "998", "PID-3[2].1"],
    ['PID-3[4.1="STATE"].4.3', "ISO", "PID-3[2].4.3"],
    ["OBX[3]-5", "V-1", "OBX[3]-5"],
    ["OBX[3.1=NOTE]-5", "first", "OBX-5"],
    ["OBX[3=LABEL]-5", "V-1", "OBX[3]-5"],
    ["OBX[3^=LAB]-5", "V-1", "OBX[3]-5"],
    ["OBX[3^=LABEL]-5", "V-1", "OBX[3]-5"],
    ["OBX[3^=N&5!=second]-5", "first", "OBX-5"],
    ["PID-3[4.1^=STA].1", "998", "PID-3[2].1"],
    ["MSH-9.2", "O01", "MSH-9.2"],
  ])("%s gives %s, found at %s", (path, value, place) => {
    expect(find(path)).toEqual({ value, place });
  });

  it.each([
    ["PID-3[5=MR].9"],
    ["PID-3[5=XX].1"],
    ["PID-3[5=PI].1"],
    ["PID-3[9].1"],
    ["PID[2]-3"],
    ["OBX[2]-5"],
    ["SPM-2"],
    ["OBX[3=OTHER]-5"],
    ["OBX[3^=ABEL]-5"],
    ["OBX[3^=label]-5"],
    ["OBX[3^=LABELS]-5"],
    ["OBX[9^=LAB]-5"],
  ])("%s finds nothing", (path) => {
    expect(message.get(path)).toBeUndefined();
  });

  it("fulfils a condition whatever blanks stand around the value", () => {
    const padded = Hl7Message.parse(
      messageOf("ORM^O01", "PID|1||P1^^^N^PI~M1^^^N^MR ", "OBX|1|TX| LABEL||V-1"),
    );
    const paths = ["PID-3[5=MR].1", "PID-3[5!=MR].1", "OBX[3=LABEL]-5", "OBX[3^=LAB]-5"];
    expect(paths.map((path) => padded.get(path))).toEqual(["M1", "P1", "V-1", "V-1"]);
  });

  it("reads values with brackets and ampersands from quotes", () => {
    expect(parsePath('ZA1-2[1="x&y]"].1').whichRepetition).toEqual({
      kind: "where",
      conditions: [{ at: [1], operator: "=", value: "x&y]" }],
    });
  });

  it("reads a beginning that ends with an equals sign", () => {
    expect(parsePath("NTE[3^=LABEL=&4!=x]-3").whichSegment).toEqual({
      kind: "where",
      conditions: [
        { at: [3], operator: "^=", value: "LABEL=" },
        { at: [4], operator: "!=", value: "x" },
      ],
    });
  });

  it("looks in the first segment of its name unless one is selected", () => {
    expect(message.get("OBX-5")).toBe("first");
  });

  it("counts within a scope when one is given, and names the place in the message", () => {
    const scope = message.segments.slice(3);
    expect(find("OBX[2]-5", scope)).toEqual({ value: "V-1", place: "OBX[3]-5" });
    expect(find("PID-3", scope)).toBeUndefined();
  });

  it("may be parsed once and used often", () => {
    const path = parsePath("PID-5.2");
    expect(path).toMatchObject({ path: "PID-5.2", segment: "PID", field: 5, component: 2 });
    expect(message.get(path)).toBe("Mia");
  });

  it.each([
    ["", 1, "segment name"],
    ["pid-3", 1, "segment name"],
    ["PI-3", 1, "segment name"],
    ["PID", 4, "followed by -"],
    ["PID.3", 4, "followed by -"],
    ["PID-", 5, "field number"],
    ["PID-0", 5, "field number"],
    ["PID-x", 5, "field number"],
    ["PID-99999", 5, "field number"],
    ["PID-3.", 7, "component number"],
    ["PID-3.1.2.3", 10, "end of the path"],
    ["PID-3[", 7, "component number"],
    ["PID-3[1", 8, "="],
    ["PID-3[5=]", 9, "value"],
    ["PID-3[5=MR", 11, "]"],
    ['PID-3[5="MR]', 10, "never closed"],
    ["PID-3[1.2.3=x]", 10, "="],
    ["PID-3 ", 6, "end of the path"],
    ["PID-3[5=MR&4].1", 13, "="],
    ["PID-3[5~MR].1", 8, "expected =, != or ^= and a value"],
    ["PID-3[5^MR].1", 8, "expected =, != or ^= and a value"],
    ["PID-3[5!MR].1", 8, "expected =, != or ^= and a value"],
    ["PID-3[5^=].1", 10, "value"],
    ['PID-3[5^=""].1', 12, "a beginning that is not empty"],
    ['PID-3[5^=" "].1', 13, "a beginning that is not empty"],
  ])("%j is refused at character %i", (path, position, rule) => {
    const failure = failureOf(() => parsePath(path));
    expect(failure?.code).toBe("CONFIG_INVALID");
    expect(failure?.message).toContain(`character ${position}:`);
    expect(failure?.message).toContain(rule);
  });
});
