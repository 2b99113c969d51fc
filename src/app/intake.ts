import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import type { Intake } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import { createIntake, type IntakeDeps } from "../jobs/intake/intake.ts";
import type { ConnectionReplies } from "../jobs/intake/replies.ts";
import { findInstanceCode } from "../ledger/identity.ts";
import type { Profile } from "../mapping/profile/profile.ts";
import { openBatches } from "./batches.ts";
import { createMappers, profileOf } from "./connectors.ts";

export interface IntakeParts {
  readonly pool: pg.Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly onCommitted: IntakeDeps["onCommitted"];
}

/** The way in of all configured connectors. @throws Failure LEDGER_UNAVAILABLE, or CONFIG_INVALID as of `profileOf` */
export async function openIntake(config: Config, { profiles, ...deps }: IntakeParts): Promise<Intake> {
  const instanceCode = await findInstanceCode(deps.pool);
  const repliesByConnector = new Map(
    config.connectors.flatMap((connector): [string, ConnectionReplies][] => {
      if (connector.type !== "mllp") return [];
      const profile = profileOf(connector, profiles);
      if (profile.format !== "hl7") return [];
      const { applicationAck, reusedControlId, answers: form } = connector;
      return [[connector.name, { profile, form, applicationAck, reusedControlId, instanceCode }]];
    }),
  );
  return createIntake({
    ...deps,
    mapperByConnector: createMappers(config, profiles),
    batches: await openBatches(config, profiles, deps.pool),
    repliesByConnector,
  });
}
