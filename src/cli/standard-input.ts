import { Failure } from "../core/failures.ts";
import type { Io } from "./io.ts";

/** What a command line calls standard input where it takes a file. */
export const STANDARD_INPUT = "-";

/** More than any interface's messages that somebody pipes or names; all of it is kept in memory. */
export const MOST_BYTES = 256 * 1024 * 1024;

/**
 * All that comes by standard input.
 *
 * @param connectorBytes what the connector that it is read for takes at most
 * @throws Failure CLI_FILE_UNREADABLE, FILE_TOO_LARGE for the connector, CLI_USAGE when it is too much to be kept
 */
export async function readStandardInput(
  { stdin }: Io,
  connectorBytes = Number.POSITIVE_INFINITY,
): Promise<Buffer> {
  if (stdin === undefined) throw new Failure("CLI_FILE_UNREADABLE", "there is no standard input");
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of readable(stdin)) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > connectorBytes) {
      const told = `standard input has more than ${connectorBytes} bytes, which is what the connector takes at most`;
      throw new Failure("FILE_TOO_LARGE", told);
    }
    if (length > MOST_BYTES) {
      const told = `standard input has more than ${MOST_BYTES} bytes; write it to a file, and name that`;
      throw new Failure("CLI_USAGE", told);
    }
  }
  return Buffer.concat(chunks, length);
}

/** It may be a folder, or be taken away. */
async function* readable(stdin: NonNullable<Io["stdin"]>): AsyncGenerator<Buffer> {
  try {
    yield* stdin;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    throw new Failure("CLI_FILE_UNREADABLE", `standard input can't be read (${code})`);
  }
}
