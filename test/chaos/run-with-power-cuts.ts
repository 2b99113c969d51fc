import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemFileOps, writeDurably } from "../../src/connectors/drop-folder/file-ops.ts";
import { systemClock } from "../../src/core/clock.ts";
import { createRandom, drawMs, type Spread } from "../../src/simulator/chance.ts";
import type { Account } from "../support/account.ts";
import { eventually } from "../support/eventually.ts";
import { type LabLoad, planLoad, seedRetrievals } from "../support/lab-load.ts";
import { type Disk, withDisk } from "../support/power-cut.ts";
import { type ChildSite, withChildSite, withPool } from "../support/with-child-site.ts";
import { withoutCode } from "../support/without-code.ts";
import { cutAndKill } from "./cut-and-kill.ts";

/** Files are dropped and results written while the power is cut again and again. */
export interface PowerCutPlan {
  readonly seed: number;
  readonly orders: number;
  readonly cuts: number;
  /** How long all may take after the last restart, ms. */
  readonly endWithinMs: number;
}

/** What came of it. */
export interface PowerCutReport {
  readonly account: Account;
  /** What was wrong with the files right behind a cut, or at the end. */
  readonly faults: readonly string[];
  /** Requests that the service made. */
  readonly requests: number;
  /** Retrievals that wait for a person, since nothing proved what became of their call. */
  readonly uncertain: number;
}

type DroppedFile = LabLoad["files"][number];
const CONNECTORS = ["hl7", "csv"] as const;
const MEGABYTES = 384;
/** A third of the cuts hit the start-up and what it recovers. */
const SINCE_START_MS: Spread = [300, 2_000];
/** The others come right after a result has appeared, or a request was made. */
const SINCE_NEWS_MS: Spread = [0, 300];
/** When nothing new comes, the cut hits what else is under way. */
const NEWS_WITHIN_MS = 6_000;

/**
 * Drops the load in parts, cuts the power at moments that the seed chooses, starts the daemon on what is left each time, and
 * lets it end its work. The lab drops again what had not come to lie in the folder when the power went.
 */
export async function runWithPowerCuts(plan: PowerCutPlan): Promise<PowerCutReport> {
  const random = createRandom(plan.seed);
  const load = planLoad(plan.seed, plan.orders);
  const simulator = {
    seed: plan.seed,
    staff: { reviewAfterMs: [50, 1_500] },
    device: { startAfterMs: [50, 500], runMs: [50, 1_000] },
  } as const;
  return await withDisk(MEGABYTES, (disk) =>
    withChildSite({ simulator, service: { maxRequestsPerSecond: 60 }, disk: disk.path }, async (site) => {
      seedRetrievals(site.simulator, load);
      const faults: string[] = [];
      const dropped: DroppedFile[] = [];
      const rest = [...load.files];
      const perRound = Math.ceil(rest.length / plan.cuts);
      for (let round = 0; round < plan.cuts; round++) {
        const daemon = site.start();
        const isAtStart = round > 0 && random.happens(1 / 3);
        if (!isAtStart) await daemon.running;
        const dropping = dropAll(disk, rest.splice(0, perRound), dropped);
        if (isAtStart) await systemClock.sleep(drawMs(SINCE_START_MS, random));
        else await news(site);
        await systemClock.sleep(drawMs(SINCE_NEWS_MS, random));
        let lasting: DroppedFile[] = [];
        const image = await cutAndKill(disk, site, daemon, () => {
          lasting = [...dropped];
        });
        const all = await dropping;
        await disk.powerUp(image);
        await disk.forget(image);
        const found = await findFaults(disk, site, lasting);
        faults.push(...found.map((fault) => `cut ${round + 1}: ${fault}`));
        dropped.length = 0;
        dropped.push(...lasting);
        for (const file of all.filter((each) => !lasting.includes(each))) {
          if (await isThere(disk, file)) dropped.push(file);
          else await dropAll(disk, [file], dropped);
        }
      }
      await site.start().running;
      const account = await site.waitForEnd(load.orders, plan.endWithinMs);
      faults.push(...(await findFaults(disk, site, dropped)), ...(await findLeft(disk, dropped)));
      const uncertain = (await site.orders()).filter((order) => order.state === "parked").length;
      return { account, faults, requests: site.simulator.tally().journal.length, uncertain };
    }),
  );
}

