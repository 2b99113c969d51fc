import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ArchivedFile, ArchiveLook, ArchiveWatch } from "../../core/archive-watch.ts";
import type { Clock } from "../../core/clock.ts";
import { asFailure } from "../../core/failures.ts";
import type { Intake } from "../../core/intake.ts";
import type { Logger } from "../../core/logger.ts";
import { within } from "../../core/within.ts";
import { type Claim, nameWithReference, type Plan, planPath, reportPath } from "./claim.ts";
import {
  errnoOf,
  exists,
  type FileOps,
  isSameFile,
  moveToFreeName,
  parseFingerprint,
  publishWhole,
  renamePatiently,
  writeDurably,
} from "./file-ops.ts";
import { makeFolder, reportModeOf } from "./layout.ts";
import { type FileReport, reportAsJson, reportAsText } from "./report.ts";
import type { DropDirectories, Step } from "./settings.ts";

/** Virus scanners and indexers on Windows hold a file for seconds; a minute is more than any of them needs. */
const RENAME_PATIENCE_MS = 60_000;

/** What is to become of a file, before names are chosen. */
export interface Fate {
  readonly folder: "archive" | "error";
  /** What the ledger knows the file by; absent for what never came to the ledger. */
  readonly fileId?: string | undefined;
  readonly report?: FileReport | undefined;
  readonly asRead?: Plan["asRead"];
  readonly close?: Plan["close"];
}

interface PublicationDeps {
  readonly directories: DropDirectories;
  readonly folderMode: number;
  readonly intake: Intake;
  readonly clock: Clock;
  readonly ops: FileOps;
  /** Absent where archived files are not looked at again. */
  readonly watch?: ArchiveWatch | undefined;
  readonly step: (step: Step) => Promise<void>;
}

/** Carries out what was decided about a file, so that a crash at any step leads to the same end. */
export class Publication {
  readonly #deps: PublicationDeps;
  readonly #plansToSync = new Set<string>();
  readonly #foldersToSync = new Set<string>();
  readonly #plansDone: string[] = [];

  constructor(deps: PublicationDeps) {
    this.#deps = deps;
  }

