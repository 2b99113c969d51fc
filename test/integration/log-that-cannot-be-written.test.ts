import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ALL_WELL } from "../support/account.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { planLoad } from "../support/lab-load.ts";
import { type ChildSite, withChildSite } from "../support/with-child-site.ts";

const BIN = join(import.meta.dirname, "../../bin/cryobridge.mjs");

/** Runs a program with its errors to a terminal of its own, which is closed when a line comes; its status is the program's. */
const IN_TERMINAL = `
import os, subprocess, sys
main, end = os.openpty()
program = subprocess.Popen(sys.argv[1:], stderr=end, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
os.close(end)
print(program.pid, flush=True)
sys.stdin.readline()
os.close(main)
sys.exit(program.wait())
`;

interface Started {
  readonly program: ChildProcess;
  /** The daemon itself. */
  readonly pid: number;
  /** Makes its log unwritable from now on. */
  spoil(): void;
}

const PLACES: Readonly<Record<string, (words: readonly string[]) => Promise<Started>>> = {
  "a full disk": async (words) => {
    const full = openSync("/dev/full", "w");
    const program = spawn(process.execPath, words, { stdio: ["ignore", "ignore", full] });
    closeSync(full);
    return { program, pid: program.pid ?? 0, spoil: () => {} };
  },
  "a pipe whose reader hangs": async (words) => {
    // Nobody reads what Node.js doesn't ask for.
    const program = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "pipe"] });
    return { program, pid: program.pid ?? 0, spoil: () => {} };
  },
  "a terminal that was closed": async (words) => {
    const program = spawn("python3", ["-c", IN_TERMINAL, process.execPath, ...words], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [pid] = await once(program.stdout as NodeJS.ReadableStream, "data");
    return { program, pid: Number(String(pid)), spoil: () => program.stdin?.end("\n") };
  },
};

test.each(Object.keys(PLACES))(
  "orders go on, and the daemon stops, when the log goes to %s",
  async (place) => {
    const port = await findPort();
    const config = { console: { port }, log: { level: "trace", pretty: false } };
    await withChildSite({ config, simulator: { speed: 1_000 } }, async (site: ChildSite) => {
      const configFile = join(site.folder, "cryobridge.yaml");
      const started = await PLACES[place]?.([BIN, "start", "--config", configFile]);
      if (started === undefined) throw new Error("no such place");
      const { program, pid, spoil } = started;
      try {
        const ask = async (path: string) => {
          const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
          return answer?.ok === true ? await answer.text() : undefined;
        };
        await eventually(() => ask("/readyz"), { what: "readiness" });
        spoil();
        const load = planLoad(1, 4, 0);
        for (const { connector, name, content } of load.files) await site.lab.drop(connector, name, content);
        expect(await site.waitForEnd(load.orders, 60_000)).toEqual(ALL_WELL);
        expect(await ask("/readyz")).toBeDefined();
        if (place !== "a pipe whose reader hangs") {
          expect(await ask("/metrics")).toMatch(/cryobridge_log_lines_dropped_total [1-9]/);
          expect(await ask("/api/status")).toMatch(/the log can't be written \((ENOSPC|EIO)\)/);
        }
        const ended = once(program, "exit");
        process.kill(pid, "SIGTERM");
        expect((await ended)[0]).toBe(0);
      } finally {
        if (program.exitCode === null) process.kill(pid, "SIGKILL");
      }
    });
  },
);
