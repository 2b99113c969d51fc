import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, mkdir, open, readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { systemFileOps } from "../../../src/connectors/drop-folder/file-ops.ts";
import type { DropFolderDeps } from "../../../src/connectors/drop-folder/settings.ts";
import { type Disk, type Image, withDisk } from "../../support/power-cut.ts";
import { withFolder } from "../../support/with-folder.ts";
import { withoutCode } from "../../support/without-code.ts";
import { dropOneOfEach, endState } from "../crash-scenario.ts";
import { type DropWorld, makeWorld } from "../drop-world.ts";
import type { JournalIntake } from "../journal-intake.ts";

/** Results that are delivered when all files are taken in. */
const RESULTS = ["first.hl7", "second.hl7"].map((fileName) => ({
  fileName,
  bytes: Buffer.from(`MSH|${fileName}\r${"OBX|1|TX|result||of some length\r".repeat(200)}`),
}));
const MEGABYTES = 8;

/** What was there when the power went at one point. */
interface Cut {
  readonly point: string;
  readonly image: Image;
  /** What the ledger had by then; it is on a disk of its own, since each commit would make names lasting here, too. */
  readonly ledger: string;
  readonly delivered: readonly string[];
}

/** How a run on what a cut has left ended, and what was wrong before it. */
export interface CutEnd {
  readonly point: string;
  /** Bytes that were dropped and are nowhere, results that were delivered and aren't there, and half ones. */
  readonly faults: readonly string[];
  readonly end: unknown;
}

export interface CutsAtSteps {
  /** How the run ended the power of which was cut in thought only. */
  readonly expected: unknown;
  readonly ends: readonly CutEnd[];
}

/**
 * Has files of each fate taken in and results put out, and cuts the power at the points of all that: at each step and in
 * front of each rename, link and sync. Then has a new run end what each cut left.
 *
 * @param journal what the file system makes lasting by itself: nothing, or (as whenever another program flushes something)
 * all names, yet no content that wasn't flushed
 * @param isChosen which points are cut at, by name and how often the point was met before
 */
export async function cutAtSteps(
  journal: "lags" | "is committed",
  isChosen: (point: string, times: number) => boolean = () => true,
): Promise<CutsAtSteps> {
  return await withFolder((outside) =>
    withDisk(MEGABYTES, async (disk) => {
      const { cuts, expected, dropped } = await runWithCuts(disk, outside, journal, isChosen);
      const ends: CutEnd[] = [];
      for (const cut of cuts) ends.push(await endOf(disk, cut, dropped));
      return { expected, ends };
    }),
  );
}

async function runWithCuts(
  disk: Disk,
  outside: string,
  journal: "lags" | "is committed",
  isChosen: (point: string, times: number) => boolean,
) {
  const ledger = join(outside, "ledger");
  const world = await openWorld(disk, ledger);
  const { intake } = world;
  const cuts: Cut[] = [];
  const met = new Map<string, number>();
  const delivered: string[] = [];
  const seen = new Set<string>();
  let cutting = Promise.resolve();
  const cutAt = async (point: string) => {
    if (journal === "is committed") await flushSomethingElse(disk);
    const image = await disk.cut();
    const copy = `${ledger}-${cuts.length}`;
    await copyFile(ledger, copy).catch(() => undefined);
    // Where nothing was flushed since, the same is left.
    const digest = createHash("sha256")
      .update(await readFile(image))
      .update(await readFile(ledger).catch(() => ""));
    const key = digest.update(delivered.join()).digest("hex");
    if (seen.has(key)) return disk.forget(image);
    seen.add(key);
    cuts.push({ point, image, ledger: copy, delivered: [...delivered] });
  };
  const point = (name: string) => {
    const times = met.get(name) ?? 0;
    met.set(name, times + 1);
    if (isChosen(name, times)) cutting = cutting.then(() => cutAt(name));
    return cutting;
  };
  const part = (path: string) => relative(world.folder, path).split("/")[0];
  const connector = world.hl7(
    {},
    {
      ...waiting(intake, () => cutting),
      steps: point,
      fileOps: {
        rename: (from, to) => point(`rename to ${part(to)}`).then(() => systemFileOps.rename(from, to)),
        link: (from, to) => point(`link in ${part(to)}`).then(() => systemFileOps.link(from, to)),
        syncFolder: (folder) => point(`sync of ${part(folder)}`).then(() => systemFileOps.syncFolder(folder)),
      },
    },
  );
  await dropOneOfEach(world);
  const dropped = await filesIn(world.directories.in);
  await flushAll(disk);
  await connector.start();
  await world.settled();
  for (const result of RESULTS) {
    await connector.deliver(result);
    delivered.push(result.fileName);
    await point("delivered");
  }
  await connector.stop();
  await cutting;
  return { cuts, dropped, expected: await wholeEnd(world, intake) };
}

