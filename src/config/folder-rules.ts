import { realpathSync } from "node:fs";
import path from "node:path";
import { DIRECTORY_ROLES, type DirectoryRole, directoriesOf } from "./connector-schema.ts";
import type { Path } from "./problems.ts";
import { childOf } from "./schema-at.ts";

/** Something wrong with the value at a path. */
export interface Finding {
  readonly path: Path;
  readonly message: string;
}

interface Use {
  /** For people: `the in folder of connector "lims"`. */
  readonly owner: string;
  readonly path: Path;
  /** Links resolved, in the spelling that the file system compares. */
  readonly folder: string;
}

/**
 * Every folder has one use: two connectors on one folder would take each other's files, and results that land where
 * orders are dropped would come back as orders. Links are followed as far as the folders exist.
 */
export function folderFindings(value: unknown): Finding[] {
  const connectors = childOf(value, "connectors");
  const uses = (Array.isArray(connectors) ? connectors : []).flatMap((connector: unknown, index) =>
    usesOf(connector, index),
  );
  const dataDir = childOf(value, "dataDir");
  const data = typeof dataDir === "string" && path.isAbsolute(dataDir) ? canonical(dataDir) : undefined;
  const firstUse = new Map<string, Use>();
  return uses.flatMap((use): Finding[] => {
    if (data !== undefined && `${use.folder}${path.sep}`.startsWith(data + path.sep)) {
      return [{ path: use.path, message: `${use.owner} lies in dataDir, which is for the database alone` }];
    }
    const other = firstUse.get(use.folder);
    if (other === undefined) {
      firstUse.set(use.folder, use);
      return [];
    }
    return [
      { path: use.path, message: `${use.owner} is also ${other.owner}; give each a folder of its own` },
    ];
  });
}

function usesOf(connector: unknown, index: number): Use[] {
  const text = (key: string) => {
    const given = childOf(connector, key);
    return typeof given === "string" && given !== "" ? given : undefined;
  };
  const directory = text("directory");
  if (directory === undefined) return [];
  const set: Partial<Record<DirectoryRole, string | undefined>> = Object.fromEntries(
    DIRECTORY_ROLES.map((role) => [role, text(role)]),
  );
  const directories = directoriesOf({ directory, ...set });
  return DIRECTORY_ROLES.map((role) => ({
    owner: `the ${role} folder of connector ${text("name") === undefined ? index + 1 : `"${text("name")}"`}`,
    path: ["connectors", index, set[role] === undefined ? "directory" : role],
    folder: canonical(directories[role]),
  }));
}

/** The folder with links resolved, for as much of it as exists. */
function canonical(folder: string): string {
  const isCaseBlind = process.platform === "win32" || process.platform === "darwin";
  try {
    const real = realpathSync.native(folder);
    return isCaseBlind ? real.toLowerCase() : real;
  } catch {
    const parent = path.dirname(folder);
    if (parent === folder) return folder;
    const name = path.basename(folder);
    return path.join(canonical(parent), isCaseBlind ? name.toLowerCase() : name);
  }
}
