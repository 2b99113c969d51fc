import type { Command } from "commander";
import { Failure } from "../../core/failures.ts";
import { type AuditChain, verifyAudit } from "../../ledger/operator/audit-chain.ts";
import { auditNoteFile, findNoteFault } from "../../ledger/operator/audit-note.ts";
import { AUDIT_LIST } from "../../operator/lists/audit.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { defineList } from "../list-command.ts";
import { withLedger } from "../open.ts";
import { withProgress } from "../output/progress.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge audit …`. */
export function define(audit: Command, cli: Cli): void {
  defineList(audit, cli, AUDIT_LIST, {
    ...{ isDefault: true, examples: ["cryobridge audit list --actor grau --since 7d"] },
  });
  audit
    .command("verify")
    .description(
      "Check that no entry was changed or removed, also at the end, and show the number and hash of the last one.",
    )
    .option("--expect <hash>", "a hash that was noted earlier: says whether its entry is still there")
    .addHelpText("after", "\nExample:\n  cryobridge audit verify")
    .action(toAction(cli, verify));
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
