const FORM = /^([fmotdk])([1-9]\d{0,15})$/;

/** The kinds of ledger ids that people see: file, message, order, outcome (reported to the lab), delivery, task. */
type IdKind = "f" | "m" | "o" | "t" | "d" | "k";

/** An id as people see and type it: `o17` is order 17. */
export function formatId(kind: IdKind, id: number): string {
  return `${kind}${id}`;
}

/** The number of an id such as `o17`; undefined when the text is no id of that kind. */
export function parseId(kind: IdKind, text: string): number | undefined {
  const match = FORM.exec(text);
  return match?.[1] === kind ? Number(match[2]) : undefined;
}

/** An order in sentences: `o17`, or `o17 (P-1001)` with its placer order number. */
export function nameOrder(id: number, placerOrderNumber: string | null | undefined): string {
  const name = formatId("o", id);
  return placerOrderNumber === null || placerOrderNumber === undefined
    ? name
    : `${name} (${placerOrderNumber})`;
}
