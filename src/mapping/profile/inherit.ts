import { parsePath, spotOfPath } from "../../formats/hl7/path.ts";
import type { ProfileProblem } from "./profile.ts";
import { type ProfileDefinition, type SourceDefinition, VALUES, type ValueDefinition } from "./schema.ts";
import { tableKey } from "./transforms.ts";
import { compileValue, toValueObject } from "./value.ts";

/** A profile and its name. */
export interface Link {
  readonly name: string;
  readonly definition: ProfileDefinition;
}

/** A profile and those it extends, nearest first; or why there is no such chain. */
export function resolveChain(
  name: string,
  definition: ProfileDefinition,
  byName: ReadonlyMap<string, ProfileDefinition>,
):
  | { readonly ok: true; readonly links: Link[] }
  | { readonly ok: false; readonly problems: ProfileProblem[] } {
  const refuse = (message: string) => ({
    ok: false as const,
    problems: [{ place: "extends", message }],
  });
  const links: Link[] = [{ name, definition }];
  for (let parent = definition.extends; parent !== undefined; ) {
    if (links.some((link) => link.name === parent)) {
      return refuse(`goes in a circle: ${[...links.map((link) => link.name), parent].join(" -> ")}`);
    }
    const found = byName.get(parent);
    if (found === undefined) {
      const known = [...byName.keys()].filter((key) => key !== name).join(", ");
      return refuse(`no profile is called ${parent}; known: ${known}`);
    }
    links.push({ name: parent, definition: found });
    parent = found.extends;
  }
  return { ok: true, links };
}

/** All that the profiles of a chain say as one. */
export function wholeOf(links: readonly Link[]): ProfileDefinition {
  return links.map((link) => link.definition).reduceRight(inheritProfile);
}

type ValueObject = ReturnType<typeof toValueObject>;
type Plain = Readonly<Record<string, unknown>>;

/**
 * A profile on top of the one it extends: deep by key, lists replaced. A bare path or list for a value counts as its
 * `from`, so that naming another place keeps the transforms and the table; a constant (`value`) drops them.
 */
function inheritProfile(parent: ProfileDefinition, child: ProfileDefinition): ProfileDefinition {
  const whole = inherit(parent, child);
  if (parent.subject === undefined || child.subject === undefined || whole.subject === undefined)
    return whole;
  return { ...whole, subject: followCode(child.subject, whole.subject) };
}

function inherit<T extends Plain>(parent: T, child: T, at = ""): T {
  const merged: Record<string, unknown> = { ...parent };
  for (const [key, above] of Object.entries(child)) {
    const below = merged[key];
    const name = at + key;
    if (below === undefined || above === undefined) merged[key] = above;
    else if (VALUES.has(name)) merged[key] = inheritValue(objectOf(below), objectOf(above));
    // The groups of a trailer are those of its line.
    else if (name !== "trailer" && isPlain(below) && isPlain(above))
      merged[key] = inherit(below, above, `${name}.`);
    else merged[key] = above;
  }
  return merged as T;
}

function objectOf(definition: unknown): ValueObject {
  return toValueObject(definition as ValueDefinition);
}

type Subject = NonNullable<ProfileDefinition["subject"]>;

/** Where MRG has the identifier that a merge does away with, by the field of PID that has the one that stays. */
const MRG_BY_PID: Readonly<Record<string, string>> = {
  "PID-2": "MRG-4",
  "PID-3": "MRG-1",
  "PID-4": "MRG-2",
  "PID-18": "MRG-3",
};

/**
 * A profile that finds the subject code elsewhere, or writes it otherwise, means the identifier that a merge does away with
 * as well, unless it says where that stands: an identifier of another kind would be another person's. Where MRG has no
 * counterpart there is no such rule.
 */
function followCode(child: Subject, merged: Subject): Subject {
  if (child.code === undefined || child.priorCode !== undefined || merged.code === undefined) return merged;
  // Profiles for CSV have none; and a mistake is reported where it was made.
  if (merged.priorCode === undefined || !isSound(merged.code)) return merged;
  const { priorCode: _, ...rest } = merged;
  const { from, ...how } = toValueObject(merged.code);
  const sources = from === undefined ? [] : [from].flat();
  const places = sources.flatMap((source): SourceDefinition[] => {
    const text = typeof source === "string" ? source : "only" in source ? source.only : "";
    const field = /^PID-\d+/.exec(text)?.[0] ?? "";
    const mrg = MRG_BY_PID[field];
    if (mrg === undefined) return [];
    const place = mrg + text.slice(field.length);
    return [typeof source === "string" ? place : { only: place }];
  });
  if (places.length === 0 || places.length < sources.length) return rest;
  return { ...rest, priorCode: { ...how, from: places } };
}

function isSound(code: ValueDefinition): boolean {
  let isSound = true;
  const complain = () => {
    isSound = false;
  };
  compileValue(code, {
    parsePlace: parsePath,
    spotOf: spotOfPath,
    dateFormats: undefined,
    mayQuote: false,
    complain,
  });
  return isSound;
}

function inheritValue(parent: ValueObject, child: ValueObject): ValueObject {
  if (child.value !== undefined) return child;
  const { value: dropped, ...kept } = parent;
  const inherited = child.from === undefined ? parent : kept;
  const caseSensitive = child.caseSensitive ?? parent.caseSensitive;
  const table =
    parent.table && child.table
      ? inheritTable(parent.table, child.table, caseSensitive)
      : (child.table ?? parent.table);
  return { ...inherited, ...child, ...(table === undefined ? {} : { table }) };
}

type Table = NonNullable<ValueObject["table"]>;

/**
 * A code that the child writes otherwise is the same code. One that the child takes out stays as null where the parent
 * doesn't have it, for {@link compileValue} to complain of.
 */
function inheritTable(parent: Table, child: Table, caseSensitive: boolean | undefined): Table {
  const keyOf = (code: string) => tableKey(code, caseSensitive);
  const keys = new Set(Object.keys(child).map(keyOf));
  const kept = Object.entries(parent).filter(([code]) => !keys.has(keyOf(code)));
  const known = new Set(Object.keys(parent).map(keyOf));
  const own = Object.entries(child).filter(([code, value]) => value !== null || !known.has(keyOf(code)));
  return Object.fromEntries([...kept, ...own]);
}

function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
