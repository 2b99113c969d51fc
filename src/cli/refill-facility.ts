import type { Config } from "../config/config.ts";
import { Failure } from "../core/failures.ts";
import type { Session } from "./session.ts";

/**
 * The service's id of a facility that `--facility` names; undefined when it names none.
 * @throws Failure CLI_NOT_FOUND
 */
export function facilityIdOf(name: string | undefined, config: Config): number | undefined {
  if (name === undefined) return undefined;
  const id = config.facilityIdByCode.get(name);
  if (id !== undefined) return id;
  const known = [...config.facilityIdByCode.keys()].join(", ");
  throw new Failure("CLI_NOT_FOUND", `no facility is called "${name}"; the configuration has: ${known}`);
}

/** Says so when the configuration follows no refills, since what is shown may be old then. */
export function noteUnfollowed(config: Config, session: Session): void {
  if (!config.refills) session.note("No refills are followed: the configuration has no section refills.");
}
