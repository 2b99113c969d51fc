import { joined } from "../../core/place.ts";
import { type FieldPath, parsePath, spotOfPath } from "../../formats/hl7/path.ts";
import { listValueFields, listValueSegments } from "../inbound/check-structure.ts";
import { builtinProfiles } from "./builtin.ts";
import { compileCsv } from "./compile-csv.ts";
import { compileHl7Results } from "./compile-results.ts";
import { compileRules } from "./compile-rules.ts";
import { resolveChain, wholeOf } from "./inherit.ts";
import { compileControls } from "./message-type.ts";
import { readSiteModule, type SiteModule } from "./module.ts";
import type { CompiledProfile, Hl7Profile, ProfileBase, ProfileProblem } from "./profile.ts";
import { csvSettings, hl7Settings, type ProfileDefinition } from "./schema.ts";
import { type Complain, compileSettings, refuseForeign } from "./settings.ts";
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
  const whole = wholeOf(chain.links);
  if (whole.format === undefined) {
    const message = `expected a profile to build on, such as ${Object.keys(builtinProfiles).join(" or ")}`;
    return { ok: false, problems: [{ place: "extends", message }] };
  }
  const problems: ProfileProblem[] = [];
  const complain: Complain = (place, message) => problems.push({ place, message });
  const declaredBy = chain.links.find((link) => link.definition.module !== undefined)?.name ?? name;
  const module = await loadSiteModule(whole, declaredBy, deps, complain);
  const { operation, facility } = definition;
  const complete = whole.format === "csv" ? compileCsv(whole, complain) : compileHl7(whole, complain);
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, profile: { name, module, own: { operation, facility }, ...complete() } };
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

/** The part of a profile that HL7 messages are read by. */
function compileHl7(whole: ProfileDefinition, complain: Complain): () => Omit<Hl7Profile, keyof ProfileBase> {
  const results = compileHl7Results(whole, (place, message) => complain(`results.${place}`, message));
  refuseForeign(hl7Settings, csvSettings, whole, "CSV", complain);
  const settings = compileSettings(hl7Settings, whole, complain);
  const hl7 = { parsePlace: parsePath, spotOf: spotOfPath, dateFormats: undefined };
  const compiled = compileRules<FieldPath>(whole, hl7, complain);
  const rules =
    settings.orders.each === "OBR"
      ? { ...compiled, placerOrderNumber: ofObr(compiled.placerOrderNumber) }
      : compiled;
  return () => ({
    ...settings,
    format: "hl7",
    results,
    rules,
    controls: compileControls(settings),
    specimenLabel: ofSpecimen(rules.containers.label),
    valueSegments: listValueSegments(rules, settings.containers.each),
    valueFields: listValueFields(rules, settings.containers.each),
    containerPlace: joined(
      settings.containers.each.map(({ segment }) => ({ spots: [{ segment }] })),
      "or",
    ),
  });
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
