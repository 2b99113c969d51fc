import { Failure } from "../core/failures.ts";
import { readGivenFile } from "../core/given-file.ts";
import type { Io } from "./io.ts";
import { MOST_BYTES, readStandardInput, STANDARD_INPUT } from "./standard-input.ts";

/**
 * All of a regular file that the command line names, or of standard input (`-`). It is kept in memory.
 * @throws Failure CLI_FILE_UNREADABLE in words; CLI_USAGE when there is too much on standard input
 */
export async function readInput(io: Io, path: string): Promise<Buffer> {
  if (path === STANDARD_INPUT) return readStandardInput(io);
  const read = readGivenFile(path, MOST_BYTES);
  if ("problem" in read) throw new Failure("CLI_FILE_UNREADABLE", `${path}: ${read.problem}`);
  return read.bytes;
}
