import { mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { ROLES } from "../../app/roles.ts";
import type { Clock } from "../../core/clock.ts";
import { asFailure, Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { acquireDaemonLock } from "../../ledger/embedded/daemon-lock.ts";
import { startEmbeddedPostgres } from "../../ledger/embedded/embedded-postgres.ts";
import { tryLock } from "../../ledger/embedded/lock.ts";

/** Says that a folder is a demonstration's and may be emptied. */
const MARKER = ".cryobridge-demo";
const MARKER_TEXT = `This folder belongs to \`cryobridge demo\`, which removes everything in it at its next start.
Without this file it would refuse to.
`;

interface FolderDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The lock that a running demonstration holds on its folder, and the files that come with it. */
const LOCK = "demo";
const LOCK_FILES = /^demo\.(?:lock|pid)/;

/** An earlier demonstration's daemon ends by itself within this time, however the demonstration ended. */
const EARLIER_ENDS_WITHIN_MS = 20_000;
const TRY_EVERY_MS = 250;

/**
 * Gives a folder to one demonstration, with nothing in it but our marker; the function that is returned gives it back.
 * What an earlier one left there is removed, with its database server if that still runs: the simulated service
 * forgets, so the earlier ledger would tell of orders that nobody knows.
 *
 * @throws Failure CLI_DEMO_FOLDER_TAKEN when the folder holds anything and no marker, or another demonstration is using
 *   it; LEDGER_IN_USE when an earlier one's daemon does not end.
 */
export async function prepareFolder(folder: string, deps: FolderDeps): Promise<() => Promise<void>> {
  try {
    await mkdir(folder, { recursive: true });
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
      await empty(folder, deps);
    } catch (error) {
      await attempt.lock.release();
      throw error;
    }
    return attempt.lock.release;
  } catch (error) {
    if (error instanceof Failure || !(error instanceof Error) || !("code" in error)) throw error;
    throw new Failure("CLI_DEMO_FOLDER_TAKEN", {
      message: `${folder} can't be made or written (${error.code})`,
      cause: error,
    });
  }
}

async function empty(folder: string, deps: FolderDeps): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name !== MARKER && !LOCK_FILES.test(name));
  const dataDir = join(folder, "data");
  if (names.includes("data")) {
    await awaitUnused(dataDir, deps.clock);
    await removeDatabase(dataDir, deps);
  }
  for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
}

async function awaitUnused(dataDir: string, clock: Clock): Promise<void> {
  const startedAt = clock.monotonic();
  for (;;) {
    try {
      for (const role of ROLES) await (await acquireDaemonLock(dataDir, clock, role))();
      return;
    } catch (error) {
      const isLate = clock.monotonic() - startedAt > EARLIER_ENDS_WITHIN_MS;
      if (isLate || asFailure(error).code !== "LEDGER_IN_USE") throw error;
      await clock.sleep(TRY_EVERY_MS);
    }
  }
}

/** Stops a server that outlived its daemon, and removes its data wherever they were put. */
async function removeDatabase(dataDir: string, { clock, logger }: FolderDeps): Promise<void> {
  const home = await realpath(join(dataDir, "postgres")).catch(() => undefined);
  if (home === undefined) return;
  const isRunning = await readFile(join(home, "data/postmaster.pid"), "utf8").then(
    () => true,
    () => false,
  );
  if (isRunning) {
    // Joining and leaving stops it. One that can't be joined ends by itself once its files are gone.
    await startEmbeddedPostgres({ dataDir, clock, logger }).then(
      (server) => server.stop(),
      (error: unknown) => logger.warn({ err: error }, "the earlier demo's database can't be joined"),
    );
  }
  const realDataDir = await realpath(dataDir);
  const owner = await readFile(join(home, "belongs-to"), "utf8").catch(() => undefined);
  const isInside = home.startsWith(resolve(realDataDir) + sep);
  if (isInside || owner === realDataDir) await rm(home, { recursive: true, force: true });
}
