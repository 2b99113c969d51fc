import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join, relative, resolve, sep } from "node:path";
import { type Command, Option } from "commander";
import type pg from "pg";
import { openAlerts } from "../../app/alerts.ts";
import { openConsole } from "../../app/console.ts";
import { startDaemon } from "../../app.ts";
import { type Config, isFolderConnector } from "../../config/config.ts";
import { directoriesOf } from "../../config/connector-schema.ts";
import { loadConfig } from "../../config/load.ts";
import { CONSOLE_ADDRESS } from "../../config/schema.ts";
import { problemSentence } from "../../core/failures.ts";
import { LogTarget } from "../../core/log-target.ts";
import { createLogger, LOG_END_MS } from "../../core/logger.ts";
import { isTerminal } from "../../core/order-state.ts";
import { ROLES } from "../../core/role.ts";
import { VERSION } from "../../core/version.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { profileSchema } from "../../mapping/profile/schema.ts";
import { recordJson } from "../../operator/column.ts";
import { ORDER_COLUMNS } from "../../operator/lists/orders.ts";
import { PAINT_BY_STATE } from "../../operator/order-words.ts";
import { type ListedOrder, withSurroundings } from "../../operator/surroundings.ts";
import { clean, counted } from "../../operator/text.ts";
import { nameOf } from "../../operator/why-waiting.ts";
import { createSimulator, type Simulator } from "../../simulator/simulator.ts";
import { duration, positiveNumber, SIMULATOR_PORT, wholeNumber } from "../arguments.ts";
import { prepareFolder } from "../demo/folder.ts";
import { type LedgerView, listUnfinished, readLedger } from "../demo/progress.ts";
import { dropSample, listSamples, playStaff, type Sample, writeConfiguration } from "../demo/samples.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { placeOf } from "../list-command.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge demo`: what `npm start` runs. */
export function define(command: Command, cli: Cli): void {
  command
    .option("--exit-when-done", "end once every sample order is at its end: status 0 if all went well")
    .addOption(
      // With what ending takes, the default keeps the whole below a minute.
      new Option("--within <time>", "how long that may take; then it says what is missing, with status 1")
        .argParser(duration)
        .default(52_000, "52s"),
    )
    .option(
      "--port <n>",
      "port of the console; 0 or a taken one gives any free one",
      wholeNumber(0, 65_535),
      CONSOLE_ADDRESS.port,
    )
    .option(
      "--simulator-port <n>",
      "port of the simulated service; 0 or a taken one gives any free one",
      wholeNumber(0, 65_535),
      SIMULATOR_PORT,
    )
    .option("--speed <x>", "how much faster than the clock staff and devices live", positiveNumber, 60)
    .option("--dir <folder>", "where everything is put; what an earlier demo left is removed first", "demo")
    .addHelpText("after", "\nExample:\n  cryobridge demo --exit-when-done --speed 120")
    .action(toAction(cli, runDemo));
}

interface DemoOptions {
  readonly exitWhenDone?: boolean;
  readonly within: number;
  readonly port: number;
  readonly simulatorPort: number;
  readonly speed: number;
  readonly dir: string;
}

/** How a person calls us: an installed package has its command on the path, or beside it; a checkout has not. */
const PROGRAM = import.meta.dirname.split(sep).includes("node_modules") ? "cryobridge" : "npx cryobridge";
const LOOK_EVERY_MS = 200;
/** Enough to see how a refusal is reported; the others are there for whoever wants to try them. */
const SHOWN: readonly string[] = [
  "lims-binary.hl7",
  "lims-no-pid.hl7",
  "lims-one-of-three.hl7",
  "bench-missing-column.csv",
  "bench-ragged-row.csv",
  "bench-unknown-facility.csv",
];

/** What is shown to a person; nothing with `--json`. */
class Screen {
  readonly paint: Session["paint"];
  readonly #session: Session;
  readonly #startedAt: number;
  readonly #seen = new Set<string>();

  constructor(session: Session) {
    this.paint = session.paint;
    this.#session = session;
    this.#startedAt = session.clock.monotonic();
  }

  get passedMs(): number {
    return this.#session.clock.monotonic() - this.#startedAt;
  }

  line(text = ""): void {
    if (!this.#session.isJson) this.#session.line(text);
  }

  field(name: string, text: string): void {
    this.line(`  ${this.paint("bold", name.padEnd(11))}${text}`);
  }

  /** Something that happened to an order or file of a connector, said once. */
  happened(connector: string, which: string, words: string): void {
    const event = `${connector.padEnd(8)} ${which} ${words}`;
    if (words === "" || this.#seen.has(event)) return;
    this.#seen.add(event);
    const seconds = (this.passedMs / 1_000).toFixed(1).padStart(6);
    const who = this.paint("dim", `${seconds}s  ${connector.padEnd(8)}`);
    this.line(`${who} ${this.paint("bold", which.padEnd(10))} ${words}`);
  }
}

/**
 * A simulated service, a daemon, and sample orders on their way between them, all in this process. With
 * `--exit-when-done`, status 0 says that every order came to its end and every result is in the lab's folder.
 */
async function runDemo(session: Session, options: DemoOptions): Promise<ExitStatus | undefined> {
  const { clock, logger, io } = session;
  const folder = resolve(options.dir);
  const screen = new Screen(session);
  const ending = new AbortController();
  const stop = () => ending.abort();
  /** Later parts are closed first. */
  const closers: (() => unknown)[] = [io.onStop?.(stop) ?? stop, io.onReload?.(stop) ?? stop];
  try {
    screen.line(session.paint("bold", `Cryobridge ${VERSION}, a demonstration on this machine alone`));
    screen.line("Starting a simulated service, a database and the daemon …\n");
    const { dataDir, release } = await prepareFolder(folder, { clock, logger });
    closers.unshift(release);
    const simulator = await startSimulator(options);
    closers.unshift(() => simulator.close());
    playStaff(simulator);
    const isUsual = dataDir === join(folder, "data");
    const consoleToken = randomBytes(12).toString("base64url");
    const configFile = await writeConfiguration(folder, {
      serviceUrl: simulator.url,
      consolePort: await findFreePort(options.port),
      consoleToken,
      dataDir: isUsual ? "./data" : dataDir,
    });
    const readAgain = () => loadConfig(configFile, { env: io.env, profileSchema });
    const config = readAgain();
    const logFile = join(folder, "daemon.log");
    const log = new LogTarget(logFile, clock);
    closers.unshift(() => log.idle(LOG_END_MS));
    const daemonLogger = createLogger(config.log, log, session.secrets);
    const onFatal = (failure: Error) => ending.abort(failure);
    const daemon = await startDaemon(config, {
      roles: new Set(ROLES),
      ...{ logger: daemonLogger, log, clock, onFatal, readAgain },
    });
    closers.unshift(() => daemon.stop());
    const parts = { version: VERSION, logger: daemonLogger, clock, path: io.env.PATH };
    const console = await openConsole(daemon, parts);
    closers.unshift(() => console.close());
    closers.unshift(openAlerts(daemon, parts));

    screen.field("started", `a simulated storage service, ${options.speed} times as fast as a real one`);
    const elsewhere = isUsual ? "" : ` in ${dataDir}, since its account may not enter ${folder}`;
    screen.field("", `the Cryobridge daemon, with a database of its own${elsewhere}`);
    screen.field("settings", `${shownPath(configFile)}, log in ${shownPath(logFile)}`);
    screen.field("console", `${console.url} (token ${consoleToken})`);
    screen.field("simulator", `${simulator.url} (play the facility's staff and device there)`);
    screen.field("drop HL7", inboxesOf(config, "hl7-drop"));
    screen.field("drop CSV", inboxesOf(config, "csv-drop"));
    screen.field("results", "in out/ beside each in/; refused files in error/ with the reasons");
    screen.line(
      "\nOrders of invented patients are dropped now, some of them broken. A line for each step:\n",
    );
    const samples = (await listSamples()).filter(
      ({ fileName, kind }) => kind === "good" || SHOWN.includes(fileName),
    );
    for (const sample of samples) await dropSample(folder, sample);
    const { isDone, view } = await watch(daemon.pool, { samples, session, screen, config, options, ending });
    const { reason } = ending.signal;
    if (reason instanceof Error && reason.name === "Failure") throw reason;
    if (session.isJson && view) {
      const place = placeOf({ pool: daemon.pool, config }, session);
      const orders = (await withSurroundings(place, view.orders)).map((order) =>
        recordJson<ListedOrder>(ORDER_COLUMNS, order, session),
      );
      session.json({ ...view, orders });
    }
    return isDone || !options.exitWhenDone ? undefined : EXIT.failed;
  } finally {
    if (ending.signal.aborted) session.note("ending what runs …");
    for (const close of closers) await close();
  }
}

