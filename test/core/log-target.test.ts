import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { LogTarget } from "../../src/core/log-target.ts";
import { createLogger } from "../../src/core/logger.ts";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/with-folder.ts";

test("writes lines to a file in their order, those that were written at once in one go", () =>
  withFolder(async (folder) => {
    const file = join(folder, "log");
    const target = new LogTarget(file, systemClock);
    const logger = createLogger({ level: "info" }, target);
    for (let n = 0; n < 1_000; n += 1) logger.info({ n }, "line");
    await target.idle(60_000);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).n)).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
    expect(target.missing).toBeUndefined();
  }));

test("a place that can't be written drops and counts, and the error reaches nobody", async () => {
  const target = new LogTarget("/dev/full", systemClock);
  const logger = createLogger({ level: "info" }, target);
  for (let n = 0; n < 10; n += 1) logger.info("line");
  await target.idle(60_000);
  logger.fatal("line");
  expect(target.missing).toMatchObject({ lines: 11, why: "ENOSPC" });
  expect(target.missingInAll).toBe(11);
});

/** A terminal that says its name, and is closed when a line comes. */
const TERMINAL = `
import os, sys
main, end = os.openpty()
print(os.ttyname(end), flush=True)
sys.stdin.readline()
`;

test("so does a terminal that was closed", async () => {
  const terminal = spawn("python3", ["-c", TERMINAL], { stdio: ["pipe", "pipe", "inherit"] });
  const [name] = await once(terminal.stdout, "data");
  const writer = openSync(String(name).trim(), constants.O_WRONLY | constants.O_NOCTTY);
  const target = new LogTarget(writer, systemClock);
  closeSync(writer);
  const closed = once(terminal, "exit");
  terminal.stdin.end("\n");
  await closed;
  createLogger({ level: "info" }, target).info("line");
  await target.idle(60_000);
  expect(target.missing).toMatchObject({ lines: 1, why: "EIO" });
});

describe("a pipe", () => {
  /** A pipe with a name, and the log's end of it. */
  const withPipe = (
    run: (pipe: { path: string; open: () => number; target: LogTarget }) => Promise<void>,
  ): Promise<void> =>
    withFolder(async (folder) => {
      const path = join(folder, "pipe");
      execFileSync("mkfifo", [path]);
      const open = () => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const reader = open();
      const writer = openSync(path, constants.O_WRONLY);
      const target = new LogTarget(writer, systemClock);
      closeSync(writer);
      try {
        await run({ path, open: () => reader, target });
      } finally {
        closeSync(reader);
      }
    });
  const readAll = (fd: number): string => {
    const buffer = Buffer.alloc(1_000_000);
    try {
      return buffer.toString("utf8", 0, readSync(fd, buffer));
    } catch {
      return "";
    }
  };

  test("whose reader hangs keeps nobody waiting, and what is too much is dropped", () =>
    withPipe(async ({ open, target }) => {
      const logger = createLogger({ level: "info" }, target);
      const text = "x".repeat(1_000);
      for (let n = 0; n < 3_000; n += 1) logger.info({ n }, text);
      const missing = target.missing?.lines ?? 0;
      expect(missing).toBeGreaterThan(1_000);
      // All were logged before the first write could end; the next one finds the pipe full.
      expect(target.missing?.why).toBe("EBUSY");
      let got = "";
      // The last line is whole, and nothing is missing that was not reported.
      await eventually(() => {
        got += readAll(open());
        return target.missing === undefined && got.endsWith("\n") && !target.isBusy;
      });
      const lines = got
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      const reported = lines
        .filter(({ why }) => why !== undefined)
        .reduce((sum, each) => sum + each.lines, 0);
      expect(reported).toBe(missing);
      expect(lines.filter(({ msg }) => msg === text)).toHaveLength(3_000 - missing);
    }));

  test("whose reader went away drops, and says to the next one how many lines are missing", () =>
    withFolder(async (folder) => {
      const path = join(folder, "pipe");
      execFileSync("mkfifo", [path]);
      const first = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const writer = openSync(path, constants.O_WRONLY);
      const target = new LogTarget(writer, systemClock);
      closeSync(writer);
      closeSync(first);
      target.write("one\n");
      await target.idle(60_000);
      expect(target.missing).toMatchObject({ lines: 1, why: "EPIPE" });
      const second = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      let got = "";
      await eventually(() => {
        got += readAll(second);
        return got !== "";
      });
      expect(JSON.parse(got)).toMatchObject({ level: 40, lines: 1, why: "EPIPE" });
      closeSync(second);
    }));
});

test("a program whose reader hangs still ends", async () => {
  const script = `
    import { LogTarget } from ${JSON.stringify(new URL("../../src/core/log-target.ts", import.meta.url))};
    const target = new LogTarget(2, { now: Date.now });
    for (let n = 0; n < 100; n += 1) target.write("x".repeat(10_000) + "\\n");
    await target.idle(100);
    process.exit(7);
  `;
  const program = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const status = await new Promise((resolve) => program.once("exit", resolve));
  expect(status).toBe(7);
  program.stderr.destroy();
});
