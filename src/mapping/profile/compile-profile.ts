import { asFailure } from "../../core/failures.ts";
import { joined } from "../../core/place.ts";
import { findEncoding } from "../../formats/encoding.ts";
import { type FieldPath, parsePath, spotOfPath } from "../../formats/hl7/path.ts";
import { listValueFields, listValueSegments } from "../inbound/check-structure.ts";
import { builtinProfiles } from "./builtin.ts";
import { compileCsv } from "./compile-csv.ts";
import { compileResults } from "./compile-results.ts";
import { type Complain, compileRules, profileProblem } from "./compile-rules.ts";
import { inheritProfile, resolveChain } from "./inherit.ts";
import { compileControls, parseMessageType } from "./message-type.ts";
import { readSiteModule, type SiteModule } from "./module.ts";
import type { CompiledProfile, ContainerKind, CsvProfile, Hl7Profile, ProfileProblem } from "./profile.ts";
import type { ProfileDefinition } from "./schema.ts";
import { placesOf, type Source, type ValueRule } from "./value.ts";

interface CompileDeps {
  /** What `extends` may name besides the built-in profiles: the others of the configuration, by name. */
  readonly profiles?: Readonly<Record<string, ProfileDefinition>> | undefined;
  /** Imports a site's module; `declaredBy` is the profile that names it, since its folder is what the path is relative to. */
  readonly loadModule: (specifier: string, declaredBy: string) => Promise<unknown>;
}

/**
 * Turns a profile that fits its schema into one to map with, or reports all of its mistakes at once. Never throws.
 */
export async function compileProfile(
  name: string,
  definition: ProfileDefinition,
  deps: CompileDeps,
): Promise<CompiledProfile> {
  const byName = new Map(Object.entries({ ...builtinProfiles, ...deps.profiles }));
  const chain = resolveChain(name, definition, byName);
  if (!chain.ok) return chain;
  const whole = chain.links.map((link) => link.definition).reduceRight(inheritProfile);
  const problems: ProfileProblem[] = [];
  const complain = (place: string, message: string) => problems.push(profileProblem(place, message));
  const declaredBy = chain.links.find((link) => link.definition.module !== undefined)?.name ?? name;
  const module = await loadSiteModule(whole, declaredBy, deps, complain);
  const results = compileResults(whole, complain);
  const { operation, facility } = definition;
  const base = { name, module, results, own: { operation, facility } };
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

const CSV_KEYS = [
  "delimiter",
  "quote",
  "header",
  "dateFormats",
  "groupBy",
  "wholeFile",
  "lastLineEnd",
  "skipLines",
  "shortRows",
  "noRow",
  "trailer",
] as const;

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
  const compiled = compileRules<FieldPath>(
    whole,
    { parsePlace: parsePath, spotOf: spotOfPath, dateFormats: undefined },
    complain,
  );
  const ordersEach = whole.orders?.each ?? "ORC";
  const rules =
    ordersEach === "OBR" ? { ...compiled, placerOrderNumber: ofObr(compiled.placerOrderNumber) } : compiled;
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
    controlId: whole.controlId ?? "required",
    processingModes: whole.processingModes ?? [],
    encoding: whole.encoding,
    rules,
    ordersEach,
    sameNumber: whole.orders?.sameNumber ?? "join",
    specimenLabel: ofSpecimen(rules.label),
    each,
    valueSegments: listValueSegments(rules, each),
    valueFields: listValueFields(rules, each),
    containerPlace: joined(
      each.map(({ segment }) => ({ spots: [{ segment }] })),
      "or",
    ),
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

/**
 * Where each OBR is an order, the number that ORC has is that of all of them: places that would have to agree are read in OBR
 * first, and in ORC of a request without any OBR.
 */
function ofObr(number: ValueRule<FieldPath>): ValueRule<FieldPath> {
  if (!number.mustAgree) return number;
  const isOfObr = (source: Source<FieldPath>) => source.kind === "place" && source.path.segment === "OBR";
  const sources = number.sources.toSorted((one, other) => Number(isOfObr(other)) - Number(isOfObr(one)));
  return { ...number, sources, places: placesOf(sources), mustAgree: false };
}

function compileEach(each: string | readonly string[] | undefined, complain: Complain): ContainerKind[] {
  return (each === undefined ? [] : [each].flat()).flatMap((text) => {
    const segment = text.slice(0, 3);
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
