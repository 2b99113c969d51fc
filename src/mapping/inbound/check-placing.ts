import type { Problem } from "../../core/failures.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import type { Segment } from "../../formats/hl7/message.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { quote } from "../profile/transforms.ts";

/**
 * Why a group that is to place an order places none: it asks for something else, or it tells of an order that has ended
 * already, and to carry that out would do again what was done.
 */
export function checkPlacing(
  { orc, obrs }: OrderGroup,
  { controls }: Hl7Profile,
  messagePlace: string,
): Problem[] {
  const complain = (segment: Segment, field: number, message: string): Problem => ({
    code: "MAPPING_ORDER_CONTROL_UNSUPPORTED",
    place: `${messagePlace}, ${nameOf(segment)}-${field}`,
    message,
  });
  const code = orc?.get(1);
  // ORC-1 (table 0119): answering any other request as if it were a new order would do the opposite.
  if (orc !== undefined && code !== undefined && code !== "NW") {
    const known = [...controls.keys()].sort().join(", ");
    const expected = `NW (new order)${known === "" ? "" : ` or one of ${known}`}`;
    return [complain(orc, 1, `holds ${quote(code)}, expected ${expected}; nothing was changed or cancelled`)];
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

/** ORC-5 (table 0038) of orders that were cancelled, discontinued, replaced, completed, or not found. */
const ENDED: ReadonlySet<string> = new Set(["CA", "DC", "RP", "CM", "ER"]);

/**
 * OBR-25 (table 0123) of results that are final or corrected, and of orders that were cancelled. A placer leaves it empty in
 * an order (HL7 chapter 4.5.3.25): what has one of these is a copy of a report.
 */
const REPORTED: ReadonlySet<string> = new Set(["F", "C", "X"]);

function nameOf({ name, ordinal }: Segment): string {
  return ordinal > 1 ? `${name}[${ordinal}]` : name;
}
