import type { Finding } from "./folder-rules.ts";
import { childOf } from "./schema-at.ts";
import { unknownWords } from "./words.ts";

/** The section `refills` against the facilities and connectors that it names. */
export function refillFindings(value: unknown): Finding[] {
  const refills = childOf(value, "refills");
  return [...facilityFindings(value, refills), ...tellFindings(value, refills)];
}

function facilityFindings(value: unknown, refills: unknown): Finding[] {
  const facilities = childOf(value, "facilities");
  const known = typeof facilities === "object" && facilities !== null ? Object.keys(facilities) : [];
  const named = childOf(refills, "facilities");
  const nameById = new Map<unknown, string>();
  return (Array.isArray(named) ? named : []).flatMap((name: unknown, index): Finding[] => {
    if (typeof name !== "string" || name === "") return [];
    const path = ["refills", "facilities", index];
    if (!known.includes(name)) {
      return [{ path, message: unknownWords("facility", name, known, "facilities has") }];
    }
    const facility = childOf(facilities, name);
    const id = childOf(facility, "id") ?? facility;
    const other = nameById.get(id);
    nameById.set(id, name);
    if (other === undefined) return [];
    const message =
      other === name
        ? `"${name}" is named twice`
        : `"${other}" is the same facility (id ${String(id)}); expected one of the two names`;
    return [{ path, message }];
  });
}

function tellFindings(value: unknown, refills: unknown): Finding[] {
  const tell = childOf(refills, "tell");
  const name = childOf(tell, "connector");
  if (typeof name !== "string" || name === "") return [];
  const connectors = childOf(value, "connectors");
  const list: readonly unknown[] = Array.isArray(connectors) ? connectors : [];
  const connector = list.find((each) => childOf(each, "name") === name);
  if (connector === undefined) {
    const names = list.flatMap((each) => {
      const known = childOf(each, "name");
      return typeof known === "string" ? [known] : [];
    });
    const message = unknownWords("connector", name, names, "there are");
    return [{ path: ["refills", "tell", "connector"], message }];
  }
  const format = childOf(tell, "format");
  const type = childOf(connector, "type");
  const own = type === "csv-drop" ? "csv" : "hl7";
  if (typeof type !== "string" || (format !== "csv" && format !== "hl7") || format === own) return [];
  const message = `connector ${name} is of type ${type}, which carries ${own}; expected ${own}, or no format at all`;
  return [{ path: ["refills", "tell", "format"], message }];
}
