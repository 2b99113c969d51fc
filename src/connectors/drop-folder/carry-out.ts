import { lstat, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { type ArchivedFile, type DroppedFiles, NotInHand } from "../../core/dropped-files.ts";
import type { Fate, Settled } from "../../core/intake.ts";
import { type Claim, nameWithReference } from "./claim.ts";
import { errnoOf, exists, type FileOps, publishWhole, renamePatiently, writeDurably } from "./file-ops.ts";
import { makeFolder, reportModeOf } from "./layout.ts";
import { reportAsJson, reportAsText } from "./report.ts";
import type { DropDirectories } from "./settings.ts";

/** Virus scanners and indexers on Windows hold a file for seconds; a minute is more than any of them needs. */
const RENAME_PATIENCE_MS = 60_000;

interface CarryOutDeps {
  readonly connector: string;
  readonly directories: DropDirectories;
  readonly folderMode: number;
  readonly dropped: Pick<DroppedFiles, "finish">;
  /** Throws where a folder is not the one that it was: then nothing that was done there counts. */
  readonly assertFolders: () => Promise<void>;
  readonly clock: Clock;
  readonly ops: FileOps;
}

/** Carries out what was decided about files, so that a crash at any step leads to the same end. */
export class CarryOut {
  readonly #deps: CarryOutDeps;
  readonly #foldersToSync = new Set<string>();
  readonly #done = new Map<string, ArchivedFile | undefined>();

  constructor(deps: CarryOutDeps) {
    this.#deps = deps;
  }

  /** The names that a file may get where it is going: its own while it is free there, and one that no other file has. */
  async namesFor(claim: Claim, fate: Omit<Fate, "keptAs">): Promise<readonly [string, string]> {
    const own = nameWithReference(claim.name, claim.id);
    const paths = [join(this.#targetOf(fate), claim.name)];
    const reported = join(this.#deps.directories.error, `${claim.name}.${kindOf(fate.report)}`);
    if (fate.report) paths.push(`${reported}.txt`, `${reported}.json`);
    for (const path of paths) if (await exists(path)) return [own, own];
    return [claim.name, own];
  }

  /**
   * Moves the file and publishes the reports. May be repeated from any point.
   *
   * @throws NotInHand where it may not, or not any more
   */
  async carryOut(claim: Claim, { fate, mayMove }: Settled): Promise<void> {
    const { directories, folderMode } = this.#deps;
    const folder = this.#targetOf(fate);
    const requireOurs = () => {
      if (!mayMove()) throw new NotInHand();
    };
    requireOurs();
    const ops = asking(requireOurs, this.#deps.ops);
    if (!this.#foldersToSync.has(folder)) await makeFolder(folder, folderMode);
    const name = await this.#move(ops, claim, folder, fate.keptAs);
    this.#foldersToSync.add(folder);
    if (fate.folder === "archive") this.#foldersToSync.add(directories.archive);
    if (fate.report) {
      const reported = { claim, connector: this.#deps.connector, report: fate.report };
      const ending = kindOf(fate.report);
      await this.#publish(ops, claim, name, `${ending}.txt`, reportAsText(reported));
      // The JSON report comes last: a program that sees it finds everything else in place.
      await this.#publish(ops, claim, name, `${ending}.json`, reportAsJson(reported));
    }
    this.#foldersToSync.add(claim.folder);
    this.#done.set(claim.id, fate.asRead && (await archived(claim.id, join(folder, name), fate.asRead)));
  }

  /** Makes the moves durable, and then notes that they are done; once for many files. Gives the ids of their claims. */
  async flush(): Promise<readonly string[]> {
    const { assertFolders, dropped, ops } = this.#deps;
    const done = [...this.#done].map(([id, file]) => ({ id, archived: file }));
    const folders = [...this.#foldersToSync];
    // What can't be made durable now is carried out once more.
    this.#done.clear();
    this.#foldersToSync.clear();
    if (done.length === 0) return [];
    for (const folder of folders) if (await exists(folder)) await ops.syncFolder(folder);
    await assertFolders();
    await dropped.finish(done);
    return done.map(({ id }) => id);
  }

  /**
   * Gives the name under which the file lies. The ledger gives no two files in hand the same one, so what has it by now was there
   * before, or a person put it there: then the file gets the name that only it can have, also when all this is repeated.
   */
  async #move(ops: FileOps, claim: Claim, folder: string, keptAs: string): Promise<string> {
    const { clock } = this.#deps;
    const own = nameWithReference(claim.name, claim.id);
    const isThere = await exists(claim.path);
    if (!isThere) await this.#deps.assertFolders();
    const isTaken = await exists(join(folder, isThere ? keptAs : own));
    const name = isTaken ? own : keptAs;
    if (!isThere) return name;
    await renamePatiently(ops, claim.path, join(folder, name), clock, RENAME_PATIENCE_MS).catch((error) => {
      if (errnoOf(error) !== "ENOENT") throw error;
    });
    return name;
  }

  async #publish(ops: FileOps, claim: Claim, name: string, ending: string, content: string): Promise<void> {
    const { directories, folderMode } = this.#deps;
    const written = join(claim.folder, `${claim.id}.${ending}`);
    await writeDurably(written, content, reportModeOf(folderMode));
    try {
      for (const each of [name, nameWithReference(claim.name, claim.id)]) {
        const final = join(directories.error, `${each}.${ending}`);
        if ((await publishWhole(ops, written, final)) === "published") break;
        // Published before a crash.
        if ((await readFile(final, "utf8")) === content) break;
      }
    } finally {
      // Whose file it is by now may be done with it.
      await rm(written, { force: true });
    }
    this.#foldersToSync.add(directories.error);
  }

  #targetOf({ folder, day }: Omit<Fate, "keptAs">): string {
    const { archive, error } = this.#deps.directories;
    return folder === "archive" ? join(archive, day) : error;
  }
}

/** Calls that ask first, right before a file gets another name. */
function asking(requireOurs: () => void, ops: FileOps): FileOps {
  return {
    ...ops,
    rename: async (from, to) => {
      requireOurs();
      await ops.rename(from, to);
    },
    link: async (from, to) => {
      requireOurs();
      await ops.link(from, to);
    },
  };
}

const kindOf = (report: Fate["report"]) => (report?.result === "duplicate" ? "duplicate" : "error");

/** The file as it was read, where it is that one which lies there. */
async function archived(
  id: string,
  path: string,
  { inode, sizeBytes, modifiedNs }: NonNullable<Fate["asRead"]>,
): Promise<ArchivedFile | undefined> {
  const found = await lstat(path, { bigint: true }).catch(() => undefined);
  return String(found?.ino) === inode ? { id, path, sizeBytes, modifiedNs } : undefined;
}
