import type { FieldPath } from "../../formats/hl7/path.ts";
import type { Segment } from "../../formats/hl7/segment.ts";

/** A namespace or a type, and no number of somebody that stands in the wrong component. */
const PLAIN_CODE = /^(?!.*\d{4})[\w.-]{1,40}$/;

/** Which identifier is the patient's, nobody here knows: the first may be that of another system. */
export function hintOfIdentifiers({ segment, field }: FieldPath, holder: Segment): string {
  const conditions = new Set<string>();
  for (let n = 1; n <= holder.repetitions(field); n++) {
    const [authority, kind] = [holder.get(field, n, 4), holder.get(field, n, 5)];
    const given = { "4.1": authority, "5": kind };
    const condition = Object.entries(given)
      .flatMap(([position, value = ""]) => (PLAIN_CODE.test(value) ? [`${position}=${value}`] : []))
      .join("&");
    if (condition !== "") conditions.add(`\`${segment}-${field}[${condition}].1\``);
  }
  const value = segment === "MRG" ? "subject.priorCode" : "subject.code";
  const which =
    conditions.size < 2 ? `\`${segment}-${field}[4.1=LAB&5=MR].1\`` : [...conditions].join(" or ");
  return `Name the one that is the lab's, by its authority (${segment}-${field}.4) and type (${segment}-${field}.5), as ${value} of the profile: ${which}. Or have the sender fill in that one alone.`;
}
