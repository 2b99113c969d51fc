import { createRequire } from "node:module";

/** What HL7 calls the parts of a message, by version. */
export interface Dictionary {
  /** `Specimen` for SPM; undefined for a segment that the version doesn't know, such as a Z segment. */
  segment(version: string | undefined, segment: string): string | undefined;
  /** `Specimen Type` for SPM-4. */
  field(version: string | undefined, segment: string, field: number): string | undefined;
  /** `ID Number` for PID-3.1, or for a component of a component. */
  component(
    version: string | undefined,
    segment: string,
    field: number,
    component: number,
    subcomponent?: number,
  ): string | undefined;
  /** What a code of a field's table stands for: `Cancel order/service request` for CA in ORC-1. */
  code(version: string | undefined, segment: string, field: number, value: string): string | undefined;
}

interface Entry {
  readonly datatype?: string;
  readonly desc?: string;
  readonly table?: number;
}

interface Definitions {
  readonly segments: Readonly<Record<string, { readonly desc?: string; readonly fields?: readonly Entry[] }>>;
  readonly fields: Readonly<Record<string, { readonly subfields?: readonly Entry[] }>>;
}

interface Table {
  readonly values?: Readonly<Record<string, string>>;
}

const require = createRequire(import.meta.url);
/** Those that have names, in their order. */
export const VERSIONS = ["2.1", "2.2", "2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.7.1"];

/**
 * The names. Each version's are read when one of its messages is looked at first, which takes some milliseconds; the package as a whole
 * has each version's messages too, which are most of it, and takes 35 MB.
 */
export function openDictionary(): Dictionary {
  const definitionsOf = (version: string | undefined): Definitions => {
    // A version that isn't listed has the names of the nearest one before it, or of the newest.
    const wanted =
      version === undefined ? undefined : VERSIONS.findLast((each) => compareVersions(each, version) <= 0);
    const folder = `hl7-dictionary/lib/${wanted ?? VERSIONS.at(-1)}`;
    return { segments: require(`${folder}/segments.js`), fields: require(`${folder}/fields.js`) };
  };
  const tables = (): Readonly<Record<string, Table>> => require("hl7-dictionary/lib/tables.js");
  const entryOf = (version: string | undefined, segment: string, field: number) =>
    definitionsOf(version).segments[segment]?.fields?.[field - 1];
  const subfieldOf = (version: string | undefined, type: string | undefined, n: number) =>
    type === undefined ? undefined : definitionsOf(version).fields[type]?.subfields?.[n - 1];
  return {
    segment: (version, segment) => tidy(definitionsOf(version).segments[segment]?.desc),
    field: (version, segment, field) => tidy(entryOf(version, segment, field)?.desc),
    component: (version, segment, field, component, subcomponent) => {
      const part = subfieldOf(version, entryOf(version, segment, field)?.datatype, component);
      if (subcomponent === undefined) return tidy(part?.desc);
      return tidy(subfieldOf(version, part?.datatype, subcomponent)?.desc);
    },
    code: (version, segment, field, value) => {
      const table = entryOf(version, segment, field)?.table;
      const values = table === undefined ? undefined : tables()[String(table)]?.values;
      return values !== undefined && Object.hasOwn(values, value) ? tidy(values[value]) : undefined;
    },
  };
}

/** By numbers: 2.10 comes after 2.9. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) =>
    version.split(".").map((part) => Number.parseInt(part, 10) || 0),
  );
  for (let n = 0; n < 3; n += 1) {
    const difference = (left?.[n] ?? 0) - (right?.[n] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The source writes underscores and two spaces where the standard has dashes. */
function tidy(text: string | undefined): string | undefined {
  const words = text
    ?.replace(/\s*_\s*/g, " - ")
    .replace(/\s+/g, " ")
    .trim();
  return words === "" ? undefined : words;
}
