import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { StandingClock } from "../service/fake-clock.ts";
import { csvMessage, withLab } from "./with-lab.ts";

/** By which everything takes more than a second. */
const LATE: Clock = {
  ...systemClock,
  sleep: async (_ms, signal) => {
    await setImmediate();
    signal?.throwIfAborted();
  },
};
const ERASE = "\r\u001b[K";

describe("how far long work is", () => {
  it("is shown in one line of a terminal, which is gone at the end", () =>
    withLab(async ({ cli, folder, take }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      const words = ["backup", join(folder, "b.gz")];
      const { stdout, stderr, status } = await cli(words, { isErrorTTY: true, clock: LATE });
      expect(status).toBe(0);
      expect(stdout).toContain("has all ");
      const drawn = stderr.split(ERASE);
      expect(drawn.some((line) => /^backup: \d+ rows, [\d.]+ a second$/.test(line))).toBe(true);
      expect(drawn.at(-1)).toBe("");
      expect(stderr).not.toContain("\n");
    }));

  it("has a share where the end is known", () =>
    withLab(async ({ cli, take }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      const words = ["orders", "discard", "o1", "o2", "--yes", "--reason", "why"];
      const { stderr } = await cli(words, { isErrorTTY: true, clock: LATE });
      expect(stderr).toMatch(/done: 1 of 2 records \(50 %\), [\d.]+ a second/);
    }));

  it("is not shown of what is over within a second, nor where no terminal is, nor with --json", () =>
    withLab(async ({ cli, take }) => {
      await take("bench", [csvMessage(1)]);
      const fast = { isErrorTTY: true, clock: new StandingClock() };
      expect((await cli(["audit", "verify"], fast)).stderr).toBe("");
      expect((await cli(["audit", "verify"], { clock: LATE })).stderr).toBe("");
      const world = { isErrorTTY: true, clock: LATE };
      expect((await cli(["audit", "verify", "--json"], world)).stderr).toBe("");
    }));
});
