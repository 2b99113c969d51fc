import type { Config, ConnectorConfig } from "../config/config.ts";
import type { Connector } from "../connectors/connector.ts";
import { createCsvDrop } from "../connectors/csv-drop/csv-drop.ts";
import { createHl7Drop } from "../connectors/hl7-drop/hl7-drop.ts";
import type { ArchiveWatch } from "../core/archive-watch.ts";
import type { Clock } from "../core/clock.ts";
import { Failure } from "../core/failures.ts";
import type { Intake } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import { findEncoding } from "../formats/encoding.ts";
import { createMapper, type Mapper } from "../mapping/inbound/mapper.ts";
import { isReported, type Profile, type ToldState } from "../mapping/profile/profile.ts";
import { charsetOf, readingOf } from "./file-format.ts";
import { createMllpConnector } from "./mllp-connector.ts";
import type { TakenBack } from "./taken-back.ts";

export interface ConnectorDeps {
  readonly intake: Intake;
  /** Absent where no files are archived. */
  readonly archiveWatch?: ArchiveWatch | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent where nothing is delivered. */
  readonly takenBack?: TakenBack | undefined;
}

/**
 * The profile that a connector's configuration names.
 * @throws Failure CONFIG_INVALID when it is of the other format, or does not tell what the connector's senders wait for;
 * and when the connector's own encoding is none, since every message would be refused for that.
 */
export function profileOf(connector: ConnectorConfig, profiles: ReadonlyMap<string, Profile>): Profile {
  const profile = profiles.get(connector.profile);
  const format = connector.type === "csv-drop" ? "csv" : "hl7";
  if (profile?.format !== format) {
    throw new Failure(
      "CONFIG_INVALID",
      `connector ${connector.name}: profile ${connector.profile} is for ${profile?.format ?? "nothing"}, but the connector is of type ${connector.type}`,
    );
  }
  requireAnswersTold(connector, profile);
  requireKnownEncoding(connector);
  return profile;
}

function requireKnownEncoding({ name, type, encoding }: ConnectorConfig): void {
  if (encoding === undefined || (type === "csv-drop" && encoding.name === "auto" && !encoding.isForced))
    return;
  if (findEncoding(encoding.name) !== undefined) return;
  throw new Failure(
    "CONFIG_INVALID",
    `connector ${name}: encoding: ${encoding.name} is no encoding that Cryobridge knows`,
  );
}

const ANSWERS = ["acknowledged", "refused", "waiting"] as const satisfies readonly ToldState[];

/** What goes out with the results goes by `results.tell`: an answer left out there would leave its sender with CA alone. */
function requireAnswersTold(connector: ConnectorConfig, profile: Profile): void {
  if (connector.type !== "mllp" || connector.applicationAck !== "results") return;
  const missing = ANSWERS.filter((kind) => !isReported(profile, kind));
  if (missing.length === 0) return;
  throw new Failure(
    "CONFIG_INVALID",
    `connector ${connector.name}: with applicationAck: results, senders wait for answers that are never sent; add ${missing.join(", ")} to results.tell of profile ${profile.name}`,
  );
}

/** The mapper of each connector, by its name. */
export function createMappers(
  config: Config,
  profiles: ReadonlyMap<string, Profile>,
): ReadonlyMap<string, Mapper> {
  const { facilityIdByCode, processingId, mapping, guards } = config;
  const { unknownCodes } = mapping;
  const settings = { facilityIdByCode, processingId, unknownCodes, labelsPerOrder: guards.labelsPerOrder };
  return new Map(
    config.connectors.map((connector) => [
      connector.name,
      createMapper(profileOf(connector, profiles), {
        ...settings,
        unterminated: connector.type === "csv-drop" ? undefined : connector.unterminated,
      }),
    ]),
  );
}

/** A connector as its configuration describes it. */
export function createConnector(
  connector: ConnectorConfig,
  profile: Profile,
  deps: ConnectorDeps,
): Connector {
  if (connector.type === "mllp") return createMllpConnector(connector, profile, deps);
  const settings = {
    name: connector.name,
    directories: connector.directories,
    stableForMs: connector.stableForMs,
    marker: connector.marker,
    scanIntervalMs: connector.scanIntervalMs,
    folderMode: connector.folderMode,
    alertAfterMs: connector.alertAfterMs,
    maxBytes: connector.maxBytes,
  };
  if (profile.format === "hl7") {
    return createHl7Drop({ ...settings, charset: charsetOf(connector, profile) }, deps);
  }
  return createCsvDrop({ ...settings, reading: readingOf(connector, profile) }, deps);
}
