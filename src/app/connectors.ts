import type pg from "pg";
import {
  type Config,
  type ConnectorConfig,
  type MllpConnectorConfig,
  mostBytesOf,
} from "../config/config.ts";
import { directoriesOf } from "../config/connector-schema.ts";
import type { Connector } from "../connectors/connector.ts";
import { csvFileFormat } from "../connectors/csv-drop/csv-drop.ts";
import { DropFolder } from "../connectors/drop-folder/drop-folder.ts";
import { systemFileOps } from "../connectors/drop-folder/file-ops.ts";
import { KnownFolder } from "../connectors/drop-folder/known-folder.ts";
import { makeFolder, resultModeOf } from "../connectors/drop-folder/layout.ts";
import { deliverFile, removeStaleTemporaries } from "../connectors/drop-folder/outbox.ts";
import type { FileFormat } from "../connectors/drop-folder/settings.ts";
import { hl7FileFormat } from "../connectors/hl7-drop/hl7-drop.ts";
import { createMllp, type MllpSettings } from "../connectors/mllp/mllp.ts";
import type { Clock } from "../core/clock.ts";
import type { DroppedFiles } from "../core/dropped-files.ts";
import { Failure } from "../core/failures.ts";
import { readPem } from "../core/given-file.ts";
import type { Intake } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import type { PeerCertificates } from "../core/peer-certificates.ts";
import { findEncoding } from "../formats/encoding.ts";
import type { CharsetOptions } from "../formats/hl7/charset.ts";
import type { AckWants } from "../formats/hl7/sent-segments.ts";
import { noteTakenBack } from "../ledger/results/tasks.ts";
import type { MapperSettings } from "../mapping/inbound/mapped-message.ts";
import { createMapper, type Mapper } from "../mapping/inbound/mapper.ts";
import { type CsvProfile, isReported, type Profile } from "../mapping/profile/profile.ts";
import { ANSWERS } from "../mapping/profile/results-schema.ts";
import type { Configuration } from "./configuration.ts";

interface ConnectorDeps {
  readonly intake: Intake;
  readonly dropped: DroppedFiles;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where the certificates are noted that labs' systems show. */
  readonly certificates?: PeerCertificates | undefined;
  /** Absent where nothing is delivered. */
  readonly takenBack?: TakenBack | undefined;
}

/**
 * The profile that a connector's configuration names.
 * @throws Failure CONFIG_INVALID when it is of the other format, or does not send what the connector's senders wait for;
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
  requireAnswersSent(connector, profile);
  requireKnownEncoding(connector);
  const wants = wantsOf(connector);
  return wants && profile.format === "hl7" ? { ...profile, results: { ...profile.results, wants } } : profile;
}

const WANTS = {
  original: undefined,
  accept: { accept: "AL", application: "NE" },
  application: { accept: "NE", application: "AL" },
  both: { accept: "AL", application: "AL" },
} as const;

/** How the lab system of a connector is asked to acknowledge results. */
function wantsOf(connector: ConnectorConfig): AckWants | undefined {
  if (connector.type !== "mllp" || "directory" in connector.results) return undefined;
  return WANTS[connector.results.acks];
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

/** What goes out with the results goes by `results.send`: an answer left out there would leave its sender with CA alone. */
function requireAnswersSent(connector: ConnectorConfig, profile: Profile): void {
  if (connector.type !== "mllp" || connector.applicationAck !== "results") return;
  const missing = ANSWERS.filter((kind) => !isReported(profile, kind));
  if (missing.length === 0) return;
  throw new Failure(
    "CONFIG_INVALID",
    `connector ${connector.name}: with applicationAck: results, senders wait for answers that are never sent; add ${missing.join(", ")} to results.send of profile ${profile.name}`,
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
        ...(connector.type === "csv-drop" ? {} : endsOf(connector)),
      }),
    ]),
  );
}

/** How its messages and their segments end. */
function endsOf({
  type,
  unterminated,
  mixedLineEnds,
}: Exclude<ConnectorConfig, { readonly type: "csv-drop" }>): Partial<MapperSettings> {
  return { unterminated, mixedLineEnds, isFramed: type === "mllp" };
}

interface LiveSettings {
  readonly connector: ConnectorConfig;
  readonly profile: Profile;
}

/** What of a connector may change while it runs: its settings `profile` and `encoding`, and what the profile says. */
type Live = () => LiveSettings;

/** The settings of a connector as they are at any moment. @throws Failure CONFIG_INVALID as {@link profileOf}, when it is taken over too */
export function connectorOf(configuration: Configuration, name: string): Live {
  return configuration.derive(({ config, profiles }) => {
    const connector = config.connectors.find((each) => each.name === name);
    if (!connector) throw new RangeError(`no connector ${name}`);
    return { connector, profile: profileOf(connector, profiles) };
  });
}

