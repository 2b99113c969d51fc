import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import type { OperationName } from "./operation-words.ts";

/** Where a value stands, as `--place` names it: a built-in column's name, or the container itself in HL7. */
export const PLACES = [
  "order_number",
  "operation",
  "facility",
  "subject_code",
  "first_name",
  "last_name",
  "date_of_birth",
  "container",
  "container_label",
  "container_description",
] as const;
export type Place = (typeof PLACES)[number];

/** What the command line says besides the sample. */
export interface Given {
  /** Column or HL7 path by what stands there. */
  readonly places: ReadonlyMap<Place, string>;
  /** The operation by the lab's word, as it was written. */
  readonly operations: ReadonlyMap<string, OperationName>;
  /** The one operation of all orders, where the lab sends none. */
  readonly everyOperation: OperationName | undefined;
  readonly facilities: ReadonlyMap<string, number>;
  readonly dateFormats: readonly string[];
  readonly encoding: string | undefined;
}

/** A profile that begins to fit the sample. */
export interface Draft {
  readonly definition: ProfileDefinition;
  /** Comments for people who edit it, by the path of the setting, such as `subject.code`. */
  readonly comments: ReadonlyMap<string, string>;
  /** Settings that the sample may want, as comments at its end. */
  readonly tail?: readonly string[];
  /** What was found in the sample, for people: headings and codes, never values of patients. */
  readonly findings: readonly string[];
  /** A text that goes with an operation code, such as OBR-4.2. */
  readonly textOfOperation?: ((code: string) => string | undefined) | undefined;
  /** Codes that the sample has at the places of operation and facility, for as long as it can't be mapped whole. */
  readonly codes?:
    | { readonly operations: readonly string[]; readonly facilities: readonly string[] }
    | undefined;
  /** Whether the sample has no place for the facility. */
  readonly lacksFacility: boolean;
}

/** Settings without those that are undefined, so that none of them is written. */
export function onlyGiven<T extends object>(settings: T): T {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as T;
}
