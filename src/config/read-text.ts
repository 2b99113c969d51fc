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
