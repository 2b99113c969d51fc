import { asFailure, Failure, type Problem } from "../core/failures.ts";
import { findEncoding } from "../formats/encoding.ts";
import { type FieldPath, parsePath } from "../formats/hl7/path.ts";
import { builtinProfiles } from "./builtin.ts";
import { compileResults } from "./compile-results.ts";
import { compileRules } from "./compile-rules.ts";
import { compileControls } from "./control-codes.ts";
import { resolveChain } from "./extends-chain.ts";
import { inheritProfile } from "./inherit.ts";
import { parseMessageType } from "./message-type.ts";
import { readSiteModule, type SiteModule } from "./module.ts";
import type {
  CompiledProfile,
  ContainerKind,
  ContainerSegment,
  CsvProfile,
  CsvReading,
  Hl7Profile,
  OrderRules,
} from "./profile.ts";
import { type Complain, profileProblem } from "./profile-problems.ts";
import type { ProfileDefinition } from "./profile-schema.ts";
import { placesOf, type ValueRule } from "./value.ts";

export interface CompileDeps {
  /** What `extends` may name besides `profiles`; the shipped profiles unless given. */
  readonly builtins?: Readonly<Record<string, ProfileDefinition>> | undefined;
  /** The other profiles of the configuration, by name. */
  readonly profiles?: Readonly<Record<string, ProfileDefinition>> | undefined;
  /** Imports a site's module; `declaredBy` is the profile that names it, since its folder is what the path is relative to. */
  readonly loadModule: (specifier: string, declaredBy: string) => Promise<unknown>;
}

/** Turns a profile as people write it into one to map with, or tells all of its mistakes at once. Never throws. */
export async function compileProfile(
  name: string,
  definition: ProfileDefinition,
  deps: CompileDeps,
): Promise<CompiledProfile> {
  const byName = new Map([
    ...Object.entries(deps.builtins ?? builtinProfiles),
    ...Object.entries(deps.profiles ?? {}),
  ]);
  const chain = resolveChain(name, definition, byName);
  if (!chain.ok) return chain;
  const whole = chain.links.map((link) => link.definition).reduceRight(inheritProfile);
  const problems: Problem[] = [];
  const complain = (place: string, message: string) => problems.push(profileProblem(place, message));
  const declaredBy = chain.links.find((link) => link.definition.module !== undefined)?.name ?? name;
  const module = await loadSiteModule(whole, declaredBy, deps, complain);
  const results = compileResults(whole, complain);
  const base = { name, module, results };
  let profile: Hl7Profile | CsvProfile | undefined;
  if (whole.format === "hl7") profile = { ...base, ...compileHl7(whole, complain) };
  else if (whole.format === "csv") profile = { ...base, ...compileCsv(whole, complain) };
  else
    complain(
      "extends",
      `expected a profile to build on, such as ${Object.keys(builtinProfiles).join(" or ")}`,
    );
  if (profile === undefined || problems.length > 0) return { ok: false, problems };
  return { ok: true, profile };
}

async function loadSiteModule(
  whole: ProfileDefinition,
  declaredBy: string,
  deps: CompileDeps,
  complain: Complain,
): Promise<SiteModule | undefined> {
  if (whole.module === undefined) return undefined;
  try {
    const module = readSiteModule(whole.module, await deps.loadModule(whole.module, declaredBy));
    if (typeof module !== "string") return module;
    complain("module", module);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    complain("module", `${whole.module} cannot be loaded: ${reason}`);
  }
  return undefined;
}

const HL7_KEYS = [
  "accept",
  "ignore",
  "register",
  "update",
  "merge",
  "cancel",
  "control",
  "versions",
  "processingId",
] as const;
const CSV_KEYS = ["delimiter", "quote", "header", "dateFormats", "groupBy", "wholeFile"] as const;

function compileHl7(
  whole: ProfileDefinition,
  complain: Complain,
): Omit<Hl7Profile, "name" | "module" | "results"> {
  for (const key of CSV_KEYS) {
    if (whole[key] !== undefined) complain(key, "is for CSV profiles");
  }
  for (const key of ["accept", "versions"] as const) {
    if (whole[key] === undefined || whole[key].length === 0)
      complain(key, "is missing; builtin/hl7-orders brings it");
  }
  if (whole.encoding !== undefined && findEncoding(whole.encoding) === undefined) {
    complain("encoding", `${whole.encoding} is no encoding that Cryobridge knows`);
  }
  const each = compileEach(whole.containers?.each, complain);
  if (whole.containers?.each === undefined)
    complain("containers.each", "is missing; builtin/hl7-orders brings it");
  const rules = compileRules<FieldPath>(whole, { parsePlace: parsePath, dateFormats: undefined }, complain);
  return {
    format: "hl7",
    accept: (whole.accept ?? []).map(parseMessageType),
    ignore: (whole.ignore ?? []).map(parseMessageType),
    register: (whole.register ?? []).map(parseMessageType),
    update: (whole.update ?? []).map(parseMessageType),
    merge: (whole.merge ?? []).map(parseMessageType),
    controls: compileControls(whole.cancel ?? [], whole.control ?? []),
    versions: whole.versions ?? [],
    processingId: whole.processingId,
    encoding: whole.encoding,
    rules,
    specimenLabel: ofSpecimen(rules.label),
    each,
    containerPlace: each.map(({ segment }) => segment).join(" or "),
  };
}

