import { readFileSync } from "node:fs";

/** A configuration of this size is some other file. */
const MAX_BYTES = 5_000_000;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "this user may not read the file",
  EISDIR: "this is a folder, not a file",
};

/** The text of a configuration file, or why it can't be read. UTF-8 only, with or without a byte order mark. */
export function readText(
  file: string,
): { readonly text: string } | { readonly problem: string; readonly isMissing?: boolean } {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    return { problem: REASONS[code] ?? `the file can't be read (${code})`, isMissing: code === "ENOENT" };
  }
  if (bytes.length > MAX_BYTES) return { problem: "the file is too large for a configuration" };
  const problem = "the file is not UTF-8 text; save it as UTF-8 in the editor";
  // UTF-16, which some editors call Unicode, is valid UTF-8 full of NUL characters.
  if (bytes.includes(0)) return { problem };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { problem };
  }
}
