import type { CsvRow } from "../../core/intake.ts";
import type { Hl7Message, Segment } from "../../formats/hl7/message.ts";

/** What a site's module may look at besides its order. */
export interface MessageView {
  readonly format: "hl7" | "csv";
  /**
   * One decoded value, or null. HL7 in the notation of hl7-standard: `get("PID.5.1", segment, repetition,
   * subcomponent)`, where `PID.5.1` counts from 1, and which segment of the name, which repetition and which
   * subcomponent count from 0; `PID.5` means `PID.5.1`. CSV: `get("column", row)`, rows of the order counted from 0.
   */
  get(path: string, segment?: number, repetition?: number, subcomponent?: number): string | null;
  /** How many segments of a name the message has; for CSV the number of the order's rows. */
  count(segment: string): number;
}

const NOTATION = /^([A-Z][A-Z0-9]{2})\.(\d{1,4})(?:\.(\d{1,4}))?$/;

/**
 * A view of an HL7 message.
 *
 * @param scope all that is to be seen of it; the whole message unless given
 */
export function viewHl7(message: Hl7Message, scope?: readonly Segment[]): MessageView {
  const all = (name: string) =>
    scope === undefined ? message.all(name) : scope.filter((segment) => segment.name === name);
  return {
    format: "hl7",
    get: (path, segment = 0, repetition = 0, subcomponent = 0) => {
      const match = NOTATION.exec(path);
      if (match === null) throw new Error(`get("${path}"): expected a notation such as PID.5.1`);
      const [, name = "", field = "", component = "1"] = match;
      const found: Segment | undefined = all(name)[segment];
      return found?.get(Number(field), repetition + 1, Number(component), subcomponent + 1) ?? null;
    },
    count: (segment) => all(segment).length,
  };
}

/** A view of the rows of one order. */
export function viewCsv(rows: readonly CsvRow[]): MessageView {
  return {
    format: "csv",
    get: (path, row = 0) => rows[row]?.values.get(path) ?? null,
    count: () => rows.length,
  };
}
