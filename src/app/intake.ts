import type pg from "pg";
import { type Config, type ConnectorConfig, isFolderConnector } from "../config/config.ts";
import { toMessage } from "../connectors/hl7-drop/hl7-drop.ts";
import type { Clock } from "../core/clock.ts";
import { Failure } from "../core/failures.ts";
import type { IncomingMessage, Intake } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import { phi } from "../core/phi.ts";
import { createIntake, type IntakeDeps } from "../jobs/intake/intake.ts";
import type { ConnectorRules, IntakeRules } from "../jobs/intake/replies.ts";
import type { MessageRecord } from "../ledger/messages/record.ts";
import { type OnReleased, type ReleaseFilter, releaseMessages } from "../ledger/messages/release.ts";
import type { StoredMessage } from "../ledger/messages/views.ts";
import { findInstanceCode } from "../ledger/migrate.ts";
import type { Mapper } from "../mapping/inbound/mapper.ts";
import { formatMessageType } from "../mapping/profile/message-type.ts";
import { batchResponseOf, type Profile } from "../mapping/profile/profile.ts";
import type { Configuration, Settings } from "./configuration.ts";
import { charsetOf, createMappers, profileOf } from "./connectors.ts";

interface IntakeParts {
  readonly pool: pg.Pool;
  readonly worker: IntakeDeps["worker"];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onCommitted: IntakeDeps["onCommitted"];
  readonly onTaken?: IntakeDeps["onTaken"];
  readonly onStale?: IntakeDeps["onStale"];
}

/** The way in of all configured connectors. @throws Failure LEDGER_UNAVAILABLE, or CONFIG_INVALID as of `profileOf` */
export async function openIntake(configuration: Configuration, deps: IntakeParts): Promise<Intake> {
  const instanceCode = await findInstanceCode(deps.pool);
  const rules = configuration.derive(({ config, profiles }) => rulesOf(config, profiles, instanceCode));
  return createIntake({ ...deps, rules, hold: () => configuration.hold() });
}

function rulesOf(config: Config, profiles: ReadonlyMap<string, Profile>, instanceCode: string): IntakeRules {
  const mappers = createMappers(config, profiles);
  const byConnector = config.connectors.map((connector): [string, ConnectorRules] => {
    const { name } = connector;
    const mapper = mappers.get(name) as Mapper;
    const profile = profileOf(connector, profiles);
    if (connector.type === "mllp" && profile.format === "hl7") {
      const { applicationAck, reusedControlId, answers: form } = connector;
      return [name, { mapper, replies: { profile, form, applicationAck, reusedControlId, instanceCode } }];
    }
    const answersRepeats = isFolderConnector(connector) && connector.repeatedFiles === "answer";
    if (profile.format === "csv") return [name, { mapper, answersRepeats }];
    const response = batchResponseOf(profile.results, connector.type);
    const batches = response === "none" ? undefined : { profile, response };
    return [name, { mapper, answersRepeats, batches }];
  });
  return { instanceCode, byConnector: new Map(byConnector) };
}

/**
 * Maps messages that wait for a code, as far as this configuration knows their codes; see
 * {@link releaseMessages}. Those of a connector that isn't configured any more, or for the other format now, wait on.
 */
export async function releaseWaiting(
  pool: pg.Pool,
  config: Config,
  profiles: ReadonlyMap<string, Profile>,
  filter: ReleaseFilter = {},
  onReleased?: OnReleased,
): Promise<void> {
  const mappers = createMappers(config, profiles);
  const connectors = new Map(config.connectors.map((connector) => [connector.name, connector]));
  const map = (message: StoredMessage): MessageRecord | undefined => {
    const connector = connectors.get(message.connector);
    const mapper = mappers.get(message.connector);
    if (!connector || !mapper) return undefined;
    const profile = profileOf(connector, profiles);
    if ((profile.format === "csv") !== (message.format === "csv")) return undefined;
    const incoming = toIncoming(message, connector, profile);
    return asAnswered({ ...mapper.map(incoming), message: incoming }, profile);
  };
  await releaseMessages(pool, map, filter, onReleased);
}

/**
 * The record of a message that was answered as taken: its sender has to hear the end of it, also when the profile
 * leaves its type alone now.
 */
function asAnswered(record: MessageRecord, profile: Profile): MessageRecord {
  if (record.verdict !== "ignored") return record;
  const { place } = record.message;
  const message = "messages of this type are not processed here any more";
  const expected = profile.format === "csv" ? [] : profile.accept.map(formatMessageType);
  const problem = { code: "MAPPING_MESSAGE_TYPE_UNSUPPORTED", place, message, expected } as const;
  return { ...record, verdict: "refused", problems: [problem] };
}

/** Maps what waits, as far as it can be mapped now: at the start, before anything that comes later is taken in. */
export async function releaseKnown(
  pool: pg.Pool,
  { config, profiles }: Settings,
  logger: Logger,
): Promise<void> {
  const counts = { accepted: 0, duplicate: 0, refused: 0, ignored: 0 };
  await releaseWaiting(pool, config, profiles, {}, ({ verdict }) => {
    counts[verdict] += 1;
  });
  if (Object.values(counts).every((count) => count === 0)) return;
  logger.info(counts, "messages that waited for a code were mapped");
}

/** The same once other tables hold. Never throws: those that wait on can be released by a person. */
export async function releaseLate(pool: pg.Pool, settings: Settings, logger: Logger): Promise<void> {
  try {
    await releaseKnown(pool, settings, logger);
  } catch (error) {
    const words = "messages that wait for a code could not be mapped; `cryobridge messages release` does it";
    logger.warn({ err: error }, words);
  }
}

/**
 * A message of the ledger as its connector would hand it over today: HL7 bytes are decoded with the present settings.
 *
 * @throws Failure CLI_NOT_APPLICABLE when its text was pruned, or it is of a table whose rows could not be read
 */
export function toIncoming(
  stored: StoredMessage,
  connector: ConnectorConfig,
  profile: Profile,
): IncomingMessage {
  const { raw, ordinal, place, messageId } = stored;
  if (raw === undefined) {
    throw new Failure("CLI_NOT_APPLICABLE", `the text of ${messageId} was pruned by retention`);
  }
  if (stored.csvRows) {
    const rows = stored.csvRows.map(([line, cells]) => ({ line, values: new Map(cells) }));
    return { ordinal, place, raw: phi(raw), content: { kind: "csv", rows: phi(rows) } };
  }
  if (profile.format === "csv") {
    throw new Failure(
      "CLI_NOT_APPLICABLE",
      `the rows of ${messageId} could not be read as CSV; correct the file and drop it again`,
    );
  }
  return toMessage({ ordinal, raw }, charsetOf({ connector, profile }));
}