/**
 * A specimen's label where the profile first looks for it in SAC or SPM: what stands in OBR or OBX then isn't a label beside
 * specimens, but how they were taken, or a result.
 */
function ofSpecimen(label: ValueRule<FieldPath>): ValueRule<FieldPath> {
  const segments = label.sources.map((source) => (source.kind === "place" ? source.path.segment : ""));
  const own = segments.findIndex((segment) => segment === "SAC" || segment === "SPM");
  const sources = label.sources.filter(
    (_, i) => own === -1 || i < own || (segments[i] !== "OBR" && segments[i] !== "OBX"),
  );
  return { ...label, sources, places: placesOf(sources) };
}

function compileEach(each: string | readonly string[] | undefined, complain: Complain): ContainerKind[] {
  return (each === undefined ? [] : [each].flat()).flatMap((text) => {
    const segment = text.slice(0, 3) as ContainerSegment;
    if (text.length === 3) return [{ segment }];
    try {
      const which = parsePath(`${text}-1`).whichSegment;
      if (which?.kind === "where") return [{ segment, which }];
      complain("containers.each", `${text}: expected a condition in brackets, such as OBX[3.1=CONTAINER]`);
    } catch (error) {
      complain("containers.each", asFailure(error).message);
    }
    return [];
  });
}

function compileCsv(
  whole: ProfileDefinition,
  complain: Complain,
): Omit<CsvProfile, "name" | "module" | "results"> {
  for (const key of HL7_KEYS) {
    if (whole[key] !== undefined) complain(key, "is for HL7 profiles");
  }
  if (whole.containers?.each !== undefined)
    complain("containers.each", "is for HL7 profiles; a row is one container");
  if (whole.subject?.priorCode !== undefined) complain("subject.priorCode", "is for HL7 profiles");
  const header = whole.header ?? true;
  const encoding = whole.encoding ?? "auto";
  if (encoding !== "auto" && findEncoding(encoding) === undefined) {
    complain("encoding", `${encoding} is no encoding that Cryobridge knows`);
  }
  const parsePlace = (text: string) => requireColumn(text, header);
  const rules = compileRules<string>(whole, { parsePlace, dateFormats: whole.dateFormats }, complain);
  if (whole.groupBy !== undefined) {
    try {
      requireColumn(whole.groupBy, header);
    } catch (error) {
      complain("groupBy", asFailure(error).message);
    }
  }
  return {
    format: "csv",
    reading: {
      delimiter: whole.delimiter ?? "auto",
      quote: whole.quote ?? '"',
      header,
      encoding,
      groupBy: whole.groupBy,
      wholeFile: whole.wholeFile ?? false,
      requiredColumns: listRequiredColumns(rules),
      wishListLacks: listWishLacks(rules),
    },
    rules,
  };
}

/** Columns of values that every order needs; a list of places needs only one of its columns. */
function listRequiredColumns(rules: OrderRules<string>): string[][] {
  const [operation] = rules.operation.sources;
  const isRegistration = operation?.kind === "constant" && operation.value === "REGISTER";
  const ofContainers = isRegistration ? [] : [rules.placerOrderNumber, rules.label];
  const needed = [rules.operation, rules.facility, rules.subject.code, ...ofContainers];
  return needed.flatMap(columnsOf);
}

/** The columns of which a value needs one; none when it can come from elsewhere. */
function columnsOf(rule: ValueRule<string>): string[][] {
  const columns = rule.sources.flatMap((source) => (source.kind === "place" ? [source.path] : []));
  const hasOther = rule.fallback !== undefined || columns.length < rule.sources.length;
  return hasOther || columns.length === 0 ? [] : [columns];
}

/** What a file without any order need not have; undefined where every row has the same operation. */
function listWishLacks(rules: OrderRules<string>): CsvReading["wishListLacks"] {
  if (!rules.operation.sources.some(({ kind }) => kind === "place")) return undefined;
  return {
    all: columnsOf(rules.facility).concat(columnsOf(rules.label)),
    any: columnsOf(rules.subject.code),
  };
}

function requireColumn(name: string, header: boolean | readonly string[]): string {
  if (header === true) return name;
  if (header === false) {
    if (/^[1-9]\d{0,3}$/.test(name)) return name;
    throw new Failure(
      "CONFIG_INVALID",
      `${name}: without a header line columns are called 1, 2, 3 and so on`,
    );
  }
  if (header.includes(name)) return name;
  throw new Failure("CONFIG_INVALID", `${name} is not among the columns that header lists`);
}
