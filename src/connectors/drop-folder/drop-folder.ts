import { type FSWatcher, watch } from "node:fs";
import { rm } from "node:fs/promises";
import type { UntakenFiles } from "../../core/untaken-files.ts";
import type { CheckLine, Connector, OutgoingFile } from "../connector.ts";
import { ClaimIds, claimName, claimOf } from "./claim.ts";
import { errnoOf, exists, type FileOps, systemFileOps } from "./file-ops.ts";
import { currentIdentity, WorkInstance } from "./instance.ts";
import { KnownFolder } from "./known-folder.ts";
import { checkFolders, DEFAULT_FOLDER_MODE, prepareFolders, resultModeOf } from "./layout.ts";
import { deliverFile, removeStaleTemporaries } from "./outbox.ts";
import { Pause } from "./pause.ts";
import { ArchiveLooks, Publication } from "./publication.ts";
import { type Candidate, FolderScan, removeOrphanMarkers } from "./scan.ts";
import type { DropFolderDeps, DropFolderSettings, FileFormat, Step } from "./settings.ts";
import { Untaken } from "./untaken.ts";
import { WorkList } from "./work-list.ts";

const DEFAULT_MS = 2_000;
const ALERT_AFTER_MS = 600_000;
/** Claimed together, so that one sync of the folders serves them all. */
const CLAIMS_AT_ONCE = 64;
/** Events come in bursts; a look at once after each of them would only burn time. */
const WAKE_GAP_MS = 100;

/** What systems say of a file that somebody else has for a moment, or has not given free yet. */
const HELD: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EBUSY", "ETXTBSY", "EAGAIN", "ESTALE", "EIO"]);
const HELD_FOR_MS = 60_000;

/** The engine of the drop-folder connectors: takes whole files in, one after the other, and puts results out. */
export class DropFolder implements Connector {
  readonly name: string;
  readonly type: string;
  readonly #settings: DropFolderSettings;
  readonly #format: FileFormat;
  readonly #deps: DropFolderDeps;
  readonly #ops: FileOps;
  readonly #folderMode: number;
  readonly #instance: WorkInstance;
  readonly #scan: FolderScan;
  readonly #ids = new ClaimIds();
  readonly #work: WorkList;
  readonly #untaken: Untaken;
  readonly #pause: Pause;
  readonly #looks: ArchiveLooks | undefined;
  readonly #stop = new AbortController();
  #wake = new AbortController();
  #watcher: FSWatcher | undefined;
  #running: Promise<void> | undefined;
  readonly #out: KnownFolder;
  /** Those that a dropped file goes through. */
  readonly #inFolders: readonly KnownFolder[];
  #scanTrouble: string | undefined;
  #heldFile: string | undefined;
  #isRecovered = false;
  #wakeGapMs = WAKE_GAP_MS;
  /** Since when files could not be opened, monotonic ms, by name. */
  #heldSince = new Map<string, number>();

