import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { makeFolders } from "../../core/make-folders.ts";
import { startEmbeddedPostgres } from "../../ledger/embedded/embedded-postgres.ts";
import { findObstacle } from "../../ledger/embedded/home.ts";
import { tryLock } from "../../ledger/embedded/lock.ts";

/** Says that a folder is a demonstration's and may be emptied. */
const MARKER = ".cryobridge-demo";
const MARKER_TEXT = `This folder belongs to \`cryobridge demo\`, which removes everything in it at its next start.
Without this file it would refuse to.
`;

/** Only root may write there. */
const ELSEWHERE = "/var/lib/cryobridge-demo";

/** A folder that one demonstration has to itself. */
interface DemoFolder {
  /** For the ledger; it need not exist. */
  readonly dataDir: string;
  readonly release: () => Promise<void>;
}

interface FolderDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The lock that a running demonstration holds on its folder, and the files that come with it. */
const LOCK = "demo";
const LOCK_FILES = /^demo\.(?:lock|pid)/;

/**
 * Gives a folder to one demonstration, with nothing in it but our marker; `release` gives it back.
 * What an earlier one left there is removed, with its database server if that still runs: the simulated service
 * forgets, so the earlier ledger would hold orders that nobody knows.
 *
 * @throws Failure CLI_DEMO_FOLDER_TAKEN when the folder holds anything and no marker, or another demonstration is using
 *   it.
 */
export async function prepareFolder(folder: string, deps: FolderDeps): Promise<DemoFolder> {
  try {
    await makeFolders(folder);
    const names = await readdir(folder);
    if (names.length > 0 && !names.includes(MARKER)) {
      throw new Failure("CLI_DEMO_FOLDER_TAKEN", `${folder} is not empty, and not an earlier demo's`);
    }
    await writeFile(join(folder, MARKER), MARKER_TEXT);
    const attempt = await tryLock(await realpath(folder), LOCK, deps.clock);
    if ("holder" in attempt) {
      throw new Failure("CLI_DEMO_FOLDER_TAKEN", `${folder} is in use by another demo, ${attempt.holder}`);
    }
    try {
      const dataDir = await chooseDataDir(folder);
      await empty(folder, dataDir, deps);
      return { dataDir, release: attempt.lock.release };
    } catch (error) {
      await attempt.lock.release();
      throw error;
    }
  } catch (error) {
    if (error instanceof Failure || !(error instanceof Error) || !("code" in error)) throw error;
    throw new Failure("CLI_DEMO_FOLDER_TAKEN", {
      message: `${folder} can't be made or written (${error.code})`,
      cause: error,
    });
  }
}

/**
 * `data` in the folder. Only where root demonstrates in a folder of its own, as in a checkout below `/root`, it is elsewhere:
 * the database runs under another account, and a demonstration has no data that anybody would back up.
 */
async function chooseDataDir(folder: string): Promise<string> {
  const usual = join(folder, "data");
  if ((await findObstacle(usual))?.code !== "LEDGER_PLACE_UNREACHABLE") return usual;
  const hash = createHash("sha256")
    .update(await realpath(folder))
    .digest("hex")
    .slice(0, 16);
  return join(ELSEWHERE, hash);
}

async function empty(folder: string, dataDir: string, deps: FolderDeps): Promise<void> {
  for (const place of new Set([join(folder, "data"), dataDir])) await removeDatabase(place, deps);
  for (const name of await readdir(folder))
    if (name !== MARKER && !LOCK_FILES.test(name))
      await rm(join(folder, name), { recursive: true, force: true });
}

/** Stops a server that outlived its demonstration, and removes its data. */
async function removeDatabase(dataDir: string, { clock, logger }: FolderDeps): Promise<void> {
  if (existsSync(join(dataDir, "postgres/data/postmaster.pid"))) {
    // Joining and leaving stops it. One that can't be joined ends by itself once its files are gone.
    await startEmbeddedPostgres({ dataDir, clock, logger }).then(
      (server) => server.stop(),
      (error: unknown) => logger.warn({ err: error }, "the earlier demo's database can't be joined"),
    );
  }
  await rm(dataDir, { recursive: true, force: true });
}
