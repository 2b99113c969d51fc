import { appendFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

const HEADER =
  "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label\n";
const row = (number: string, label: string) => `${number},STORE,NORTH,P-1,Anna,Muster,1980-01-01,${label}\n`;
const FILE = HEADER + row("O-1", "V-1");

/** Where the archived file of that name lies, once it does. */
async function archivedPath(site: Site, name: string): Promise<string> {
  const archive = join(site.folder, "csv/archive");
  const found = await eventually(
    async () =>
      (await readdir(archive, { recursive: true }).catch(() => [])).find((path) => path.endsWith(name)),
    { what: `${name} in the archive` },
  );
  return join(archive, found);
}

/** How many archived files are yet to be looked at. */
async function watched(site: Site): Promise<number> {
  const { rows } = await site.pool.query(
    "select count(*)::integer as count from dropped_files where due_at is not null",
  );
  return rows[0].count;
}

/** Takes a file, and stops the daemon before it looks at the file again. */
async function takeFile(site: Site, content = FILE): Promise<string> {
  const daemon = await site.start();
  await site.drop("csv", "list.csv", content);
  const path = await archivedPath(site, "list.csv");
  await eventually(async () => (await watched(site)) === 1, { what: "the archived file being remembered" });
  await daemon.stop();
  return path;
}

/** Lets time go by, as the ledger sees it, and a restarted daemon do what is due. */
async function lookAfter(site: Site, interval: string): Promise<void> {
  await site.pool.query(
    `update dropped_files set archived_at = archived_at - interval '${interval}', due_at = due_at - interval '${interval}'`,
  );
  const daemon = await site.start();
  await eventually(
    async () => {
      const due = await site.pool.query("select 1 from dropped_files where due_at <= now()");
      return due.rowCount === 0;
    },
    { what: "the due looks" },
  );
  await daemon.stop();
}

describe("a dropped file that is written to behind its archiving", () => {
  test.each([
    ["in the first minute", "1 minute"],
    ["while no daemon runs, for hours", "9 hours"],
  ])("opens one task that says what to do, when that is %s", (_, interval) =>
    withSite({}, async (site) => {
      const path = await takeFile(site);
      await appendFile(path, row("O-2", "V-2"));
      await lookAfter(site, interval);
      const sizes = `it had ${FILE.length} bytes then, and has ${FILE.length + row("O-2", "V-2").length} now`;
      expect(await listOpenTasks(site.pool, 10)).toMatchObject([
        {
          kind: "late_write",
          orderId: undefined,
          file: { fileId: "f1", connector: "csv", path },
          text: expect.stringContaining(sizes),
        },
      ]);
      await appendFile(path, row("O-3", "V-3"));
      await lookAfter(site, "2 hours");
      const { stdout } = await runCli(["tasks", "list", "--show-phi", "--config", site.configFile], {
        columns: 2_000,
      });
      expect(stdout).toMatch(new RegExp(`k1 +f1 .*${path} of connector csv: this file was written to after`));
      expect(stdout).toContain("was not taken. Have the lab drop that as a new file");
      expect(await listOpenTasks(site.pool, 10)).toHaveLength(1);
      expect((await runCli(["tasks", "done", "k1", "--config", site.configFile])).status).toBe(0);
      expect(await site.orders()).toHaveLength(1);
    }),
  );

  test("is noticed within the hour as well, and when its size stays the same", () =>
    withSite({}, async (site) => {
      const path = await takeFile(site);
      await lookAfter(site, "1 minute");
      expect(await listOpenTasks(site.pool, 10)).toEqual([]);
      expect(await watched(site)).toBe(1);
      await writeFile(path, FILE.replace("V-1", "V-9"));
      await lookAfter(site, "59 minutes");
      expect(await listOpenTasks(site.pool, 10)).toMatchObject([
        { text: expect.stringContaining(`it has ${FILE.length} bytes as before, but was written again`) },
      ]);
    }));

  test("is forgotten after the second check when nothing was written, and when somebody took it away", () =>
    withSite({}, async (site) => {
      const path = await takeFile(site);
      await lookAfter(site, "1 minute");
      await lookAfter(site, "1 hour");
      expect(await watched(site)).toBe(0);
      // The same bytes once more are a duplicate, which lies in the archive too.
      const daemon = await site.start();
      await site.drop("csv", "again.csv", FILE);
      const second = await archivedPath(site, "again.csv");
      await eventually(async () => (await watched(site)) === 1, { what: "the duplicate being remembered" });
      await daemon.stop();
      await appendFile(second, row("O-2", "V-2"));
      await lookAfter(site, "1 minute");
      expect(await listOpenTasks(site.pool, 10)).toHaveLength(1);
      const third = await site.start();
      await site.drop("csv", "third.csv", HEADER + row("O-5", "V-5"));
      await rm(await archivedPath(site, "third.csv"));
      await third.stop();
      await lookAfter(site, "1 minute");
      expect(await watched(site)).toBe(0);
      expect(await listOpenTasks(site.pool, 10)).toHaveLength(1);
      expect(path).toMatch(/list\.csv$/);
    }));

  test("is not looked at in error, where people correct it", () =>
    withSite({}, async (site) => {
      const daemon = await site.start();
      await site.drop("csv", "bad.csv", "a,b\n1,2\n");
      await eventually(async () => (await readdir(join(site.folder, "csv/error"))).length === 3, {
        what: "the refused file",
      });
      await daemon.stop();
      expect((await site.pool.query("select 1 from dropped_files")).rowCount).toBe(0);
    }));
});
