import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { codeOf, Failure } from "./failures.ts";

/** Certificates and keys; the bundle of all authorities of a system has a quarter of that. */
export const MOST_PEM_BYTES = 1_000_000;
/** Never waits for the other end of a pipe, and never makes a terminal ours. Windows has neither flag. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const CHUNK_BYTES = 65_536;

const A_FOLDER = "this is a folder, not a file";
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EISDIR: A_FOLDER,
  EACCES: "this user may not read the file",
  EPERM: "this user may not read the file",
  ENXIO: "this is a socket, not a file",
};

/** Why a file is not read, in words that follow its name and a colon. */
interface UnreadableFile {
  readonly problem: string;
  readonly isMissing: boolean;
}

/**
 * Reads a file that a person named, in the configuration or on a command line. Only a regular file is read, links
 * followed: a named pipe would be waited for, and a device may have no end. Never throws.
 *
 * @param maxBytes a larger file is some other one; not read further than that
 */
export function readGivenFile(
  path: string,
  maxBytes: number,
): { readonly bytes: Buffer; readonly stats: Stats } | UnreadableFile {
  let file: number | undefined;
  try {
    file = openSync(path, FLAGS);
    const stats = fstatSync(file);
    const problem = oddity(stats) ?? tooLarge(stats.size, maxBytes);
    if (problem !== undefined) return { problem, isMissing: false };
    const bytes = readUpTo(file, maxBytes, stats.size);
    // Files of the system, such as those below /proc, don't say how large they are.
    const grown = tooLarge(bytes.length, maxBytes);
    return grown === undefined ? { bytes, stats } : { problem: grown, isMissing: false };
  } catch (error) {
    return unreadable(error);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/**
 * Certificates or a key that the configuration names.
 *
 * @param place where it names them, such as `service.ca`
 * @throws Failure CONFIG_INVALID when they can't be read
 */
export function readPem(place: string, file: string): Buffer {
  const given = readGivenFile(file, MOST_PEM_BYTES);
  if ("bytes" in given) return given.bytes;
  throw new Failure("CONFIG_INVALID", `${place}: ${file}: ${given.problem}`);
}

/** Opens such a file to be read in pieces; the caller closes it. Never throws. */
export async function openGivenFile(
  path: string,
): Promise<{ readonly handle: FileHandle; readonly stats: Stats } | UnreadableFile> {
  try {
    const handle = await open(path, FLAGS);
    const stats = await handle.stat();
    const problem = oddity(stats);
    if (problem === undefined) return { handle, stats };
    await handle.close();
    return { problem, isMissing: false };
  } catch (error) {
    return unreadable(error);
  }
}

function unreadable(error: unknown): UnreadableFile {
  const code = codeOf(error) ?? "unknown error";
  const problem = REASONS[code] ?? `the file can't be read (${code})`;
  return { problem, isMissing: code === "ENOENT" };
}

/** Why something that was named is no regular file; undefined for one that is. */
function oddity(stats: Stats): string | undefined {
  if (stats.isFile()) return undefined;
  if (stats.isDirectory()) return A_FOLDER;
  if (stats.isFIFO()) return "this is a pipe; write its content to a file, and name that";
  return "this is no regular file; name a file";
}

function tooLarge(bytes: number, maxBytes: number): string | undefined {
  return bytes > maxBytes ? `the file has more than ${maxBytes} bytes, which is too large` : undefined;
}

/** All of the file, or a little more than may be read of it. */
function readUpTo(file: number, maxBytes: number, expectedBytes: number): Buffer {
  const chunks: Buffer[] = [];
  for (let length = 0; length <= maxBytes; ) {
    const chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, expectedBytes - length + 1));
    const bytesRead = readSync(file, chunk, 0, chunk.length, null);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
  }
  return Buffer.concat(chunks);
}
