import { describe, expect, it } from "vitest";
import { standIn } from "../support/worker.ts";
import { withLab } from "./with-lab.ts";

describe("cryobridge workers", () => {
  it("says that no daemon works on the ledger", () =>
    withLab(async ({ cli }) => {
      expect((await cli(["workers"])).stdout).toBe("No daemon works on this ledger.\n");
    }));

  it("lists who is there, and who stopped or was lost within a day", () =>
    withLab(async ({ cli, pool }) => {
      const there = await standIn(pool);
      await pool.query(
        `insert into workers (name, host, pid, version, roles, connectors, ended_at, ended_as)
         values ('old', 'm2', 7, '1.0.0', '{worker}', '{}', now() - interval '2 days', 'stopped'),
                ('dead', 'm3', 8, '1.0.0', '{intake}', '{hl7}', now(), 'lost')`,
      );
      const { stdout } = await cli(["workers"]);
      expect(stdout).toMatch(/w\d+ +stand-in +test +1 +1\.0\.0 +worker +works/);
      expect(stdout).toMatch(/dead +m3 .*lost, its work was taken over/);
      expect(stdout).not.toContain("old");
      const { workers } = JSON.parse((await cli(["workers", "--json"])).stdout);
      expect(workers).toMatchObject([
        { id: `w${there.id}`, isAlive: true, isLeader: false, inHand: 0 },
        { name: "dead", endedAs: "lost", isAlive: false },
      ]);
      await there.leave();
      expect((await cli(["workers"])).stdout).toMatch(/stand-in.*silent/);
    }));

  it("names the mistakes of a file that a daemon did not take over, as the console does", () =>
    withLab(async ({ cli, pool }) => {
      const { leave } = await standIn(pool);
      const problems = ["a.yaml:1: twice", "a.yaml:2: unknown"];
      const since = "2026-03-01T09:00:00.000Z";
      await pool.query("update workers set configuration = $1", [
        JSON.stringify({ file: "/etc/a.yaml", since, changed: [], restart: [], problems }),
      ]);
      const { stdout } = await cli(["workers"]);
      expect(stdout).toMatch(
        /^Mistake in the file: a\.yaml:1: twice\nMistake in the file: a\.yaml:2: unknown$/m,
      );
      expect(stdout).toMatch(/^Configuration\n.*\n.* 2 mistakes +What was read last/m);
      await leave();
    }));

  it("asks a daemon to stop, by its name or its id, and keeps who did and why", () =>
    withLab(async ({ cli, pool }) => {
      const { id, leave } = await standIn(pool);
      const { stdout, status } = await cli(["workers", "--drain", "stand-in", "--reason", "upgrade"]);
      expect([status, stdout]).toEqual([
        0,
        `✓ w${id} finishes what it has in hand and ends; \`cryobridge workers\` shows when\n`,
      ]);
      expect((await cli(["workers", "--drain", `w${id}`])).status).toBe(0);
      expect((await cli(["workers"])).stdout).toContain("stopping");
      const { rows } = await pool.query(
        "select target, detail from audit where action = 'drain-worker' order by id",
      );
      expect(rows[0]).toEqual({ target: `w${id}`, detail: { reason: "upgrade" } });
      await leave();
    }));

  it("names those that are there when the name is wrong, with status 5", () =>
    withLab(async ({ cli, pool }) => {
      const { id, leave } = await standIn(pool);
      const { stderr, status } = await cli(["workers", "--drain", "standin"]);
      expect(status).toBe(5);
      expect(stderr).toContain(`no daemon standin works with this ledger; there are stand-in (w${id})`);
      await leave();
      expect((await cli(["workers", "--drain", "w9999999999999999"])).status).toBe(5);
    }));
});