  /** Writes the reports and then the plan. Once {@link syncPlans} is done too, nothing is decided again. */
  async writePlan(claim: Claim, fate: Fate): Promise<Plan> {
    const kind = fate.report && (fate.report.result === "duplicate" ? "duplicate" : "error");
    if (fate.report) {
      const mode = reportModeOf(this.#deps.folderMode);
      await writeDurably(reportPath(claim, "txt"), reportAsText(fate.report), mode);
      await writeDurably(reportPath(claim, "json"), reportAsJson(fate.report), mode);
      await this.#deps.step("report-written");
    }
    const day = localDay(claim.receivedAt);
    const target = fate.folder === "archive" ? { folder: fate.folder, day } : { folder: fate.folder };
    const alternative = nameWithReference(claim.name, claim.id);
    const isFree = await this.#isFree(claim.name, target, kind);
    const plan: Plan = {
      name: isFree ? claim.name : alternative,
      alternative,
      target,
      report: kind,
      asRead: fate.asRead,
      close: fate.close,
    };
    await writeDurably(planPath(claim), JSON.stringify(plan));
    this.#plansToSync.add(claim.folder);
    await this.#deps.step("plan-written");
    return plan;
  }

  /** Makes the plans that were written durable, so that they may be carried out. */
  async syncPlans(): Promise<void> {
    if (this.#plansToSync.size === 0) return;
    for (const folder of this.#plansToSync) await this.#deps.ops.syncFolder(folder);
    this.#plansToSync.clear();
    await this.#deps.step("plans-durable");
  }

  /** Closes the file in the ledger, moves the file, publishes the reports. May be repeated from any point. */
  async carryOut(claim: Pick<Claim, "id" | "folder">, path: string | undefined, plan: Plan): Promise<void> {
    const { directories, clock, intake, ops, step } = this.#deps;
    if (path !== undefined && (await exists(path))) {
      if (plan.close) {
        await intake.closeFile(plan.close.fileId, plan.close.end, plan.close.batch);
        await step("closed");
      }
      const folder = this.#targetFolder(plan.target);
      if (!this.#foldersToSync.has(folder)) await makeFolder(folder, this.#deps.folderMode);
      const names = [plan.name, plan.alternative] as const;
      const move = { from: path, folder, names, owner: claim.id, note: planPath(claim) };
      await moveToFreeName(ops, move, (from, to) =>
        renamePatiently(ops, from, to, clock, RENAME_PATIENCE_MS),
      );
      this.#foldersToSync.add(folder);
      if (plan.target.folder === "archive") this.#foldersToSync.add(directories.archive);
    }
    await step("data-moved");
    if (plan.asRead) await this.#noteArchived(plan, plan.asRead);
    if (plan.report) {
      await this.#publishReport(claim, plan, "txt");
      await step("text-report-moved");
      await this.#publishReport(claim, plan, "json");
      await step("json-report-moved");
    }
    this.#foldersToSync.add(claim.folder);
    this.#plansDone.push(planPath(claim));
  }

  /** Makes the moves durable and then forgets their plans; once for many files. */
  async flush(): Promise<void> {
    if (this.#plansDone.length === 0) return;
    for (const folder of this.#foldersToSync)
      if (await exists(folder)) await this.#deps.ops.syncFolder(folder);
    await this.#deps.step("moves-durable");
    for (const path of this.#plansDone) await rm(path, { force: true });
    this.#plansDone.length = 0;
    this.#foldersToSync.clear();
    await this.#deps.step("finished");
  }

  /** Has the file looked at again. Found by its identity, since the name that it got is not known after a crash. */
  async #noteArchived(plan: Plan, { fileId, fingerprint }: NonNullable<Plan["asRead"]>): Promise<void> {
    const { ino, size, mtimeNs } = parseFingerprint(fingerprint);
    for (const name of [plan.name, plan.alternative]) {
      const path = join(this.#targetFolder(plan.target), name);
      const found = await lstat(path, { bigint: true }).catch(() => undefined);
      if (found?.ino !== ino) continue;
      await this.#deps.watch?.note({ fileId, path, sizeBytes: Number(size), modifiedNs: mtimeNs });
      return;
    }
  }

  /** The JSON report comes last: a program that sees it finds everything else in place. */
  async #publishReport(claim: Pick<Claim, "id" | "folder">, plan: Plan, form: "txt" | "json"): Promise<void> {
    const { directories, ops } = this.#deps;
    const written = reportPath(claim, form);
    if (!(await exists(written))) return;
    for (const name of [plan.name, plan.alternative]) {
      const final = join(directories.error, `${name}.${plan.report}.${form}`);
      const outcome = await publishWhole(ops, written, final);
      if (outcome === "published" || (await isSameFile(written, final)) || name === plan.alternative) break;
    }
    await rm(written, { force: true });
    this.#foldersToSync.add(directories.error);
  }

  async #isFree(name: string, target: Plan["target"], report: Plan["report"]): Promise<boolean> {
    const { error } = this.#deps.directories;
    const paths = [join(this.#targetFolder(target), name)];
    if (report) paths.push(join(error, `${name}.${report}.txt`), join(error, `${name}.${report}.json`));
    for (const path of paths) if (await exists(path)) return false;
    return true;
  }

  #targetFolder(target: Plan["target"]): string {
    const { archive, error } = this.#deps.directories;
    return target.folder === "archive" ? join(archive, target.day) : error;
  }
}

/** The day by the machine's own time zone, as the lab's people count days. */
function localDay(time: Date): string {
  const two = (part: number) => String(part).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}

/** Minutes matter here, not seconds. */
const ASK_EVERY_MS = 15_000;
/** The end of a connector waits for a look no longer than this, ms. */
const END_WITHIN_MS = 2_000;

/**
 * Looks at archived files once more when that is due: a writer that was not done appends after their archiving. Intake does not wait
 * for it, nor does it fail with it.
 */
export class ArchiveLooks {
  readonly #connector: string;
  readonly #watch: ArchiveWatch;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #nextAtMs = 0;
  #underWay: Promise<void> | undefined;

  constructor(connector: string, watch: ArchiveWatch, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#connector = connector;
    this.#watch = watch;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Begins what is due, at most every 15 s and once at a time. What couldn't be looked at stays due. */
  begin(signal: AbortSignal): void {
    if (this.#underWay !== undefined || this.#clock.monotonic() < this.#nextAtMs) return;
    this.#underWay = this.#look(signal)
      .catch((error: unknown) => {
        this.#nextAtMs = this.#clock.monotonic() + ASK_EVERY_MS;
        if (!signal.aborted)
          this.#logger.warn(
            { err: asFailure(error) },
            "archived files could not be looked at; it is tried again",
          );
      })
      .finally(() => {
        this.#underWay = undefined;
      });
  }

  /** Waits for a look that is under way, though not for an archive that hangs. */
  async end(): Promise<void> {
    if (this.#underWay) await within(this.#underWay, END_WITHIN_MS, this.#clock);
  }

  async #look(signal: AbortSignal): Promise<void> {
    const due = await this.#watch.listDue(this.#connector);
    let isAnyLeft = false;
    for (const file of due) {
      if (signal.aborted) return;
      const look = await lookAt(file);
      if (look === undefined) isAnyLeft = true;
      else await this.#watch.record(file, look);
    }
    // After a list of those that are due there may be more.
    this.#nextAtMs = this.#clock.monotonic() + (due.length === 0 || isAnyLeft ? ASK_EVERY_MS : 0);
  }
}

/** Undefined when the file system doesn't say now. */
async function lookAt({ path, sizeBytes, modifiedNs }: ArchivedFile): Promise<ArchiveLook | undefined> {
  try {
    const { size, mtimeNs } = await lstat(path, { bigint: true });
    return Number(size) === sizeBytes && mtimeNs === modifiedNs ? "same" : { sizeBytes: Number(size) };
  } catch (error) {
    // Whoever cleans the archive may take files away at any time.
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return "gone";
    if (errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}
