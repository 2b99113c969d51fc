import { join, resolve } from "node:path";
import type { Command } from "commander";
import { type OpenLedger, openLedger } from "../../app/open-ledger.ts";
import { loadConfig } from "../../config/load.ts";
import { asFailure } from "../../core/failures.ts";
import { profileSchema } from "../../mapping/profile-schema.ts";
import { createSimulator, type Simulator } from "../../simulator/simulator.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import type { Session } from "../session.ts";
import { VERSION } from "../version.ts";
import { writeConfiguration } from "./configuration.ts";
import { type DaemonProcess, startDaemonProcess } from "./daemon-process.ts";
import { dropSample } from "./drop.ts";
import { type Ending, watchForEnd } from "./ending.ts";
import { prepareFolder } from "./folder.ts";
import type { LedgerView } from "./ledger-view.ts";
import { createLook } from "./look.ts";
import { play } from "./play.ts";
import { findFreePort } from "./ports.ts";
import { createScreen, type Screen } from "./screen.ts";
import { listSamples, type Sample } from "./senders.ts";
import { playStaff } from "./staff.ts";
import { summaryJson } from "./summary.ts";
import { introduce, tellDone, tellTitle, tellUnfinished } from "./tell.ts";
import { listUnfinished } from "./unfinished.ts";

interface DemoOptions {
  readonly exitWhenDone?: boolean;
  /** In ms; only with `exitWhenDone`. With what ending takes, the default keeps the whole below a minute. */
  readonly within: number;
  readonly port?: number;
  readonly speed: number;
  readonly dir: string;
}

const CONSOLE_PORT = 8088;
const SIMULATOR_PORT = 4711;
const LOOK_EVERY_MS = 200;
/** Enough to see what a refusal and a wait look like; the others are there for whoever wants to try them. */
const SHOWN: readonly string[] = [
  "lims-binary.hl7",
  "lims-no-pid.hl7",
  "lims-one-of-three.hl7",
  "bench-missing-column.csv",
  "bench-ragged-row.csv",
  "bench-unknown-facility.csv",
];

/** What the parts of the demonstration share. */
interface Stage {
  readonly session: Session;
  readonly options: DemoOptions;
  readonly folder: string;
  readonly screen: Screen;
  readonly ending: Ending;
  readonly startedAt: number;
  /** Later parts are closed first. */
  readonly onClose: (close: () => unknown) => void;
}

/** All that runs. */
interface Parts {
  readonly simulator: Simulator;
  readonly daemon: DaemonProcess;
  readonly ledger: OpenLedger;
  readonly configFile: string;
  readonly samples: readonly Sample[];
}

/**
 * `demo`: a simulated service in this process, a daemon in one of its own, and sample orders on their way between
 * them. With `--exit-when-done`, status 0 says that every order came to its end and every result is in the lab's
 * folder.
 */
export async function runDemo(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const options = command.opts<DemoOptions>();
  const ending = watchForEnd(session.io);
  const closers: (() => unknown)[] = [ending.unwatch];
  const stage: Stage = {
    session,
    options,
    folder: resolve(options.dir),
    screen: createScreen(session, session.clock),
    ending,
    startedAt: session.clock.monotonic(),
    onClose: (close) => closers.unshift(close),
  };
  try {
    const parts = await startParts(stage);
    const isDone = await watch(stage, parts);
    return isDone || !options.exitWhenDone ? undefined : EXIT.failed;
  } catch (error) {
    if (!ending.signal.aborted) throw error;
    return options.exitWhenDone ? EXIT.failed : undefined;
  } finally {
    if (ending.signal.aborted) stage.screen.remark("ending what runs …");
    for (const close of closers) await close();
  }
}

