import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { Failure } from "../core/failures.ts";
import type { Io } from "./io.ts";
import { MOST_BYTES, readStandardInput, STANDARD_INPUT } from "./standard-input.ts";

const CHUNK_BYTES = 256 * 1024;

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EISDIR: "it is a folder",
  EACCES: "this user may not read it",
  EPERM: "this user may not read it",
};

/**
 * All of a file that the command line names, of standard input (`-`), or of a pipe or device that has a name. It is
 * kept in memory.
 * @throws Failure CLI_FILE_UNREADABLE in words; CLI_USAGE when it is too much to be kept
 */
export async function readInput(io: Io, path: string): Promise<Buffer> {
  if (path === STANDARD_INPUT) return readStandardInput(io);
  const file = await open(path, constants.O_RDONLY).catch((error) => {
    throw unreadable(path, error);
  });
  try {
    return await readBounded(file, path);
  } finally {
    await file.close();
  }
}

/** What has no end, such as a device, ends at the bound. */
async function readBounded(file: FileHandle, path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  const expected = await file.stat().then(({ size }) => size);
  if (expected > MOST_BYTES) throw tooLarge(path);
  for (;;) {
    const chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, expected - length));
    const { bytesRead } = await file.read(chunk, 0, chunk.length).catch((error) => {
      throw unreadable(path, error);
    });
    if (bytesRead === 0) return Buffer.concat(chunks, length);
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
    if (length > MOST_BYTES) throw tooLarge(path);
  }
}

function unreadable(path: string, error: NodeJS.ErrnoException): Failure {
  const code = error.code ?? "unknown error";
  const words = WORDS[code];
  const why = words === undefined ? code : `${code}: ${words}`;
  return new Failure("CLI_FILE_UNREADABLE", { message: `${path} can't be read (${why})`, cause: error });
}

function tooLarge(path: string): Failure {
  return new Failure("CLI_USAGE", `${path} has more than ${MOST_BYTES} bytes; split it into smaller files`);
}