/** As a careful lab does: what it has dropped lasts. Files that lie there are added to `dropped`; gives all it was to drop. */
async function dropAll(
  disk: Disk,
  files: readonly DroppedFile[],
  dropped: DroppedFile[],
): Promise<readonly DroppedFile[]> {
  for (const file of files) {
    const inbox = join(disk.path, file.connector, "in");
    const beside = join(disk.path, `${file.name}.part`);
    await writeDurably(beside, file.content);
    await systemFileOps.rename(beside, join(inbox, file.name));
    await systemFileOps.syncFolder(inbox);
    dropped.push(file);
  }
  return files;
}

/** Waits until the service has made a request more, or the lab has a result more. */
async function news(site: ChildSite): Promise<void> {
  const count = async () => {
    const results = await Promise.all(
      CONNECTORS.map(async (name) => (await site.lab.read(name, "out")).size),
    );
    return results.reduce((sum, each) => sum + each, site.simulator.tally().journal.length);
  };
  const before = await count();
  await eventually(async () => (await count()) > before, { withinMs: NEWS_WITHIN_MS }).catch(() => undefined);
}

/** What is wrong with the files: dropped ones that are nowhere, or archived without orders; results that aren't the ledger's. */
async function findFaults(disk: Disk, site: ChildSite, dropped: readonly DroppedFile[]): Promise<string[]> {
  const faults: string[] = [];
  const archived: DroppedFile[] = [];
  for (const file of dropped) {
    if (!(await isThere(disk, file))) faults.push(`${file.name} is nowhere`);
    if (await isThere(disk, file, ["archive"])) archived.push(file);
  }
  const results = new Map<string, string>();
  for (const connector of CONNECTORS) {
    // Those that come while the ledger is asked may be missing here.
    for (const [name, text] of await site.lab.read(connector, "out"))
      results.set(`${connector}/${name}`, text);
  }
  return await withPool(site.dataDir, async (pool) => {
    const { rows: orders } = await pool.query<{ number: string }>(
      "select placer_order_number as number from orders",
    );
    const { rows: deliveries } = await pool.query<{ name: string; bytes: Buffer; is_delivered: boolean }>(
      "select connector || '/' || file_name as name, bytes, state = 'delivered' as is_delivered from deliveries",
    );
    for (const { name, content } of archived) {
      const isKept = orders.filter(({ number }) => number !== null && content.includes(number)).length > 0;
      if (!isKept) faults.push(`${name} is archived, and the ledger has no order of it`);
    }
    for (const { name, bytes, is_delivered } of deliveries) {
      const text = results.get(name);
      results.delete(name);
      if (text === undefined && is_delivered) faults.push(`${name} was delivered and isn't there`);
      if (text !== undefined && text !== bytes.toString())
        faults.push(`${name} is not what the ledger has of it`);
    }
    return [
      ...faults,
      ...[...results.keys()].map((name) => `${name} is a result that the ledger doesn't know`),
    ];
  });
}

/** What is wrong when nothing is left to do: dropped files that aren't archived once, and whatever else lies about. */
async function findLeft(disk: Disk, dropped: readonly DroppedFile[]): Promise<string[]> {
  const faults: string[] = [];
  for (const connector of CONNECTORS) {
    const ours = dropped.filter((file) => file.connector === connector).map(({ name }) => name);
    const folder = join(disk.path, connector);
    const names = async (part: string) =>
      (await listFiles(join(folder, part))).map((path) => path.slice(path.lastIndexOf("/") + 1)).sort();
    const archived = await names("archive");
    if (archived.join() !== ours.toSorted().join())
      faults.push(`the archive of ${connector} has ${archived}`);
    const left = [...(await names("in")), ...(await names("error")), ...(await names("work"))];
    faults.push(...left.map((name) => `${name} is left of ${connector}`));
  }
  return faults;
}

/** Whether a dropped file lies in one of the folders, whole. */
async function isThere(
  disk: Disk,
  { connector, name, content }: DroppedFile,
  folders: readonly string[] = ["in", "work", "archive"],
): Promise<boolean> {
  for (const folder of folders) {
    for (const path of await listFiles(join(disk.path, connector, folder))) {
      if (path.endsWith(name) && (await withoutCode("ENOENT", readFile(path, "utf8"))) === content)
        return true;
    }
  }
  return false;
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await withoutCode("ENOENT", readdir(folder, { withFileTypes: true, recursive: true }));
  return (entries ?? []).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
