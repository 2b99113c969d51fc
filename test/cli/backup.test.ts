import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { VERSION } from "../../src/core/version.ts";
import { copyLedger } from "../support/ledger-copy.ts";
import { withFolder } from "../support/with-folder.ts";
import { runCli } from "./run-cli.ts";
import { configText, csvMessage, ENV, type Lab, PATIENT, withLab } from "./with-lab.ts";

const CONTENT = [
  "files",
  "messages",
  "orders",
  "order_containers",
  "order_events",
  "outcomes",
  "outcome_orders",
];

async function contentOf({ pool }: Lab): Promise<unknown> {
  const { tables } = await copyLedger(pool);
  // A restore has the service looked at for open orders, and goes on with other numbers.
  return CONTENT.map((name) =>
    (tables.get(name) ?? "").replace(/"fence": \d+|"state": "(received|submitting)"/g, ""),
  );
}

const withBackup = (test: (lab: Lab, file: string) => Promise<void>) =>
  withLab(async (lab) => {
    // U+2028 ends a line for some readers of lines, though not for JSON.
    const odd = csvMessage(3, { container_description: 'a\u2028b\\"\u0007' });
    await lab.take("bench", [csvMessage(1), csvMessage(2), odd]);
    const file = join(lab.folder, "backup.gz");
    expect(await lab.cli(["backup", file, "--reason", "weekly"])).toMatchObject({ status: 0, stderr: "" });
    await test(lab, file);
  });

const restored = async (lab: Lab, ...words: string[]) => {
  const { status, stdout } = await lab.cli(["restore", ...words, "--json"]);
  const { error, ...result } = JSON.parse(stdout);
  return { status, code: error?.code, hint: error?.hint, ...result };
};

