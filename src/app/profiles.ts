import path from "node:path";
import type { Config } from "../config/config.ts";
import { type ConfigProblem, configFailure } from "../config/problems.ts";
import { builtinProfiles } from "../mapping/profile/builtin.ts";
import { compileProfile } from "../mapping/profile/compile-profile.ts";
import { importFrom } from "../mapping/profile/module.ts";
import type { Profile } from "../mapping/profile/profile.ts";
import type { ProfileDefinition } from "../mapping/profile/schema.ts";

/** Imports the module that a profile names. */
export type LoadModule = (specifier: string, declaredBy: string) => Promise<unknown>;

/**
 * Compiles every profile of a configuration, used or not, and the built-in ones.
 *
 * @param loadModule imports modules relative to their profile's file, unless given
 * @throws ConfigFailure with all mistakes of all profiles.
 */
export async function compileProfiles(
  config: Config<ProfileDefinition>,
  loadModule: LoadModule = (specifier, declaredBy) =>
    importFrom(config.profileByName.get(declaredBy)?.directory ?? process.cwd())(specifier),
): Promise<ReadonlyMap<string, Profile>> {
  const own = Object.fromEntries([...config.profileByName].map(([name, loaded]) => [name, loaded.value]));
  const profiles = new Map<string, Profile>();
  const problems: ConfigProblem[] = [];
  for (const [name, definition] of Object.entries({ ...builtinProfiles, ...own })) {
    const compiled = await compileProfile(name, definition, { profiles: own, loadModule });
    if (compiled.ok) {
      profiles.set(name, { ...compiled.profile, declaredIn: placeOf(name, config) });
      continue;
    }
    const loaded = config.profileByName.get(name);
    const { file } = loaded ?? config;
    problems.push(
      ...compiled.problems.map(({ place, message }) => {
        const line = loaded?.lineOf(pathOf(place)) ?? 1;
        const path = `profiles.${name}.${place}`;
        const shown = `${file}:${line} ${file === config.file ? path : place}`;
        return { code: "CONFIG_INVALID" as const, file, line, column: 1, path, place: shown, message };
      }),
    );
  }
  if (problems.length > 0) throw configFailure(problems);
  return profiles;
}

/** `results.columns[3]` as keys; of those that the file doesn't have it knows the nearest one above. */
function pathOf(place: string): (string | number)[] {
  const keys = place.split(/[.[\]]+/).filter((key) => key !== "");
  return keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key));
}

/** Where a person edits a profile, from the folder of the configuration; undefined for a built-in one. */
function placeOf(name: string, config: Config<ProfileDefinition>): string | undefined {
  const file = config.profileByName.get(name)?.file;
  if (file === undefined) return undefined;
  if (file === config.file) return `\`profiles\` of ${path.basename(file)}`;
  return path.relative(path.dirname(config.file), file);
}
