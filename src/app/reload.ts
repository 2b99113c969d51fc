import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import type pg from "pg";
import type { Config } from "../config/config.ts";
import { isConfigFailure } from "../config/problems.ts";
import { changesOf } from "../config/take-over.ts";
import type { Clock } from "../core/clock.ts";
import { EVERY_MS } from "../core/every.ts";
import { asFailure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import { formatId } from "../ledger/ids.ts";
import { recordAudit } from "../ledger/operator/audit.ts";
import { type ConfigurationState, recordConfiguration } from "../ledger/workers/configuration.ts";
import type { ProfileDefinition } from "../mapping/profile/schema.ts";
import type { Configuration } from "./configuration.ts";
import { compileProfiles, type LoadModule } from "./profiles.ts";
import { startLoop } from "./start-loop.ts";

/** Of a file with many mistakes the first say enough. */
const MOST_PROBLEMS = 20;

type Found = Pick<ConfigurationState, "changed" | "restart" | "problems">;

interface ReloadDeps {
  readonly configuration: Configuration;
  /** Reads the file as it is now. */
  readonly read: () => Config<ProfileDefinition>;
  readonly pool: pg.Pool;
  /** As which worker this daemon is known. */
  readonly worker: { readonly id: number };
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once another configuration is worked by. */
  readonly onTakenOver: () => Promise<void>;
}

/** Watches whether the configuration's files still say what the daemon works by, and takes them over when it is asked to. */
export interface Reload {
  /** Reads the files, and takes over what can be taken over; with a mistake in them nothing changes. Never throws. */
  reload(request?: number): Promise<void>;
  stop(): Promise<void>;
}

/** Begins to watch. */
export function openReload(deps: ReloadDeps): Reload {
  const { configuration, pool, worker, clock, logger } = deps;
  const { file } = configuration.config;
  let since = new Date(clock.now()).toISOString();
  let answered: number | null = null;
  let takenOver: readonly string[] | undefined;
  /** What was found when the files had this stamp. */
  let seen: { readonly stamp: string; readonly found: Found } | undefined;
  let recordedBy: number | undefined;
  const stopping = new AbortController();
  /** One at a time. */
  let turn: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void>) => {
    turn = turn
      .then(() => (stopping.signal.aborted ? undefined : work()))
      .catch((error: unknown) => {
        if (stopping.signal.aborted) return;
        // What is not written down now is at the next look.
        recordedBy = undefined;
        logger.warn({ err: asFailure(error) }, "it could not be noted how the configuration stands");
      });
    return turn;
  };

  const readAll = async (loadModule?: LoadModule) => {
    const config = deps.read();
    return { config, profiles: await compileProfiles(config, loadModule) };
  };
  const record = async (stamp: string, found: Found) => {
    const by = worker.id;
    seen = { stamp, found };
    await recordConfiguration(pool, by, { file, since, answered, takenOver, ...found });
    recordedBy = by;
  };
  const standing = (config: Config) => {
    const { live, restart } = changesOf(configuration.config, config);
    return { changed: live, restart, problems: [] };
  };
  const mistakes = (error: unknown) => ({ changed: [], restart: [], problems: problemsOf(error) });

  const look = async () => {
    const stamp = await stampOf(configuration.config);
    if (stamp !== seen?.stamp) {
      // What a module says is run only when it is taken over.
      const found = await readAll(noModule)
        .then((read) => {
          configuration.check(read);
          return standing(read.config);
        })
        .catch(mistakes);
      await record(stamp, found);
    } else if (recordedBy !== worker.id) await record(stamp, seen.found);
  };
  const takeOver = async () => {
    try {
      const read = await readAll();
      const { live } = changesOf(configuration.config, read.config);
      await configuration.takeOver(read, stopping.signal);
      since = new Date(clock.now()).toISOString();
      takenOver = live;
      for (const { place, message } of read.config.warnings) logger.warn({ place }, message);
      const found = standing(read.config);
      const { restart } = found;
      logger.info({ settings: live, restart }, "the configuration was taken over");
      return { found, came: { takenOver: live, restart } };
    } catch (error) {
      stopping.signal.throwIfAborted();
      const problems = problemsOf(error);
      logger.error({ problems }, "the configuration has mistakes; what was read last without any stays");
      return { found: mistakes(error), came: { mistakes: keysOf(error) } };
    }
  };
  const stop = startLoop(
    deps,
    EVERY_MS.configuration,
    "the configuration could not be looked at",
    async () => {
      await inTurn(look);
      return false;
    },
  );
  return {
    reload: (request) =>
      inTurn(async () => {
        const stamp = await stampOf(configuration.config);
        const { found, came } = await takeOver();
        if (request !== undefined) answered = request;
        try {
          await record(stamp, found);
          const act = { actor: formatId("w", worker.id) };
          await recordAudit(pool, act, "reloaded", [{ target: "configuration", detail: came }]);
        } finally {
          if (found.problems.length === 0) await deps.onTakenOver();
        }
      }),
    stop: async () => {
      stopping.abort();
      await stop();
      await turn;
    },
  };
}

/** Stands for each module. */
const noModule: LoadModule = async () => ({ order: () => undefined });

function problemsOf(error: unknown): string[] {
  if (!isConfigFailure(error)) return [asFailure(error).message];
  const lines = error.problems.map(({ place, message }) => `${place}: ${message}`);
  const more = lines.length - MOST_PROBLEMS;
  return more > 0 ? [...lines.slice(0, MOST_PROBLEMS), `and ${more} more`] : lines;
}

/** The settings that have mistakes, without what they say; a code where it is no setting's. */
function keysOf(error: unknown): string[] {
  if (!isConfigFailure(error)) return [asFailure(error).code];
  return [...new Set(error.problems.map(({ path: key, code }) => key || code))].slice(0, MOST_PROBLEMS);
}

/** Changes with the file, the profiles' folder, and the modules of profiles. */
async function stampOf({ file, profileByName, profilesDir }: Config<ProfileDefinition>): Promise<string> {
  const beside = (await readdir(profilesDir).catch(() => [])).map((name) => path.join(profilesDir, name));
  const modules = [...profileByName.values()].flatMap(({ value, directory }) =>
    value.module === undefined ? [] : [path.resolve(directory, value.module)],
  );
  const stamps = [file, ...beside, ...modules].map(async (each) => {
    const found = await stat(each, { bigint: true }).catch(() => undefined);
    return `${each} ${found?.size} ${found?.mtimeNs} ${found?.ctimeNs}`;
  });
  return (await Promise.all(stamps)).join("\n");
}
