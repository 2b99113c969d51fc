/** The kinds of ledger ids that people see: file, message, order, outcome (reported to the lab), delivery, task, alert, silence, worker. */
export type IdKind = "f" | "m" | "o" | "t" | "d" | "k" | "a" | "s" | "w";

/** An id as people see and type it: `o17` is order 17. */
export function formatId(kind: IdKind, id: number): string {
  return `${kind}${id}`;
}

/** The number of an id such as `o17`; undefined when the text is no id of that kind. */
export function parseId(kind: IdKind, text: string): number | undefined {
  return text.startsWith(kind) && /^.[1-9]\d{0,15}$/.test(text) ? Number(text.slice(1)) : undefined;
}

/** The same of an id that was made here. @throws RangeError for what is none of that kind */
export function numberOfId(kind: IdKind, id: string): number {
  const number = parseId(kind, id);
  if (number === undefined) throw new RangeError(`${id} is no id of the kind ${kind}`);
  return number;
}

/** An order in sentences that the lab reads too, which knows none of our ids: by the lab's own number. */
export function nameOrder(placerOrderNumber: string | null | undefined): string {
  return placerOrderNumber === null || placerOrderNumber === undefined
    ? "an order without a number"
    : `order ${placerOrderNumber}`;
}