interface Watched {
  readonly samples: readonly Sample[];
  readonly session: Session;
  readonly screen: Screen;
  readonly config: Config;
  readonly options: DemoOptions;
  readonly ending: AbortController;
}

/** Shows what happens until the end that was asked for, or with `--exit-when-done` until all is done or time is up. */
async function watch(
  pool: pg.Pool,
  { samples, session: { clock }, screen, config, options, ending }: Watched,
): Promise<{ readonly isDone: boolean; readonly view: LedgerView | undefined }> {
  let view: LedgerView | undefined;
  let isDone = false;
  while (!ending.signal.aborted) {
    view = await readLedger(pool);
    showChanges(view, screen);
    const unfinished = listUnfinished(samples, view, clock.now());
    if (!isDone && unfinished.length === 0) {
      isDone = true;
      printDone(screen, view, config);
      if (!options.exitWhenDone)
        screen.line("\nIt goes on: drop files of your own into the folders above. Ctrl-C ends it.\n");
    }
    if (options.exitWhenDone && isDone) break;
    if (options.exitWhenDone && screen.passedMs > options.within) {
      const ended = view.orders.filter(({ state }) => isTerminal(state)).length;
      const all = counted(view.orders.length, "order is", "orders are");
      const heading = `Not done: ${ended} of ${all} at their end, and this is missing:`;
      screen.line(`\n${screen.paint(["bold", "red"], heading)}`);
      for (const words of unfinished) screen.line(`  ${clean(words)}`);
      break;
    }
    await clock.sleep(LOOK_EVERY_MS, ending.signal).catch(() => undefined);
  }
  return { isDone, view };
}

