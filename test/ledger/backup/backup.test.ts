import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { backupLedger } from "../../../src/ledger/backup/backup.ts";
import { readBackup } from "../../../src/ledger/backup/file.ts";
import { withFolder } from "../../support/with-folder.ts";
import { type TestLedger, withLedger } from "../../support/with-ledger.ts";

const madeAt = new Date("2026-11-21T10:00:00Z");

/** $1 how many messages, $2 bytes of each. */
const ADD_MESSAGES = `
insert into messages (connector, place, ordinal, sha256, raw, format, verdict)
select 'lims', '{"message": 1}', n, sha256(n::text::bytea), convert_to(repeat('x', $2), 'UTF8'), 'hl7', 'ignored'
  from generate_series(1, $1::integer) n`;

const withTarget = (test: (ledger: TestLedger, file: string, folder: string) => Promise<void>) =>
  withLedger((ledger) => withFolder((folder) => test(ledger, join(folder, "backup.gz"), folder)));

describe("a backup", () => {
  it("reads large rows one by one, also behind many small ones", () =>
    withTarget(async ({ pool }, file) => {
      await pool.query(ADD_MESSAGES, [1_000, 10]);
      await pool.query(ADD_MESSAGES, [20, 1_000_000]);
      const done: number[] = [];
      const { rows } = await backupLedger(pool, file, { madeAt, onRows: (now) => done.push(now) });
      const steps = done.map((now, n) => now - (done[n - 1] ?? 0));
      expect(Math.max(...steps)).toBe(100);
      expect(steps.filter((step) => step === 1).length).toBeGreaterThanOrEqual(20);
      expect(await readBackup(file)).toMatchObject({ rows });
      expect(rows).toBeGreaterThan(1_020);
    }));

  it("that another one is faster than under its name leaves that one whole, and nothing of itself", () =>
    withTarget(async ({ pool }, file, folder) => {
      await pool.query(ADD_MESSAGES, [2_000, 1_000]);
      const both = [1, 2].map(() => backupLedger(pool, file, { madeAt }));
      const ended = await Promise.allSettled(both);
      expect(ended.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      expect(ended.find(({ status }) => status === "rejected")).toMatchObject({
        reason: {
          code: "CLI_BACKUP_UNWRITABLE",
          message: expect.stringContaining("there is a file of this"),
        },
      });
      expect(await readdir(folder)).toEqual(["backup.gz"]);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      await readBackup(file);
    }));

  it("that is interrupted leaves no file behind", () =>
    withTarget(async ({ pool }, file, folder) => {
      await pool.query(ADD_MESSAGES, [1_000, 10]);
      const stopping = new AbortController();
      const { signal } = stopping;
      const onRows = (rows: number) => {
        if (rows > 500) stopping.abort(new Error("stopped"));
      };
      await expect(backupLedger(pool, file, { madeAt, onRows, signal })).rejects.toThrow("stopped");
      expect(await readdir(folder)).toEqual([]);
      // Its connection serves on.
      expect((await pool.query("select count(*)::integer as all from messages")).rows).toEqual([
        { all: 1_000 },
      ]);
    }));
});
