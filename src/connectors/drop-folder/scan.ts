import type { BigIntStats } from "node:fs";
import { lstat, opendir, rm } from "node:fs/promises";
import { join, sep } from "node:path";
import { kindOf, splitExtension } from "../../core/file-name.ts";
import type { UntakenReason } from "../../core/untaken-files.ts";
import { errnoOf, fingerprint } from "./file-ops.ts";

const STEM = "{stem}";

/**
 * The name of the marker that announces a file. `marker` is `.ok` for `order.csv.ok`, or `{stem}.ok` for `order.ok`, which
 * announces each file of that stem.
 */
export function markerName(fileName: string, marker: string): string {
  if (!marker.startsWith(STEM)) return fileName + marker;
  return splitExtension(fileName).stem + endingOf(marker);
}

/** Senders write markers in any case; on some systems names differ in nothing else. Only the letters of ASCII are folded. */
const folded = (key: string) => key.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const isMarker = (key: string, marker: string) => folded(key).endsWith(folded(endingOf(marker)));

const endingOf = (marker: string) => (marker.startsWith(STEM) ? marker.slice(STEM.length) : marker);

/** How many of the oldest entries one scan looks after; the others have their turn once these are taken. */
const WINDOW = 10_000;
const STATS_AT_ONCE = 64;

/** Something in the drop folder that is whole and may be claimed. */
export interface Candidate {
  /** Path with the very bytes of the name, which need not be valid UTF-8. */
  readonly path: Buffer;
  /** The name as text. */
  readonly name: string;
  readonly fingerprint: string;
  /** The marker file that announced it. */
  readonly markerPath?: Buffer | undefined;
}

/** How many names of a reason are looked at; a folder may hold very many of them. */
const MOST_OF_A_REASON = 1_000;

type PassedOver = ReadonlyMap<UntakenReason, readonly Buffer[]>;

interface Entry {
  /** One character a byte, so that no name is changed by decoding it. */
  readonly key: string;
  readonly mtimeNs: bigint;
  readonly fingerprint: string;
  /** The marker that announces it. */
  readonly markerKey: string | undefined;
}

/** Looks through a drop folder and says what in it is whole, oldest first. */
export class FolderScan {
  readonly #folder: string;
  readonly #marker: string | undefined;
  readonly #files: RegExp | undefined;
  readonly #window: number;
  readonly #stability: Stability;
  /** Markers found at the first look may be left over from files taken before a crash: they alone prove nothing. */
  #oldMarkers: Set<string> | undefined;
  #passedOver: PassedOver = new Map();

  constructor(
    folder: string,
    settings: {
      stableForMs: number;
      marker?: string | undefined;
      files?: string | undefined;
      window?: number;
    },
  ) {
    this.#folder = folder;
    this.#marker = settings.marker;
    this.#files = settings.files === undefined ? undefined : namePattern(settings.files);
    this.#window = settings.window ?? WINDOW;
    this.#stability = new Stability(settings.stableForMs);
  }