describe("a backup", () => {
  it("is put into an empty ledger, which has all of it and goes on as an older copy", () =>
    withBackup(async (lab, file) =>
      withLab(async (other) => {
        expect(await restored(other, file)).toMatchObject({ status: 0, openOrders: 3 });
        expect(await contentOf(other)).toEqual(await contentOf(lab));
        const { stdout } = await other.cli(["status", "--json"]);
        expect(stdout).toContain("it was restored from the backup of");
        const { entries } = JSON.parse((await other.cli(["audit", "--json"])).stdout);
        expect(entries.map(({ action }: { action: string }) => action)).toEqual([
          ...["restore", "restore-noticed", "backup"],
        ]);
        expect((await other.cli(["audit", "verify"])).status).toBe(0);
        expect(JSON.parse(await readFile(join(other.folder, "data.epoch"), "utf8"))).toMatchObject({
          restores: 1,
        });
      }),
    ));

  it("is readable by its owner alone, and never written over another file", () =>
    withBackup(async ({ cli }, file) => {
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      const again = await cli(["backup", file]);
      expect(again).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("there is a file of this name"),
      });
      expect((await cli(["backup", join(file, "x")])).stderr).toContain("can't be written (ENOTDIR)");
    }));

  it("is recorded as begun, with the reason, and as written only when it was", () =>
    withBackup(async ({ cli }, file) => {
      const { rows, sha256 } = JSON.parse((await cli(["backup", `${file}.2`, "--json"])).stdout);
      expect((await cli(["backup", file])).status).toBe(1);
      const { entries } = JSON.parse((await cli(["audit", "--json"])).stdout);
      const [failed, written, begun, , first] = entries;
      expect(failed).toMatchObject({ action: "backup", detail: {} });
      expect(written).toMatchObject({ action: "backup-written", detail: { rows, sha256 } });
      expect(begun).toMatchObject({ action: "backup" });
      expect(first).toMatchObject({ action: "backup", detail: { reason: "weekly" } });
      expect((await cli(["audit", "--limit", "1"])).stdout).toContain("began a backup");
    }));

  it("that is interrupted ends with status 1 and leaves nothing of itself", () =>
    withLab(async ({ cli, folder }) => {
      const onStop = (listener: () => void) => {
        queueMicrotask(listener);
        return () => {};
      };
      const { status, stderr } = await cli(["backup", join(folder, "backup.gz")], { onStop });
      expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining("interrupted") });
      expect((await readdir(folder)).filter((name) => name.startsWith("backup"))).toEqual([]);
    }));

  it("has older ones removed before it is made, though never the last good one, nor what is another ledger's", () =>
    withBackup(async (lab, file) => {
      const folder = join(lab.folder, "backups");
      await mkdir(folder);
      const at = (day: number) => ({ ...systemClock, now: () => Date.UTC(2026, 0, day) });
      const backUp = (day: number, ...words: string[]) =>
        lab.cli(["backup", join(folder, `${day}.gz`), ...words, "--json"], { clock: at(day) });
      for (const day of [1, 2, 3]) expect((await backUp(day)).status).toBe(0);
      // The newest is no good, so the one before it is the last good one.
      await writeFile(join(folder, "4.gz"), (await readFile(file)).subarray(0, -40));
      await writeFile(join(folder, "other.gz"), gzipSync("x"));
      await writeFile(join(folder, "5.gz.0a1b2c3d.part"), "");
      await utimes(join(folder, "5.gz.0a1b2c3d.part"), new Date(0), new Date(0));
      // Taken already: what comes after the removal fails.
      await writeFile(join(folder, "40.gz"), "");
      const failed = await backUp(40, "--keep", "1d");
      expect(failed.status).toBe(1);
      expect((await readdir(folder)).sort()).toEqual(["3.gz", "4.gz", "40.gz", "other.gz"]);
      expect(JSON.parse((await backUp(41, "--keep", "1d")).stdout)).toMatchObject({ removed: [] });
      expect(JSON.parse((await backUp(43, "--keep", "1d")).stdout)).toMatchObject({
        removed: [join(folder, "3.gz")],
      });
    }));

  it("is read before a site that has no ledger gets one for it", () =>
    withFolder(async (folder) => {
      const config = join(folder, "cryobridge.yaml");
      await writeFile(config, configText(undefined));
      const restore = ["--config", config, "restore", join(folder, "mistyped.gz")];
      expect(await runCli(restore, { env: ENV })).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("mistyped.gz can't be read (ENOENT)"),
      });
      expect(await readdir(folder)).toEqual(["cryobridge.yaml"]);
    }));

  it("replaces what a ledger holds only when that is asked for", () =>
    withBackup(async (lab, file) => {
      const before = await contentOf(lab);
      await lab.take("bench", [csvMessage(7)]);
      expect(await restored(lab, file)).toMatchObject({ status: 1, code: "CLI_LEDGER_NOT_EMPTY" });
      expect(await restored(lab, file, "--replace")).toMatchObject({ status: 2, code: "CLI_USAGE" });
      expect(await contentOf(lab)).not.toEqual(before);
      expect(await restored(lab, file, "--replace", "--yes")).toMatchObject({ status: 0 });
      expect(await contentOf(lab)).toEqual(before);
      // What is made from now on has numbers that were never given.
      await lab.take("bench", [csvMessage(8)]);
      const { rows } = await lab.pool.query("select max(id)::int as id from orders");
      expect(rows[0].id).toBeGreaterThan(1_000_000);
    }));

  it("is put in together with the note that the ledger is an older copy, or not at all", () =>
    withBackup(async (lab, file) => {
      await lab.take("bench", [csvMessage(7)]);
      const before = await contentOf(lab);
      const { sequences } = await copyLedger(lab.pool);
      await lab.pool.query(`
        create function fail_note() returns trigger language plpgsql as $$ begin raise 'no room for a note'; end $$;
        create trigger fail_note before insert on audit
           for each row when (new.action = 'restore-noticed') execute function fail_note()`);
      expect((await lab.cli(["restore", file, "--replace", "--yes"])).status).not.toBe(0);
      expect(await contentOf(lab)).toEqual(before);
      // A number that was given is never given again.
      expect((await copyLedger(lab.pool)).sequences).toEqual(sequences);
    }));

  it("is not put in while a daemon works with the ledger", () =>
    withBackup(async (lab, file) => {
      await lab.pool.query(
        "insert into workers (name, host, pid, version, roles, connectors) values ('lab-2', 'h', 1, '1', '{}', '{}')",
      );
      const { status, stderr } = await lab.cli(["restore", file, "--replace", "--yes"]);
      expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining("lab-2") });
    }));

  it.each([
    ["this release", VERSION, "restore the backup with the build that made it"],
    ["another release", "0.0.9", "Install the release that is named"],
  ])("of other tables is said to need what made it: %s", (_, version, hint) =>
    withBackup(async (lab, file) => {
      const text = gunzipSync(await readFile(file))
        .toString()
        .replace(/"0001_initial.sql":"../, '"0001_initial.sql":"xx')
        .replace(`"version":"${VERSION}"`, `"version":"${version}"`);
      await writeFile(file, resealed(text));
      expect(await restored(lab, file, "--replace", "--yes")).toMatchObject({
        code: "CLI_BACKUP_UNFIT",
        hint: expect.stringContaining(hint),
      });
    }),
  );

  it.each<[string, (bytes: Buffer) => Buffer, string]>([
    ["was cut off", (bytes) => bytes.subarray(0, bytes.length - 40), "CLI_BACKUP_UNUSABLE"],
    [
      "lacks its end",
      (bytes) => gzipSync(gunzipSync(bytes).toString().split("\n").slice(0, -2).join("\n").concat("\n")),
      "CLI_BACKUP_UNUSABLE",
    ],
    [
      "was changed",
      (bytes) => gzipSync(gunzipSync(bytes).toString().replace(PATIENT.lastName, "Other")),
      "CLI_BACKUP_UNUSABLE",
    ],
    ["is something else", () => Buffer.from("PK"), "CLI_BACKUP_UNUSABLE"],
    [
      "has other tables",
      (bytes) =>
        resealed(
          gunzipSync(bytes)
            .toString()
            .replace(/"0001_initial.sql":"../, '"0001_initial.sql":"xx'),
        ),
      "CLI_BACKUP_UNFIT",
    ],
  ])("that %s changes nothing", (_, damage, code) =>
    withBackup(async (lab, file) => {
      const before = await contentOf(lab);
      await writeFile(file, damage(await readFile(file)));
      expect(await restored(lab, file, "--replace", "--yes")).toMatchObject({ status: 1, code });
      expect(await contentOf(lab)).toEqual(before);
    }),
  );
});

/** The same lines with a right sum, as if they had been made so. */
function resealed(text: string): Buffer {
  const lines = text.split("\n").slice(0, -2).join("\n").concat("\n");
  const rows = text.split("\n").filter((line) => line.startsWith("{")).length;
  const sha256 = createHash("sha256").update(lines).digest("hex");
  return gzipSync(`${lines}#${JSON.stringify({ end: true, rows, sha256 })}\n`);
}
