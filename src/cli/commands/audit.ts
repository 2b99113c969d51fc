import type { Command } from "commander";
import { Failure } from "../../core/failures.ts";
import { type AuditEntry, listAudit } from "../../ledger/operator/audit.ts";
import { type AuditChain, verifyAudit } from "../../ledger/operator/audit-chain.ts";
import { auditNoteFile, findNoteFault } from "../../ledger/operator/audit-note.ts";
import { AUDIT_COLUMNS } from "../../operator/audit-columns.ts";
import { parseSince } from "../../operator/times.ts";
import { wholeNumber } from "../arguments.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { withProgress } from "../output/progress.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge audit …`. */
export function define(audit: Command, cli: Cli): void {
  audit
    .command("list", { isDefault: true })
    .description("List what was done and seen, newest first.")
    .option(
      "--actor <name>",
      "only what this person, connector or worker did, on the command line and in the console",
    )
    .option("--target <id>", "only what was done to this, such as o17 or m12")
    .option("--action <word>", "only this act, as --json names it, such as show-phi")
    .option("--since <time>", "only since: 2h, 3d, or 2026-11-21T08:00")
    .option("--limit <n>", "at most this many", wholeNumber(1, 10_000), 50)
    .option("--before <n>", "the next page: only entries before the one of this number", wholeNumber(1))
    .addHelpText("after", "\nExample:\n  cryobridge audit list --actor grau --since 7d")
    .action(toAction(cli, listEntries));
  audit
    .command("verify")
    .description(
      "Check that no entry was changed or removed, also at the end, and show the number and hash of the last one.",
    )
    .option("--expect <hash>", "a hash that was noted earlier: says whether its entry is still there")
    .addHelpText("after", "\nExample:\n  cryobridge audit verify")
    .action(toAction(cli, verify));
}

interface ListOptions {
  readonly actor?: string;
  readonly target?: string;
  readonly action?: string;
  readonly since?: string;
  readonly limit: number;
  readonly before?: number;
}

const ENTRIES = {
  key: "entries",
  columns: AUDIT_COLUMNS,
  nothing: "Nobody did anything of that kind.",
  nextPage: ({ id }: AuditEntry) => `--before ${id}`,
};

async function listEntries(
  session: Session,
  { since: from, limit, before: beforeId, ...filter }: ListOptions,
): Promise<undefined> {
  const since = parseSince(from, session);
  const entries = await withLedger(session, ({ pool }) =>
    listAudit(pool, { ...filter, since, beforeId, limit: limit + 1 }),
  );
  printList(session, ENTRIES, entries, limit);
}

/** Status 1 when an entry doesn't fit, or none has the expected hash. */
async function verify(
  session: Session,
  { expect }: { readonly expect?: string },
): Promise<ExitStatus | undefined> {
  const expected = expect?.toLowerCase();
  if (expected !== undefined && !/^[0-9a-f]{64}$/.test(expected))
    throw new Failure("CLI_USAGE", `--expect ${expect}: expected the 64 digits that audit verify shows`);
  const progressing = { what: "audit verify", nouns: "entries" };
  const chain = await withLedger(session, async ({ pool, config }) => {
    const noteFault = await findNoteFault(pool, auditNoteFile(config.epochFile));
    const found = await withProgress(session, progressing, (report) => verifyAudit(pool, expected, report));
    return { ...found, fault: found.fault ?? noteFault };
  });
  const { count, last, fault, expectedNumber } = chain;
  const isMissing = expected !== undefined && expectedNumber === undefined;
  const isWhole = fault === undefined && !isMissing;
  session.result(
    {
      isWhole,
      entries: count,
      last: last === undefined ? null : { number: last.number, hash: last.hash },
      fault: fault ?? null,
      expectedNumber: expectedNumber ?? null,
    },
    wordsOf(session, chain, isMissing),
  );
  return isWhole ? undefined : EXIT.failed;
}

function wordsOf(
  session: Session,
  { last, fault, expectedNumber }: AuditChain,
  isMissing: boolean,
): readonly string[] {
  const good = session.paint("green", "✓");
  const bad = session.paint("red", "✗");
  const lines: string[] = [];
  if (fault) {
    const which = fault.number === undefined ? "" : `entry ${fault.number} does not fit: `;
    lines.push(`${bad} ${which}${fault.why}`);
  }
  if (last === undefined) lines.push(fault ? "No entry before it." : "The audit has no entries yet.");
  else {
    lines.push(`${fault ? "" : `${good} `}entries 1 to ${last.number} fit`);
    lines.push(`  the hash of entry ${last.number} is ${last.hash}`);
  }
  if (isMissing) lines.push(`${bad} no entry${fault ? " before it" : ""} has the expected hash`);
  if (expectedNumber !== undefined) lines.push(`${good} entry ${expectedNumber} has the expected hash`);
  return lines;
}
