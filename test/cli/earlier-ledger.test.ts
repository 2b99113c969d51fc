import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { expect, test } from "vitest";
import { ROLES } from "../../src/app/roles.ts";
import { startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { acquireDaemonLock } from "../../src/ledger/embedded/daemon-lock.ts";
import { SUBMITTER_LOCK } from "../../src/ledger/submitter-lock.ts";
import { profileSchema } from "../../src/mapping/profile-schema.ts";
import { makeEarlierLedger } from "../support/earlier-ledger.ts";
import { withDatabase } from "../support/with-database.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent } from "../support/with-ledger.ts";
import { type CliResult, runCli } from "./run-cli.ts";
import { configText, ENV } from "./with-lab.ts";

interface Place {
  readonly folder: string;
  readonly configFile: string;
  readonly pool: pg.Pool;
  cli(...argv: readonly string[]): Promise<CliResult>;
  /** The ledger's latest migration. */
  latest(): Promise<string>;
}

/** A configuration whose ledger was made by the release with twelve migrations. */
function withEarlierLedger(body: (place: Place) => Promise<void>): Promise<void> {
  return withDatabase(({ pool, url }) =>
    withFolder(async (folder) => {
      await makeEarlierLedger(pool, "0013");
      const configFile = join(folder, "cryobridge.yaml");
      await writeFile(configFile, configText(url));
      await body({
        folder,
        configFile,
        pool,
        cli: (...argv) => runCli(["--config", configFile, ...argv], { env: ENV }),
        latest: async () =>
          (await pool.query("select max(name) as name from cryobridge.migrations")).rows[0].name,
      });
    }),
  );
}

/** Does this while another session has the right to submit, as a daemon's has. */
async function whileSubmitted(pool: pg.Pool, body: () => Promise<void>): Promise<void> {
  const submitter = await pool.connect();
  await submitter.query("select pg_advisory_lock($1)", [SUBMITTER_LOCK]);
  await body().finally(() => submitter.release(true));
}

test("a command changes no ledger of an earlier release while a daemon submits from it, and says what to do", () =>
  withEarlierLedger(({ pool, cli, latest }) =>
    whileSubmitted(pool, async () => {
      for (const command of [["orders", "list"], ["status"], ["check"]]) {
        const { status, stdout, stderr } = await cli(...command);
        const told = `${stdout}${stderr}`;
        expect(told).toContain("the ledger is of an earlier release (without 0013_number_authorities.sql");
        expect(told).toContain("(LEDGER_OLDER)");
        expect(told).toContain("Restart the daemon with this release first");
        expect(status).not.toBe(0);
      }
      expect(await latest()).toBe("0012_journals.sql");
    }),
  ));

test("nor while a daemon that doesn't submit is on the data folder", () =>
  withEarlierLedger(async ({ folder, cli, latest }) => {
    const release = await acquireDaemonLock(join(folder, "data"), undefined, "intake");
    try {
      const { stdout, status } = await cli("orders", "list", "--json");
      expect(JSON.parse(stdout).error.code).toBe("LEDGER_OLDER");
      expect(status).toBe(1);
      expect(await latest()).toBe("0012_journals.sql");
    } finally {
      await release();
    }
  }));

test("a command brings a ledger of an earlier release up to date when no daemon works, and makes no data folder for that", () =>
  withEarlierLedger(async ({ folder, cli, latest }) => {
    expect((await cli("orders", "list")).status).toBe(0);
    expect((await latest()) > "0013").toBe(true);
    expect(await readdir(folder)).toEqual(["cryobridge.yaml"]);
  }));

test("a daemon's start changes no ledger of an earlier release under the daemon that submits from it", () =>
  withEarlierLedger(({ pool, configFile, latest }) =>
    whileSubmitted(pool, async () => {
      const config = loadConfig(configFile, { env: ENV, profileSchema });
      for (const roles of [new Set(ROLES), new Set(["intake"] as const)]) {
        const starting = startDaemon(config, { roles, logger: silent, onFatal: () => {} });
        await expect(starting).rejects.toMatchObject({ code: "LEDGER_OLDER" });
      }
      expect(await latest()).toBe("0012_journals.sql");
    }),
  ));

test("while the daemon of this release works, commands work as ever", () =>
  withEarlierLedger(async ({ pool, cli }) => {
    expect((await cli("orders", "list")).status).toBe(0);
    await whileSubmitted(pool, async () => {
      expect((await cli("orders", "list")).status).toBe(0);
    });
  }));
