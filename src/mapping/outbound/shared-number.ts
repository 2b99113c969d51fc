import { escapeText } from "../../formats/hl7/escapes.ts";
import { Hl7Message, type Segment } from "../../formats/hl7/message.ts";

/** Fields of ORC and OBR that hold a code, a time or a place in a list, which may look like a number. */
const NO_NUMBERS: Readonly<Record<string, readonly number[]>> = { ORC: [1, 5, 9], OBR: [1, 7, 22, 25] };
/** Accession numbers and the like of other segments. */
const NUMBERS: Readonly<Record<string, readonly number[]>> = { SAC: [1, 2], SPM: [2, 30] };

/**
 * A composed message without an order's number, where another order has it: a status beside the number would be read as
 * that of the other one. Whatever put it there, an echo or the site's own fields, it is taken out of all fields that name
 * orders.
 *
 * @param numbers the number as it was read, and as it was written
 */
export function withoutNumber(text: string, numbers: readonly string[]): string {
  const message = Hl7Message.parse(text);
  const { delimiters } = message;
  const written = new Set(numbers.flatMap((number) => [number, escapeText(number, delimiters)]));
  const separators = [delimiters.repetition, delimiters.component, delimiters.subcomponent];
  const partsOf = (field: string) =>
    separators.reduce(
      (parts, separator) => (separator === "" ? parts : parts.flatMap((part) => part.split(separator))),
      [field],
    );
  const namesOrder = (name: string, n: number) =>
    name in NO_NUMBERS ? !NO_NUMBERS[name]?.includes(n) : NUMBERS[name]?.includes(n) === true;
  const clean = ({ name, raw }: Segment): string =>
    raw
      .split(delimiters.field)
      .map((field, n) =>
        n > 0 && namesOrder(name, n) && partsOf(field).some((part) => written.has(part.trim())) ? "" : field,
      )
      .join(delimiters.field);
  return message.segments.map((segment) => `${clean(segment)}\r`).join("");
}
