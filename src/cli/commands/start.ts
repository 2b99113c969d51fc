import { setFlagsFromString } from "node:v8";
import { type Command, Option } from "commander";
import { openAlerts } from "../../app/alerts.ts";
import { openConsole } from "../../app/console.ts";
import { type Daemon, startDaemon } from "../../app.ts";
import { isFolderConnector } from "../../config/config.ts";
import { directoriesOf } from "../../config/connector-schema.ts";
import { asFailure, type Failure } from "../../core/failures.ts";
import type { LogTarget } from "../../core/log-target.ts";
import { createLogger, LOG_END_MS, type Logger, openLog } from "../../core/logger.ts";
import { ROLES, type Role } from "../../core/role.ts";
import { VERSION } from "../../core/version.ts";
import { wordsOf } from "../arguments.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { readConfig } from "../open.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** A stop that takes this much longer than what is in hand may take is cut: the ledger knows what was in hand. */
const CUT_AFTER_MS = 5_000;

/**
 * Who ends a whole group of processes signals the daemon itself and the go-between that passes signals on to it: what comes
 * within this time is one request.
 */
const ONE_REQUEST_MS = 1_000;

/** `cryobridge start`. */
export function define(command: Command, cli: Cli): void {
  command
    .addOption(
      new Option("--role <roles>", "what it does, all or some of it")
        .argParser(wordsOf(ROLES))
        .default(ROLES, ROLES.join()),
    )
    .addHelpText("after", "\nExample:\n  cryobridge start --config /etc/cryobridge/cryobridge.yaml")
    .action(toAction(cli, startProgram));
}

/**
 * Runs until it is asked to stop, then ends what is in hand: status 0, or 1 when that takes too long, when a
 * second request to stop comes, or when the daemon can't go on.
 */
async function startProgram(
  session: Session,
  { role }: { readonly role: readonly Role[] },
): Promise<ExitStatus | undefined> {
  keepHeapSmall();
  const roles = new Set(role);
  const config = readConfig(session);
  const log = await openLog(config.log, session.clock);
  try {
    return await runDaemon(session, { roles, config, log });
  } finally {
    await log.idle(LOG_END_MS);
  }
}

async function runDaemon(
  session: Session,
  {
    roles,
    config,
    log,
  }: { readonly roles: ReadonlySet<Role>; readonly config: DaemonConfig; readonly log: LogTarget },
): Promise<ExitStatus | undefined> {
  const logger = createLogger(session.isVerbose ? { level: "debug" } : config.log, log, session.secrets);
  for (const { place, message } of config.warnings) logger.warn({ place }, message);
  const ending = watchForEnd(session, logger);
  const reloading: { ask: () => void; isAsked: boolean } = {
    ask: () => {
      reloading.isAsked = true;
    },
    isAsked: false,
  };
  // From the first moment to the last: a signal that nobody takes ends the process.
  session.io.onReload?.(() => reloading.ask());
  const started = startAll();
  // A request to stop may come while it still starts; then it is stopped as soon as there is something to stop.
  await Promise.race([started, ending.first]);
  const end = await ending.first;
  const closeAll = async () => (await started)();
  const cutAfterMs = config.worker.stopWithinMs + CUT_AFTER_MS;
  return stopAll({ closeAll, end, second: ending.second, cutAfterMs }, session, logger);

  async function startAll(): Promise<() => Promise<void>> {
    const { clock } = session;
    const daemon = await startDaemon(config, {
      roles,
      logger,
      log,
      clock,
      readAgain: () => readConfig(session, "again"),
      onFatal: ending.onFatal,
      onDrain: ending.onDrain,
    });
    try {
      const parts = { version: VERSION, logger, clock, path: session.io.env.PATH };
      const open = roles.has("console")
        ? await openConsole(daemon, { ...parts, secrets: session.secrets })
        : undefined;
      const closeAlerts = openAlerts(daemon, parts);
      reloading.ask = () => void daemon.reload();
      if (reloading.isAsked) reloading.ask();
      announce(daemon, roles, open?.url, session, logger);
      return async () => {
        await closeAlerts();
        await open?.close();
        await daemon.stop();
      };
    } catch (error) {
      await daemon.stop();
      throw error;
    }
  }
}

