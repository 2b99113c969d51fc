import { randomBytes } from "node:crypto";
import { rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { openRehearsal, type ReadBackup } from "../../../app/open-ledger.ts";
import { MOST_REMAPPED, type RemapDifference, type Remapped, remapKept } from "../../../app/remap.ts";
import { formatMinute } from "../../../core/duration.ts";
import { asFailure, FAILURES, Failure } from "../../../core/failures.ts";
import { readBackup } from "../../../ledger/backup/file.ts";
import { listFacilitiesInUse } from "../../../ledger/operator/in-use.ts";
import type { Profile } from "../../../mapping/profile/profile.ts";
import { counted } from "../../../operator/text.ts";
import { EXIT } from "../../exit-status.ts";
import type { OpenSite } from "../../open.ts";
import type { Session } from "../../session.ts";
import { checkOrphaned, checkQueue } from "./database-and-queue.ts";
import { type Finding, type Findings, failed, failedBy, ok, warning } from "./report.ts";

type SiteConfig = OpenSite["config"];

const SUBJECT = "rehearsal";
const BACK_UP =
  "With the release that runs, `cryobridge backup FILE`, which also works while daemons run; then `cryobridge check --against FILE`.";

/**
 * Rehearses an upgrade: has this release and configuration work with a copy of an older ledger. The backup is only read, and
 * the copy is removed, also after Ctrl-C.
 */
export async function* checkAgainst(
  config: SiteConfig,
  profiles: ReadonlyMap<string, Profile>,
  old: string,
  session: Session,
): Findings {
  const stopping = new AbortController();
  const unsubscribe = session.io.onStop?.(() => stopping.abort());
  const folder = join(tmpdir(), `cryobridge-check-${randomBytes(4).toString("hex")}`);
  try {
    yield* rehearse(config, profiles, { old: resolve(old), folder, signal: stopping.signal }, session);
  } catch (error) {
    if (stopping.signal.aborted) yield failed(SUBJECT, "it was interrupted, and the copy was removed");
    else yield failedBy(SUBJECT, error, EXIT.failed);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    unsubscribe?.();
  }
}

interface Rehearsal {
  /** The backup's full path. */
  readonly old: string;
  /** Of the copy. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

async function* rehearse(
  config: SiteConfig,
  profiles: ReadonlyMap<string, Profile>,
  rehearsal: Rehearsal,
  session: Session,
): Findings {
  const { folder, signal } = rehearsal;
  const { clock, logger } = session;
  const backup = yield* readOldBackup(rehearsal);
  if (backup === undefined) return;
  signal.throwIfAborted();
  const startedAt = clock.monotonic();
  const ledger = await openRehearsal(folder, backup, { clock, logger });
  try {
    const seconds = ((clock.monotonic() - startedAt) / 1_000).toFixed(1);
    yield ok(SUBJECT, `the copy opens, with its tables as this release needs them, in ${seconds} s`);
    signal.throwIfAborted();
    const site = { ...ledger, config };
    // The jobs of a server of Redis are not in the copy.
    if (config.queue.backend === "postgres") yield* await checkQueue(site, session);
    yield* await checkOrphaned(site);
    yield* checkFacilities(site);
    for await (const remapped of remapKept(ledger.pool, config, profiles, signal)) yield* wordsOf(remapped);
  } finally {
    await ledger.close();
  }
}

/** Undefined after a finding that says why it can't be put in. */
async function* readOldBackup({ old, signal }: Rehearsal): Findings<ReadBackup | undefined> {
  let characters = 0;
  const reading = readBackup(old, (part) => {
    signal.throwIfAborted();
    if (part.kind === "row") characters += part.json.length;
  });
  const content = await reading.catch((error: unknown) => {
    signal.throwIfAborted();
    return asFailure(error);
  });
  if (content instanceof Failure) {
    const { message, code } = content;
    yield failed(SUBJECT, `${message} (${code})`, BACK_UP, undefined, { code });
    return undefined;
  }
  const { head, rows } = content;
  const made = `release ${head.version} made it at ${head.madeAt}`;
  yield ok(SUBJECT, `${old} is a whole backup of ${rows} rows; ${made}`);
  const hasRoom = yield* checkRoom(characters * BYTES_A_CHARACTER);
  return hasRoom ? { file: old, head } : undefined;
}

/** Rows of a database, with their indexes and the log of writing them, take about this much for each character of a backup. */
const BYTES_A_CHARACTER = 3;
const MB = 1024 ** 2;

/** Says how much room the copy takes before it is made. */
async function* checkRoom(bytes: number): Findings<boolean> {
  const place = tmpdir();
  const { bavail, bsize } = await statfs(place);
  const free = bavail * bsize;
  const words = `the copy takes about ${Math.ceil(bytes / MB)} MB in ${place}, where ${Math.floor(free / MB)} MB are free`;
  if (free > bytes + SPARE) yield ok(SUBJECT, words);
  else yield failed(SUBJECT, words, "Name a folder with more room in the environment variable TMPDIR.");
  return free > bytes + SPARE;
}

/** For what the server writes besides. */
const SPARE = 200 * MB;

/** Warns of facilities that orders name and the configuration lacks, or has under another id. */
async function* checkFacilities({ pool, config }: OpenSite): Findings {
  const facilities = await listFacilitiesInUse(pool);
  const open = facilities.reduce((sum, each) => sum + each.open, 0);
  yield ok("orders", `${counted(open, "open order")} would go on`);
  for (const { facilityCode, facilityId, open, lately } of facilities) {
    if (open === 0 && lately === 0) continue;
    const id = config.facilityIdByCode.get(facilityCode);
    if (id === facilityId) continue;
    const used = `${counted(open, "open order")} and ${counted(lately, "order")} of the last 90 days have it`;
    const what =
      id === undefined
        ? `the section facilities lacks it: new messages with it would wait`
        : `its id is ${id} in the section facilities: new orders go there`;
    yield warning(`facility ${facilityCode} (id ${facilityId})`, `${used}, and ${what}`);
  }
}

/** How many messages of one kind of difference are named. */
const MOST_NAMED = 5;

function* wordsOf({ connector, compared, since, differences }: Remapped): Generator<Finding> {
  const subject = `messages of ${connector}`;
  if (compared === 0) return yield ok(subject, "the ledger keeps none that could be mapped again");
  const from = since === undefined ? "" : ` since ${formatMinute(since)}`;
  const all =
    compared < MOST_REMAPPED
      ? `all ${compared} that the ledger keeps${from}`
      : `the newest ${compared}${from}`;
  const groups = Map.groupBy(differences, ({ was, is, what }) => `${was} ${is} ${what.join(", ")}`);
  if (groups.size === 0) yield ok(subject, `${all} come to the same as before`);
  for (const group of groups.values()) yield findingOf(subject, group, all);
}

function findingOf(subject: string, group: readonly RemapDifference[], all: string): Finding {
  const { was, is, what } = group[0] as RemapDifference;
  const ids = group.slice(0, MOST_NAMED).map(({ messageId }) => messageId);
  const more = group.length > ids.length ? ` and ${group.length - ids.length} more` : "";
  const many = `${group.length} of ${all} (${ids.join(", ")}${more})`;
  if (was === is)
    return warning(subject, `${many}: the orders would differ in ${what.join(", ")}`, HINT_DIFFERENT);
  const why = what.length === 0 ? "" : `: ${what.join(", ")}`;
  const text = `${many}: ${VERB[was]} then, would be ${VERB[is]} now${why}`;
  if (was !== "accepted") return warning(subject, text, HINT_DIFFERENT);
  const code = what.find((each) => each in FAILURES) as keyof typeof FAILURES | undefined;
  return failed(subject, text, code === undefined ? HINT_DIFFERENT : FAILURES[code].hint);
}

const HINT_DIFFERENT =
  "Compare with the release that runs: `cryobridge messages show ID`. If this is not wanted, correct the profile.";
const VERB = {
  ...{ accepted: "accepted", duplicate: "a duplicate", refused: "refused" },
  ...{ ignored: "ignored", waiting: "waiting for a code" },
} as const;
