import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Failure } from "../../../src/core/failures.ts";
import { decodeHl7 } from "../../../src/formats/hl7/charset.ts";
import { splitHl7File } from "../../../src/formats/hl7/file.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import type { Segment } from "../../../src/formats/hl7/segment.ts";
import { anyMessage } from "./any-message.ts";

/** Looks at everything in a segment, and at some things that are not in it. */
function readAll(segment: Segment, fields: number): void {
  for (let n = 0; n <= fields + 1; n += 1) {
    for (let repetition = 1; repetition <= segment.repetitions(n) + 1; repetition += 1) {
      for (const component of [1, 2, 3]) {
        for (const subcomponent of [1, 2]) segment.get(n, repetition, component, subcomponent);
      }
    }
  }
}

describe("whatever a sender writes", () => {
  it("is given back to the byte, however much of it was read", () => {
    fc.assert(
      fc.property(anyMessage, ({ text, delimiters }) => {
        const message = Hl7Message.parse(text);
        for (const segment of message.segments)
          readAll(segment, segment.raw.split(delimiters.field).length - 1);
        expect(message.toString()).toBe(text);
      }),
    );
  });

  it("has the delimiters that it declares and the segments of its lines", () => {
    fc.assert(
      fc.property(anyMessage, ({ text, delimiters, lines }) => {
        const message = Hl7Message.parse(text);
        expect(message.delimiters).toEqual(delimiters);
        expect(message.segments.map(({ raw }) => raw)).toEqual(lines);
      }),
    );
  });

  it("is the sum of its fields, repetitions and first parts", () => {
    fc.assert(
      fc.property(anyMessage, ({ text, delimiters }) => {
        const { field, repetition, component, escape: mark, subcomponent } = delimiters;
        for (const segment of Hl7Message.parse(text).segments) {
          const isHeader = segment.name === "MSH";
          const parts = segment.raw.split(field);
          for (let n = isHeader ? 3 : 1; n < parts.length + (isHeader ? 1 : 0); n += 1) {
            const raw = parts[isHeader ? n - 1 : n] ?? "";
            expect(segment.field(n)).toBe(raw);
            expect(segment.repetitions(n)).toBe(raw === "" ? 0 : raw.split(repetition).length);
            expect(segment.get(n, segment.repetitions(n) + 1)).toBeUndefined();
            // Without an escape in it a value is what stands there.
            if (mark !== "" && raw.includes(mark)) continue;
            raw.split(repetition).forEach((whole, r) => {
              const first = whole.split(component)[0] ?? "";
              const value = subcomponent === "" ? first : first.split(subcomponent)[0];
              expect(segment.get(n, r + 1) ?? "").toBe(value);
            });
          }
        }
      }),
    );
  });

  it("has the same segments in whatever order they are asked for", () => {
    const names = ["MSH", "PID", "OBX", "Z1X", "ZZZ", "ob", "OBX1"];
    fc.assert(
      fc.property(anyMessage, fc.shuffledSubarray(names), fc.nat(7), ({ text }, asked, after) => {
        const lazy = Hl7Message.parse(text);
        const found = new Map(asked.slice(0, after).map((name) => [name, lazy.all(name)]));
        const segments = lazy.segments;
        for (const name of asked) found.set(name, found.get(name) ?? lazy.all(name));
        for (const [name, list] of found) {
          expect(list).toEqual(segments.filter((segment) => segment.name === name));
          // The very same objects, so that two ways to a segment can be compared.
          expect(list.every((segment) => segments[segment.index] === segment)).toBe(true);
          expect(list.map(({ ordinal }) => ordinal)).toEqual(list.map((_, n) => n + 1));
        }
      }),
    );
  });

  it("reads the same with every line end, as a file and as a message", () => {
    fc.assert(
      fc.property(anyMessage, fc.constantFrom("\r", "\n", "\r\n"), ({ lines }, lineEnd) => {
        const bytes = Buffer.from(lines.join(lineEnd) + lineEnd);
        const { parts, problems } = splitHl7File(bytes);
        // A NUL byte, or a byte that MLLP frames a message with, is distinguished from text.
        fc.pre(problems.length === 0 && !lines.some((line) => hasControls(line)));
        expect(Buffer.concat(parts.map(({ raw }) => raw))).toEqual(bytes);
        const { text } = decodeHl7(parts[0]?.raw ?? bytes, { override: "UTF-8" });
        expect(Hl7Message.parse(text).segments.map(({ raw }) => raw)).toEqual(lines);
      }),
    );
  });
});

describe("bytes of any kind", () => {
  const noise = fc.array(
    fc.oneof(
      fc.constantFrom(
        "MSH|^~\\&|",
        "MSH",
        "|",
        "^",
        "~",
        "\\",
        "&",
        "\r",
        "\n",
        "\r\n",
        "\x0b",
        "\x1c\r",
        "\x1a",
      ),
      fc.constantFrom(
        "PID|1||A",
        "BHS|^~\\&|",
        "BTS|1",
        "FHS|^~\\&",
        "FTS|1",
        "DSC|x",
        "\ufeff",
        '""',
        "\\X4\\",
      ),
      fc.string({ unit: "binary", maxLength: 5 }),
    ),
    { maxLength: 30 },
  );

  it("are read, or refused in words; nothing else is thrown, and what is read is given back", () => {
    fc.assert(
      fc.property(noise, fc.constantFrom("utf8", "latin1", "utf16le"), (parts, encoding) => {
        const file = splitHl7File(Buffer.from(parts.join(""), encoding));
        expect(file.parts.length === 0 || file.problems.length === 0).toBe(true);
        for (const { raw } of file.parts) {
          try {
            const { text } = decodeHl7(raw);
            expect(Hl7Message.parse(text).toString()).toBe(text);
          } catch (error) {
            if (!(error instanceof Failure)) throw error;
            expect(error.code).toMatch(/^HL7_/);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

function hasControls(line: string): boolean {
  return !line.isWellFormed() || ["\0", "\x0b", "\x1a", "\x1c", "\ufeff"].some((mark) => line.includes(mark));
}
