import type { Command } from "commander";
import type { Config } from "../../config/config.ts";
import { readTankAges } from "../../jobs/refills/tanks.ts";
import { REFILL_LIST } from "../../operator/lists/refills.ts";
import { TANK_COLUMNS } from "../../operator/refill-columns.ts";
import { facilityIdOf, readConfig, withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { defineList } from "../output/listing.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge refills …`. */
export function define(refills: Command, cli: Cli): void {
  defineList(refills, cli, REFILL_LIST, {
    ...{ isDefault: true, examples: ["cryobridge refills list --facility NORTH --since 7d"] },
    check: (session, { config }, { facility }) => {
      facilityIdOf(config, facility);
      noteUnfollowed(config, session);
    },
  });
  refills
    .command("tanks")
    .description("List tanks with their last completed refill, those without one for longest first.")
    .option("--facility <name>", "only tanks of this facility, by its name in the configuration")
    .addHelpText("after", "\nExample:\n  cryobridge refills tanks")
    .action(toAction(cli, listTanks));
}

async function listTanks(session: Session, { facility }: { readonly facility?: string }): Promise<undefined> {
  const config = readConfig(session);
  // Only for its refusal of a name that the configuration doesn't have.
  facilityIdOf(config, facility);
  const limits = config.refills ?? { tanks: new Map() };
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
