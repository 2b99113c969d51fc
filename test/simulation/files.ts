import { constants } from "node:fs";
import files, { type FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

/** Where the files of simulated daemons are. */
export const FOLDER = "/simulated";

const missing = (path: string) => Object.assign(new Error(`${path} is missing`), { code: "ENOENT" });

/**
 * Has files in {@link FOLDER} be kept in memory, until the returned function is called: a disk takes its time, and nobody knows how
 * much.
 */
export function replaceFiles(): () => void {
  const kept = new Map<string, Buffer>();
  const { open, readFile, writeFile, rename } = files;
  const isOurs = (path: unknown): path is string => typeof path === "string" && path.startsWith(FOLDER);
  const openOurs = (path: string, flags: number) => {
    if (!kept.has(path) && path !== FOLDER) {
      if ((flags & constants.O_CREAT) === 0) throw missing(path);
      kept.set(path, Buffer.alloc(0));
    }
    const content = () => kept.get(path) ?? Buffer.alloc(0);
    return {
      stat: async () => ({ isFile: () => path !== FOLDER }),
      read: async (buffer: Buffer) => ({ buffer, bytesRead: content().copy(buffer) }),
      // As much as is written here is all of the file.
      write: async (text: string) => void kept.set(path, Buffer.from(text)),
      sync: async () => undefined,
      chmod: async () => undefined,
      close: async () => undefined,
    } as unknown as FileHandle;
  };
  Object.assign(files, {
    open: async (path: string, ...rest: [number]) =>
      isOurs(path) ? openOurs(path, rest[0] ?? 0) : open(path, ...rest),
    readFile: async (path: string, ...rest: []) => {
      if (!isOurs(path)) return readFile(path, ...rest);
      const content = kept.get(path);
      if (!content) throw missing(path);
      return content.toString();
    },
    writeFile: async (path: string, text: string, ...rest: []) =>
      isOurs(path) ? void kept.set(path, Buffer.from(text)) : writeFile(path, text, ...rest),
    rename: async (from: string, to: string) => {
      if (!isOurs(from)) return rename(from, to);
      const content = kept.get(from);
      if (!content) throw missing(from);
      kept.delete(from);
      kept.set(to, content);
    },
  });
  syncBuiltinESMExports();
  return () => {
    Object.assign(files, { open, readFile, writeFile, rename });
    syncBuiltinESMExports();
  };
}
