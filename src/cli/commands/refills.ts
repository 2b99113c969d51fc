import type { Command } from "commander";
import type { Config } from "../../config/config.ts";
import { REFILL_LIST } from "../../operator/lists/refills.ts";
import { TANK_LIST } from "../../operator/lists/tanks.ts";
import { defineList } from "../list-command.ts";
import { facilityIdOf, type OpenSite } from "../open.ts";
import type { Cli, Session } from "../session.ts";

/** `cryobridge refills …`. */
export function define(refills: Command, cli: Cli): void {
  defineList(refills, cli, REFILL_LIST, {
    ...{ isDefault: true, examples: ["cryobridge refills list --facility NORTH --since 7d"] },
    check,
  });
  defineList(refills, cli, TANK_LIST, { name: "tanks", examples: ["cryobridge refills tanks"], check });
}

/** Refuses a name that the configuration doesn't have. */
function check(
  session: Session,
  { config }: Pick<OpenSite, "config">,
  { facility }: { readonly facility?: string | undefined },
): void {
  facilityIdOf(config, facility);
  noteUnfollowed(config, session);
}

/** Says so when the configuration follows no refills, since what is shown may be old then. */
function noteUnfollowed(config: Config, session: Session): void {
  if (!config.refills) session.note("No refills are followed: the configuration has no section refills.");
}
