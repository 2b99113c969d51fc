import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import { formatId, parseId } from "../../ledger/ids.ts";
import type { Act } from "../../ledger/operator/audit.ts";
import { askReload } from "../../ledger/workers/configuration.ts";
import { drainWorkers, listWorkers, type WorkerView } from "../../ledger/workers/roster.ts";
import { recordJson } from "../column.ts";
import {
  CONFIGURATION_COLUMNS,
  type ConfiguredWorker,
  configurationInWords,
  takenOverInWords,
  withConfiguration,
} from "../configuration-columns.ts";
import type { OutcomeLine, SiteAct, SitePlace } from "../site-act.ts";
import { NO_DAEMON } from "../text.ts";

/** One daemon by its number, or all of a name; the console's form has both of one. */
type OnWorker =
  | { readonly id: number; readonly name?: string }
  | { readonly name: string; readonly id?: undefined };

/** Has daemons end. */
export const DRAIN = {
  ...{ command: "workers --drain", button: (on) => `Stop ${nameOf(on)}`, reason: "usual" },
  path: "/workers/:id/drain",
  explains:
    "It finishes what it has in hand and ends; with the last one, nothing is taken in or sent any more, and this console ends with its daemon.",
  isDangerous: true,
  on: (word): OnWorker => {
    const id = parseId("w", word);
    return id === undefined ? { name: word } : { id };
  },
  act: async ({ pool }, by, on) => {
    const drained = await drainWorkers(pool, on.id === undefined ? { name: on.name } : { id: on.id }, by);
    if (drained.length === 0)
      throw await noneOfThatName(pool, on.id === undefined ? on.name : formatId("w", on.id));
    return {
      isDone: true,
      lines: drained.map((id) => [
        "done",
        `${formatId("w", id)} finishes what it has in hand and ends; \`cryobridge workers\` shows when`,
      ]),
      json: { drained: drained.map((id) => formatId("w", id)) },
    };
  },
} as const satisfies SiteAct<OnWorker>;

async function noneOfThatName(pool: SitePlace["pool"], word: string): Promise<Failure> {
  const known = await listWorkers(pool, 0);
  const names = known.map((worker) => nameOf(worker)).join(", ");
  const there = known.length === 0 ? NO_DAEMON : `there are ${names}`;
  const message = `no daemon ${word} works with this ledger; ${there}`;
  return new Failure("CLI_NOT_FOUND", { message, hint: "`cryobridge workers` lists them." });
}

/** A daemon hears of it within a second, and compiles its profiles. */
const RELOADED_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 200;

/** Has all daemons take over their configuration; not done where one of them refused it or has not answered. */
export const RELOAD: SiteAct = {
  ...{ command: "reload", button: "Reload the configuration", reason: "optional" },
  path: "/workers/reload",
  example: "cryobridge reload --reason 'a new facility'",
  explains:
    "Every daemon checks its whole configuration and takes over profiles, tables, facilities and alerts; no connection is lost. With a mistake in the files, it goes on with what it has.",
  act: async ({ pool, viewer }, by) => {
    const { answered, silent } = await reloadWorkers(pool, by, viewer.clock);
    const configured = withConfiguration(answered);
    if (configured.length + silent.length === 0)
      throw new Failure("CLI_NOT_FOUND", {
        message: `${NO_DAEMON}; the next start reads the configuration`,
        hint: "`cryobridge check` says whether that is right.",
      });
    const isTakenOver = configured.some(
      ({ configuration: { problems, takenOver } }) => problems.length === 0 && Boolean(takenOver?.length),
    );
    const hasMistakes = configured.some(({ configuration }) => configuration.problems.length > 0);
    return {
      isDone: !hasMistakes && silent.length === 0,
      code: hasMistakes ? "CONFIG_INVALID" : undefined,
      lines: [
        ...configured.flatMap(reloadLines),
        ...silent.map(silentLine),
        ...(isTakenOver ? [RELEASED] : []),
      ],
      json: {
        workers: configured.map((worker) => recordJson(CONFIGURATION_COLUMNS, worker, viewer)),
        silent: silent.map(({ id }) => formatId("w", id)),
      },
    };
  },
};

/** Has all workers take over what was changed in their configuration, and waits for their answers; nobody answers where none lives. */
async function reloadWorkers(pool: SitePlace["pool"], by: Act, clock: Clock) {
  const asked = new Set(await askReload(pool, by));
  const untilMs = clock.monotonic() + RELOADED_WITHIN_MS;
  while (true) {
    const workers = (await listWorkers(pool, 0)).filter(({ id, isAlive }) => asked.has(id) && isAlive);
    const hasAnswered = ({ reload, configuration }: WorkerView) => (configuration?.answered ?? 0) === reload;
    const silent = workers.filter((worker) => !hasAnswered(worker));
    if (silent.length === 0 || clock.monotonic() >= untilMs)
      return { answered: workers.filter(hasAnswered), silent };
    await clock.sleep(LOOK_EVERY_MS);
  }
}

const RELEASED: OutcomeLine = ["remark", "Messages that waited for a code which is known now are processed."];

function reloadLines(worker: ConfiguredWorker): OutcomeLine[] {
  const who = nameOf(worker);
  const { problems, restart, takenOver } = worker.configuration;
  if (problems.length > 0)
    return [
      ["failed", `${who} goes on with what it read last; the file has mistakes:`],
      ...problems.map((problem): OutcomeLine => ["remark", `    ${problem}`]),
    ];
  const done = `${who} ${takenOverInWords(worker.configuration)}`;
  const left = restart.length === 0 ? "" : `; ${configurationInWords(worker.configuration)}`;
  return [[restart.length > 0 && !takenOver?.length ? "partly" : "done", `${done}${left}`]];
}

function silentLine(worker: WorkerView): OutcomeLine {
  const why = "it may be reading a large file, or its log says why";
  return ["failed", `${nameOf(worker)} has not answered yet: ${why}`];
}

/** `north (w7)`. */
function nameOf({ id, name }: { readonly id?: number | undefined; readonly name?: string }): string {
  if (id === undefined) return name ?? "";
  return name === undefined ? formatId("w", id) : `${name} (${formatId("w", id)})`;
}
