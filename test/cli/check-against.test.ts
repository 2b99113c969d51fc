import { createHash } from "node:crypto";
import { lstat, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createMappers } from "../../src/app/connectors.ts";
import { type OpenLedger, openLedger } from "../../src/app/open-ledger.ts";
import { compileProfiles } from "../../src/app/profiles.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import { createIntake } from "../../src/jobs/intake/intake.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { takeFile } from "../support/files.ts";
import { layDatabase } from "../support/test-server.ts";
import { makeTestFolder } from "../support/with-folder.ts";
import { silent } from "../support/with-ledger.ts";
import { type CliResult, type CliWorld, runCli } from "./run-cli.ts";
import { configText, csvMessage, ENV, hl7Message, PATIENT } from "./with-lab.ts";

let folder: string;
let dataDir: string;
let backup: string;
/** Where copies are made. */
let temporary: string;

/** A ledger that an older daemon left: three messages by CSV, of which one waits, and one by HL7. */
beforeAll(async () => {
  folder = await makeTestFolder();
  dataDir = join(folder, "data");
  backup = join(folder, "backup.gz");
  temporary = join(folder, "tmp");
  await mkdir(temporary);
  await layDatabase(dataDir);
  await withOldLedger(async ({ pool }, config) => {
    const mappers = createMappers(config, await compileProfiles(config));
    const byConnector = new Map([...mappers].map(([name, mapper]) => [name, { mapper }]));
    const intake = createIntake({
      ...{ pool, worker: { id: 1, isSure: true }, clock: systemClock, logger: silent },
      rules: () => ({ instanceCode: "ABC123", byConnector }),
      onCommitted: () => {},
    });
    const take = async (connector: string, sha256: string, messages: Parameters<typeof intake.accept>[1]) => {
      const file = { connector, fileName: "f", sha256, sizeBytes: 1 };
      const { end } = await takeFile(pool, intake, file, messages);
      await end({ end: { status: "taken", problems: [] } });
    };
    await take("bench", "a".repeat(64), [csvMessage(1), csvMessage(2), csvMessage(3, { facility: "EAST" })]);
    await take("lims", "b".repeat(64), [hl7Message(1)]);
  });
  expect((await check("backup", backup)).status).toBe(0);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

beforeEach(() => {
  vi.stubEnv("TMPDIR", temporary);
  return async () => {
    vi.unstubAllEnvs();
    // Whatever happened, nothing of a copy is left.
    expect(await readdir(temporary)).toEqual([]);
  };
});

async function withOldLedger(
  work: (ledger: OpenLedger, config: ReturnType<typeof loadConfig<never>>) => Promise<void>,
): Promise<void> {
  const file = join(folder, "old.yaml");
  await writeFile(file, configText(undefined));
  const config = loadConfig(file, { env: ENV, profileSchema });
  const ledger = await openLedger(config, { clock: systemClock, logger: silent, isDaemon: false });
  await work(ledger, config as never).finally(ledger.close);
}

/** Runs a command with a configuration that may differ from the old one. */
async function check(...words: string[]): Promise<CliResult> {
  return checkWith(configText(undefined), {}, ...words);
}

async function checkWith(text: string, world: CliWorld, ...words: string[]): Promise<CliResult> {
  const file = join(folder, "new.yaml");
  await writeFile(file, text);
  return runCli(["--config", file, ...words], { ...world, env: ENV });
}

const against = (old: string) => ["check", "--offline", "--against", old];

/** Each file of a folder with its owner, rights, time of change and content. */
async function printOf(path: string): Promise<string[]> {
  const found = await lstat(path);
  const facts = `${path} ${found.mode} ${found.uid} ${found.gid} ${found.mtimeMs}`;
  if (!found.isDirectory())
    return [
      `${facts} ${createHash("sha256")
        .update(await readFile(path))
        .digest("hex")}`,
    ];
  const names = (await readdir(path)).sort();
  return [facts, ...(await Promise.all(names.map((name) => printOf(join(path, name))))).flat()];
}

describe("check --against", () => {
  it("maps what the old ledger keeps again", async () => {
    const { status, stdout } = await check(...against(backup));
    expect({ status, stdout }).toMatchObject({ status: 0 });
    expect(stdout).toMatch(/✓ rehearsal: the copy takes about \d+ MB in .*, where \d+ MB are free/);
    expect(stdout).toMatch(/✓ rehearsal: the copy opens, .* in [\d.]+ s/);
    expect(stdout).toContain("✓ orders: 3 open orders would go on");
    expect(stdout).toMatch(/✓ messages of bench: all 3 that the ledger keeps since .* come to the same/);
    expect(stdout).toMatch(/✓ messages of lims: all 1 that the ledger keeps since .* come to the same/);
  });

  it("changes no backup, and opens no ledger of the configuration: that would be the upgrade", async () => {
    const before = [await printOf(backup), await printOf(dataDir)];
    const { stdout } = await check("check", "--json", "--against", backup);
    const checks = JSON.parse(stdout).checks as { subject: string; detail: string }[];
    expect(checks.find(({ subject }) => subject === "messages of bench")?.detail).toContain("all 3");
    expect(checks.map(({ subject }) => subject)).not.toContain("database");
    expect([await printOf(backup), await printOf(dataDir)]).toEqual(before);
  });

  it("names what the new configuration would change, and nothing of a patient", async () => {
    const profile = `profiles: { theirs: { extends: builtin/csv-orders, subject: { lastName: first_name } } }`;
    const text = configText(undefined, profile)
      .replace("NORTH: 12", "SOUTH: 12, EAST: 13")
      .replace("./csv }", "./csv, profile: theirs }");
    const { status, stdout } = await checkWith(text, {}, ...against(backup));
    expect(status).toBe(1);
    expect(stdout).toContain(
      "! facility NORTH (id 12): 3 open orders and 3 orders of the last 90 days have it",
    );
    expect(stdout).toMatch(
      /✗ messages of bench: 2 of all 3 .* \(m1, m2\): accepted then, would be waiting for a code now: MAPPING_FACILITY_UNKNOWN/,
    );
    expect(stdout).toMatch(
      /! messages of bench: 1 of all 3 .*: waiting for a code then, would be accepted now/,
    );
    const without = text.replace("SOUTH: 12", "NORTH: 12").replace("name: lims", "name: lims-2");
    const other = await checkWith(without, {}, ...against(backup));
    expect(other.status).toBe(0);
    expect(other.stdout).toMatch(
      /! messages of bench: 2 of all 3 .* \(m1, m2\): the orders would differ in last name/,
    );
    expect(other.stdout).toContain(
      "! connector lims: the configuration names no connector lims, and there are",
    );
    for (const value of Object.values(PATIENT)) expect(stdout + other.stdout).not.toContain(value);
  });

  it("says how to make a backup where it is given something else", async () => {
    for (const [other, code] of [
      [dataDir, "CLI_FILE_UNREADABLE"],
      [join(folder, "none"), "CLI_FILE_UNREADABLE"],
      [join(folder, "new.yaml"), "CLI_BACKUP_UNUSABLE"],
    ] as const) {
      const { status, stdout } = await check(...against(other));
      expect(status).toBe(1);
      expect(stdout).toContain(`(${code})`);
      expect(stdout).toContain("cryobridge backup FILE");
    }
  });

  it("removes the copy when a person interrupts it", async () => {
    const stops = new Set<() => void>();
    const onStdout = (text: string) => {
      if (text.includes("the copy opens")) for (const stop of stops) stop();
    };
    const onStop = (stop: () => void) => {
      stops.add(stop);
      return () => stops.delete(stop);
    };
    const { status, stdout } = await checkWith(
      configText(undefined),
      { onStdout, onStop },
      ...against(backup),
    );
    expect(status).toBe(1);
    expect(stdout).toContain("✗ rehearsal: it was interrupted, and the copy was removed");
  });
});
