import { createHash, hash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { type FileHandle, lstat } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Failure, type Problem } from "../../core/failures.ts";
import type { BatchOutline, Fate, FileReport, IncomingFile, Intake, Settlement } from "../../core/intake.ts";
import { FILE } from "../../core/place.ts";
import type { Claim } from "./claim.ts";
import { errnoOf, type FileOps, fingerprint, readWhole } from "./file-ops.ts";
import { narrow } from "./layout.ts";
import { Tally } from "./report.ts";
import type { FileContent, FileFormat } from "./settings.ts";

/** The ledger keeps this many of a file's problems beside the file; those of its messages it has anyway. */
const MOST_CLOSING_PROBLEMS = 1_000;

export interface DecideDeps {
  readonly connector: string;
  readonly format: FileFormat;
  readonly intake: Intake;
  readonly ops: Pick<FileOps, "openForReading">;
  /** Whether a file that may not be read has been tried for long enough: a virus scanner has it for moments only. */
  readonly isLastTry: boolean;
  /** Aborted when the connector stops: the file is then left where it is, between two batches. */
  readonly signal: AbortSignal;
}

/** What was found out about a file: what is to become of it, and how it ends in the ledger; a duplicate has no end of its own. */
export interface FileDecision {
  readonly fileId: string;
  readonly fate: Omit<Fate, "keptAs" | "day">;
  readonly close?: Settlement["close"];
}

/**
 * Reads a claimed file, offers its messages to the ledger, and says what is to become of it. When it resolves, all
 * that was taken is committed. `expected` is the fingerprint the file had when it was found to be whole.
 * Throws FILE_CHANGED when it is still being written, NotInHand, transient Failures of the ledger, and errors of the file system.
 */
export async function decideFile(claim: Claim, expected: string, deps: DecideDeps): Promise<FileDecision> {
  await narrow(claim.path);
  const opened = await openOrdinary(claim, deps);
  if ("problem" in opened) return await refuseUnread(claim, opened.problem, deps);
  const { handle } = opened;
  try {
    const requireSame = (stat: BigIntStats) => {
      if (fingerprint(stat) !== expected)
        throw new Failure("FILE_CHANGED", `file ${claim.id} changed while it was read`);
    };
    const assertUnchanged = async () => requireSame(await handle.stat({ bigint: true }));
    requireSame(opened.stat);
    const digest = createHash("sha256");
    const bytes = await readWhole(handle, Number(opened.stat.size), (piece) => digest.update(piece));
    const sha256 = digest.digest("hex");
    const content = await deps.format.examine(bytes);
    // What was read while it was written is no file that ever was.
    await assertUnchanged();
    const file = {
      connector: deps.connector,
      fileName: claim.name,
      sha256: content.isRepeatable ? hash("sha256", `${sha256} ${claim.id}`) : sha256,
      sizeBytes: bytes.length,
      dialect: content.dialect ?? deps.format.dialect,
    };
    const decision = await offer({ claim, sha256, file, content, assertUnchanged }, deps);
    if (decision.fate.folder !== "archive") return decision;
    const { ino, size, mtimeNs } = opened.stat;
    const asRead = { inode: String(ino), sizeBytes: Number(size), modifiedNs: String(mtimeNs) };
    return { ...decision, fate: { ...decision.fate, asRead } };
  } finally {
    await handle.close();
  }
}

interface ReadFile {
  readonly claim: Claim;
  /** Of its bytes, hex. */
  readonly sha256: string;
  /**
   * What the ledger knows it by: its bytes, and where the same bytes may mean something new, the drop as well, which a crash
   * doesn't change.
   */
  readonly file: IncomingFile;
  readonly content: FileContent;
  /** Throws FILE_CHANGED. */
  readonly assertUnchanged: () => Promise<void>;
}

async function offer(
  { claim, sha256, file, content, assertUnchanged }: ReadFile,
  deps: DecideDeps,
): Promise<FileDecision> {
  const { connector, intake, signal } = deps;
  const { batch } = content;
  const claimId = claim.id;
  const refusal = await findRefusal(content, deps);
  // A dry run over a large file takes a while, and of such a file nothing is taken that is not all of it.
  await assertUnchanged();
  const batches = content.batches();
  const first = refusal ? [] : (batches.next().value ?? []);
  const opening = await intake.openFile(file, claimId, first);
  const { fileId } = opening;
  if (opening.status === "duplicate") {
    const receivedAt = opening.firstReceivedAt.toISOString();
    const duplicateOf = { fileName: opening.firstFileName, receivedAt };
    const report = { ...reportOf("duplicate", { sha256, tally: new Tally() }), duplicateOf };
    return { fileId, fate: { folder: "archive", report } };
  }
  const isBegun = opening.status === "resumed";
  // What was begun before is taken to its end, unless it can't be read: then it may come again, as it is, once that can be.
  if (refusal && !(isBegun && content.problems.length === 0))
    return closing("refused", fileId, { sha256, batch, tally: refusal });
  const tally = new Tally();
  tally.add(opening.verdicts);
  for (const messages of batches) {
    signal.throwIfAborted();
    tally.add(await intake.accept({ connector, fileId, claimId }, messages));
  }
  try {
    // What was written meanwhile was not taken: the file is not done with.
    await assertUnchanged();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { code, message, place = FILE } = error;
    const end = { status: "taken", problems: [{ code, place, message }] } as const;
    // What was read is in the ledger; the file will be read again as what it has become by then.
    await intake.settleFile({ claimId, fileId, close: { end, batch } });
    throw error;
  }
  const about = { sha256, batch, tally };
  if (tally.total > 0 && tally.counts.refused === tally.total) return closing("refused", fileId, about);
  if (tally.problems.length > 0) return closing("partly-refused", fileId, about);
  return { fileId, fate: { folder: "archive" }, close: { end: { status: "taken", problems: [] }, batch } };
}

