import { describe, expect, it } from "vitest";
import { recordAudit } from "../../src/ledger/operator/audit.ts";
import { noteAuditEnd } from "../../src/ledger/operator/audit-note.ts";
import { type Lab, withLab } from "./with-lab.ts";

const act = (lab: Lab, actor: string, action: string, target: string) =>
  recordAudit(lab.pool, { actor }, action, [{ target, detail: { reason: 'weil \\u00fc "so"' } }]);

const verify = async ({ cli }: Lab, ...options: string[]) => {
  const { status, stdout } = await cli(["audit", "verify", "--json", ...options]);
  return { status, ...JSON.parse(stdout) };
};

/** What somebody with the rights of the database's owner can do. */
const tamper = async ({ pool }: Lab, table: string, sql: string) => {
  await pool.query(`alter table ${table} disable trigger user`);
  await pool.query(sql);
  await pool.query(`alter table ${table} enable trigger user`);
};

describe("the audit", () => {
  it("is listed by who, what, to what and since when", () =>
    withLab(async (lab) => {
      await act(lab, "ana", "retry", "o17");
      await act(lab, "ben", "discard", "o17");
      await act(lab, "ben", "retry", "o18");
      const list = async (...options: string[]) => {
        const { entries } = JSON.parse((await lab.cli(["audit", "list", "--json", ...options])).stdout);
        return entries.map((entry: { actor: string; target: string }) => `${entry.actor} ${entry.target}`);
      };
      expect(await list()).toEqual(["ben o18", "ben o17", "ana o17"]);
      expect(await list("--actor", "ana")).toEqual(["ana o17"]);
      await act(lab, "ben (console)", "retry", "o19");
      const bens = ["ben (console) o19", "ben o18", "ben o17"];
      expect(await list("--actor", "ben")).toEqual(bens);
      expect(await list("--actor", "ben (console)")).toEqual(bens.slice(0, 1));
      expect(await list("--actor", "")).toEqual([]);
      expect(await list("--target", "o17", "--action", "discard")).toEqual(["ben o17"]);
      expect(await list("--since", "1h", "--limit", "1")).toEqual(["ben (console) o19"]);
      expect(await list("--since", "2099-01-01")).toEqual([]);
    }));

  it("is one chain, whoever writes at once", () =>
    withLab(async (lab) => {
      expect(await verify(lab)).toMatchObject({ status: 0, isWhole: true, entries: 0, last: null });
      await Promise.all(Array.from({ length: 40 }, (_, i) => act(lab, `p${i}`, "retry", `o${i}`)));
      const { last, ...found } = await verify(lab);
      expect(found).toMatchObject({ status: 0, isWhole: true, entries: 40, fault: null });
      await act(lab, "ana", "retry", "o1");
      expect(await verify(lab, "--expect", last.hash)).toMatchObject({ status: 0, expectedNumber: 40 });
      expect(await verify(lab, "--expect", "0".repeat(64))).toMatchObject({ status: 1, isWhole: false });
    }));

  it("shows that its end was cut off since the daemon noted it, and that it was made anew; not after a restore", () =>
    withLab(async (lab) => {
      const note = `${lab.folder}/data.epoch.audit`;
      for (const target of ["o1", "o2", "o3"]) await act(lab, "ana", "retry", target);
      expect(await noteAuditEnd(lab.pool, note)).toBeUndefined();
      expect(await verify(lab)).toMatchObject({ status: 0, entries: 3 });
      await tamper(lab, "audit_chain", "delete from audit_chain where number > 1");
      await tamper(lab, "audit", "delete from audit where target <> 'o1'");
      const cut = { number: 3, why: "it was removed after the daemon noted it" };
      expect(await verify(lab)).toMatchObject({ status: 1, isWhole: false, entries: 1, fault: cut });
      for (const target of ["o4", "o5", "o6"]) await act(lab, "ben", "retry", target);
      const anew = { number: 3, why: "it has another hash than the daemon noted" };
      expect(await verify(lab)).toMatchObject({ status: 1, entries: 4, fault: anew });
      // What was noted stays, for as long as it doesn't fit.
      expect(await noteAuditEnd(lab.pool, note)).toEqual(anew);
      expect(await verify(lab)).toMatchObject({ status: 1, fault: anew });
      await lab.pool.query("update ledger set restores = restores + 1");
      expect(await verify(lab)).toMatchObject({ status: 0, fault: null });
      expect(await noteAuditEnd(lab.pool, note)).toBeUndefined();
    }));

  it("can't be changed, deleted or emptied", () =>
    withLab(async ({ pool, ...lab }) => {
      await act({ pool, ...lab }, "ana", "retry", "o1");
      for (const table of ["audit", "audit_chain"]) {
        await expect(pool.query(`delete from ${table}`)).rejects.toThrow("append-only");
        await expect(pool.query(`truncate ${table}`)).rejects.toThrow("append-only");
      }
      await expect(pool.query("update audit set actor = 'ben'")).rejects.toThrow("append-only");
      await expect(pool.query("update audit_chain set hash = hash")).rejects.toThrow("append-only");
    }));

  it.each([
    ["was changed", "audit", "update audit set actor = 'nobody' where target = 'o2'", 2, "it was changed"],
    ["was removed", "audit", "delete from audit where target = 'o2'", 2, "it was removed"],
    [
      "left the chain",
      "audit_chain",
      "delete from audit_chain where number = 2",
      2,
      "it was removed from the chain",
    ],
    [
      "came past the chain",
      "audit",
      "insert into audit (id, actor, action, target) values (99, 'x', 'retry', 'o9')",
      undefined,
      "the entry with the id 99 was added past the chain",
    ],
  ])("shows the first entry that %s, and ends with status 1", (_, table, sql, number, why) =>
    withLab(async (lab) => {
      for (const target of ["o1", "o2", "o3"]) await act(lab, "ana", "retry", target);
      await tamper(lab, table, sql);
      expect(await verify(lab)).toMatchObject({
        ...{ status: 1, isWhole: false, entries: number === undefined ? 3 : 1 },
        fault: number === undefined ? { why } : { number, why },
      });
      expect((await lab.cli(["audit", "verify"])).stdout).toContain(why);
    }),
  );
});
