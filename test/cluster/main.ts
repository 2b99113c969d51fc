/**
 * `npm run cluster -- --workers 3 [--queue redis] [--data DIR] [--port N]`: several daemons on one ledger with all that they
 * need, until Ctrl-C. Lines of standard input act on single ones: `kill 2`, `pause 2`, `resume 2`, `stop 2`, `restart 2`, and
 * `flush` empties Redis.
 */
import { mkdir, readdir, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { makeTestFolder } from "../support/with-folder.ts";
import { withoutCode } from "../support/without-code.ts";
import { type Cluster, startCluster } from "./cluster.ts";

const USAGE = "npm run cluster -- [--workers N] [--queue postgres|redis] [--data DIR] [--port N]";
/** Staff and devices act within seconds. */
const SPEED = 60;

process.exitCode = await main();

async function main(): Promise<number> {
  let given: ReturnType<typeof readArguments>;
  try {
    given = readArguments(process.argv.slice(2));
    await requireEmpty(given.data);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${USAGE}`);
    return 2;
  }
  const asked = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => asked.resolve());
  const folder = given.data ?? (await makeTestFolder());
  try {
    console.log(`Starting a database, a simulated service and ${given.workers} daemons …`);
    const cluster = await startCluster({
      ...{ folder, workers: given.workers, queue: given.queue, port: given.port },
      simulator: { speed: SPEED },
      onEnd: (daemon, why) => console.log(`${daemon}: ${why}`),
    });
    try {
      announce(cluster);
      act(cluster);
      await asked.promise;
      console.log("Stopping the daemons, then what they use …");
    } finally {
      await cluster.stop();
    }
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  } finally {
    process.stdin.destroy();
    if (given.data === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

function readArguments(args: readonly string[]) {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { workers: text, queue: text, data: text, port: text },
  });
  const { queue = "postgres", data } = values;
  if (queue !== "postgres" && queue !== "redis") throw new Error("--queue takes postgres or redis");
  const workers = wholeNumber("--workers", values.workers ?? "3", 1, 10);
  const port = values.port === undefined ? undefined : wholeNumber("--port", values.port, 1, 65_000);
  return { workers, queue, port, data: data === undefined ? undefined : resolve(data) } as const;
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < least || number > most)
    throw new Error(`${name} takes a whole number from ${least} to ${most}`);
  return number;
}

/** The simulated service forgets at its end, so the ledger of an earlier run would hold orders that nobody knows. */
async function requireEmpty(data: string | undefined): Promise<void> {
  if (data === undefined) return;
  const names = (await withoutCode("ENOENT", readdir(data))) ?? [];
  if (names.length > 0) throw new Error(`${data} is not empty; name a folder that is, or remove it`);
  await mkdir(data, { recursive: true });
}

function announce({ daemons, postgres, redis, simulator, folders }: Cluster): void {
  const field = (name: string, ...words: readonly string[]) =>
    console.log(`  ${name.padEnd(11)}${words.join("  ")}`);
  console.log();
  field("folder", folders.all);
  field("drop HL7", `${folders.hl7}/in`, `results in ${folders.hl7}/out`);
  field("drop CSV", `${folders.csv}/in`, `results in ${folders.csv}/out`);
  field("MLLP", `results in ${folders.mllp}/out`);
  field("database", postgres.url, `pid ${postgres.pid}`);
  if (redis) field("redis", redis.url, `pid ${redis.pid}`);
  field("simulator", simulator.url, `pid ${process.pid} (this process)`);
  for (const { name, pid, consoleUrl, mllpPort, configFile, logFile } of daemons) {
    field(name, `pid ${pid}`, `console ${consoleUrl}`, `MLLP 127.0.0.1:${mllpPort}`);
    field("", `settings ${configFile}`, `log ${logFile}`);
  }
  const numbers = daemons.length > 1 ? `1 to ${daemons.length}` : "1";
  console.log(`\n  npx cryobridge status --config ${daemons[0]?.configFile}`);
  console.log(`  kill N, pause N, resume N, stop N or restart N acts on a daemon (N: ${numbers})`);
  if (redis) console.log("  flush empties Redis");
  console.log("  Ctrl-C stops all\n");
}

/** Does what the lines of standard input say, one after the other. */
function act(cluster: Cluster): void {
  let last = Promise.resolve();
  createInterface({ input: process.stdin }).on("line", (line) => {
    last = last
      .then(() => actOn(cluster, line.trim()))
      .then(
        (words) => console.log(words),
        (error: unknown) => console.log(error instanceof Error ? error.message : error),
      );
  });
}

async function actOn({ daemons, redis }: Cluster, line: string): Promise<string> {
  if (line === "flush" && redis) {
    await redis.flush();
    return "Redis is empty";
  }
  const [, word = "", number] = /^(kill|pause|resume|stop|restart) (\d+)$/.exec(line) ?? [];
  const daemon = daemons[Number(number) - 1];
  if (!daemon) return `not understood: ${line}`;
  await daemon[word as "kill" | "pause" | "resume" | "stop" | "restart"]();
  return `${daemon.name}: ${word} done, pid ${daemon.pid}`;
}
