import { type Owner, SHOWN_FORMS, SHOWN_KEYS, SHOWN_KEYS_OF } from "./shown.ts";
import { HIDDEN } from "./text.ts";

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

/** Keys of what holds containers, as a facility, a tank or its parts. */
const PLACES =
  /^(facility|storages?|location|tanks?|canisters?|canes?|racks?|boxe?s?|shelves|shelf|levels?|slots?)$/i;

/** What the service sent, or was sent, with everything masked that {@link SHOWN_KEYS} and what stands beside them don't name. Keys and null stay. */
export function hideRecord(value: unknown, owner: Owner, mayShowPhi: boolean): unknown {
  return mayShowPhi ? value : hide(value, "", owner);
}

function hide(value: unknown, key: string, owner: Owner): unknown {
  if (Array.isArray(value)) return value.map((each) => hide(each, key, owner));
  if (typeof value === "object" && value !== null) {
    const inner = key === "" ? owner : ownerOf(key);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, hide(each, name, inner)]));
  }
  if (value === undefined || value === null || value === "" || isShown(value, key, owner)) return value;
  return HIDDEN;
}

function isShown(value: unknown, key: string, owner: Owner): boolean {
  if (SHOWN_KEYS.has(key) || SHOWN_KEYS_OF[owner].has(key)) return true;
  return SHOWN_FORMS.get(key)?.test(String(value)) === true;
}

function ownerOf(key: string): Owner {
  if (PLACES.test(key)) return "place";
  if (/^(sample)?containers?$/i.test(key)) return "container";
  if (/subject|patient|person|donor/i.test(key)) return "person";
  return "unknown";
}
