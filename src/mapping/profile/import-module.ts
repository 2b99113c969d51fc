import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { readGivenFile } from "../../core/given-file.ts";

/** More than anybody writes by hand. */
const MOST_BYTES = 5_000_000;
/** Permission bits: whether the group or everyone may write. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Imports modules relative to a folder; what an application passes to `compileProfile` for one profile's file. A module
 * runs with the daemon's rights, so one that others may write or replace is refused with an Error.
 */
export function importFrom(folder: string): (specifier: string) => Promise<unknown> {
  return async (specifier) => {
    const file = isAbsolute(specifier) ? specifier : resolve(folder, specifier);
    // The import itself would wait for a pipe's other end.
    const given = readGivenFile(file, MOST_BYTES);
    if ("problem" in given) throw new Error(given.problem);
    requireOwn(file);
    return import(pathToFileURL(file).href);
  };
}

/** What a link leads to counts, and where the link stands as well. Windows has no such permissions to look at. */
function requireOwn(file: string): void {
  const user = process.geteuid?.();
  if (process.platform === "win32" || user === undefined) return;
  const real = realpathSync(file);
  for (const path of new Set([real, dirname(real), dirname(file)])) {
    const trouble = findForeign(statSync(path), user);
    if (trouble === undefined) continue;
    throw new Error(`${path} ${trouble}, and what a module says is run with the daemon's rights`);
  }
}

function findForeign({ uid, mode }: Stats, user: number): string | undefined {
  if (uid !== user && uid !== 0) {
    return `belongs to another user (uid ${uid}); give it to the daemon's user (chown) or to root`;
  }
  if ((mode & WRITABLE_BY_OTHERS) === 0) return undefined;
  return `may be written by others (mode ${(mode & 0o7777).toString(8)}); take that away with chmod go-w`;
}
