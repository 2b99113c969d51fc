import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join, relative, resolve, sep } from "node:path";
import { type Command, Option } from "commander";
import type pg from "pg";
import { openConsole } from "../../app/console.ts";
import { ROLES } from "../../app/roles.ts";
import { startDaemon } from "../../app.ts";
import { type Config, isFolderConnector } from "../../config/config.ts";
import { loadConfig } from "../../config/load.ts";
import { createLogger } from "../../core/logger.ts";
import { isTerminal } from "../../core/order-state.ts";
import type { LedgerOrder } from "../../ledger/order-row.ts";
import { profileSchema } from "../../mapping/profile-schema.ts";
import { createSimulator, type Simulator } from "../../simulator/simulator.ts";
import { duration, positiveNumber, wholeNumber } from "../arguments.ts";
import { prepareFolder } from "../demo/folder.ts";
import { type FileView, type LedgerView, listUnfinished, readLedger } from "../demo/progress.ts";
import { dropSample, listSamples, type Sample, writeConfiguration } from "../demo/samples.ts";
import { playStaff } from "../demo/staff.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { ORDER_COLUMNS, PAINT_BY_STATE } from "../output/order-columns.ts";
import { recordJson } from "../output/table.ts";
import { clean, counted } from "../output/text.ts";
import { nameOf } from "../output/why-waiting.ts";
import { type Cli, type Session, toAction, VERSION } from "../session.ts";

/** `cryobridge demo`: what `npm start` runs. */
export function define(command: Command, cli: Cli): void {
  command
    .option("--exit-when-done", "end once every sample order is at its end: status 0 if all went well")
    .addOption(
      new Option(
        "--within <time>",
        "how long that may take; then it ends with status 1 and says what is missing",
      )
        .argParser(duration)
        .default(52_000, "52s"),
    )
    .option("--port <n>", "port of the console; 0 takes any free one", wholeNumber(0, 65_535), 8088)
    .option("--speed <x>", "how much faster than the clock staff and devices live", positiveNumber, 60)
    .option(
      "--dir <folder>",
      "where everything is put; what an earlier demo left there is removed first",
      "demo",
    )
    .addHelpText("after", "\nExample:\n  cryobridge demo --exit-when-done --speed 120")
    .action(toAction(cli, runDemo));
}

interface DemoOptions {
  readonly exitWhenDone?: boolean;
  /** In ms; only with `exitWhenDone`. With what ending takes, the default keeps the whole below a minute. */
  readonly within: number;
  readonly port: number;
  readonly speed: number;
  readonly dir: string;
}

const DAEMON = "the Cryobridge daemon, with a database of its own";
const SIMULATOR_PORT = 4711;
const LOOK_EVERY_MS = 200;
/** Enough to see what a refusal looks like; the others are there for whoever wants to try them. */
const SHOWN: readonly string[] = [
  "lims-binary.hl7",
  "lims-no-pid.hl7",
  "lims-one-of-three.hl7",
  "bench-missing-column.csv",
  "bench-ragged-row.csv",
  "bench-unknown-facility.csv",
];

/**
 * A simulated service, a daemon, and sample orders on their way between them, all in this process. With
 * `--exit-when-done`, status 0 says that every order came to its end and every result is in the lab's folder.
 */
