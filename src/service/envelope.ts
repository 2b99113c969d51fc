import { plainName } from "./seen-entries.ts";
import { isObject, type RawObject } from "./values.ts";

/** Keys under which services are seen to put a list; the first that holds one wins. */
const LIST_KEYS = ["data", "items", "results", "content", "records", "entries", "rows", "list", "values"];
/** Further keys, which say what is in the list. */
const NAMED_KEYS = ["subjects", "procedureRequests", "procedures", "sampleContainers", "storage", "storages"];

/** A list taken out of its wrapping, and the wrapping it was found in (`array`, `data`, `result.rows`). */
export interface Unwrapped {
  readonly entries: readonly RawObject[];
  readonly envelope: string;
}

/**
 * Takes the entries out of a list answer, whose wrapping on the request surface is "not shown". With `auto`: a bare
 * array; else a well-known key, also one level deeper; else the only array among the object's values. An explicit
 * null under a well-known key is an empty list. Undefined when no list is found, or one that comes with an error: what
 * it leaves out is not known.
 */
export function unwrapList(json: unknown, envelope: string): Unwrapped | undefined {
  if (isObject(json) && tellsError(json)) return undefined;
  if (envelope === "array") return listed(json, "array");
  if (envelope !== "auto") {
    const inner = envelope
      .split(".")
      .reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), json);
    return listed(inner, envelope);
  }
  if (Array.isArray(json)) return listed(json, "array");
  if (!isObject(json)) return undefined;
  const keys = [...LIST_KEYS, ...NAMED_KEYS];
  for (const key of keys) {
    const value = json[key];
    if (Array.isArray(value) || (value === null && key in json)) return listed(value, key);
    if (!isObject(value)) continue;
    const inner = keys.find((each) => Array.isArray(value[each]));
    if (inner !== undefined) return listed(value[inner], `${key}.${inner}`);
  }
  const arrays = Object.entries(json).filter(([, value]) => Array.isArray(value));
  const [only] = arrays;
  return arrays.length === 1 && only ? listed(only[1], plainName(only[0])) : undefined;
}

/** Whether an answer that should be a list says that something went wrong; empty errors say that nothing did. */
function tellsError({ error, errors, success }: RawObject): boolean {
  const isTold = (value: unknown) =>
    Array.isArray(value)
      ? value.length > 0
      : isObject(value)
        ? Object.keys(value).length > 0
        : Boolean(value);
  return isTold(error) || isTold(errors) || success === false;
}

/**
 * Takes a single object out of a wrapping: under `data`, `item` or `result`, or as the only value of its wrapper.
 * An object with an `id` is its own.
 */
export function unwrapObject(json: unknown): RawObject | undefined {
  if (!isObject(json)) return undefined;
  if ("id" in json) return json;
  const values = Object.values(json);
  const inner = values.length === 1 ? values[0] : (json.data ?? json.item ?? json.result);
  return isObject(inner) ? inner : json;
}

function listed(value: unknown, envelope: string): Unwrapped | undefined {
  if (value === null) return { entries: [], envelope };
  if (!Array.isArray(value) || !value.every(isObject)) return undefined;
  return { entries: value, envelope };
}