  /**
   * One look at the folder, at monotonic time `nowMs`. Memory is bounded by the window, not by the folder.
   * `soonestMs` is when the next look could find more.
   */
  async look(nowMs: number): Promise<{ candidates: Candidate[]; soonestMs: number | undefined }> {
    const { entries, markers } = await this.#oldestEntries();
    this.#oldMarkers ??= markers;
    for (const key of this.#oldMarkers) if (!markers.has(key)) this.#oldMarkers.delete(key);
    this.#stability.beginRound();
    const candidates: Candidate[] = [];
    for (const entry of entries) {
      const isStable = this.#stability.look(entry.key, entry.fingerprint, nowMs);
      const { markerKey } = entry;
      const isAnnounced = markerKey !== undefined && !this.#oldMarkers.has(markerKey);
      if (!isStable && !isAnnounced) continue;
      candidates.push({
        path: this.#pathOf(entry.key),
        name: nameOf(entry.key),
        fingerprint: entry.fingerprint,
        markerPath: markerKey === undefined ? undefined : this.#pathOf(markerKey),
      });
    }
    return { candidates, soonestMs: this.#stability.endRound(nowMs) };
  }

  /** What the last look passed over. */
  get passedOver(): PassedOver {
    return this.#passedOver;
  }

  /** See {@link Stability.listChanging}. */
  listChanging(nowMs: number, afterMs: number): { readonly count: number; readonly longestMs: number } {
    return this.#stability.listChanging(nowMs, afterMs);
  }

  async #oldestEntries(): Promise<{ entries: Entry[]; markers: Set<string> }> {
    const markers = this.#marker ? await this.#listMarkers(this.#marker) : new Map<string, string>();
    let entries: Entry[] = [];
    let waiting: { readonly key: string; readonly markerKey: string | undefined }[] = [];
    const statWaiting = async () => {
      const stats = await Promise.all(waiting.map(({ key, markerKey }) => this.#stat(key, markerKey)));
      for (const entry of stats) if (entry) entries.push(entry);
      waiting = [];
      if (entries.length > 2 * this.#window) entries = oldest(entries, this.#window);
    };
    const passedOver = new Map<UntakenReason, Buffer[]>();
    const passOver = (reason: UntakenReason, key: string) => {
      const paths = passedOver.get(reason) ?? [];
      if (paths.length < MOST_OF_A_REASON) paths.push(this.#pathOf(key));
      passedOver.set(reason, paths);
    };
    const lone = new Set(markers.values());
    const exact = new Set<string>();
    for await (const key of listFolder(this.#folder)) {
      if (this.#marker !== undefined && isMarker(key, this.#marker)) continue;
      const markerKey = this.#marker && markers.get(folded(markerName(key, this.#marker)));
      if (markerKey !== undefined) lone.delete(markerKey);
      if (this.#marker && markerKey === markerName(key, this.#marker)) exact.add(markerKey);
      const name = nameOf(key);
      const kind = kindOf(name);
      if (kind === "litter") continue;
      const reason =
        kind === "unfinished" || this.#files?.test(name) === false
          ? "name"
          : this.#marker !== undefined && markerKey === undefined
            ? "marker"
            : undefined;
      if (reason !== undefined) {
        passOver(reason, key);
        continue;
      }
      waiting.push({ key, markerKey });
      if (waiting.length === STATS_AT_ONCE) await statWaiting();
    }
    await statWaiting();
    for (const key of lone) passOver("lone_marker", key);
    this.#passedOver = passedOver;
    // Of two files whose names differ in case alone, a marker announces the one that it is named after.
    const announced = entries.filter(
      ({ key, markerKey }) =>
        markerKey === undefined || !exact.has(markerKey) || markerKey === markerName(key, this.#marker ?? ""),
    );
    return { entries: oldest(announced, this.#window), markers: new Set(markers.values()) };
  }

  /** The markers that are there, by their names without case. */
  async #listMarkers(marker: string): Promise<Map<string, string>> {
    const markers = new Map<string, string>();
    for await (const key of listFolder(this.#folder)) {
      if (isMarker(key, marker) && kindOf(nameOf(key)) === "dropped") markers.set(folded(key), key);
    }
    return markers;
  }

  async #stat(key: string, markerKey: string | undefined): Promise<Entry | undefined> {
    let stat: BigIntStats;
    try {
      stat = await lstat(this.#pathOf(key), { bigint: true });
    } catch (error) {
      // Taken by another daemon, or removed again by its writer.
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
    // A hard link that is made and removed is how careful writers publish: only what stays linked is refused later.
    return { key, mtimeNs: stat.mtimeNs, fingerprint: `${fingerprint(stat)}`, markerKey };
  }

  #pathOf(key: string): Buffer {
    return Buffer.concat([Buffer.from(this.#folder + sep), Buffer.from(key, "latin1")]);
  }
}

/** Removes the markers of files that were claimed, unless a file that they announce is there again or still. */
export async function removeOrphanMarkers(
  folder: string,
  claimed: readonly string[],
  marker: string,
): Promise<void> {
  const orphans = new Set(claimed.map((name) => folded(markerName(name, marker))));
  if (orphans.size === 0) return;
  const markers: string[] = [];
  for await (const key of listFolder(folder)) {
    const name = nameOf(key);
    if (!isMarker(name, marker)) orphans.delete(folded(markerName(name, marker)));
    else if (orphans.has(folded(name))) markers.push(name);
  }
  for (const name of markers) if (orphans.has(folded(name))) await rm(join(folder, name), { force: true });
}

/** Names in a folder, one character a byte, without holding them all. */
async function* listFolder(folder: string): AsyncGenerator<string> {
  const directory = await opendir(folder, { encoding: "latin1", bufferSize: 512 });
  for await (const entry of directory) yield entry.name;
}

/** Names that a pattern with `*` and `?` describes. */
function namePattern(pattern: string): RegExp {
  const source = pattern
    .replace(/[\\^$.+()[\]{}|/-]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`, "isu");
}

function nameOf(key: string): string {
  return Buffer.from(key, "latin1").toString("utf8");
}

/** By age, then by name, so that nothing waits for what came later. */
function oldest(entries: Entry[], count: number): Entry[] {
  entries.sort((a, b) =>
    a.mtimeNs === b.mtimeNs ? (a.key < b.key ? -1 : 1) : a.mtimeNs < b.mtimeNs ? -1 : 1,
  );
  return entries.length > count ? entries.slice(0, count) : entries;
}

interface Seen {
  readonly fingerprint: string;
  /** Since when it has been so. */
  readonly sinceMs: number;
  readonly firstMs: number;
}

/**
 * Says when something has stopped changing: its fingerprint was the same at two looks at least `stableForMs` apart.
 * Size alone would prove nothing, since some servers set the final size before the first byte is written.
 */
class Stability {
  readonly #stableForMs: number;
  #seen = new Map<string, Seen>();
  #next = new Map<string, Seen>();

  constructor(stableForMs: number) {
    this.#stableForMs = stableForMs;
  }

  /** Begins a round of looks; what is not looked at until {@link endRound} is forgotten. */
  beginRound(): void {
    this.#next = new Map();
  }

  /** One look. `nowMs` is monotonic time. True when it has rested long enough. */
  look(key: string, fingerprint: string, nowMs: number): boolean {
    const before = this.#seen.get(key);
    const isSame = before?.fingerprint === fingerprint;
    const sinceMs = isSame ? before.sinceMs : nowMs;
    this.#next.set(key, { fingerprint, sinceMs, firstMs: before?.firstMs ?? nowMs });
    return isSame && nowMs - sinceMs >= this.#stableForMs;
  }

  /** How many have not come to rest for this long since they were first seen, and the longest of these times, ms. */
  listChanging(nowMs: number, afterMs: number): { readonly count: number; readonly longestMs: number } {
    let count = 0;
    let longestMs = 0;
    for (const { sinceMs, firstMs } of this.#seen.values()) {
      if (nowMs - firstMs < afterMs || nowMs - sinceMs >= this.#stableForMs) continue;
      count += 1;
      longestMs = Math.max(longestMs, nowMs - firstMs);
    }
    return { count, longestMs };
  }

  /** Ends the round. Returns how long until the first of those that are still resting could be stable, ms. */
  endRound(nowMs: number): number | undefined {
    this.#seen = this.#next;
    let soonest: number | undefined;
    for (const { sinceMs } of this.#seen.values()) {
      const leftMs = Math.max(0, sinceMs + this.#stableForMs - nowMs);
      if (leftMs > 0 && (soonest === undefined || leftMs < soonest)) soonest = leftMs;
    }
    return soonest;
  }
}