async function runDemo(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const { clock, logger, io, isJson } = session;
  const options = command.opts<DemoOptions>();
  const folder = resolve(options.dir);
  const startedAt = clock.monotonic();
  const screen = createScreen(session, startedAt);
  const ending = new AbortController();
  const stop = () => ending.abort();
  /** Later parts are closed first. */
  const closers: (() => unknown)[] = [];
  const onClose = (close: () => unknown) => closers.unshift(close);
  onClose(io.onStop?.(stop) ?? stop);
  process.once("SIGHUP", stop);
  onClose(() => process.off("SIGHUP", stop));
  try {
    screen.line(session.paint("bold", `Cryobridge ${VERSION}, a demonstration on this machine alone`));
    screen.line("Starting a simulated service, a database and the daemon …\n");
    const { dataDir, release } = await prepareFolder(folder, { clock, logger });
    onClose(release);
    const isUsual = dataDir === join(folder, "data");
    const simulator = await startSimulator(options.speed);
    onClose(() => simulator.close());
    playStaff(simulator);
    const configFile = await writeConfiguration(folder, {
      serviceUrl: simulator.url,
      consolePort: await findFreePort(options.port),
      dataDir: isUsual ? "./data" : dataDir,
    });
    const config = loadConfig(configFile, { env: io.env, profileSchema });
    const log = createLogger(config.log, session.secrets, join(folder, "daemon.log"));
    const onFatal = (failure: Error) => ending.abort(failure);
    const daemon = await startDaemon(config, { roles: new Set(ROLES), logger: log, clock, onFatal });
    onClose(() => daemon.stop());
    const console = await openConsole(daemon, { version: VERSION, logger: log, clock });
    onClose(() => console.close());
    const samples = (await listSamples()).filter(
      ({ fileName, kind }) => kind === "good" || SHOWN.includes(fileName),
    );
    introduce(screen, config, [
      ["started", `a simulated storage service, ${options.speed} times as fast as a real one`],
      ["", isUsual ? DAEMON : `${DAEMON} in ${dataDir}, since its account may not enter ${folder}`],
      ["settings", `${shownPath(configFile)}, log in ${shownPath(join(folder, "daemon.log"))}`],
      ["console", console.url],
      ["simulator", `${simulator.url} (play the facility's staff and device there)`],
    ]);
    for (const sample of samples) await dropSample(folder, sample);
    const { isDone, view } = await watch(daemon.pool, samples, {
      ...{ session, screen, config, options, ending, startedAt },
    });
    if (ending.signal.reason instanceof Error && ending.signal.reason.name === "Failure")
      throw ending.signal.reason;
    if (isJson && view) {
      const orders = view.orders.map((order) => recordJson(ORDER_COLUMNS, order, session));
      session.json({ ...view, orders });
    }
    return isDone || !options.exitWhenDone ? undefined : EXIT.failed;
  } finally {
    if (ending.signal.aborted) session.note("ending what runs …");
    for (const close of closers) await close();
  }
}

/** What is shown to a person; nothing with `--json`. */
interface Screen {
  line(text: string): void;
  /** A name and what it stands for. */
  field(name: string, text: string): void;
  /** Something that happened just now: to whom, to which order or file, and what. */
  happened(who: string, which: string, words: string): void;
}

function createScreen({ clock, paint, isJson, ...session }: Session, startedAt: number): Screen {
  const line = (text: string) => {
    if (!isJson) session.line(text);
  };
  return {
    line,
    field: (name, text) => line(`  ${paint("bold", name.padEnd(11))}${text}`),
    happened: (who, which, words) => {
      const seconds = ((clock.monotonic() - startedAt) / 1_000).toFixed(1).padStart(6);
      line(`${paint("dim", `${seconds}s  ${who.padEnd(8)}`)} ${paint("bold", which.padEnd(10))} ${words}`);
    },
  };
}

/** What runs, where the console and the simulator are, where files go and come. */
function introduce(
  screen: Screen,
  { connectors }: Config,
  fields: readonly (readonly [name: string, text: string])[],
): void {
  for (const field of fields) screen.field(...field);
  const inboxesOf = (wanted: string) =>
    connectors
      .filter(isFolderConnector)
      .flatMap(({ type, directories }) => (type === wanted ? [shownPath(directories.in)] : []))
      .join("  ");
  screen.field("drop HL7", inboxesOf("hl7-drop"));
  screen.field("drop CSV", inboxesOf("csv-drop"));
  screen.field("results", "in out/ beside each in/; refused files in error/ with the reasons");
  screen.line("\nOrders of invented patients are dropped now, some of them broken. A line for each step:\n");
}

/** Shows what happens until the end that was asked for, or with `--exit-when-done` until all is done or time is up. */
async function watch(
  pool: pg.Pool,
  samples: readonly Sample[],
  demo: {
    readonly session: Session;
    readonly screen: Screen;
    readonly config: Config;
    readonly options: DemoOptions;
    readonly ending: AbortController;
    /** By the monotonic clock, ms. */
    readonly startedAt: number;
  },
): Promise<{ readonly isDone: boolean; readonly view: LedgerView | undefined }> {
  const { session, screen, config, options, ending, startedAt } = demo;
  const { clock } = session;
  const show = createLook(session, screen);
  let view: LedgerView | undefined;
  let isDone = false;
  while (!ending.signal.aborted) {
    view = await readLedger(pool);
    show(view);
    const unfinished = listUnfinished(samples, view, clock.now());
    if (!isDone && unfinished.length === 0) {
      isDone = true;
      printDone(session, screen, view, config);
      if (!options.exitWhenDone)
        screen.line("\nIt goes on: drop files of your own into the folders above. Ctrl-C ends it.\n");
    }
    if (options.exitWhenDone && isDone) break;
    if (options.exitWhenDone && clock.monotonic() - startedAt > options.within) {
      const ended = view.orders.filter(({ state }) => isTerminal(state)).length;
      const all = counted(view.orders.length, "order is", "orders are");
      const heading = `Not done: ${ended} of ${all} at their end, and this is missing:`;
      screen.line(`\n${session.paint(["bold", "red"], heading)}`);
      for (const words of unfinished) screen.line(`  ${clean(words)}`);
      break;
    }
    await clock.sleep(LOOK_EVERY_MS, ending.signal).catch(() => undefined);
  }
  return { isDone, view };
}

