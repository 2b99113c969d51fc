import type { Command } from "commander";
import type { Config } from "../../config/config.ts";
import { readTankAges } from "../../jobs/refills/tanks.ts";
import { type LedgerRefill, listRefills } from "../../ledger/refills.ts";
import { REFILL_COLUMNS, TANK_COLUMNS } from "../../operator/refill-columns.ts";
import { parseSince } from "../../operator/times.ts";
import { wholeNumber } from "../arguments.ts";
import { facilityIdOf, readConfig, withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge refills …`. */
export function define(refills: Command, cli: Cli): void {
  refills
    .command("list", { isDefault: true })
    .description("List refills, latest change first.")
    .option("--facility <name>", "only refills of this facility, by its name in the configuration")
    .option("--since <time>", "only refills that changed since: 2h, 3d, or 2026-11-21T08:00")
    .option("--limit <n>", "at most this many", wholeNumber(1, 10_000), 50)
    .option(
      "--before <n>",
      "the next page: what comes after the refill of this number in the list",
      wholeNumber(1),
    )
    .addHelpText("after", "\nExample:\n  cryobridge refills list --facility NORTH --since 7d")
    .action(toAction(cli, list));
  refills
    .command("tanks")
    .description("List tanks with their last completed refill, those without one for longest first.")
    .option("--facility <name>", "only tanks of this facility, by its name in the configuration")
    .addHelpText("after", "\nExample:\n  cryobridge refills tanks")
    .action(toAction(cli, listTanks));
}

interface ListOptions {
  readonly facility?: string;
  readonly since?: string;
  readonly limit: number;
  readonly before?: number;
}

const REFILLS = {
  key: "refills",
  columns: REFILL_COLUMNS,
  nothing: "No refills.",
  nextPage: ({ ledgerId }: LedgerRefill) => `--before ${ledgerId}`,
};

async function list(
  session: Session,
  { facility, since: from, limit, before: beforeId }: ListOptions,
): Promise<undefined> {
  const since = parseSince(from, session);
  const config = readConfig(session);
  const filter = { facilityId: facilityIdOf(config, facility), since, beforeId, limit: limit + 1 };
  const refills = await withLedger(session, ({ pool }) => listRefills(pool, filter), config);
  noteUnfollowed(config, session);
  printList(session, REFILLS, refills, limit);
}

async function listTanks(session: Session, { facility }: { readonly facility?: string }): Promise<undefined> {
  const config = readConfig(session);
  // Only for its refusal of a name that the configuration doesn't have.
  facilityIdOf(config, facility);
  const limits = config.refills ?? { limitByTank: new Map() };
  const now = session.clock.now();
  const all = await withLedger(session, ({ pool }) => readTankAges(pool, limits, now), config);
  const tanks = all.filter(({ facilityCode }) => facility === undefined || facilityCode === facility);
  noteUnfollowed(config, session);
  printList(session, { key: "tanks", columns: TANK_COLUMNS, nothing: "No tanks." }, tanks);
}

/** Says so when the configuration follows no refills, since what is shown may be old then. */
function noteUnfollowed(config: Config, session: Session): void {
  if (!config.refills) session.note("No refills are followed: the configuration has no section refills.");
}
