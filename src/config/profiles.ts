import { hash } from "node:crypto";
import { readdirSync } from "node:fs";
import path from "node:path";
import type { z } from "zod";
import { codeOf } from "../core/failures.ts";
import { readGivenFile } from "../core/given-file.ts";
import { type Environment, readText } from "./environment.ts";
import { type ConfigProblem, type Path, problemAt } from "./problems.ts";
import { childOf, settingAt } from "./schema-at.ts";
import { readSource, type Source } from "./source.ts";
import { validate } from "./validate.ts";
import { unknownWords } from "./words.ts";

/** A mapping profile and where it stands. */
export interface LoadedProfile<P = unknown> {
  readonly value: P;
  /** The file that holds it, absolute. */
  readonly file: string;
  /** Where relative paths in it (such as `module`) start. */
  readonly directory: string;
  /** The name of its module, with a digest of what that says; undefined without a module. */
  readonly moduleStamp: string | undefined;
  /** The line of the file that a value of it stands on. */
  lineOf(at: Path): number;
}

/** A profile as text: a place in a source. */
interface FoundProfile {
  readonly name: string;
  readonly source: Source;
  readonly path: Path;
  readonly value: unknown;
  readonly file: string;
}

/** The profiles of a configuration, and the mistakes in them. */
interface ProfileReading<P> {
  readonly profileByName: ReadonlyMap<string, LoadedProfile<P>>;
  /** All names, those of invalid profiles too, so that one mistake is reported once. */
  readonly names: readonly string[];
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

interface ProfileOptions<P> {
  /** The configuration file's own content. */
  readonly source: Source;
  /** The configuration file, absolute. */
  readonly file: string;
  readonly schema: z.ZodType<P>;
  readonly builtinNames: readonly string[];
  readonly lookUp: Environment;
}

/** Reads and validates the profiles of the section `profiles` and of the folder `profilesDir`. */
export function readProfiles<P>(options: ProfileOptions<P>): ProfileReading<P> {
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const found = [...profilesOfSection(options), ...profilesOfFolder(options, problems, warnings)];
  const names = found.map(({ name }) => name);
  const profileByName = new Map<string, LoadedProfile<P>>();
  for (const profile of found) {
    if (!profile.source.isReadable) continue;
    const problem = (at: Path, message: string) =>
      problems.push(problemAt(profile.source.file, profile.source.positionOf(at, "key"), at, message));
    const twin = profileByName.get(profile.name);
    if (profile.name.startsWith("builtin/")) {
      problem(
        profile.path,
        "names that begin with builtin/ belong to the built-in profiles; choose another name",
      );
    } else if (twin !== undefined) {
      problem(profile.path, `there is another profile "${profile.name}" in ${twin.file}`);
    }
    const base = childOf(profile.value, "extends");
    const known = [...options.builtinNames, ...names.filter((name) => name !== profile.name)];
    if (typeof base === "string" && !known.includes(base)) {
      problem([...profile.path, "extends"], unknownWords("profile", base, known, "there are"));
    }
    const validation = validate(options.schema, profile.value ?? {}, profile.source, profile.path);
    if (!validation.isValid) problems.push(...validation.problems);
    else {
      const { file, source, path: within } = profile;
      const directory = path.dirname(file);
      const lineOf = (at: Path) => source.positionOf([...within, ...at], "key").line;
      profileByName.set(profile.name, {
        value: validation.value,
        file,
        directory,
        moduleStamp: stampOfModule(childOf(profile.value, "module"), directory),
        lineOf,
      });
    }
  }
  return { profileByName, names, problems, warnings };
}

/** More than anybody writes by hand. */
const MOST_MODULE_BYTES = 5_000_000;

/** One that can't be read is what compiling the profile complains of. */
function stampOfModule(module: unknown, directory: string): string | undefined {
  if (typeof module !== "string") return undefined;
  const read = readGivenFile(path.resolve(directory, module), MOST_MODULE_BYTES);
  return `${module} ${"bytes" in read ? hash("sha256", read.bytes) : read.problem}`;
}

function profilesOfSection({ source, file }: ProfileOptions<unknown>): FoundProfile[] {
  const section = childOf(source.value, "profiles");
  if (typeof section !== "object" || section === null || Array.isArray(section)) return [];
  return Object.entries(section).map(([name, value]) => ({
    name,
    value,
    source,
    file,
    path: ["profiles", name],
  }));
}

/** The folder of profiles, as people write it; one that is no text the schema complains of. */
export function profilesFolderOf(value: unknown): string {
  const folder = settingAt(value, ["profilesDir"]);
  return typeof folder === "string" ? folder : profilesFolderOf({});
}

function profilesOfFolder(
  { source, file, lookUp }: ProfileOptions<unknown>,
  problems: ConfigProblem[],
  warnings: ConfigProblem[],
): FoundProfile[] {
  const name = profilesFolderOf(source.value);
  const folder = path.resolve(path.dirname(file), name);
  // Named from where the reader stands, as the configuration file itself is.
  const shownFolder = path.isAbsolute(name) ? folder : path.join(path.dirname(source.file), name);
  let entries: string[];
  try {
    entries = readdirSync(folder).sort();
  } catch (error) {
    const code = codeOf(error) ?? "unknown error";
    const isNamed = typeof childOf(source.value, "profilesDir") === "string";
    if (!isNamed && code === "ENOENT") return [];
    const message = code === "ENOENT" ? "there is no such folder" : `the folder can't be read (${code})`;
    problems.push(
      problemAt(source.file, source.positionOf(["profilesDir"], "value"), ["profilesDir"], message),
    );
    return [];
  }
  const files = entries.filter((entry) => /^[^.].*\.ya?ml$/.test(entry));
  return files.flatMap((entry) => {
    const read = readText(path.join(folder, entry));
    if ("problem" in read) {
      problems.push(problemAt(path.join(shownFolder, entry), { line: 1, column: 1 }, [], read.problem));
      return [];
    }
    const own = readSource(path.join(shownFolder, entry), read.text, lookUp);
    problems.push(...own.problems);
    warnings.push(...own.warnings);
    const name = entry.replace(/\.ya?ml$/, "");
    return [{ name, source: own, path: [], value: own.value, file: path.join(folder, entry) }];
  });
}
