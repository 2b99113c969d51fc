import { readFileSync, readlinkSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { EVERY_MS } from "../../core/every.ts";
import { ClaimIds, isClaimId } from "./claim.ts";
import { errnoOf, exists, type FileOps, writeDurably } from "./file-ops.ts";

const OWNER_FILE = ".owner";
const UNFINISHED = ".new";
/** Five heartbeats. A daemon that is only slow loses its files, not their safety: the ledger takes each message once. */
const LEASE_MS = 10_000;

/**
 * This daemon's own folder under `work/`. Several daemons may share a drop folder: each keeps what it claimed apart,
 * shows by a heartbeat that it lives, and takes over what a dead one left.
 *
 * The ledger's list of workers is no proof of that: a worker's number ends whenever the ledger is away for some seconds,
 * while the process goes on with the files that it has in hand; and files may be left by a daemon of another ledger.
 */
export class WorkInstance {
  readonly #workFolder: string;
  readonly #clock: Clock;
  readonly #ops: FileOps;
  readonly #identity: ProcessIdentity;
  readonly #heartbeatsSeen = new Map<string, { mtimeMs: number; sinceMs: number }>();
  #folder = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(workFolder: string, deps: { clock: Clock; ops: FileOps; identity: ProcessIdentity }) {
    this.#workFolder = workFolder;
    this.#clock = deps.clock;
    this.#ops = deps.ops;
    this.#identity = deps.identity;
  }

  /** The folder; empty until the first {@link ensure}. */
  get folder(): string {
    return this.#folder;
  }

  /**
   * Makes the folder, with its owner in it from the first moment, and starts the heartbeat; also once more after
   * another daemon took us for dead and took the folder over.
   */
  async ensure(): Promise<void> {
    if (this.#folder !== "" && (await exists(join(this.#folder, OWNER_FILE)))) return;
    const folder = join(this.#workFolder, new ClaimIds().next(this.#clock.now()));
    const temporary = folder + UNFINISHED;
    await mkdir(temporary, { mode: 0o700 });
    await writeDurably(join(temporary, OWNER_FILE), JSON.stringify(this.#identity));
    await rename(temporary, folder);
    await this.#ops.syncFolder(this.#workFolder);
    this.#folder = folder;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => void this.#beat(), EVERY_MS.folderHeartbeat);
    this.#timer.unref();
  }

  /** Lets go: what is still in the folder may be taken over at once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#folder === "") return;
    await rm(join(this.#folder, OWNER_FILE), { force: true });
    await rmdir(this.#folder).catch(() => undefined);
    this.#folder = "";
  }

  /** Moves the files of daemons that are gone into our folder. Returns whether there were any. */
  async adopt(): Promise<boolean> {
    let hasAdopted = false;
    for (const name of await readdir(this.#workFolder)) {
      const folder = join(this.#workFolder, name);
      if (folder === this.#folder || !isClaimId(withoutSuffix(name))) continue;
      if (await this.#isGone(folder)) hasAdopted = (await this.#takeOver(name)) || hasAdopted;
    }
    // A take-over that was itself cut off left the other's folder within ours.
    for (const name of await readdir(this.#folder)) {
      if (!isClaimId(withoutSuffix(name))) continue;
      await this.#empty(join(this.#folder, name));
      hasAdopted = true;
    }
    if (hasAdopted) await this.#ops.syncFolder(this.#folder);
    return hasAdopted;
  }

  async #isGone(folder: string): Promise<boolean> {
    try {
      const owner = parseIdentity(await readFile(join(folder, OWNER_FILE), "utf8"));
      if (owner && isCertainlyGone(owner, this.#identity)) return true;
      return this.#isSilent(folder, (await stat(join(folder, OWNER_FILE))).mtimeMs);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
      // A folder being made has its owner last, under a name of its own; any other without an owner was let go.
      return folder.endsWith(UNFINISHED) ? this.#isSilent(folder, 0) : true;
    }
  }

  /** No heartbeat for the lease, by our own monotonic clock: the clocks of two machines are never compared. */
  #isSilent(folder: string, mtimeMs: number): boolean {
    const nowMs = this.#clock.monotonic();
    const seen = this.#heartbeatsSeen.get(folder);
    if (seen?.mtimeMs === mtimeMs) return nowMs - seen.sinceMs >= LEASE_MS;
    this.#heartbeatsSeen.set(folder, { mtimeMs, sinceMs: nowMs });
    return false;
  }

  /** The whole folder in one step, so that a file and what was written about it never part. */
  async #takeOver(name: string): Promise<boolean> {
    this.#heartbeatsSeen.delete(join(this.#workFolder, name));
    try {
      await this.#ops.rename(join(this.#workFolder, name), join(this.#folder, name));
      return true;
    } catch (error) {
      // Another daemon was faster.
      if (errnoOf(error) === "ENOENT") return false;
      throw error;
    }
  }

  async #empty(folder: string): Promise<void> {
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      if (name === OWNER_FILE) continue;
      if (isClaimId(withoutSuffix(name))) await this.#empty(path);
      else await this.#ops.rename(path, join(this.#folder, name));
    }
    await rm(join(folder, OWNER_FILE), { force: true });
    await rmdir(folder);
  }

  async #beat(): Promise<void> {
    const now = new Date(this.#clock.now());
    // A folder that is gone was taken over; the files in it are no longer ours, as each next step finds by itself.
    await utimes(join(this.#folder, OWNER_FILE), now, now).catch(() => undefined);
  }
}

function withoutSuffix(name: string): string {
  return name.endsWith(UNFINISHED) ? name.slice(0, -UNFINISHED.length) : name;
}

function parseIdentity(text: string): ProcessIdentity | undefined {
  try {
    const { place, pid, startedAt } = JSON.parse(text) as Partial<ProcessIdentity>;
    if (typeof place !== "string" || typeof pid !== "number" || typeof startedAt !== "string")
      return undefined;
    return { place, pid, startedAt };
  } catch {
    return undefined;
  }
}

/** A running process, distinguished from every other one that may share a drop folder with it. */
export interface ProcessIdentity {
  /** The machine's boot and process namespace: within one place a process number has one meaning. */
  readonly place: string;
  readonly pid: number;
  /** Start time of the process as the kernel has it, so that a reused number is not mistaken; empty where unknown. */
  readonly startedAt: string;
}

/** Who this process is. */
export function currentIdentity(): ProcessIdentity {
  return { place: currentPlace(), pid: process.pid, startedAt: startOf(process.pid) };
}

/**
 * Whether a process is certainly gone, seen from `viewer`. False when it runs, and also when it can't be known
 * because it belongs to another machine or container.
 */
function isCertainlyGone(owner: ProcessIdentity, viewer: ProcessIdentity): boolean {
  if (owner.place !== viewer.place) return false;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  const startedAt = startOf(owner.pid);
  return startedAt !== "" && owner.startedAt !== "" && startedAt !== owner.startedAt;
}

function currentPlace(): string {
  const boot = attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim());
  const namespace = attempt(() => readlinkSync("/proc/self/ns/pid"));
  return `${hostname()} ${boot} ${namespace}`.trim();
}

/** Field 22 of /proc/PID/stat; the process name before it may hold spaces and brackets. */
function startOf(pid: number): string {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

function attempt(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
