import path from "node:path";
import { readGivenFile } from "../core/given-file.ts";

/** What a name stands for: a value, or why there is none; `warning` when its secret file is open to others. */
export type Lookup =
  | { readonly value: string; readonly warning?: string | undefined }
  | { readonly problem: string }
  | undefined;

/** Looks up `${NAME}`; undefined when nothing sets it. */
export type Environment = (name: string) => Lookup;

/** Secrets are short; a file beyond this is a wrong path (a log, a device), and is not read. */
const MAX_SECRET_BYTES = 65_536;

/**
 * The environment as the configuration sees it: `NAME`, or the content of the file that `NAME_FILE` names (as
 * container platforms hand over secrets), its last line end removed. Relative file names start at `baseDirectory`.
 * Empty variables count as not set.
 */
export function environment(
  variables: Readonly<Record<string, string | undefined>>,
  baseDirectory: string,
): Environment {
  return (name) => {
    const value = variables[name];
    const file = variables[`${name}_FILE`];
    if (value && file) {
      return { problem: `both ${name} and ${name}_FILE are set in the environment; set only one of them` };
    }
    if (value) return { value };
    return file ? readSecretFile(name, path.resolve(baseDirectory, file)) : undefined;
  };
}

function readSecretFile(name: string, file: string): Lookup {
  const source = `the file ${file}, which ${name}_FILE names,`;
  const read = readGivenFile(file, MAX_SECRET_BYTES);
  if ("problem" in read) return { problem: `${source} can't be used: ${read.problem}` };
  const value = read.bytes.toString("utf8").replace(/\r?\n$/, "");
  if (value === "") return { problem: `${source} is empty` };
  // Windows keeps its access lists elsewhere; the mode bits say nothing there.
  const isOpen = process.platform !== "win32" && (read.stats.mode & 0o044) !== 0;
  return isOpen ? { value, warning: `${source} can be read by other users; run chmod 600 on it` } : { value };
}