async function openWorld(disk: Disk, ledger: string): Promise<DropWorld> {
  const folder = join(disk.path, "lab");
  await mkdir(folder, { recursive: true });
  return makeWorld(folder, [], ledger);
}

/** Starts on what a cut left, and lets it end. */
async function endOf(disk: Disk, { point, image, ledger, delivered }: Cut, dropped: Files): Promise<CutEnd> {
  await disk.powerUp(image);
  await disk.forget(image);
  const world = await openWorld(disk, ledger);
  const faults = [
    ...missing(dropped, await filesIn(world.folder)),
    ...wrongResults(await filesIn(world.directories.out), delivered),
  ];
  const { intake } = world;
  // Who delivers may hear of the cut an hour later: by then nobody else can be at work in the folder.
  const { clock: ownClock } = world.deps();
  const clock = { ...ownClock, now: () => Date.now() + 2 * 3_600_000 };
  const connector = world.hl7({}, { clock: Object.assign(Object.create(ownClock), clock) });
  await connector.start();
  await world.settled();
  for (const result of RESULTS) await connector.deliver(result);
  await connector.stop();
  return { point, faults, end: await wholeEnd(world, intake) };
}

/** Files by their names below a folder, as text. */
type Files = ReadonlyMap<string, string>;

async function filesIn(folder: string): Promise<Files> {
  const entries = await withoutCode("ENOENT", readdir(folder, { withFileTypes: true, recursive: true }));
  const files = (entries ?? [])
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const contents = files.map(
    async (path) => [path.slice(folder.length + 1), await readFile(path, "utf8")] as const,
  );
  return new Map(await Promise.all(contents));
}

/** Names of dropped files of which the bytes are nowhere (two files may hold the same). */
function missing(dropped: Files, found: Files): string[] {
  const left = [...found.values()];
  return [...dropped].flatMap(([name, content]) => {
    const at = left.indexOf(content);
    if (at === -1) return [`${name} is nowhere`];
    left.splice(at, 1);
    return [];
  });
}

function wrongResults(out: Files, delivered: readonly string[]): string[] {
  return RESULTS.flatMap(({ fileName, bytes }) => {
    const content = out.get(fileName);
    if (content === undefined) return delivered.includes(fileName) ? [`${fileName} was delivered`] : [];
    return content === bytes.toString() ? [] : [`${fileName} is not whole`];
  });
}

async function wholeEnd(world: DropWorld, intake: JournalIntake) {
  const archive = await filesIn(world.directories.archive);
  return {
    ...(await endState(world, intake)),
    archived: [...archive].map(([name, content]) => [name.slice(11), content]).sort(),
    in: await world.list("in"),
    out: [...(await filesIn(world.directories.out))].sort(),
    work: await world.list("work"),
  };
}

/** The ledger, which waits while the power is being cut. */
function waiting(
  intake: JournalIntake,
  until: () => Promise<void>,
): Pick<DropFolderDeps, "intake" | "dropped"> {
  const patient = new Proxy(intake, {
    get: (target, key: keyof JournalIntake) => {
      const value = target[key];
      if (typeof value !== "function") return value;
      const call = value.bind(target) as (...words: unknown[]) => unknown;
      const isAtOnce = key === "inspect" || key === "answerBatch";
      return isAtOnce ? call : (...words: unknown[]) => until().then(() => call(...words));
    },
  });
  return { intake: patient, dropped: patient };
}

/** As any other program may at any moment. */
async function flushSomethingElse(disk: Disk): Promise<void> {
  const handle = await open(join(disk.path, "another"), "w");
  await handle.writeFile(String(Math.random()));
  await handle.sync();
  await handle.close();
}

/** What the lab has to do for its files to last. */
async function flushAll(disk: Disk): Promise<void> {
  await promisify(execFile)("sync", ["--file-system", disk.path]);
}