/** A line for each new state of an order, each refused file and each result. */
function showChanges({ orders, files, results }: LedgerView, screen: Screen): void {
  for (const { connector, fileName, status, problems } of files) {
    const [first, ...others] = problems;
    if (status === "reading" || !first) continue;
    const heading = status === "refused" ? "refused" : "taken in part, the rest refused";
    const more = others.length > 0 ? ` (and ${others.length} more)` : "";
    const why = `${clean(problemSentence(first))}${more}`;
    screen.happened(connector, fileName, `${screen.paint("yellow", heading)}: ${why}`);
  }
  for (const order of orders) {
    const style = PAINT_BY_STATE[order.state];
    const words = describeOrder(order);
    screen.happened(order.connector, shortName(order), style ? screen.paint(style, words) : words);
  }
  for (const { connector, fileName, state } of results)
    if (state === "delivered") screen.happened(connector, "", screen.paint("dim", `wrote out/${fileName}`));
}

const shortName = (order: LedgerOrder) => order.placerOrderNumber ?? nameOf(order);

/** How an order stands, without anything of the patient. */
function describeOrder(order: LedgerOrder): string {
  const { state, operation, containers, facilityCode, requestId, procedureId, failure } = order;
  const labels = containers.length === 0 ? [] : [counted(containers.length, "container")];
  const details = {
    received: [operation, ...labels, `at ${facilityCode}`].join(" "),
    submitted: requestId && `request ${requestId}`,
    accepted: procedureId && `procedure ${procedureId}`,
  };
  const detail = failure?.text ?? details[state as keyof typeof details];
  return clean(detail === undefined ? state : `${state}: ${detail}`);
}

/** The end of the samples: how they ended, what the lab has got, where to go on. */
function printDone(screen: Screen, { orders, files, waiting, results }: LedgerView, { file }: Config): void {
  const done = `Done: all ${orders.length} orders are at their end and written back.`;
  screen.line(`\n${screen.paint(["bold", "green"], done)}`);
  for (const [state, group] of Map.groupBy(orders, (order) => order.state)) {
    const names = state === "completed" ? "" : ` (${group.map(shortName).join(", ")})`;
    screen.field(state, `${group.length}${names}`);
  }
  const refused = files.filter(({ problems }) => problems.length > 0).length;
  screen.field("refused", `${refused} files, whole or in part`);
  const configured = `--config ${shownPath(file)}`;
  const seen = `${PROGRAM} messages waiting ${configured}`;
  for (const { kind, code = "", messages } of waiting)
    screen.field("waiting", `${messages} for the ${kind} ${clean(code)} (${seen})`);
  screen.field("results", `${results.length} files for the labs`);
  const shown = orders.find(({ state }) => state === "failed")?.placerOrderNumber ?? "NL-1001";
  screen.line(`\n  ${PROGRAM} orders list ${configured}`);
  screen.line(`  ${PROGRAM} orders show ${shown} ${configured}`);
}

async function startSimulator({ speed, simulatorPort }: DemoOptions): Promise<Simulator> {
  const simulator = await createSimulator({ speed });
  await simulator.listen(simulatorPort).catch(() => simulator.listen(0));
  return simulator;
}

/** The wanted port of this machine's own address if it is free, else any free one. */
async function findFreePort(wanted: number): Promise<number> {
  const server = createServer().listen(wanted, "127.0.0.1");
  try {
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch {
    return findFreePort(0);
  } finally {
    server.close();
  }
}

function inboxesOf({ connectors }: Config, wanted: string): string {
  const folders = connectors.filter(isFolderConnector).filter(({ type }) => type === wanted);
  return folders.map((each) => shownPath(directoriesOf(each).in)).join("  ");
}

/** A path as a person types it from where they stand, unless it lies elsewhere. */
function shownPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === "" || short.startsWith("..") ? path : short;
}
