import { type FSWatcher, watch } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Failure, type FailureCode } from "../../core/failures.ts";
import type { UntakenFiles } from "../../core/untaken-files.ts";
import type { CheckLine, Connector, OutgoingFile } from "../connector.ts";
import { ArchiveLooks } from "./archive-looks.ts";
import { CarryOut } from "./carry-out.ts";
import { type Claim, ClaimIds, claimName, claimOf, parseClaim } from "./claim.ts";
import { errnoOf, exists, type FileOps, systemFileOps } from "./file-ops.ts";
import { KnownFolder } from "./known-folder.ts";
import { checkFolders, makeFolder, prepareFolders, resultModeOf, WORK_MODE } from "./layout.ts";
import { deliverFile, removeStaleTemporaries } from "./outbox.ts";
import { Pause } from "./pause.ts";
import { type Candidate, FolderScan, removeOrphanMarkers } from "./scan.ts";
import type { DropFolderDeps, DropFolderSettings, FileFormat } from "./settings.ts";
import { Untaken } from "./untaken.ts";
import { WorkList } from "./work-list.ts";

/** Claimed together, so that one sync of the folders serves them all. */
const CLAIMS_AT_ONCE = 64;
/** How often it is asked what workers that are gone left, where no file shows it, ms. */
const TAKE_OVER_EVERY_MS = 15_000;
/** How often it is looked whether a worker that died counts as gone, ms. */
const AWAIT_MS = 500;
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
  readonly #format: () => FileFormat;
  readonly #deps: DropFolderDeps;
  readonly #ops: FileOps;
  readonly #folderMode: number;
  /** Where what this ledger's workers have claimed lies. */
  readonly #work: string;
  readonly #scan: FolderScan;
  readonly #ids = new ClaimIds();
  readonly #list: WorkList;
  readonly #untaken: Untaken;
  readonly #pause: Pause;
  readonly #looks: ArchiveLooks;
  readonly #stop = new AbortController();
  #wake = new AbortController();
  #watcher: FSWatcher | undefined;
  #running: Promise<void> | undefined;
  readonly #out: KnownFolder;
  /** Those that a dropped file goes through. */
  readonly #inFolders: readonly KnownFolder[];
  #scanTrouble: string | undefined;
  #heldFile: string | undefined;
  #strangers: string | undefined;
  /** Monotonic. */
  #takeOverAtMs = Number.NEGATIVE_INFINITY;
  #wakeGapMs = WAKE_GAP_MS;
  /** Since when files could not be opened, monotonic ms, by name. */
  #heldSince = new Map<string, number>();

  constructor(format: () => FileFormat, settings: DropFolderSettings, deps: DropFolderDeps) {
    this.name = settings.name;
    this.type = format().type;
    this.#format = format;
    this.#settings = settings;
    this.#deps = { ...deps, logger: deps.logger.child({ connector: settings.name }) };
    this.#ops = { ...systemFileOps, ...deps.fileOps };
    const { directories, marker, stableForMs, folderMode } = settings;
    this.#folderMode = folderMode;
    this.#out = new KnownFolder(directories.out);
    this.#inFolders = (["in", "work", "archive", "error"] as const).map(
      (key) => new KnownFolder(directories[key]),
    );
    const { clock, dropped, intake, logger } = this.#deps;
    const ops = this.#ops;
    const connector = settings.name;
    const assertFolders = () => this.#assertFolders();
    this.#work = join(directories.work, dropped.ledger);
    this.#scan = new FolderScan(directories.in, { stableForMs, marker, files: settings.files });
    this.#untaken = new Untaken(this.#scan, clock, {
      afterMs: settings.alertAfterMs,
      marker,
    });
    this.#pause = new Pause(clock, logger);
    this.#list = new WorkList({
      connector,
      format,
      intake,
      dropped,
      clock,
      logger,
      ops,
      stableForMs,
      signal: this.#stop.signal,
      pause: this.#pause,
      assertFolders,
      carryOut: new CarryOut({
        connector,
        directories,
        folderMode,
        dropped,
        assertFolders,
        clock,
        ops,
      }),
    });
    this.#looks = new ArchiveLooks(connector, { ...this.#deps, assertFolders });
  }

  get trouble(): string | undefined {
    return this.#pause.words ?? this.#scanTrouble ?? (this.#list.isHeldUp ? this.#list.trouble : undefined);
  }

  get failureCode(): FailureCode | undefined {
    if (this.trouble === undefined) return this.#heldFile === undefined ? undefined : "FILE_UNREADABLE";
    if (this.#pause.words !== undefined) return this.#pause.code;
    return this.#scanTrouble === undefined ? undefined : "FILE_SYSTEM_ERROR";
  }

  /** A file that can't be read or taken holds up no other, unless there are many. */
  get warning(): string | undefined {
    return this.#heldFile ?? (this.#list.isHeldUp ? undefined : this.#list.trouble) ?? this.#strangers;
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
    this.#watch();
    this.#running = this.#run();
  }

  /** Ends between two batches at the latest; a file in hand stays in the work folder, and another worker or the next start goes on with it. */
  async stop(): Promise<void> {
    this.#watcher?.close();
    this.#stop.abort();
    await this.#running;
    await this.#looks.end();
  }

  async check(): Promise<CheckLine[]> {
    return [...(await checkFolders(this.#settings.directories)), ...this.#format().check()];
  }

  async openResults(): Promise<void> {
    await this.#out.assertSame();
  }

  async deliver(file: OutgoingFile): Promise<void> {
    await deliverFile(file, {
      folder: this.#out,
      mode: resultModeOf(this.#folderMode),
      marker: this.#format().resultMarker,
      ops: this.#ops,
    });
  }

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
    await this.#ensureWork();
    const isAwaiting = await this.#takeOver();
    await this.#list.run();
    if (this.#pause.leftMs > 0) return this.#pause.leftMs;
    const intervalMs = this.#settings.scanIntervalMs;
    if (isAwaiting) return this.#list.untilNext(Math.min(intervalMs, AWAIT_MS));
    if (this.#list.isBusy) return this.#list.untilNext(intervalMs);
    const startedMs = clock.monotonic();
    const { candidates, soonestMs } = await this.#scan.look(startedMs);
    this.#wakeGapMs = Math.max(WAKE_GAP_MS, 4 * (clock.monotonic() - startedMs));
    this.#scanTrouble = undefined;
    this.#heldFile = undefined;
    await this.#untaken.look();
    const names = new Set(candidates.map(({ name }) => name));
    for (const name of this.#heldSince.keys()) if (!names.has(name)) this.#heldSince.delete(name);
    for (let at = 0; at < candidates.length; at += CLAIMS_AT_ONCE) {
      if (this.#stop.signal.aborted || this.#list.isHeldUp || this.#pause.leftMs > 0) break;
      await this.#claimAll(candidates.slice(at, at + CLAIMS_AT_ONCE));
      await this.#list.run();
    }
    if (this.#pause.leftMs > 0) return this.#pause.leftMs;
    this.#looks.begin(this.#stop.signal);
    this.#pause.end();
    return this.#list.untilNext(Math.min(intervalMs, soonestMs ?? intervalMs));
  }

  /** Throws FILE_SYSTEM_ERROR where what is missing there says nothing: a share that went away leaves an empty folder. */
  async #assertFolders(): Promise<void> {
    await this.#assertSame();
    if (!(await exists(this.#work)))
      throw new Failure("FILE_SYSTEM_ERROR", `${this.#work} is not there any more`);
  }

  async #assertSame(): Promise<void> {
    await Promise.all(this.#inFolders.map((folder) => folder.assertSame()));
  }

  /** Also once more where somebody made the folder around it anew. */
  async #ensureWork(): Promise<void> {
    await this.#assertSame();
    if (await exists(this.#work)) return;
    await makeFolder(this.#work, WORK_MODE);
    await this.#ops.syncFolder(this.#settings.directories.work);
  }

  /**
   * Goes on with what earlier runs, or workers that are gone, left. Asked at once when a file lies in the work folder that is not in
   * hand, and else now and then: a file may have been moved on already, and yet not be done with. Gives whether such files have to be
   * waited for.
   */
  async #takeOver(): Promise<boolean> {
    const { clock, dropped } = this.#deps;
    const { name: connector, directories, marker } = this.#settings;
    const claims = (await readdir(this.#work)).flatMap((name) => parseClaim(this.#work, name) ?? []);
    const unknown = claims.filter(({ id }) => !this.#list.has(id));
    const isDue = clock.monotonic() >= this.#takeOverAtMs;
    if (unknown.length === 0 && !isDue) return false;
    const known = { lying: unknown, inHand: this.#list.ids };
    const { files, mayMove, isAwaiting, otherConnector } = await dropped.takeOver(connector, known);
    for (const { id, name, fate } of files)
      this.#list.add(claimOf(this.#work, id, name), { settled: fate && { fate, mayMove } });
    const taken = files.map(({ name }) => name);
    if (marker) await removeOrphanMarkers(directories.in, taken, marker);
    if (!isDue) return isAwaiting;
    this.#takeOverAtMs = clock.monotonic() + TAKE_OVER_EVERY_MS;
    this.#strangers =
      otherConnector === undefined
        ? await this.#findStrangers()
        : `${this.#work} holds files that connector ${otherConnector} took: give this one that name again until they are done`;
    return isAwaiting;
  }

  /** What another ledger's daemons have claimed and left is not ours: they may still be at work on it. */
  async #findStrangers(): Promise<string | undefined> {
    const { work, in: dropped } = this.#settings.directories;
    const { marker } = this.#settings;
    for (const entry of await readdir(work, { withFileTypes: true })) {
      const path = join(work, entry.name);
      if (path === this.#work || !entry.isDirectory()) continue;
      const lying = await readdir(path).catch((error: unknown) => errnoOf(error) ?? "unknown");
      if (lying === "ENOENT") continue;
      if (typeof lying === "string")
        return `${path} can't be looked into (${lying}): another ledger's daemon may have left files there`;
      if (!lying.some((name) => parseClaim(path, name))) continue;
      const named = `each under its own name, which stands behind the __${marker ? ", with its marker" : ""}`;
      return `${path} holds files that another ledger's daemon took: if that one is gone for good, move them to ${dropped}, ${named}`;
    }
    return undefined;
  }

  async #claimAll(candidates: readonly Candidate[]): Promise<void> {
    const { clock, dropped } = this.#deps;
    const chosen: { readonly candidate: Candidate; readonly claim: Claim }[] = [];
    for (const candidate of candidates) {
      if (await this.#isHeld(candidate)) continue;
      const claim = claimOf(this.#work, this.#ids.next(clock.now()), claimName(candidate.name));
      chosen.push({ candidate, claim });
    }
    if (chosen.length === 0) return;
    const mayMove = await dropped.claim(
      this.#settings.name,
      chosen.map(({ claim }) => claim),
    );
    const missed: string[] = [];
    let isOurs = true;
    for (const { candidate, claim } of chosen) {
      // Where one has to wait, what was dropped later must not overtake it.
      isOurs &&= mayMove();
      if (!isOurs || !(await this.#move(candidate, claim))) {
        missed.push(claim.id);
        continue;
      }
      if (candidate.markerPath) await rm(candidate.markerPath, { force: true });
      this.#list.add(claim, { expected: candidate.fingerprint });
    }
    await this.#ops.syncFolder(this.#settings.directories.in);
    await this.#ops.syncFolder(this.#work);
    if (missed.length > 0) await dropped.forget(missed);
  }

  async #move({ path }: Candidate, claim: Claim): Promise<boolean> {
    try {
      await this.#ops.rename(path, claim.path);
      return true;
    } catch (error) {
      const code = errnoOf(error) ?? "";
      // Another daemon was faster, or the writer took it back.
      if (code === "ENOENT" && (await exists(this.#work))) return false;
      if (!["EACCES", "EPERM", "EBUSY"].includes(code)) throw error;
      this.#scanTrouble = `a file in ${this.#settings.directories.in} can't be moved, ${code} (FILE_SYSTEM_ERROR)`;
      this.#deps.logger.warn(
        { err: error },
        "a dropped file can't be moved to the work folder; trying again",
      );
      return false;
    }
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