/** A connector as its configuration describes it. @throws Failure CONFIG_INVALID, as {@link createMllpConnector} */
export function createConnector(live: Live, deps: ConnectorDeps): Connector {
  const { connector } = live();
  if (connector.type === "mllp") return createMllpConnector(connector, live, deps);
  const settings = { ...connector, directories: directoriesOf(connector) };
  return new DropFolder(() => fileFormatOf(live()), settings, deps);
}

/** @throws Failure CONFIG_INVALID for a certificate that can't be read or an address that is none. */
function createMllpConnector(config: MllpConnectorConfig, live: Live, deps: ConnectorDeps): Connector {
  const { name, listen } = config;
  try {
    const settings: MllpSettings = {
      name,
      listen: {
        ...listen,
        mixedLineEnds: config.mixedLineEnds,
        charset: () => charsetOf(live()),
        tls: listen.tls && {
          ...readTls(name, listen.tls),
          requestCert: listen.tls.requestCert,
          allowSubjects: listen.tls.allowSubjects,
        },
      },
      results: resultsOf(config, () => live().profile.results.marker, deps.clock),
    };
    const { takenBack } = deps;
    const onTakenBack = takenBack && ((file: string, answer: string) => takenBack(name, file, answer));
    return createMllp(settings, { ...deps, onTakenBack });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Failure("CONFIG_INVALID", `connector ${name}: listen.allow: ${error.message}`);
  }
}

function resultsOf(
  { name, results }: MllpConnectorConfig,
  marker: () => string | undefined,
  clock: Clock,
): MllpSettings["results"] {
  if ("directory" in results) {
    const { directory, folderMode } = results;
    const folder = new KnownFolder(directory);
    return {
      prepare: async () => {
        await makeFolder(directory, folderMode);
        await removeStaleTemporaries(directory, clock);
      },
      open: () => folder.assertSame(),
      put: (file) =>
        deliverFile(file, {
          folder,
          mode: resultModeOf(folderMode),
          marker: marker(),
          ops: systemFileOps,
        }),
      check: () => Promise.resolve([{ subject: "results", detail: `files in ${directory}` }]),
    };
  }
  const { tls, ...rest } = results;
  return {
    ...rest,
    tls: tls && { ...readTls(name, tls), servername: tls.serverName ?? results.host },
  };
}

type TlsFiles = NonNullable<Exclude<MllpConnectorConfig["results"], { directory: string }>["tls"]>;

function readTls(name: string, { cert, key, ca }: TlsFiles): { cert?: Buffer; key?: Buffer; ca?: Buffer } {
  const read = (file: string) => readPem(`connector ${name}`, file);
  return {
    ...(cert === undefined ? {} : { cert: read(cert) }),
    ...(key === undefined ? {} : { key: read(key) }),
    ...(ca === undefined ? {} : { ca: read(ca) }),
  };
}

/** How a connector reads the files that are dropped for it. */
export function fileFormatOf(settings: LiveSettings): FileFormat {
  const { connector, profile } = settings;
  const format =
    connector.type === "csv-drop"
      ? csvFileFormat({ maxBytes: mostBytesOf(connector), reading: readingOf(settings) })
      : hl7FileFormat({
          maxBytes: mostBytesOf(connector),
          mixedLineEnds: connector.mixedLineEnds,
          charset: charsetOf(settings),
        });
  return { ...format, resultMarker: profile.results.marker };
}

/** What a connector's HL7 messages are decoded in: its own setting goes before the profile's. */
export function charsetOf({ connector: { encoding }, profile }: LiveSettings): CharsetOptions {
  const agreed = profile.format === "hl7" ? profile.encoding : undefined;
  return { override: encoding?.name ?? agreed, isForced: encoding?.isForced };
}

/** How a connector's CSV files are taken apart. */
function readingOf({ connector: { encoding }, profile }: LiveSettings): CsvProfile["reading"] {
  if (profile.format !== "csv") throw new TypeError(`profile ${profile.name} reads no CSV`);
  const { reading } = profile;
  return {
    ...reading,
    encoding: encoding?.name ?? reading.encoding,
    isEncodingForced: encoding?.isForced,
  };
}

/** Called when a lab system answered a result with an error though it had acknowledged it before. Must not throw. */
type TakenBack = (connector: string, fileName: string, answer: string) => void;

/** Opens a task for each result that a lab takes back. One that can't be kept now is in the log. */
export function keepTakenBack(pool: pg.Pool, logger: Logger): TakenBack {
  return (connector, fileName, answer) => {
    noteTakenBack(pool, connector, fileName, answer).catch((error: unknown) => {
      logger.warn({ err: error, connector, answer }, "a result was taken back, and no task can be opened");
    });
  };
}
