import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { keepShowing } from "../../src/cli/live/keep-showing.ts";
import { type Act, toAction } from "../../src/cli/session.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { Failure } from "../../src/core/failures.ts";
import { SecretMask } from "../../src/core/secret-mask.ts";
import { StandingClock } from "../service/fake-clock.ts";
import { Window } from "./window.ts";
import { csvMessage, withLab } from "./with-lab.ts";

/** No turn waits for the next. */
const HASTY: Clock = {
  ...systemClock,
  sleep: (ms, signal) => (ms === 2_000 ? setImmediate() : systemClock.sleep(ms, signal)),
};

describe("--watch on a terminal", () => {
  it("draws in place over one connection until q is pressed, and leaves the terminal as it was", () =>
    withLab(async ({ cli, pool, take }) => {
      await take("bench", [csvMessage(1)]);
      const window = new Window({ columns: 120, rows: 10 });
      const command = cli(["orders", "list", "--watch", "60"], window.world);
      expect(await window.next()).toMatch(/every 60 s; q ends\nID .*\no1 .*received/);
      const connections = async () => {
        const sql = "select pid from pg_stat_activity where application_name = 'cryobridge-cli' order by 1";
        return (await pool.query(sql)).rows;
      };
      const before = await connections();
      await take("bench", [csvMessage(2)]);
      window.press(" ");
      expect(await window.next()).toMatch(/\no2 .*\no1 /);
      // The pool opens more where it needs them, and those of the start end.
      const kept = new Set(before.map(({ pid }) => pid));
      expect((await connections()).some(({ pid }) => kept.has(pid))).toBe(true);
      window.press("q");
      expect((await command).status).toBe(0);
      expect(window.written.startsWith("\u001b[?1049h\u001b[?25l\u001b[?7l")).toBe(true);
      expect(window.written.endsWith("\u001b[?7h\u001b[?25h\u001b[?1049l")).toBe(true);
    }));

  it("fits the window, also when that has another size", () =>
    withLab(async ({ cli, take }) => {
      await take(
        "bench",
        [1, 2, 3, 4, 5, 6, 7, 8].map((n) => csvMessage(n)),
      );
      const window = new Window({ columns: 60, rows: 5 });
      const command = cli(["orders", "list", "--watch"], window.world);
      const lines = (await window.next()).split("\n");
      expect(lines).toHaveLength(5);
      expect(lines.at(-1)).toBe("… 6 more lines: a taller window shows them");
      for (const line of lines) expect(line.length).toBeLessThan(60);
      window.resize({ columns: 200, rows: 20 });
      expect(await window.next()).toContain("\no1 ");
      window.press("\u0003");
      await command;
    }));

  it("breaks lines between words in a narrow window, and ends by a q among other keys", () =>
    withLab(async ({ cli }) => {
      const window = new Window({ columns: 25, rows: 60 });
      const command = cli(["status", "--watch"], window.world);
      const lines = (await window.next()).split("\n");
      expect(lines.join(" ").replaceAll(/ +/g, " ")).toContain("no daemon works on this ledger");
      for (const line of lines) expect(line.length <= 24 || !line.trim().includes(" "), line).toBe(true);
      window.resize({ columns: 3, rows: 60 });
      await window.next();
      window.press(" q");
      expect((await command).status).toBe(0);
    }));
});

const LISTS = ["orders", "messages", "files", "results", "tasks", "alerts"].map((what) => [what, "list"]);

describe("--watch elsewhere", () => {
  it("prints one JSON document a line until the process is asked to stop", () =>
    withLab(async ({ cli }) => {
      for (const words of [["workers"], ["status"], ...LISTS]) {
        let documents = 0;
        let stop = () => {};
        const { stdout, status } = await cli([...words, "--watch", "--json"], {
          clock: HASTY,
          onStop: (listener) => {
            stop = listener;
            return () => {};
          },
          onStdout: () => {
            documents += 1;
            if (documents === 3) stop();
          },
        });
        expect(status).toBe(0);
        const lines = stdout.trimEnd().split("\n");
        expect(lines).toHaveLength(3);
        for (const line of lines) expect(Object.keys(JSON.parse(line))).not.toContain("error");
      }
    }));

  it("ends when nobody reads any more", () =>
    withLab(async ({ cli }) => {
      let turns = 0;
      const world = { clock: HASTY, isRead: () => turns < 2, onStdout: () => (turns += 1) };
      expect((await cli(["workers", "--watch", "--json"], world)).stdout.trimEnd().split("\n")).toHaveLength(
        2,
      );
    }));

  it("shows people one picture and ends, with the exit status of the command", () =>
    withLab(async ({ cli }) => {
      for (const words of [["status", "--watch"], ["top"]]) {
        const { status, stdout } = await cli(words);
        expect([status, stdout.match(/No orders are taken right now/g)?.length]).toEqual([4, 1]);
      }
    }));

  it("shows no patients' data", () =>
    withLab(async ({ cli }) => {
      const { status, stderr } = await cli(["orders", "list", "--watch", "--show-phi"]);
      expect([status, stderr]).toEqual([2, expect.stringContaining("leave out --show-phi")]);
    }));
});

describe("what is out of reach for a while", () => {
  /** What a command of these turns ends with. */
  async function show(window: Window, turns: (() => string)[]) {
    const { screen, onStdout } = window.world;
    const stdout = { write: (text: string) => onStdout?.(text) };
    const io = { stdout, stderr: stdout, env: {}, isTTY: true, clock: new StandingClock(), screen };
    const act: Act = async (session) => {
      const turn = async (place: typeof session) => place.line(turns.shift()?.());
      await keepShowing(session, { everyMs: 1_000, turn });
      return undefined;
    };
    const command = { optsWithGlobals: () => ({}) };
    await toAction({ io, secrets: new SecretMask(), exitStatus: 0 }, act)(command);
  }

  it("is said above the last picture and tried again", async () => {
    const window = new Window({ columns: 80, rows: 10 });
    const away = () => {
      throw new Failure("LEDGER_UNAVAILABLE", "the ledger's database can't be reached");
    };
    const shown = show(window, [() => "two orders", away, () => "three orders"]);
    expect(await window.next()).toContain("two orders");
    window.press(" ");
    const second = await window.next();
    expect(second).toContain("✗ the ledger's database can't be reached (LEDGER_UNAVAILABLE)");
    expect(second).toMatch(/Tried again every 1 s. As of .*\ntwo orders/);
    window.press(" ");
    const third = await window.next();
    expect(third).toContain("three orders");
    expect(third).not.toContain("✗");
    window.press("q");
    await shown;
  });

  it("is no other mistake: that ends the command", async () => {
    const window = new Window({ columns: 80, rows: 10 });
    const wrong = () => {
      throw new Failure("CLI_USAGE", "no such thing");
    };
    await expect(show(window, [wrong])).rejects.toThrow("no such thing");
    expect(window.written.endsWith("\u001b[?1049l")).toBe(true);
  });
});