/**
 * Why nothing of the file may be taken, if so: what is wrong with the file, or with a part of one of which the profile takes all or
 * nothing, as a dry run shows.
 */
async function findRefusal(
  { problems, batches }: FileContent,
  { connector, format, intake, signal }: DecideDeps,
): Promise<Tally | undefined> {
  const tally = new Tally();
  for (const problem of problems) tally.addProblem(problem);
  if (problems.length > 0) return tally;
  if (!format.isWholeFile) return undefined;
  for (const batch of batches()) {
    signal.throwIfAborted();
    tally.add(intake.inspect(connector, batch));
    // All of it is in memory: nothing else would let others have a turn.
    await nextTurn();
  }
  if (tally.counts.refused === 0) return undefined;
  tally.refuseWhole();
  return tally;
}

interface About {
  readonly sha256?: string | undefined;
  readonly batch?: BatchOutline | undefined;
  readonly tally: Tally;
}

function closing(result: "refused" | "partly-refused", fileId: string, about: About): FileDecision {
  const problems = about.tally.problems.slice(0, MOST_CLOSING_PROBLEMS);
  const isRefused = result === "refused";
  return {
    fileId,
    fate: { folder: isRefused ? "error" : "archive", report: reportOf(result, about) },
    close: { end: { status: isRefused ? "refused" : "taken", problems }, batch: about.batch },
  };
}

/** The ledger knows of it, too, so that a person who never looks into the folders sees that it was refused. */
async function refuseUnread(claim: Claim, problem: Problem, deps: DecideDeps): Promise<FileDecision> {
  const { connector } = deps;
  const { dialect } = deps.format;
  const sha256 = hash("sha256", `not read ${claim.id}`);
  const file = { connector, fileName: claim.name, sha256, sizeBytes: 0, dialect };
  const { fileId } = await deps.intake.openFile(file, claim.id, []);
  const tally = new Tally();
  tally.addProblem(problem);
  return closing("refused", fileId, { tally });
}

function reportOf(result: FileReport["result"], { sha256, tally }: About): FileReport {
  const { counts, problems, waiting, moreProblems } = tally;
  return { result, sha256, counts, problems, waiting, moreProblems };
}

interface OpenedFile {
  readonly handle: FileHandle;
  readonly stat: BigIntStats;
}

/** Looks before it opens, opens without following or waiting, and looks again at what it has got. */
async function openOrdinary(
  claim: Claim,
  { format: { maxBytes }, ops, isLastTry }: DecideDeps,
): Promise<OpenedFile | { problem: Problem }> {
  const before = await lstat(claim.path, { bigint: true });
  const problem = oddity(before) ?? tooLarge(before.size, maxBytes);
  if (problem) return { problem };
  let handle: FileHandle;
  try {
    handle = await ops.openForReading(claim.path);
  } catch (error) {
    const code = errnoOf(error) ?? "";
    if (["ELOOP", "ENXIO", "EISDIR"].includes(code)) return { problem: notRegular("no ordinary file") };
    if (!isLastTry || !["EACCES", "EPERM"].includes(code)) throw error;
    return {
      problem: { code: "FILE_UNREADABLE", place: FILE, message: `the file may not be read (${code})` },
    };
  }
  const stat = await handle.stat({ bigint: true });
  const late = oddity(stat);
  if (!late) return { handle, stat };
  await handle.close();
  return { problem: late };
}

function oddity(stat: BigIntStats): Problem | undefined {
  if (stat.isSymbolicLink()) return notRegular("a symbolic link");
  if (stat.isDirectory()) return notRegular("a folder");
  if (stat.isFIFO()) return notRegular("a named pipe");
  if (stat.isSocket()) return notRegular("a socket");
  if (!stat.isFile()) return notRegular("a device");
  // Another name of the same file would still let its owner change what was taken.
  if (stat.nlink > 1n) return notRegular(`a hard link: the same file has ${stat.nlink} names`);
  return undefined;
}

function notRegular(what: string): Problem {
  return { code: "FILE_NOT_REGULAR", place: FILE, message: `expected an ordinary file, found ${what}` };
}

function tooLarge(sizeBytes: bigint, maxBytes: number): Problem | undefined {
  if (sizeBytes <= maxBytes) return undefined;
  const message = `the file has ${sizeBytes} bytes; expected at most ${maxBytes}`;
  return { code: "FILE_TOO_LARGE", place: FILE, message };
}
