import type { Problem } from "../core/failures.ts";
import type { OrderGroup } from "../formats/hl7/groups.ts";
import type { Reading } from "./value.ts";

/** A group of a message, and the order number that was read of it. */
export interface NumberedGroup {
  readonly group: OrderGroup;
  readonly number: Reading;
}

/**
 * Whether two groups with one order number have it of two assigning authorities: then they are two orders (HL7 chapter
 * 2A, EI), and as one the containers of both would be in it. Where one names no authority, it is taken to be the same.
 */
export function disagreeOnAuthority(one: NumberedGroup, other: NumberedGroup): Problem | undefined {
  const [a, b] = [authorityOf(one), authorityOf(other)];
  if (a === undefined || b === undefined || a.value === b.value) return undefined;
  return {
    code: "MAPPING_VALUES_DISAGREE",
    place: `${a.place} and ${b.place}`,
    message:
      "one order number of two assigning authorities, expected a message, or a number, of its own for each",
  };
}

/** The namespace (EI.2) beside the number, in the field where that was found. */
function authorityOf({ group, number }: NumberedGroup): { value: string; place: string } | undefined {
  if (number.status !== "found") return undefined;
  const field = /^(ORC|OBR)(?:\[\d+\])?-(\d+)/.exec(number.place);
  if (field === null) return undefined;
  const [place, name, n] = field;
  const value = (name === "ORC" ? group.orc : group.obrs[0])?.get(Number(n), 1, 2)?.trim();
  return value === undefined || value === "" ? undefined : { value, place: `${place}.2` };
}
