import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Logger } from "../core/logger.ts";
import { asAnswered, toRecord } from "../jobs/intake/intake.ts";
import type { MessageRecord } from "../ledger/messages/record.ts";
import { type Released, type ReleaseFilter, releaseMessages } from "../ledger/messages/release.ts";
import type { StoredMessage } from "../ledger/operator/views.ts";
import type { Profile } from "../mapping/profile/profile.ts";
import { createMappers, profileOf } from "./connectors.ts";
import { toIncoming } from "./stored-message.ts";

/**
 * Takes up messages that wait for a code table, as far as this configuration knows their codes; see
 * {@link releaseMessages}. Those of a connector that isn't configured any more, or for the other format now, wait on.
 */
export async function releaseWaiting(
  pool: pg.Pool,
  config: Config,
  profiles: ReadonlyMap<string, Profile>,
  filter: ReleaseFilter = {},
): Promise<Released[]> {
  const mappers = createMappers(config, profiles);
  const connectors = new Map(config.connectors.map((connector) => [connector.name, connector]));
  const map = (message: StoredMessage): MessageRecord | undefined => {
    const connector = connectors.get(message.connector);
    const mapper = mappers.get(message.connector);
    if (!connector || !mapper) return undefined;
    const profile = profileOf(connector, profiles);
    if ((profile.format === "csv") !== (message.format === "csv")) return undefined;
    return asAnswered(toRecord(mapper, toIncoming(message, connector, profile)));
  };
  return releaseMessages(pool, map, filter);
}

/** What a start does: nothing that comes later may be taken in before. */
export async function releaseAtStart(
  pool: pg.Pool,
  config: Config,
  profiles: ReadonlyMap<string, Profile>,
  logger: Logger,
): Promise<void> {
  const released = await releaseWaiting(pool, config, profiles);
  if (released.length === 0) return;
  const counts = { accepted: 0, duplicate: 0, refused: 0, ignored: 0 };
  for (const { verdict } of released) counts[verdict] += 1;
  logger.info(counts, "messages that waited for a code table were taken up");
}
