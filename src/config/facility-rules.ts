import { SUBJECT_MODES, SURFACES } from "../core/surface.ts";
import type { Finding } from "./folder-rules.ts";
import { childOf } from "./schema-at.ts";

/** One name of a facility with what its orders would go by. */
interface Named {
  readonly name: string;
  readonly id: number;
  readonly surface: string;
  readonly subjects: string;
}

/**
 * Two names of one facility must say the same of it: an order is settled and followed by the facility's id, and one
 * surface doesn't show what the other was told.
 */
export function facilityFindings(value: unknown): Finding[] {
  const first = new Map<number, Named>();
  return namedFacilities(value).flatMap((facility) => {
    const other = first.get(facility.id);
    if (!other) {
      first.set(facility.id, facility);
      return [];
    }
    return (["surface", "subjects"] as const)
      .filter((key) => facility[key] !== other[key])
      .map((key) => ({
        path: ["facilities", facility.name],
        message: `is the facility ${facility.id} like ${other.name}, which has ${key} ${other[key]} and not ${facility[key]}; one facility goes by one way`,
      }));
  });
}

/** With `subjects: none` the guard against the wrong patient can't work. */
export function subjectRiskFindings(value: unknown): Finding[] {
  const message =
    "subjects are neither looked up nor registered: orders of a patient with another name or birth date than the service has are not noticed";
  const service = childOf(value, "service");
  const facilities = childOf(value, "facilities");
  const names = typeof facilities === "object" && facilities !== null ? Object.keys(facilities) : [];
  const isNone = (section: unknown) => childOf(section, "subjects") === "none";
  return [
    ...(isNone(service) ? [{ path: ["service", "subjects"], message }] : []),
    ...names
      .filter((name) => isNone(childOf(facilities, name)))
      .map((name) => ({ path: ["facilities", name, "subjects"], message })),
  ];
}

function namedFacilities(value: unknown): Named[] {
  const service = childOf(value, "service");
  const facilities = childOf(value, "facilities");
  if (typeof facilities !== "object" || facilities === null || Array.isArray(facilities)) return [];
  return Object.entries(facilities).flatMap(([name, given]) => {
    const id = typeof given === "number" ? given : childOf(given, "id");
    if (typeof id !== "number") return [];
    const read = (key: "surface" | "subjects", usual: string) =>
      String(childOf(given, key) ?? childOf(service, key) ?? usual);
    return [
      { name, id, surface: read("surface", SURFACES[0]), subjects: read("subjects", SUBJECT_MODES[0]) },
    ];
  });
}
