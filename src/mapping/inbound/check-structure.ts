import type { Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import { atSegment, type Place, within } from "../../core/place.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import { findOddEnds, nameLineEnds } from "../../formats/hl7/line-ends.ts";
import type { Hl7Message } from "../../formats/hl7/message.ts";
import type { FieldPath, PathSelector } from "../../formats/hl7/path.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import { CONTROL_CODES } from "../profile/message-type.ts";
import type { Hl7Profile, OrderRules } from "../profile/profile.ts";
import type { ContainerKind } from "../profile/schema.ts";
import { quote } from "../profile/transforms.ts";
import type { ValueRule } from "../profile/value.ts";
import { nameProfile } from "./code-hint.ts";
import { nameOf } from "./find-hl7.ts";
import type { MapperSettings } from "./mapped-message.ts";

/**
 * Why a message is not taken that ends without a line end: it may have been cut, and what stands last in it may be but the
 * beginning of a label, a number or a date. Where the sender never ends its last segment (`accept`), any segment of a message
 * that came in a frame may stand there, whose end shows that the message is whole. In a file it may only when nothing of an order
 * is read from such a segment; what a site's module reads isn't known, so that it may be any.
 *
 * @param text the whole message
 * @param last its last segment
 */
export function checkEnd(
  text: string,
  last: Segment | undefined,
  messagePlace: Place,
  { module, valueSegments }: Pick<Hl7Profile, "module" | "valueSegments">,
  { unterminated = "refuse", isFramed = false }: Pick<MapperSettings, "unterminated" | "isFramed"> = {},
): Problem[] {
  if (last === undefined || /[\r\n]$/.test(text)) return [];
  const mayBeCut = !isFramed && (module !== undefined || valueSegments.has(last.name));
  if (unterminated === "accept" && !mayBeCut) return [];
  const other = unterminated === "accept" ? "" : "`unterminated: accept` alone would not help: ";
  const hint = mayBeCut
    ? `${other}${other === "" ? "V" : "v"}alues of the order are read from ${last.name}, which may be cut. Have the sender end it with a carriage return, or put another segment last.`
    : undefined;
  return [
    {
      code: "HL7_UNTERMINATED",
      place: within(messagePlace, atSegment(last)),
      message: "the message ends inside this segment, it may be cut; expected a carriage return after it",
      hint,
    },
  ];
}

/**
 * Why a message is not taken whose segments end in different ways: what looks like a segment after a line break of its own
 * kind may be a line of pasted text. Where the sender's segments do so (`accept`), it is taken unless such a break follows a
 * field that is read, which would be cut there.
 */
export function checkLineEnds(
  message: Hl7Message,
  messagePlace: Place,
  profile: Pick<Hl7Profile, "module" | "valueFields">,
  mixedLineEnds: "refuse" | "accept" = "refuse",
): Problem[] {
  const { module, valueFields } = profile;
  const { usual, odd } = findOddEnds(message.toString());
  const complain = (
    segment: Segment,
    field: number | undefined,
    line: number,
    kinds: number,
    why: string,
  ): Problem => ({
    code: "HL7_LINE_ENDS_MIXED",
    place: within(messagePlace, atSegment(segment, field === undefined ? {} : { field })),
    message: `line ${line} of the message ends with ${nameLineEnds(kinds)}, most others with ${nameLineEnds(usual)}; ${why}`,
  });
  for (const { segment: index, line, kinds } of odd) {
    const segment = message.segments[index];
    if (segment === undefined) continue;
    if (mixedLineEnds === "refuse") {
      const why = "what follows may be text of this segment; expected the same end for all segments";
      const problem = complain(segment, undefined, line, kinds, why);
      const [cut] = checkLineEnds(message, messagePlace, profile, "accept");
      return [cut === undefined ? problem : { ...problem, hint: cut.hint }];
    }
    const field = segment.raw.split(message.delimiters.field).length - (segment.name === "MSH" ? 0 : 1);
    if (module === undefined && !valueFields.has(`${segment.name}-${field}`)) continue;
    const why = "a value of the order is read from this field, which may be cut there";
    const hint = `${BY_SENDER} \`mixedLineEnds: accept\` alone does not help: a value of the order is read from ${nameOf(segment)}-${field}, which may be cut there.`;
    return [{ ...complain(segment, field, line, kinds, why), hint }];
  }
  return [];
}

const BY_SENDER = "Have the sender write line breaks inside fields as `\\.br\\`, and end all segments alike.";

/** The fields that anything of an order is read from, such as `SAC-3`, and those by which a segment or repetition is chosen. */
export function listValueFields(
  rules: OrderRules<FieldPath>,
  each: readonly ContainerKind[],
): ReadonlySet<string> {
  const fieldsOf = (segment: string, which: PathSelector | undefined) =>
    which?.kind === "where" ? which.conditions.map(({ at }) => `${segment}-${at[0]}`) : [];
  return new Set([
    ...["ORC-1", "ORC-2", "ORC-3", "ORC-5", "OBR-2", "OBR-3", "OBR-25"],
    ...pathsOf([...identifying(rules), rules.containers.description]).flatMap(
      ({ segment, field, whichSegment }) => [`${segment}-${field}`, ...fieldsOf(segment, whichSegment)],
    ),
    ...each.flatMap(({ segment, which }) => fieldsOf(segment, which)),
  ]);
}

/** The segments that a label, a number, a code, a name or a date is read from, and those that stand for a container. */
export function listValueSegments(
  rules: OrderRules<FieldPath>,
  each: readonly ContainerKind[],
): ReadonlySet<string> {
  return new Set(["ORC", ...[...pathsOf(identifying(rules)), ...each].map(({ segment }) => segment)]);
}

function identifying({ containers, subject, ...others }: OrderRules<FieldPath>) {
  return [...Object.values(others), containers.label, ...Object.values(subject)];
}

function pathsOf(rules: readonly ValueRule<FieldPath>[]): FieldPath[] {
  const sources = rules.flatMap((rule) => rule.sources);
  return sources.flatMap((each) => (each.kind === "place" ? [each.path, ...(each.joined?.paths ?? [])] : []));
}

/**
 * Why a group that is to place an order places none: it asks for something else, or it reports an order that has ended
 * already, and to carry that out would do again what was done.
 */
export function checkPlacing({ orc, obrs }: OrderGroup, profile: Hl7Profile): Problem[] {
  const { controls } = profile;
  const complain = (segment: Segment, field: number, message: string, hint = ENDED_HINT): Problem => ({
    code: "MAPPING_ORDER_CONTROL_UNSUPPORTED",
    place: atSegment(segment, { field }),
    message,
    hint,
  });
  const code = orc?.get(1);
  // ORC-1 (table 0119): answering any other request as if it were a new order would do the opposite.
  if (orc !== undefined && code !== undefined && code !== "NW") {
    const known = [...controls.keys()].sort().join(", ");
    const expected = `NW (new order)${known === "" ? "" : ` or one of ${known}`}`;
    const message = `holds ${quote(code)}, expected ${expected}; nothing was changed or cancelled`;
    const codes = ["NW", ...[...controls.keys()].sort()];
    return [{ ...complain(orc, 1, message, hintOfControl(code, profile)), expected: codes }];
  }
  const problems: Problem[] = [];
  const status = orc?.get(5) ?? "";
  if (orc !== undefined && ENDED.has(status)) {
    const asked = `${nameOf(orc)}-1 ${code === undefined ? "is empty" : "asks for a new one"}`;
    const message = `holds ${quote(status)}, the status of an order that has ended, and ${asked}; nothing was ordered or cancelled`;
    problems.push(complain(orc, 5, message));
  }
  const obr = obrs.find((each) => REPORTED.has(each.get(25) ?? ""));
  if (obr !== undefined) {
    const message = `holds ${quote(obr.get(25) ?? "")}, the status of results of an order that has ended, where a new one has none; nothing was ordered`;
    problems.push(complain(obr, 25, message));
  }
  return problems;
}

const ENDED_HINT =
  "If it is a new order, have the sender leave ORC-5 and OBR-25 empty. If it is a copy of a report, have it sent elsewhere.";

/** Lists of a profile replace those of the profile below, so that they are shown whole. */
function hintOfControl(code: string, profile: Hl7Profile): string {
  const isControlCode = (each: string) => (CONTROL_CODES as readonly string[]).includes(each);
  const isControl = isControlCode(code);
  const taken = [...profile.controls.keys()].filter((each) => isControlCode(each) === isControl);
  const list = `[${[...taken, code].map((each) => (/^[A-Z]{2}$/.test(each) ? each : JSON.stringify(each))).join(", ")}]`;
  const where = nameProfile(profile);
  return byReload(
    isControl
      ? `Set \`control: ${list}\` in ${where}, or arrange the change with the storage staff.`
      : `Arrange the change with the storage staff. If the lab cancels orders with this code, set \`cancel: ${list}\` in ${where}.`,
  );
}

/** ORC-5 (table 0038) of orders that were cancelled, discontinued, replaced, completed, or not found. */
const ENDED: ReadonlySet<string> = new Set(["CA", "DC", "RP", "CM", "ER"]);

/**
 * OBR-25 (table 0123) of results that are final or corrected, and of orders that were cancelled. A placer leaves it empty in
 * an order (HL7 chapter 4.5.3.25): what has one of these is a copy of a report.
 */
const REPORTED: ReadonlySet<string> = new Set(["F", "C", "X"]);
