import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { Configuration } from "../../src/app/configuration.ts";
import { compileProfiles } from "../../src/app/profiles.ts";
import { openReload, type Reload } from "../../src/app/reload.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import { listWorkers, registerWorker } from "../../src/ledger/workers/roster.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { eventually } from "../support/eventually.ts";
import { siteConfig } from "../support/with-daemon.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

interface Watched {
  readonly pool: pg.Pool;
  readonly configuration: Configuration;
  readonly reload: Reload;
  /** Waits for some more looks at the files. */
  look(): Promise<unknown>;
  problems(): Promise<readonly string[] | undefined>;
  /** How often something was taken over. */
  takenOver(): number;
  writeModule(text: string): Promise<void>;
  writeFacilities(facilities: object): Promise<void>;
}

const GOOD = "export const order = () => undefined;";

/** A configuration with a module that is watched, with looks that follow each other at once. */
async function withWatched(body: (watched: Watched) => Promise<void>): Promise<void> {
  await withFolder((folder) =>
    withLedger(async ({ pool, url }) => {
      const file = join(folder, "cryobridge.yaml");
      const writeModule = (text: string) => writeFile(join(folder, "order.mjs"), text, { mode: 0o644 });
      const profiles = { lab: { extends: "builtin/csv-orders", module: "./order.mjs" } };
      const writeFacilities = (facilities: object) => {
        const config = { ...siteConfig(folder, "http://127.0.0.1:9", url), profiles, facilities };
        return writeFile(file, stringify(config), { mode: 0o600 });
      };
      await writeModule(GOOD);
      await writeFacilities({ NORTH: 12 });
      const read = () => loadConfig(file, { env: {}, profileSchema });
      const config = read();
      const configuration = new Configuration({ config, profiles: await compileProfiles(config) });
      const self = { name: "lab", host: "lab", pid: 1, version: "1", roles: ["worker"], connectors: [] };
      const worker = { id: await registerWorker(pool, self) };
      let looks = 0;
      let taken = 0;
      const sleep = (_ms: number, signal?: AbortSignal) => {
        looks += 1;
        return systemClock.sleep(1, signal);
      };
      const reload = openReload({
        ...{ configuration, read, pool, worker, clock: { ...systemClock, sleep }, logger: silent },
        onTakenOver: async () => {
          taken += 1;
        },
      });
      const look = () => {
        const until = looks + 3;
        return eventually(() => looks >= until);
      };
      const problems = async () => (await listWorkers(pool, 0))[0]?.configuration?.problems;
      try {
        await body({
          ...{ pool, configuration, reload, look, problems, writeModule, writeFacilities },
          takenOver: () => taken,
        });
      } finally {
        await reload.stop();
      }
    }),
  );
}

test("what came of each reload is in the audit as the worker's, by the names of settings alone", () =>
  withWatched(async ({ pool, reload, writeFacilities, writeModule }) => {
    await reload.reload();
    await writeFacilities({ NORTH: 12, WEST: 13 });
    await reload.reload(1);
    await writeFacilities({ NORTH: "secret" });
    await reload.reload();
    await writeFacilities({ NORTH: 12 });
    await writeModule("export const other = 1;");
    await reload.reload();
    const { rows } = await pool.query("select actor, action, target, detail from audit order by id");
    const [worker] = await listWorkers(pool, 0);
    const by = { actor: `w${worker?.id}`, action: "reloaded", target: "configuration" };
    expect(rows).toEqual([
      { ...by, detail: { takenOver: [], restart: [] } },
      { ...by, detail: { takenOver: ["facilities.WEST"], restart: [] } },
      { ...by, detail: { mistakes: ["facilities.NORTH"] } },
      { ...by, detail: { mistakes: ["profiles.lab.module"] } },
    ]);
  }));

test("what a reload found wrong is said until a file changes, though a look runs no module", () =>
  withWatched(async ({ reload, look, problems, writeModule }) => {
    await writeModule("export const order = 1;");
    await reload.reload();
    await look();
    expect(await problems()).toEqual([expect.stringContaining("order.mjs")]);
    await writeModule(GOOD);
    await eventually(async () => (await problems())?.length === 0);
  }));

test("what was taken over goes on though that could not be written down, and what was found is written down later", () =>
  withWatched(async ({ pool, reload, look, problems, takenOver, writeModule }) => {
    await look();
    await pool.query("alter table workers add constraint full_disk check (configuration is null) not valid");
    try {
      await reload.reload();
      expect(takenOver()).toBe(1);
      await writeModule("export const order = 1;");
      await reload.reload();
      await look();
      expect(await problems()).toEqual([]);
    } finally {
      await pool.query("alter table workers drop constraint full_disk");
    }
    await eventually(async () => (await problems())?.join().includes("order.mjs"));
    expect(takenOver()).toBe(1);
  }));

test("a stop does not wait for a reload that waits for work in hand, and that takes nothing over", () =>
  withWatched(async ({ configuration, reload, writeFacilities }) => {
    const release = await configuration.hold();
    await writeFacilities({ NORTH: 12, WEST: 13 });
    const reloading = reload.reload();
    await eventually(async () => !(await isFree(configuration)));
    await reload.stop();
    await reloading;
    release();
    expect([...configuration.config.facilityIdByCode.keys()]).toEqual(["NORTH"]);
    expect(await isFree(configuration)).toBe(true);
  }));

/** Whether nothing is about to be taken over. */
function isFree(configuration: Configuration): Promise<boolean> {
  const free = configuration.hold().then((release) => {
    release();
    return true;
  });
  return Promise.race([free, systemClock.sleep(50).then(() => false)]);
}