  constructor(format: FileFormat, settings: DropFolderSettings, deps: DropFolderDeps) {
    this.name = settings.name;
    this.type = format.type;
    this.#format = format;
    this.#settings = settings;
    this.#deps = { ...deps, logger: deps.logger.child({ connector: settings.name }) };
    this.#ops = { ...systemFileOps, ...deps.fileOps };
    const { directories, marker, stableForMs = DEFAULT_MS, folderMode = DEFAULT_FOLDER_MODE } = settings;
    this.#folderMode = folderMode;
    this.#out = new KnownFolder(directories.out);
    this.#inFolders = (["in", "work", "archive", "error"] as const).map(
      (key) => new KnownFolder(directories[key]),
    );
    const { clock, intake, logger } = this.#deps;
    const step = this.#step;
    const ops = this.#ops;
    const identity = deps.identity ?? currentIdentity();
    this.#instance = new WorkInstance(directories.work, { clock, ops, identity });
    this.#scan = new FolderScan(directories.in, { stableForMs, marker, files: settings.files });
    this.#untaken = new Untaken(this.#scan, clock, {
      afterMs: settings.alertAfterMs ?? ALERT_AFTER_MS,
      marker,
    });
    this.#pause = new Pause(clock, logger);
    this.#work = new WorkList({
      connector: settings.name,
      format,
      intake,
      clock,
      logger,
      step,
      ops,
      stableForMs,
      signal: this.#stop.signal,
      pause: this.#pause,
      publication: new Publication({
        directories,
        folderMode,
        intake,
        clock,
        ops,
        step,
        watch: deps.archiveWatch,
      }),
    });
    this.#looks = deps.archiveWatch && new ArchiveLooks(settings.name, deps.archiveWatch, { clock, logger });
  }

  get trouble(): string | undefined {
    return this.#pause.words ?? this.#scanTrouble ?? (this.#work.isHeldUp ? this.#work.trouble : undefined);
  }

  /** A file that can't be read or taken holds up no other, unless there are many. */
  get warning(): string | undefined {
    return this.#heldFile ?? (this.#work.isHeldUp ? undefined : this.#work.trouble);
  }

  get untaken(): readonly UntakenFiles[] {
    return this.#untaken.found;
  }

  /** Throws FILE_FOLDER_UNUSABLE when a folder can't be used. Recovery and intake then go on by themselves. */
  async start(): Promise<void> {
    const { directories } = this.#settings;
    await prepareFolders(directories, this.#folderMode);
    await Promise.all([this.#out, ...this.#inFolders].map((folder) => folder.assertSame()));
    await removeStaleTemporaries(directories.out, this.#deps.clock);
    await this.#instance.ensure();
    this.#watch();
    this.#running = this.#run();
  }

  /** Ends between two batches at the latest; a file in hand stays in the work folder and is resumed by the next start. */
  async stop(): Promise<void> {
    this.#watcher?.close();
    this.#stop.abort();
    await this.#running;
    await this.#looks?.end();
    await this.#instance.close();
  }

  async check(): Promise<CheckLine[]> {
    return [...(await checkFolders(this.#settings.directories)), ...this.#format.check()];
  }

  async openResults(): Promise<void> {
    await this.#out.assertSame();
  }

  async deliver(file: OutgoingFile): Promise<void> {
    await deliverFile(file, {
      folder: this.#out,
      mode: resultModeOf(this.#folderMode),
      marker: this.#settings.resultMarker,
      ops: this.#ops,
      step: this.#step,
    });
  }

  readonly #step = async (step: Step): Promise<void> => {
    if (this.#deps.steps) await this.#deps.steps(step);
  };

  async #run(): Promise<void> {
    const { clock } = this.#deps;
    while (!this.#stop.signal.aborted) {
      this.#wake = new AbortController();
      const isWoken = AbortSignal.any([this.#stop.signal, this.#wake.signal]);
      let waitMs: number;
      try {
        waitMs = await this.#round();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#pause.begin(error);
        waitMs = this.#pause.leftMs;
      }
      // Aborting only ends the wait: the loop itself looks whether it was a wake-up or the end.
      const gapMs = Math.min(waitMs, this.#wakeGapMs);
      await clock.sleep(gapMs, this.#stop.signal).catch(() => undefined);
      await clock.sleep(waitMs - gapMs, isWoken).catch(() => undefined);
    }
  }

  /** One look at everything there is to do. Returns how long nothing will be, ms. */
  async #round(): Promise<number> {
    const { clock } = this.#deps;
    if (this.#pause.leftMs > 0) return this.#pause.leftMs;
    await Promise.all(this.#inFolders.map((folder) => folder.assertSame()));
    await this.#instance.ensure();
    if ((await this.#instance.adopt()) || !this.#isRecovered) await this.#recover();
    await this.#work.run();
    if (this.#pause.leftMs > 0) return this.#pause.leftMs;
    const intervalMs = this.#settings.scanIntervalMs ?? DEFAULT_MS;
    if (this.#work.isBusy) return this.#work.untilNext(intervalMs);
    const startedMs = clock.monotonic();
    const { candidates, soonestMs } = await this.#scan.look(startedMs);
    this.#wakeGapMs = Math.max(WAKE_GAP_MS, 4 * (clock.monotonic() - startedMs));
    this.#scanTrouble = undefined;
    this.#heldFile = undefined;
    await this.#untaken.look();
    const names = new Set(candidates.map(({ name }) => name));
    for (const name of this.#heldSince.keys()) if (!names.has(name)) this.#heldSince.delete(name);
    for (let at = 0; at < candidates.length; at += CLAIMS_AT_ONCE) {
      if (this.#stop.signal.aborted || this.#work.isHeldUp || this.#pause.leftMs > 0) break;
      await this.#claimAll(candidates.slice(at, at + CLAIMS_AT_ONCE));
      await this.#work.run();
    }
    if (this.#pause.leftMs > 0) return this.#pause.leftMs;
    this.#looks?.begin(this.#stop.signal);
    this.#pause.end();
    return this.#work.untilNext(Math.min(intervalMs, soonestMs ?? intervalMs));
  }

  /** Goes on with what earlier runs, or daemons that are gone, left in our work folder. */
  async #recover(): Promise<void> {
    const { directories, marker } = this.#settings;
    const claims = await this.#work.recover(this.#instance.folder);
    const names = claims.map(({ name }) => name);
    if (marker) await removeOrphanMarkers(directories.in, names, marker);
    this.#isRecovered = true;
  }

  async #claimAll(candidates: readonly Candidate[]): Promise<void> {
    const { clock, logger } = this.#deps;
    const folder = this.#instance.folder;
    for (const candidate of candidates) {
      if (await this.#isHeld(candidate)) continue;
      await this.#step("claim");
      const claim = claimOf(folder, this.#ids.next(clock.now()), claimName(candidate.name));
      try {
        await this.#ops.rename(candidate.path, claim.path);
      } catch (error) {
        const code = errnoOf(error) ?? "";
        // Another daemon was faster, or the writer took it back.
        if (code === "ENOENT" && (await exists(folder))) continue;
        if (!["EACCES", "EPERM", "EBUSY"].includes(code)) throw error;
        this.#scanTrouble = `a file in ${this.#settings.directories.in} can't be moved, ${code} (FILE_SYSTEM_ERROR)`;
        logger.warn({ err: error }, "a dropped file can't be moved to the work folder; trying again");
        continue;
      }
      await this.#step("claimed");
      if (candidate.markerPath) await rm(candidate.markerPath, { force: true });
      this.#work.add(claim, candidate.fingerprint);
    }
    await this.#ops.syncFolder(this.#settings.directories.in);
    await this.#ops.syncFolder(folder);
    await this.#step("claims-durable");
  }

  /**
   * Whether a file can't be opened yet: a virus scanner has it, or its rights come late. It stays where it is, so that its writer
   * finds it, and others overtake it; after a while it is taken, and refused for what it is.
   */
  async #isHeld({ path, name }: Candidate): Promise<boolean> {
    try {
      const handle = await this.#ops.openForReading(path);
      await handle.close();
    } catch (error) {
      const code = errnoOf(error) ?? "";
      const nowMs = this.#deps.clock.monotonic();
      const sinceMs = this.#heldSince.get(name) ?? nowMs;
      if (HELD.has(code) && nowMs - sinceMs < HELD_FOR_MS) {
        this.#heldSince.set(name, sinceMs);
        this.#heldFile = `a file in ${this.#settings.directories.in} can't be read yet, ${code} (FILE_UNREADABLE)`;
        return true;
      }
    }
    this.#heldSince.delete(name);
    return false;
  }

  /** Only shortens the wait: on network shares no events come, and everywhere some get lost. */
  #watch(): void {
    try {
      this.#watcher = watch(this.#settings.directories.in, { persistent: false }, () => this.#wake.abort());
      this.#watcher.on("error", () => this.#watcher?.close());
    } catch (error) {
      this.#deps.logger.debug({ err: error }, "the folder can't be watched; looking at intervals only");
    }
  }
}
