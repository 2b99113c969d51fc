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

interface Source {
  readonly definitions: Readonly<Record<string, Definitions>>;
  readonly tables: Readonly<Record<string, { readonly values?: Readonly<Record<string, string>> }>>;
}

/** Loads the names, which takes a moment and some memory: only where people read messages. */
export async function loadDictionary(): Promise<Dictionary> {
  const module: unknown = await import("hl7-dictionary");
  const source = (module as { readonly default: Source }).default;
  const versions = Object.keys(source.definitions).sort(compareVersions);
  const definitionsOf = (version: string | undefined): Definitions | undefined => {
    // A version that isn't listed has the names of the nearest one before it, or of the newest.
    const wanted =
      version === undefined ? undefined : versions.findLast((each) => compareVersions(each, version) <= 0);
    return source.definitions[wanted ?? versions.at(-1) ?? ""];
  };
  const entryOf = (version: string | undefined, segment: string, field: number) =>
    definitionsOf(version)?.segments[segment]?.fields?.[field - 1];
  const subfieldOf = (version: string | undefined, type: string | undefined, n: number) =>
    type === undefined ? undefined : definitionsOf(version)?.fields[type]?.subfields?.[n - 1];
  return {
    segment: (version, segment) => tidy(definitionsOf(version)?.segments[segment]?.desc),
    field: (version, segment, field) => tidy(entryOf(version, segment, field)?.desc),
    component: (version, segment, field, component, subcomponent) => {
      const part = subfieldOf(version, entryOf(version, segment, field)?.datatype, component);
      if (subcomponent === undefined) return tidy(part?.desc);
      return tidy(subfieldOf(version, part?.datatype, subcomponent)?.desc);
    },
    code: (version, segment, field, value) => {
      const table = entryOf(version, segment, field)?.table;
      const values = table === undefined ? undefined : source.tables[String(table)]?.values;
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
