import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { withDatabase } from "../support/with-database.ts";
import { withFolder } from "../support/with-folder.ts";
import { runCli } from "./run-cli.ts";
import { configText, csvMessage, ENV, hl7Text, PATIENT, withLab } from "./with-lab.ts";

const BIN = join(import.meta.dirname, "../../bin/cryobridge.mjs");
const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");

function spawnCli(argv: readonly string[], program = MAIN): ChildProcess {
  return spawn(process.execPath, [program, ...argv], {
    env: { ...process.env, ...ENV, NO_COLOR: undefined, DEBUG: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Gathers what a process writes; `until` waits for a text in it, and fails at the end of it with what came instead. */
function collect(stream: NodeJS.ReadableStream | null) {
  let text = "";
  let isEnded = false;
  stream?.on("data", (chunk) => {
    text += chunk;
  });
  stream?.on("end", () => {
    isEnded = true;
  });
  return {
    text: () => text,
    until: async (wanted: string) => {
      await eventually(() => isEnded || text.includes(wanted), { what: wanted });
      expect(text).toContain(wanted);
    },
  };
}

async function withDaemon<T>(
  test: (daemon: { child: ChildProcess; log: ReturnType<typeof collect>; folder: string }) => Promise<T>,
  program = MAIN,
): Promise<T> {
  return withDatabase((database) =>
    withFolder(async (folder) => {
      const config = join(folder, "c.yaml");
      await writeFile(config, configText(database.url));
      const child = spawnCli(["start", "--config", config], program);
      try {
        return await test({ child, log: collect(child.stderr), folder });
      } finally {
        if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      }
    }),
  );
}

describe("cryobridge start", () => {
  it("says what it started and where, is alone on its data folder, drains on SIGTERM and ends with status 0", () =>
    withDaemon(async ({ child, log, folder }) => {
      await log.until("cryobridge is running");
      await log.until(join(folder, "csv", "in"));
      const lines = log
        .text()
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      const console = lines.find(({ msg }) => msg === "console");
      const health = await fetch(`${console.url}/healthz`);
      expect(health.status).toBe(200);
      const second = await runCli(["start", "--config", join(folder, "c.yaml")], { env: ENV });
      expect(second.status).toBe(1);
      expect(second.stderr).toContain(`is in use by process ${child.pid}`);
      child.kill("SIGTERM");
      const [status] = await once(child, "close");
      expect(status).toBe(0);
      expect(log.text()).toContain('"msg":"stopped"');
    }));

  it("has more threads than files on servers that are away could take at once, and takes two signals, as a supervisor sends them to a group of processes, for one request to stop", () =>
    withDaemon(async ({ child, log }) => {
      await log.until("cryobridge is running");
      const threads = await readdir(`/proc/${child.pid}/task`);
      const names = await Promise.all(
        threads.map((thread) => readFile(`/proc/${child.pid}/task/${thread}/comm`, "utf8")),
      );
      expect(names.filter((name) => name.startsWith("libuv-worker"))).toHaveLength(32);
      child.kill("SIGTERM");
      child.kill("SIGINT");
      expect((await once(child, "close"))[0]).toBe(0);
      expect(log.text()).toContain('"msg":"stopped"');
    }, BIN));
});

describe("the process", () => {
  it("works on the ledger beside a test's own connections and hides patients' data", async () => {
    await withLab(async ({ take, configFile }) => {
      await take("bench", [csvMessage(1)]);
      const child = spawnCli(["orders", "list", "--config", configFile]);
      const [out, err] = [collect(child.stdout), collect(child.stderr)];
      const [status] = await once(child, "close");
      expect({ status, stderr: err.text() }).toEqual({ status: 0, stderr: "" });
      expect(out.text()).toMatch(/^o1 +C-1 +STORE +NORTH +••••/m);
      for (const secret of Object.values(PATIENT)) expect(out.text()).not.toContain(secret);
    });
  });

  it("stays quiet when the reader of its output has gone", async () => {
    const child = spawnCli(["schema"]);
    const err = collect(child.stderr);
    child.stdout?.destroy();
    const [status] = await once(child, "close");
    expect({ status, stderr: err.text() }).toEqual({ status: 0, stderr: "" });
  });

  it.runIf(process.platform === "linux")("says that its output can't be written, with status 1", async () => {
    const full = await open("/dev/full", "w");
    try {
      const child = spawn(process.execPath, [MAIN, "schema"], { stdio: ["ignore", full.fd, "pipe"] });
      const err = collect(child.stderr);
      const [status] = await once(child, "close");
      expect({ status, stderr: err.text() }).toEqual({
        status: 1,
        stderr: "error: the output can't be written (ENOSPC); what was printed is not all of it\n",
      });
    } finally {
      await full.close();
    }
  });

  it.skipIf(process.platform === "win32")(
    "shows no more of a long file than its reader takes",
    () =>
      withFolder(async (folder) => {
        const file = join(folder, "long.hl7");
        // All of it would take longer than the test may.
        await writeFile(file, hl7Text().repeat(200_000));
        const command = `{ "${process.execPath}" "${MAIN}" hl7 show "${file}"; echo "status $?" >&2; } | head -n 1`;
        const child = spawn("sh", ["-c", command], { stdio: ["ignore", "pipe", "pipe"] });
        const [out, err] = [collect(child.stdout), collect(child.stderr)];
        await once(child, "close");
        expect(out.text()).toMatch(/^message 1, line 1: [^\n]*\n$/);
        expect(err.text()).toBe("status 0\n");
      }),
    90_000,
  );
});