/**
 * On a machine with much memory V8 lets dead objects pile up to hundreds of megabytes before it collects them, though a
 * daemon under full load holds some 40 MB. Beside a lab system memory is worth more than the speed that this brings.
 */
function keepHeapSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  // The old generation is collected once it has grown by half.
  setFlagsFromString("--heap-growing-percent=50");
}

type DaemonConfig = ReturnType<typeof readConfig>;

/** Why the program ends. */
type End = { readonly kind: "asked" } | { readonly kind: "fatal"; readonly failure: Failure };

function watchForEnd(session: Session, logger: Logger) {
  const first = Promise.withResolvers<End>();
  const second = Promise.withResolvers<void>();
  let askedAtMs: number | undefined;
  session.io.onStop?.(() => {
    const nowMs = session.clock.monotonic();
    if (askedAtMs === undefined) askedAtMs = nowMs;
    else if (nowMs - askedAtMs > ONE_REQUEST_MS) second.resolve();
    first.resolve({ kind: "asked" });
  });
  session.io.onCrash?.((error) => {
    logger.fatal({ err: error }, "an error that nobody caught; the daemon ends");
    first.resolve({ kind: "fatal", failure: asFailure(error) });
  });
  const onFatal = (failure: Failure) => first.resolve({ kind: "fatal", failure });
  const onDrain = () => first.resolve({ kind: "asked" });
  return { first: first.promise, second: second.promise, onFatal, onDrain };
}

async function stopAll(
  {
    closeAll,
    end,
    second,
    cutAfterMs,
  }: {
    readonly closeAll: () => Promise<void>;
    readonly end: End;
    readonly second: Promise<void>;
    readonly cutAfterMs: number;
  },
  session: Session,
  logger: Logger,
): Promise<ExitStatus | undefined> {
  if (end.kind === "fatal") logger.fatal({ err: end.failure }, "the daemon can't go on");
  else logger.info("stopping: what is in hand is finished first");
  const waiting = new AbortController();
  const isStopped = await Promise.race([
    closeAll().then(() => true),
    second.then(() => false),
    session.clock.sleep(cutAfterMs, waiting.signal).then(
      () => false,
      () => false,
    ),
  ]);
  waiting.abort();
  if (!isStopped)
    logger.error("stopped before everything in hand was finished; the next start takes it up again");
  else if (end.kind === "asked") logger.info("stopped");
  return isStopped && end.kind === "asked" ? undefined : EXIT.failed;
}

/** What was started, where the console is, and where files are dropped: words at a terminal, log lines otherwise. */
function announce(
  daemon: Daemon,
  roles: ReadonlySet<Role>,
  consoleUrl: string | undefined,
  session: Session,
  logger: Logger,
): void {
  const { config } = daemon.configuration;
  const names = [...roles].join(", ");
  const folders = roles.has("intake") ? config.connectors : [];
  if (!session.io.isTTY || session.isJson) {
    logger.info({ version: VERSION, roles: [...roles], config: config.file }, "cryobridge is running");
    if (consoleUrl) logger.info({ url: consoleUrl }, "console");
    for (const each of folders.filter(isFolderConnector)) {
      const { in: drop, out: results } = directoriesOf(each);
      logger.info({ connector: each.name, type: each.type, drop, results }, "drop folder");
    }
    for (const { name, listen } of folders.filter((each) => each.type === "mllp")) {
      logger.info({ connector: name, host: listen.host, port: listen.port }, "listening for MLLP");
    }
    return;
  }
  session.line(`Cryobridge ${VERSION} is running (${names}) with ${config.file}`);
  if (consoleUrl) session.line(`  console   ${consoleUrl}`);
  for (const connector of folders) {
    const words = isFolderConnector(connector)
      ? `drop files into ${directoriesOf(connector).in}, results appear in ${directoriesOf(connector).out}`
      : `send messages by MLLP to ${connector.listen.host}:${connector.listen.port}`;
    session.line(`  ${connector.name.padEnd(8)}  ${words}`);
  }
}
