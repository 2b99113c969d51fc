import fc from "fast-check";
import type { Delimiters } from "../../../src/formats/hl7/delimiters.ts";
import { anyDelimiters } from "./any-delimiters.ts";

/** A message as a sender may have written it, well-formed or not within its segments. */
export interface WrittenMessage {
  readonly delimiters: Delimiters;
  /** Each without its line end; MSH is the first. */
  readonly lines: readonly string[];
  /** With line ends, which may differ from line to line, and blank lines. */
  readonly text: string;
}

/** MSH-2 may be two to five characters long; the truncation character never comes without those before it. */
const anyDeclared: fc.Arbitrary<Delimiters> = fc
  .tuple(anyDelimiters, fc.constantFrom("all", "no subcomponent", "no escape"))
  .map(([delimiters, which]) => {
    if (which === "all") return delimiters;
    const { truncation: _truncation, ...four } = delimiters;
    return { ...four, subcomponent: "", escape: which === "no escape" ? "" : four.escape };
  })
  // That one is taken for a header that lost its backslash.
  .filter(({ component, repetition, escape: mark, subcomponent }) => {
    return component + repetition + mark + subcomponent !== "^~&";
  });

const anyLineEnd = fc.constantFrom("\r", "\n", "\r\n", "\r\r", "\n\n");

/** What may stand after a segment's name: delimiters, escapes whole and broken, letters, whatever else fits a line. */
function anyRest({ field, component, repetition, escape: mark, subcomponent, truncation = "" }: Delimiters) {
  const part = fc.oneof(
    fc.constantFrom(field, field, component, repetition, mark, subcomponent, truncation),
    fc.constantFrom("F", "S", "T", "R", "E", "P", "X41", "X", ".br", "H").map((body) => mark + body + mark),
    fc.string({ unit: "grapheme", maxLength: 4 }).map((text) => text.replace(/[\r\n]/g, "")),
    fc.constantFrom('""', "A17", " "),
  );
  return fc.array(part, { maxLength: 20 }).map((parts) => field + parts.join(""));
}

/** Messages with any delimiters, any segments and any mixture of line ends. */
export const anyMessage: fc.Arbitrary<WrittenMessage> = anyDeclared.chain((delimiters) => {
  const { field, component, repetition, escape: mark, subcomponent, truncation = "" } = delimiters;
  const msh2 = component + repetition + mark + subcomponent + truncation;
  const segment = fc
    .tuple(fc.constantFrom("PID", "ORC", "OBR", "OBX", "NTE", "Z1X"), fc.option(anyRest(delimiters)))
    .map(([name, rest]) => name + (rest ?? ""));
  return fc
    .tuple(
      anyRest(delimiters),
      fc.array(fc.tuple(anyLineEnd, segment), { maxLength: 8 }),
      fc.option(anyLineEnd, { nil: "" }),
    )
    .map(([header, rest, end]) => {
      const first = `MSH${field}${msh2}${header}`;
      const text = first + rest.map(([lineEnd, line]) => lineEnd + line).join("") + end;
      return { delimiters, lines: [first, ...rest.map(([, line]) => line)], text };
    });
});