async function startParts(stage: Stage): Promise<Parts> {
  const { session, options, folder, screen, ending, onClose } = stage;
  const { clock, logger } = session;
  tellTitle(screen, VERSION);
  const { dataDir, release } = await prepareFolder(folder, { clock, logger });
  onClose(release);
  const isUsual = dataDir === join(folder, "data");
  if (!isUsual) {
    screen.remark(`the database is in ${dataDir}: its account, which is not root, may not enter ${folder}`);
  }
  const simulator = await startSimulator(options.speed);
  onClose(() => simulator.close());
  playStaff(simulator);
  const consolePort = await findFreePort(options.port ?? CONSOLE_PORT);
  const consoleUrl = `http://127.0.0.1:${consolePort}`;
  const configFile = await writeConfiguration(folder, {
    serviceUrl: simulator.url,
    consolePort,
    dataDir: isUsual ? "./data" : dataDir,
  });
  const opened: { ledger?: OpenLedger } = {};
  // The database server ends with its last user, so this is closed after the daemon.
  onClose(() => opened.ledger?.close());
  const logFile = join(folder, "daemon.log");
  const daemon = await startDaemonProcess(
    {
      configFile,
      logFile,
      env: session.io.env,
      clock,
      onDeath: (words) => screen.remark(`${words}; it is started again`),
      onReturn: (pid, afterMs) =>
        screen.remark(`the daemon is back as process ${pid}, ${(afterMs / 1_000).toFixed(1)} s later`),
    },
    ending.signal,
  );
  onClose(() => daemon.stop());
  ending.onImpatience(() => daemon.kill());
  const config = loadConfig(configFile, { env: session.io.env, profileSchema });
  const ledger = await openLedger(config, { clock, logger, isDaemon: false });
  opened.ledger = ledger;
  const samples = (await listSamples()).filter(
    ({ fileName, kind }) => kind === "good" || SHOWN.includes(fileName),
  );
  const hasKeys = !session.isJson && session.io.isTTY && process.stdin.isTTY === true;
  introduce(screen, {
    ...{ folder, configFile, logFile, samples, consoleUrl, hasKeys },
    daemonPid: daemon.pid,
    speed: options.speed,
    serviceUrl: simulator.url,
  });
  if (hasKeys) onClose(play({ screen, folder, simulator, daemon, clock, onQuit: ending.ask }));
  for (const sample of samples) await dropSample(folder, sample);
  return { simulator, daemon, ledger, configFile, samples };
}

async function startSimulator(speed: number): Promise<Simulator> {
  const simulator = await createSimulator({ speed });
  try {
    await simulator.listen(SIMULATOR_PORT);
  } catch {
    await simulator.listen(0);
  }
  return simulator;
}

/** Shows what happens until the end that was asked for, or with `--exit-when-done` until all is done or time is up. */
async function watch(stage: Stage, { ledger, configFile, samples }: Parts): Promise<boolean> {
  const { session, options, folder, screen, ending, startedAt } = stage;
  const { clock } = session;
  const look = createLook({ pool: ledger.pool, folder, screen });
  let view: LedgerView | undefined;
  let isDone: boolean | undefined;
  while (!ending.signal.aborted) {
    view = await look().catch((error: unknown) => {
      if (asFailure(error).class !== "transient") throw error;
      return undefined;
    });
    const isLate = options.exitWhenDone === true && clock.monotonic() - startedAt > options.within;
    if (isDone === undefined && view) {
      const unfinished = listUnfinished(samples, view, clock.now());
      if (unfinished.length === 0) {
        isDone = true;
        await tellDone(screen, { folder, configFile }, view);
      } else if (isLate || unfinished.every(({ isFinal }) => isFinal)) {
        isDone = false;
        tellUnfinished(screen, unfinished, view);
      }
      if (isDone !== undefined && !options.exitWhenDone) tellHowItGoesOn(stage);
    }
    if (options.exitWhenDone && (isDone !== undefined || isLate)) break;
    await clock.sleep(LOOK_EVERY_MS, ending.signal).catch(() => undefined);
  }
  if (options.exitWhenDone && isDone === undefined && !ending.signal.aborted) {
    screen.line("Not done: the ledger gave no answer.");
  }
  if (session.isJson && view) session.json(await summaryJson(folder, view));
  return isDone === true;
}

function tellHowItGoesOn({ screen, session }: Stage): void {
  screen.line();
  const end = session.io.isTTY ? "q or Ctrl-C ends it" : "Ctrl-C or SIGTERM ends it";
  screen.line(`It goes on: drop files of your own into the folders above. ${end}.`);
  screen.line();
}
