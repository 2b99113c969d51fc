import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { prepareFolder } from "../../src/cli/demo/folder.ts";
import { type LedgerView, listUnfinished } from "../../src/cli/demo/progress.ts";
import { SAMPLES_FOLDER, type Sample } from "../../src/cli/demo/samples.ts";
import { systemClock } from "../../src/core/clock.ts";
import { startEmbeddedPostgres } from "../../src/ledger/embedded/embedded-postgres.ts";
import { machineHas } from "../support/needs.ts";
import { at } from "../support/places.ts";
import { layDatabase } from "../support/test-server.ts";
import { makeTestFolder, withFolder } from "../support/with-folder.ts";
import { silent } from "../support/with-ledger.ts";
import { readSampleTables } from "./sample-tables.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Hurried, and patient with a machine that runs other tests meanwhile. */
const OPTIONS = ["--exit-when-done", "--within", "3m", "--speed", "240"];

/** The first words of the samples' names. */
const SENDERS = ["lims", "clinic", "bench", "klinik", "excel", "freezer"];

/** How the samples end in the demonstration; all others are completed. */
const ENDS: Readonly<Record<string, string>> = { "SR-7004": "rejected", "BE-302": "failed" };

const deps = { clock: systemClock, logger: silent };

let folder: string;
let lines: readonly string[];
let status: number | null;
let results: ReadonlyMap<string, string>;

