import { dirname, resolve } from "node:path";
import { environment } from "../config/environment.ts";
import { type ConfigProblem, configFailure, problemAt } from "../config/problem.ts";
import { readText } from "../config/read-text.ts";
import { readSource } from "../config/source.ts";
import { validate } from "../config/validate.ts";
import { Failure } from "../core/failures.ts";
import type { SimulatorOptions } from "../simulator/options.ts";
import { combineScripts, type SimulatorScript, scriptSchema } from "../simulator/options.ts";

/**
 * Reads simulator files (YAML or JSON), the later ones winning over the earlier. `${NAME}` stands for a variable of
 * the environment, as in the configuration. Throws CLI_FILE_UNREADABLE, or a
 * {@link import("../config/problem.ts").ConfigFailure} with every mistake of all files and its line.
 */
export function readSimulatorFiles(
  files: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): SimulatorOptions {
  const problems: ConfigProblem[] = [];
  const scripts = files.flatMap((file): SimulatorScript[] => {
    const read = readText(file);
    if ("problem" in read) throw new Failure("CLI_FILE_UNREADABLE", `${file}: ${read.problem}`);
    const source = readSource(file, read.text, environment(env, dirname(resolve(file))));
    problems.push(...source.problems);
    if (!source.isReadable || source.value === undefined || source.value === null) return [];
    if (typeof source.value !== "object") {
      const message = "expected a list of faults, or keys such as faults, behaviour and staff";
      problems.push(problemAt(file, { line: 1, column: 1 }, [], message));
      return [];
    }
    const validation = validate(scriptSchema, source.value, source);
    if (validation.isValid) return [validation.value];
    problems.push(...validation.problems);
    return [];
  });
  if (problems.length > 0) throw configFailure(problems);
  return combineScripts(scripts);
}
