import type { Problem } from "../../core/failures.ts";
import type { Segment } from "../../formats/hl7/message.ts";
import type { FieldPath } from "../../formats/hl7/path.ts";
import { nameOf } from "./find-hl7.ts";
import type { ContainerKind, Hl7Profile, OrderRules } from "../profile/profile.ts";
import type { ValueRule } from "../profile/value.ts";

/**
 * Why a message is not taken that ends without a line end: it may have been cut, and what stands last in it may be but the
 * beginning of a label, a number or a date. Where the sender never ends its last segment (`accept`), it may stand there
 * when nothing of an order is read from such a segment; what a site's module reads isn't known, so that it may be any.
 *
 * @param text the whole message
 * @param last its last segment
 */
export function checkEnd(
  text: string,
  last: Segment | undefined,
  messagePlace: string,
  { module, valueSegments }: Pick<Hl7Profile, "module" | "valueSegments">,
  unterminated: "refuse" | "accept" = "refuse",
): Problem[] {
  if (last === undefined || /[\r\n]$/.test(text)) return [];
  const isRead = module !== undefined || valueSegments.has(last.name);
  if (unterminated === "accept" && !isRead) return [];
  const why =
    unterminated === "accept"
      ? `values of the order are read from ${last.name}, expected a carriage return behind it`
      : "expected a carriage return behind it; for a sender that never ends the last segment, unterminated: accept for the connector";
  return [
    {
      code: "HL7_UNTERMINATED",
      place: `${messagePlace}, ${nameOf(last)}`,
      message: `the message ends inside this segment, it may be cut; ${why}`,
    },
  ];
}

/** The segments that a label, a number, a code, a name or a date is read from, and those that stand for a container. */
export function listValueSegments(
  rules: OrderRules<FieldPath>,
  each: readonly ContainerKind[],
): ReadonlySet<string> {
  const { operation, facility, placerOrderNumber, subject, label } = rules;
  const values: ValueRule<FieldPath>[] = [
    operation,
    facility,
    placerOrderNumber,
    label,
    ...Object.values(subject),
  ];
  const read = values.flatMap(({ sources }) =>
    sources.flatMap((source) =>
      source.kind === "place"
        ? [source.path, ...(source.joined?.paths ?? [])].map(({ segment }) => segment)
        : [],
    ),
  );
  return new Set([...read, ...each.map(({ segment }) => segment), "ORC"]);
}