/** Shows a line for each new state of an order, each refused file and each result since the last look. */
function createLook({ paint }: Session, screen: Screen): (view: LedgerView) => void {
  const seen = new Set<string>();
  const happened = (who: string, which: string, words: string) => {
    const line = JSON.stringify([who, which, words]);
    if (words === "" || seen.has(line)) return;
    seen.add(line);
    screen.happened(who, which, words);
  };
  return ({ orders, files, results }) => {
    for (const file of files) happened(file.connector, file.fileName, describeFile(file, paint));
    for (const order of orders) happened(order.connector, nameOfOrder(order), describeOrder(order, paint));
    for (const { connector, fileName, state } of results)
      if (state === "delivered") happened(connector, "", paint("dim", `wrote out/${fileName}`));
  };
}

function nameOfOrder(order: LedgerOrder): string {
  return order.placerOrderNumber ?? nameOf(order);
}

/** How an order stands, without anything of the patient. */
function describeOrder(order: LedgerOrder, paint: Session["paint"]): string {
  const { state, operation, containers, facilityCode, requestId, procedureId, failure } = order;
  const labels = containers.length === 0 ? [] : [counted(containers.length, "container")];
  const details = {
    received: [operation, ...labels, `at ${facilityCode}`].join(" "),
    submitted: requestId && `request ${requestId}`,
    accepted: procedureId && `procedure ${procedureId}`,
  };
  const detail = failure?.text ?? details[state as keyof typeof details];
  const words = clean(detail === undefined ? state : `${state}: ${detail}`);
  const style = PAINT_BY_STATE[state];
  return style === undefined ? words : paint(style, words);
}

/** What was wrong with a file; nothing while it is read, and where nothing was. */
function describeFile({ status, problems }: FileView, paint: Session["paint"]): string {
  const [first, ...others] = problems;
  if (status === "reading" || !first) return "";
  const heading = status === "refused" ? "refused" : "taken in part, the rest refused";
  const more = others.length > 0 ? ` (and ${others.length} more)` : "";
  return `${paint("yellow", heading)}: ${clean(`${first.place}: ${first.message}`)}${more}`;
}

/** The end of the samples: how they ended, what the lab has got, where to look on. */
function printDone(session: Session, screen: Screen, view: LedgerView, { file }: Config): void {
  const { orders, files, waiting, results } = view;
  const done = `Done: all ${orders.length} orders are at their end and written back.`;
  screen.line(`\n${session.paint(["bold", "green"], done)}`);
  for (const [state, group] of Map.groupBy(orders, (order) => order.state)) {
    const names = state === "completed" ? "" : ` (${group.map(nameOfOrder).join(", ")})`;
    screen.field(state, `${group.length}${names}`);
  }
  screen.field(
    "refused",
    `${files.filter(({ problems }) => problems.length > 0).length} files, whole or in part`,
  );
  for (const { kind, code = "", messages } of waiting)
    screen.field("waiting", `${messages} for the ${kind} ${clean(code)} (npx cryobridge messages waiting)`);
  screen.field("results", `${results.length} files for the labs`);
  const failed = orders.find(({ state }) => state === "failed");
  const options = `--config ${shownPath(file)}`;
  screen.line(`\n  npx cryobridge orders list ${options}`);
  screen.line(`  npx cryobridge orders show ${failed?.placerOrderNumber ?? "NL-1001"} ${options}`);
}

async function startSimulator(speed: number): Promise<Simulator> {
  const simulator = await createSimulator({ speed });
  await simulator.listen(SIMULATOR_PORT).catch(() => simulator.listen(0));
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

/** A path as a person types it from where they stand, unless it lies elsewhere. */
function shownPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === "" || short.startsWith(`..${sep}`) || short === ".." ? path : short;
}
