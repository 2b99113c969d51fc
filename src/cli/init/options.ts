import { Failure } from "../../core/failures.ts";
import { isId } from "./codes.ts";
import type { ConnectorType } from "./config-text.ts";
import { type Given, PLACES, type Place } from "./draft.ts";
import { OPERATION_NAMES, type OperationName } from "./operation-words.ts";

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
  const operations = new Map<string, OperationName>();
  let everyOperation: OperationName | undefined;
  for (const text of options.operation ?? []) {
    const { key, value } = pairOf(text) ?? { key: undefined, value: text };
    const name = OPERATION_NAMES.find((each) => each === value.toUpperCase());
    if (name === undefined)
      throw usage(`--operation ${text}`, `WORD=OPERATION, with one of ${OPERATION_NAMES.join(", ")}`);
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
