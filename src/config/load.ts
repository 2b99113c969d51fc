import path from "node:path";
import { z } from "zod";
import { type Config, toConfig } from "./config.ts";
import { environment, readText } from "./environment.ts";
import type { Finding } from "./folder-rules.ts";
import { type ConfigProblem, configFailure, problemAt } from "./problems.ts";
import { profilesFolderOf, readProfiles } from "./profiles.ts";
import { riskFindings } from "./risks.ts";
import { ruleFindings } from "./rules.ts";
import { fileSchema } from "./schema.ts";
import { withAbsolutePaths } from "./schema-at.ts";
import { readSource, type Source } from "./source.ts";
import { validate } from "./validate.ts";

/** The profiles that need no file; what they say is made in `src/mapping/`. */
const BUILTIN_PROFILE_NAMES = ["builtin/hl7-orders", "builtin/csv-orders"] as const;
export type BuiltinProfileName = (typeof BUILTIN_PROFILE_NAMES)[number];

const WHERE_TO_NAME_IT =
  "name the configuration with --config FILE or in CRYOBRIDGE_CONFIG, or copy config/cryobridge.yaml there and fill it in";

interface LoadOptions<P> {
  /** Usually `process.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a running daemon reads it again, whose environment stays as it was. */
  readonly isOfDaemon?: boolean | undefined;
  /** Whether it is read for its mapping alone, and what else the environment lacks does not matter. */
  readonly isForMapping?: boolean | undefined;
  /** What a mapping profile has to look like. */
  readonly profileSchema: z.ZodType<P>;
}

/**
 * Reads the configuration and everything it refers to, except credentials' use and folders' state, which
 * `cryobridge check` tries. Relative paths in it start at the file's own folder.
 *
 * Throws a {@link import("./validate.ts").ConfigFailure} that holds every mistake found, not only the first.
 */
export function loadConfig<P>(file: string, options: LoadOptions<P>): Config<P> {
  const absolute = path.resolve(file);
  const baseDirectory = path.dirname(absolute);
  const lookUp = environment(options.env, baseDirectory, options.isOfDaemon);
  const read = readText(absolute);
  if ("problem" in read) {
    const message = read.isMissing ? `${read.problem}; ${WHERE_TO_NAME_IT}` : read.problem;
    throw configFailure([problemAt(file, { line: 1, column: 1 }, [], message)]);
  }
  const given = readSource(file, read.text, lookUp);
  if (!given.isReadable) throw configFailure(given.problems);
  const written = options.isForMapping ? withoutUnfilled(given) : given;

  const { profileSchema: schema } = options;
  const builtinNames = BUILTIN_PROFILE_NAMES;
  const profiles = readProfiles({ source: written, file: absolute, schema, builtinNames, lookUp });
  const value = withAbsolutePaths(fileSchema, written.value ?? {}, baseDirectory);
  const source = { ...written, value };
  const validation = validate(fileSchema, value, source);
  const known = { names: [...builtinNames, ...profiles.names], folder: profilesFolderOf(written.value) };
  const rules = problemsOf(source, ruleFindings(value, known));
  const problems = [...source.problems, ...profiles.problems, ...rules];
  if (!validation.isValid) throw configFailure(withoutEchoes([...problems, ...validation.problems]));
  if (problems.length > 0) throw configFailure(withoutEchoes(problems));

  const risks = problemsOf(source, riskFindings(value, source.isFromEnvironment, options.env));
  const warnings = [...source.warnings, ...profiles.warnings, ...risks];
  return toConfig(validation.value, absolute, profiles.profileByName, warnings);
}

/** Sections that say nothing of how messages are read and answered, and have defaults. */
const BESIDE_MAPPING = new Set([
  "alerts",
  "console",
  "database",
  "dataDir",
  "epochFile",
  "proxy",
  "queue",
  "tracing",
]);
/** What stands for a part of `service` without which the section is none; nothing is called. */
const INSTEAD: Readonly<Record<string, unknown>> = {
  auth: { apiToken: "none" },
  baseUrl: "https://service.invalid",
};

/** The same without what the environment lacks beside the mapping: no secret of the service or of a database is needed to map. */
function withoutUnfilled(source: Source): Source {
  const value = { ...(source.value as Record<string, unknown>) };
  const left = new Set<string>();
  for (const [section = "", part] of source.unfilled) {
    if (BESIDE_MAPPING.has(String(section))) {
      delete value[section];
      left.add(String(section));
    } else if (section === "service" && typeof part === "string") {
      value.service = { ...(value.service as object), [part]: INSTEAD[part] };
      left.add(`service.${part}`);
    }
  }
  const isLeft = (path: string) =>
    [...left].some((each) => `${path}.`.replaceAll("[", ".").startsWith(`${each}.`));
  return { ...source, value, problems: source.problems.filter(({ path }) => !isLeft(path)) };
}

const { dataDir, console } = fileSchema.shape;
const whereaboutsSchema = z.object({ dataDir, console });

/** What it takes to ask the daemon of a configuration whose other parts may have mistakes; undefined where these parts have some. */
export function loadWhereabouts(
  file: string,
  env: LoadOptions<unknown>["env"],
): Pick<Config, "dataDir" | "console"> | undefined {
  const baseDirectory = path.dirname(path.resolve(file));
  const read = readText(path.resolve(file));
  if ("problem" in read) return undefined;
  const source = readSource(file, read.text, environment(env, baseDirectory));
  const value = withAbsolutePaths(whereaboutsSchema, source.value ?? {}, baseDirectory);
  const validation = validate(whereaboutsSchema, value, source);
  return source.isReadable && validation.isValid ? validation.value : undefined;
}

function problemsOf(source: Source, findings: readonly Finding[]): ConfigProblem[] {
  return findings.map(({ path, message }) =>
    problemAt(source.file, source.positionOf(path, "value"), path, message),
  );
}

/** One problem for a value: the first is the cause (a missing variable), the next its echo (an empty text). */
function withoutEchoes(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const seen = new Set<string>();
  return problems.filter((problem) => {
    if (problem.path === "") return true;
    const isFirst = !seen.has(problem.place);
    seen.add(problem.place);
    return isFirst;
  });
}
