import { Failure } from "../../core/failures.ts";
import { ROW_OPERATIONS, type RowOperation } from "../../mapping/profile/operations.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import { MEANINGS } from "./headings.ts";
import type { ConnectorType } from "./texts.ts";

/** Where a value stands, as `--place` names it: a built-in column's name, or the container itself in HL7. */
export const PLACES = [...MEANINGS.filter((each) => each !== "full_name"), "container"] as const;
export type Place = (typeof PLACES)[number];

/** What the command line says besides the sample. */
export interface Given {
  /** Column or HL7 path by what stands there. */
  readonly places: ReadonlyMap<Place, string>;
  /** The operation by the lab's word, as it was written. */
  readonly operations: ReadonlyMap<string, RowOperation>;
  /** The one operation of all orders, where the lab sends none. */
  readonly everyOperation: RowOperation | undefined;
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

/** Whether a text is an id of the service that is an exact number. */
export function isId(text: string): boolean {
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
}

/** The flags of `cryobridge init`. */
export interface InitOptions {
  readonly from?: string;
  readonly type?: ConnectorType;
  readonly service?: string;
  readonly facility?: readonly string[];
  readonly operation?: readonly string[];
  readonly place?: readonly string[];
  readonly dateFormat?: readonly string[];
  readonly encoding?: string;
  readonly name?: string;
  readonly dir?: string;
  readonly data?: string;
  readonly folder?: string;
  readonly listen?: string;
  readonly results?: string;
  readonly port: number;
  readonly yes?: boolean;
  readonly force?: boolean;
}

/** What the flags say about the sample. @throws Failure CLI_USAGE */
export function readGiven(options: InitOptions): Given {
  const operations = new Map<string, RowOperation>();
  let everyOperation: RowOperation | undefined;
  for (const text of options.operation ?? []) {
    const { key, value } = pairOf(text) ?? { key: undefined, value: text };
    const name = ROW_OPERATIONS.find((each) => each === value.toUpperCase());
    if (name === undefined)
      throw usage(`--operation ${text}`, `WORD=OPERATION, with one of ${ROW_OPERATIONS.join(", ")}`);
    if (key === undefined) everyOperation = name;
    else operations.set(key, name);
  }
  const facilities = new Map<string, number>();
  for (const text of options.facility ?? []) {
    const { key, value } = pairOf(text) ?? { key: "", value: "" };
    if (key === "" || !isId(value)) throw usage(`--facility ${text}`, "NAME=ID, such as NORTH=12");
    facilities.set(key, Number(value));
  }
  const places = new Map<Place, string>();
  for (const text of options.place ?? []) {
    const { key, value } = pairOf(text, "first") ?? { key: "", value: "" };
    const place = PLACES.find((each) => each === key);
    if (place === undefined || value === "")
      throw usage(`--place ${text}`, `WHAT=PLACE, with one of ${PLACES.join(", ")}`);
    places.set(place, value);
  }
  const { encoding, dateFormat: dateFormats = [] } = options;
  return { places, operations, everyOperation, facilities, dateFormats, encoding };
}

/** Parts at the last sign unless it is a path, which may have one in its condition. */
function pairOf(text: string, at: "first" | "last" = "last"): { key: string; value: string } | undefined {
  const sign = at === "first" ? text.indexOf("=") : text.lastIndexOf("=");
  if (sign === -1) return undefined;
  return { key: text.slice(0, sign).trim(), value: text.slice(sign + 1).trim() };
}

function usage(given: string, expected: string): Failure {
  return new Failure("CLI_USAGE", `${given}: expected ${expected}`);
}
