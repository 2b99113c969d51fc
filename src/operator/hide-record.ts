import { HIDDEN } from "./text.ts";

/** Whose values an object of the service holds. */
type Owner = "person" | "procedure" | "container" | "place" | "order" | "unknown";

/** What a read of the service shows, as the owner of its values. */
export const OWNERS = {
  subjects: "person",
  subject: "person",
  requests: "order",
  request: "order",
  procedures: "procedure",
  procedure: "procedure",
  containers: "container",
  location: "place",
  storage: "place",
  inventory: "place",
} as const satisfies Record<string, Owner>;

/** Texts that the specification knows and that name no patient, whatever they are about. */
const PLAIN = new Set("id canister cane position slot storageName sampleContainerId label".split(" "));

/** Texts that are shown where they have the shape of what they are to be: a time, or one word. */
const SHAPES: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(
    ["createdAt", "acceptedAt", "startedAt", "completedAt", "storedAt"].map((key) => [
      key,
      /^[\d:.TZ+ -]{8,40}$/,
    ]),
  ),
  ...Object.fromEntries(["type", "status"].map((key) => [key, /^[A-Za-z]\w{1,39}$|^in progress$/i])),
};

/** Further texts by what they are about: a procedure's `code` is its number, a subject's is the patient's. */
const PLAIN_OF: Readonly<Record<Owner, ReadonlySet<string>>> = {
  person: new Set(),
  procedure: new Set(["code"]),
  container: new Set(["name"]),
  place: new Set(["name"]),
  order: new Set(),
  unknown: new Set(),
};

/** Keys of what holds containers, as a facility, a tank or its parts. */
const PLACES =
  /^(facility|storages?|location|tanks?|canisters?|canes?|racks?|boxe?s?|shelves|shelf|levels?|slots?)$/i;

/** Keys that may hold something of a patient in whatever form, numbers too. */
const PERSONAL =
  /name|birth|code|patient|subject|person|donor|description|comment|note|mrn|ssn|phone|mail|address/i;

/**
 * What the service sent, or was sent, with everything masked that names a patient or could: texts of fields that the specification
 * doesn't know among them, since nobody knows what they hold. Keys, numbers of such fields, and null stay.
 */
export function hideRecord(value: unknown, owner: Owner, mayShowPhi: boolean): unknown {
  return mayShowPhi ? value : hide(value, "", owner);
}

function hide(value: unknown, key: string, owner: Owner): unknown {
  if (Array.isArray(value)) return value.map((each) => hide(each, key, owner));
  if (typeof value === "object" && value !== null) {
    const inner = key === "" ? owner : ownerOf(key);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, hide(each, name, inner)]));
  }
  if (value === null || value === "" || isPlain(value, key, owner)) return value;
  return HIDDEN;
}

function isPlain(value: unknown, key: string, owner: Owner): boolean {
  if (PLAIN.has(key) || PLAIN_OF[owner].has(key)) return true;
  const shape = Object.hasOwn(SHAPES, key) ? SHAPES[key] : undefined;
  if (shape !== undefined) return typeof value === "string" && shape.test(value);
  const isId = /(^id|Ids?)$/.test(key);
  if (typeof value === "string") return isId && /^\d{1,16}$/.test(value);
  return isId || (owner !== "person" && !PERSONAL.test(key));
}

function ownerOf(key: string): Owner {
  if (PLACES.test(key)) return "place";
  if (/^(sample)?containers?$/i.test(key)) return "container";
  if (/subject|patient|person|donor/i.test(key)) return "person";
  return "unknown";
}
