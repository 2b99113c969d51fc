import type { Stats } from "node:fs";
import path from "node:path";
import { readGivenFile } from "../core/given-file.ts";

/** A configuration of this size is some other file. */
const MAX_BYTES = 5_000_000;

/** The text of a configuration file, or why it can't be read. UTF-8 only, with or without a byte order mark. */
export function readText(
  file: string,
): { readonly text: string } | { readonly problem: string; readonly isMissing?: boolean } {
  const read = readGivenFile(file, MAX_BYTES);
  if ("problem" in read) return read;
  const { bytes } = read;
  const problem = "the file is not UTF-8 text; save it as UTF-8 in the editor";
  // UTF-16, which some editors call Unicode, is valid UTF-8 full of NUL characters.
  if (bytes.includes(0)) return { problem };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { problem };
  }
}

/**
 * What a name stands for: a value, or why there is none, `unset` where nothing sets it; `warning` when its secret file is open to
 * others.
 */
type Lookup =
  | { readonly value: string; readonly warning?: string | undefined }
  | { readonly problem: string }
  | { readonly unset: string; readonly hint: string };

/** Looks up `${NAME}`. */
export type Environment = (name: string) => Lookup;

/** Secrets are short; a file beyond this is a wrong path (a log, a device), and is not read. */
const MAX_SECRET_BYTES = 65_536;

/**
 * The environment as the configuration sees it: `NAME`, or the content of the file that `NAME_FILE` names (as
 * container platforms hand over secrets), its last line end removed. Relative file names start at `baseDirectory`.
 * Empty variables count as not set.
 *
 * @param isOfDaemon whether it is that of a running daemon, which stays as it was when it started
 */
export function environment(
  variables: Readonly<Record<string, string | undefined>>,
  baseDirectory: string,
  isOfDaemon = false,
): Environment {
  const why = isOfDaemon
    ? "is not set, and the daemon's environment stays as it was when it started: restart the daemon with it set"
    : "is not set; set it in the environment";
  const hintOf = (name: string) =>
    isOfDaemon
      ? `Restart the daemon with ${name} in its environment.`
      : `Set ${name} where you run this: \`export ${name}=…\`, or \`export ${name}_FILE=\` with the path of a file that holds it.`;
  return (name) => {
    const value = variables[name];
    const file = variables[`${name}_FILE`];
    if (value && file) {
      return { problem: `both ${name} and ${name}_FILE are set in the environment; set only one of them` };
    }
    if (value) return { value };
    if (file) return readSecretFile(name, path.resolve(baseDirectory, file));
    return { unset: `${name} ${why}, or ${name}_FILE to the file that holds it`, hint: hintOf(name) };
  };
}

function readSecretFile(name: string, file: string): Lookup {
  const source = `the file ${file}, which ${name}_FILE names,`;
  const read = readGivenFile(file, MAX_SECRET_BYTES);
  if ("problem" in read) return { problem: `${source} can't be used: ${read.problem}` };
  const value = read.bytes.toString("utf8").replace(/\r?\n$/, "");
  if (value === "") return { problem: `${source} is empty` };
  const advice = howToClose(file, read.stats);
  return advice === undefined
    ? { value }
    : { value, warning: `${source} can be read by other users; ${advice}` };
}

/** Where container platforms mount secrets, whose owners and modes are the platform's. */
const MOUNTED_SECRETS = "/run/secrets/";

/** What keeps other users from reading a secret file, and leaves it to this program; undefined where they can't. */
function howToClose(file: string, { mode, uid }: Stats): string | undefined {
  const account = process.getuid?.();
  // Windows keeps its access lists elsewhere; the mode bits say nothing there.
  if (account === undefined || (mode & 0o044) === 0 || file.startsWith(MOUNTED_SECRETS)) return undefined;
  return account === uid ? "run chmod 600 on it" : `run chown ${account} and chmod 600 on it`;
}

/** A text with its `${NAME}` references replaced. */
interface Substitution {
  readonly text: string;
  /** Whether at least one part came out of the environment (a `:-default` does not count). */
  readonly isFromEnvironment: boolean;
  readonly problems: readonly { readonly message: string; readonly hint?: string | undefined }[];
  readonly warnings: readonly string[];
}

/** One that is not closed takes the rest, so that the text is gone through once. */
const REFERENCE = /\$\$\{|\$\{([^}]*)(\})?/g;
const FORM = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/**
 * Replaces `${NAME}` and `${NAME:-default}` in one value. `$${` stands for a literal `${`. A name that nothing
 * sets, and that has no default, is a problem; so is a reference that is not spelt in one of the two ways.
 */
export function substitute(text: string, lookUp: Environment): Substitution {
  const problems: Substitution["problems"][number][] = [];
  const warnings: string[] = [];
  let isFromEnvironment = false;
  const replaced = text.replace(
    REFERENCE,
    (whole: string, reference: string | undefined, end: string | undefined) => {
      if (whole === `$\${`) return `\${`;
      const form = reference === undefined || end === undefined ? null : FORM.exec(reference);
      const name = form?.[1];
      if (name === undefined) {
        problems.push({
          message: `a reference to the environment is written \${NAME} or \${NAME:-default}; $\${ gives a plain \${`,
        });
        return "";
      }
      const found = lookUp(name);
      if ("unset" in found) {
        const fallback = form?.[2];
        if (fallback === undefined) problems.push({ message: found.unset, hint: found.hint });
        return fallback ?? "";
      }
      isFromEnvironment = true;
      if ("problem" in found) {
        problems.push({ message: found.problem });
        return "";
      }
      if (found.warning !== undefined) warnings.push(found.warning);
      return found.value;
    },
  );
  return { text: replaced, isFromEnvironment, problems, warnings };
}