/** Where another one was killed before, which left its folder and its server: to begin on an empty folder is less than that. */
beforeAll(async () => {
  folder = await makeTestFolder();
  const { dataDir, release } = await prepareFolder(folder, deps);
  await layDatabase(dataDir);
  const left = await startEmbeddedPostgres({ dataDir, ...deps });
  await writeFile(join(folder, "cryobridge.yaml"), "of the one that was killed");
  await release();
  const demo = startDemo(...OPTIONS);
  status = await demo.ended;
  lines = demo.lines;
  results = await readOut();
  await left.stop();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe("cryobridge demo --exit-when-done, in the folder of one that was killed", () => {
  test("ends with status 0", () => {
    expect({ status, tail: lines.slice(-20) }).toMatchObject({ status: 0 });
  });

  test("tells first what it started, the console's address, the simulator's, and where files go", () => {
    const names = lines.map((line) => /^ {2}([a-z]+(?: HL7| CSV)?) {2,}/.exec(line)?.[1]).filter(Boolean);
    expect(names.slice(0, 7)).toEqual([
      ...["started", "settings", "console", "simulator", "drop HL7", "drop CSV", "results"],
    ]);
  });

  test("shows each sample order until its end", async () => {
    const numbers = await sampleOrders();
    const ends = numbers.map((number) => [number, lastWordAbout(number)]);
    expect(ends).toEqual(numbers.map((number) => [number, ENDS[number] ?? "completed"]));
  });

  test("shows broken files with the reason", () => {
    const refused = lines.filter((line) => line.includes(" lims-no-pid.hl7 "));
    expect(refused).toEqual([
      expect.stringMatching(/refused: message 1, PID: no PID segment, expected the patient$/),
    ]);
  });

  test("says at the end what waits for a code, with the command that shows it, and doesn't wait for it", () => {
    const waiting =
      /^ {2}waiting +1 for the facility EAST \(npx cryobridge messages waiting --config \S+\.yaml\)$/;
    expect(lines).toContainEqual(expect.stringMatching(waiting));
    expect(
      [...results.values()].filter((text) => text.includes("BX-921,STORE,B-9921,BX-921-1,waiting,")),
    ).toHaveLength(1);
  });

  test("leaves a result of each sample order in the folder out", async () => {
    const reported = [...results].flatMap(([name, text]) =>
      name.endsWith(".hl7") ? reportedByHl7(text) : reportedByCsv(text),
    );
    expect([...new Set(reported)].sort()).toEqual(expect.arrayContaining(await sampleOrders()));
  });

  test("shows nothing of the patients", async () => {
    const names = await patientNames();
    expect(names.length).toBeGreaterThan(20);
    expect(lines.filter((line) => names.some((name) => line.includes(name)))).toEqual([]);
  });

  test("leaves no process behind", () => {
    expect(existsSync(join(folder, "data/postgres/data/postmaster.pid"))).toBe(false);
  });
});

describe("what is unfinished", () => {
  const sample = { path: "", fileName: "a.hl7", sender: "lims", kind: "good" } as const;
  const file = { connector: "lims", fileName: "a.hl7", status: "taken", problems: [] } as const;
  const refusal = { code: "HL7_NO_MSH", place: at("line 1"), message: "no MSH" } as const;
  const view: LedgerView = {
    files: [file],
    orders: [],
    openOutcomes: 0,
    results: [],
    waiting: [],
  };
  const result = { connector: "lims", fileName: "r.hl7", state: "delivered" } as const;
  const wordsOf = (parts: Partial<LedgerView>, dropped: Sample = sample) =>
    listUnfinished([dropped], { ...view, ...parts }, Date.now());

  test("is nothing when the file is taken and its result delivered", () => {
    expect(wordsOf({ results: [result] })).toEqual([]);
  });

  test("is a good file that was refused", () => {
    expect(wordsOf({ files: [{ ...file, status: "refused", problems: [refusal] }] })).toEqual([
      "a.hl7 was refused although nothing is wrong with it: line 1: no MSH",
    ]);
  });

  test("is no file of which something waits for a code", () => {
    expect(wordsOf({}, { ...sample, kind: "waiting" })).toEqual([]);
  });

  test("is a result that the lab does not have", () => {
    expect(wordsOf({ results: [{ ...result, state: "parked" }] })).toEqual([
      "the result r.hl7 is not in lims/out (parked)",
    ]);
  });

  test("is a fact that is in no result yet", () => {
    expect(wordsOf({ openOutcomes: 2 })).toEqual(["2 facts are in no result file yet"]);
  });
});

describe("the demonstration's folder", () => {
  test("is refused and left alone when it holds something of somebody else's", () =>
    withFolder(async (taken) => {
      await writeFile(join(taken, "thesis.txt"), "chapter 1");
      await expect(prepareFolder(taken, deps)).rejects.toMatchObject({ code: "CLI_DEMO_FOLDER_TAKEN" });
      expect(await readdir(taken)).toEqual(["thesis.txt"]);
    }));

  test("is refused while another demonstration uses it", () =>
    withFolder(async (shared) => {
      const { release } = await prepareFolder(shared, deps);
      await expect(prepareFolder(shared, deps)).rejects.toMatchObject({ code: "CLI_DEMO_FOLDER_TAKEN" });
      await release();
    }));

  test("is emptied of what an earlier demonstration left", () =>
    withFolder(async (used) => {
      await (await prepareFolder(used, deps)).release();
      await writeFile(join(used, "cryobridge.yaml"), "old");
      await (await prepareFolder(used, deps)).release();
      expect(await readdir(used)).toEqual([".cryobridge-demo"]);
    }));
});

describe.runIf(machineHas("root", "linux"))("the folder of a demonstration that only root can enter", () => {
  test("has its database where that can run, and the next one stops and removes it", () =>
    withFolder(async (folder) => {
      await chmod(folder, 0o700);
      const { dataDir, release } = await prepareFolder(folder, deps);
      try {
        expect(dataDir).toMatch(/^\/var\/lib\/cryobridge-demo\/[0-9a-f]{16}$/);
        const server = await startEmbeddedPostgres({ dataDir, ...deps });
        await release();
        const next = await prepareFolder(folder, deps);
        expect(next.dataDir).toBe(dataDir);
        expect(existsSync(dataDir)).toBe(false);
        await next.release();
        await server.stop();
      } finally {
        await rm(dataDir, { recursive: true, force: true });
      }
    }));
});

function startDemo(...options: readonly string[]) {
  const args = [
    join(ROOT, "bin/cryobridge.mjs"),
    "demo",
    "--dir",
    folder,
    "--port",
    "0",
    "--simulator-port",
    "0",
    ...options,
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  const reader = createInterface(child.stdout);
  reader.on("line", (line) => lines.push(line));
  const ended = Promise.all([once(child, "exit"), once(reader, "close")]).then(
    ([[code]]) => code as number | null,
  );
  return { child, lines, ended };
}

/** Placer order numbers of the good samples, by their description. */
async function sampleOrders(): Promise<string[]> {
  return (await readSampleTables())
    .flatMap(({ cells: [, numbers = ""] }) => numbers.split(", "))
    .filter((number) => /^[A-Z]{2}-\d+$/.test(number))
    .sort();
}

/** Family names in the samples, from PID-5 and the tables. */
async function patientNames(): Promise<string[]> {
  const names: string[] = [];
  for (const [part, pattern] of [
    ["hl7", /\|\|([^|^~]{4,})\^[^|]*\|\|(?:19|20)\d{6}/g],
    ["csv", /(?:Example|Großmuster|Übungsfall|Tester|Unreal|Musterński|Probandin|Exempel|Exemple)/g],
  ] as const) {
    for (const file of await readdir(join(SAMPLES_FOLDER, part))) {
      const text = await readFile(join(SAMPLES_FOLDER, part, file), "utf8");
      names.push(...[...text.matchAll(pattern)].map((match) => match[1] ?? match[0]));
    }
  }
  return names;
}

/** The first word of the last line about an order that is not about a file. */
function lastWordAbout(number: string): string | undefined {
  const about = lines.map((line) => new RegExp(`^ *[\\d.]+s +\\w+ +${number} +(\\w+)`).exec(line)?.[1]);
  return about.findLast((word) => word !== undefined);
}

async function readOut(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of SENDERS) {
    const out = join(folder, name, "out");
    for (const file of await readdir(out)) found.set(file, await readFile(join(out, file), "utf8"));
  }
  return found;
}

/** The placer order number of a result message, OBR-2; nothing for the answer to a message. */
function reportedByHl7(text: string): string[] {
  const segments = text.split("\r").map((segment) => segment.split("|"));
  if (!segments[0]?.[8]?.startsWith("ORU^R01")) return [];
  return segments.filter(([name]) => name === "OBR").map((obr) => obr[2]?.split("^")[0] ?? "");
}

/** Order numbers of the rows that tell of an end. */
function reportedByCsv(text: string): string[] {
  // Results are written like the file that they are about.
  const delimiter = /[,;\t|]/.exec(text)?.[0] ?? ",";
  const rows = text.split("\r\n").map((row) => row.split(delimiter));
  return rows
    .filter((row) => ["completed", "rejected", "failed"].includes(row[4] ?? ""))
    .map((row) => row[0] ?? "");
}
