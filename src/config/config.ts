import path from "node:path";
import type { LogSettings } from "../core/logger.ts";
import type { ListName } from "../core/service-catalogue.ts";
import type { FacilityWay } from "../core/surface.ts";
import { type AlertsConfig, toAlertsConfig } from "./alerts-schema.ts";
import { type MllpConnectorConfig, toMllpConfig } from "./connector-schema.ts";
import { type RefillsConfig, toFacilities, toRefillsConfig } from "./facility-schema.ts";
import type { ConfigProblem } from "./problems.ts";
import type { LoadedProfile } from "./profiles.ts";
import type { EncodingSetting } from "./scalars.ts";
import type { FileConfig } from "./schema.ts";
import type { Secret } from "./secret.ts";
import { type CancelCalls, toCancelCalls } from "./service-schema.ts";

type FileConnector = FileConfig["connectors"][number];

/**
 * The configuration as the rest of the program sees it. Keys are those of the file, except: durations are milliseconds
 * in `…Ms`, paths are absolute, tables keyed by what a person named are Maps, and the connectors' folders stand in
 * `directories`.
 */
export interface Config<P = unknown> {
  /** The file itself, absolute. */
  readonly file: string;
  readonly dataDir: string;
  /** The file by which a restored ledger is noticed, absolute; see `src/ledger/restored/`. */
  readonly epochFile: string;
  readonly processingId: "P" | "T" | "D";
  readonly service: ServiceConfig;
  /** The HTTP proxy before the service, its token endpoint and webhooks; undefined when they are reached directly. */
  readonly proxy?: Exclude<FileConfig["proxy"], "none">;
  /** The service's id of each facility, by the lab's name for it. */
  readonly facilityIdByCode: ReadonlyMap<string, number>;
  /** How the orders of each facility go to the service, by its id there; see {@link wayOfFacility}. */
  readonly facilityWayById: ReadonlyMap<number, FacilityWay>;
  readonly connectors: readonly ConnectorConfig[];
  /** Undefined when no refills are followed. */
  readonly refills?: RefillsConfig | undefined;
  readonly profileByName: ReadonlyMap<string, LoadedProfile<P>>;
  /** Without a url: the embedded server under `dataDir`. */
  readonly database: { readonly url?: Secret | undefined };
  readonly queue: QueueConfig;
  readonly console: FileConfig["console"];
  readonly alerts: AlertsConfig;
  /** Undefined when no traces are made. */
  readonly tracing?: FileConfig["tracing"];
  readonly retention: { readonly messagesMs: number; readonly ordersMs: number };
  readonly worker: { readonly name?: string | undefined; readonly stopWithinMs: number };
  readonly lanes: FileConfig["lanes"];
  readonly delivery: FileConfig["delivery"];
  readonly mapping: FileConfig["mapping"];
  readonly guards: FileConfig["guards"];
  readonly log: LogSettings;
  /** What the file and its profiles say, by their own keys; `changesOf` of `take-over.ts` compares it. */
  readonly written: WrittenSettings;
  /** What works but is unwise, such as a credential in clear text. Shown at start and by `cryobridge check`. */
  readonly warnings: readonly ConfigProblem[];
}

type FileService = FileConfig["service"];

interface ServiceConfig
  extends Omit<
    FileService,
    | "auth"
    | "externalAuth"
    | "ca"
    | "timeout"
    | "listEnvelope"
    | "listEnvelopes"
    | "polling"
    | "reconcile"
    | "cancel"
  > {
  readonly auth: AuthConfig;
  /** Credentials of the external surface, where they are others. */
  readonly externalAuth?: AuthConfig | undefined;
  /** File of PEM certificates to trust instead of the public authorities; absolute. */
  readonly caFile?: string | undefined;
  readonly timeoutMs: number;
  /** `auto` is found out, `array` is no wrapping; anything else is the name of the key that holds the entries. */
  readonly listEnvelope: string;
  /** The same for single lists, by their name. */
  readonly listEnvelopes: Readonly<Partial<Record<ListName, string>>>;
  readonly polling: { readonly firstMs: number; readonly maxMs: number; readonly factor: number };
  readonly reconcile: {
    /** Since the call was sent, each. */
    readonly checksMs: readonly number[];
    readonly giveUpAfterMs: number;
    /** Since the order was sent again. */
    readonly recheckMs: number;
    readonly retrievals: "park" | "retry";
  };
  /** The call that cancels an order, by the surface that has one. */
  readonly cancel: CancelCalls;
}

type FileOauth = Exclude<FileService["auth"], { readonly apiToken: Secret }>;

export type AuthConfig =
  /** The lifetime is assumed where the token endpoint says none. */
  | (Omit<FileOauth, "assumedLifetime"> & { readonly kind: "oauth"; readonly assumedLifetimeMs: number })
  | { readonly kind: "apiToken"; readonly apiToken: Secret };

function toQueueConfig(given: QueueConfig, baseDirectory: string): QueueConfig {
  if (given.backend !== "redis" || given.ca === undefined) return given;
  return { ...given, ca: path.resolve(baseDirectory, given.ca) };
}

/** The folders of a drop connector, absolute. */
type ConnectorDirectories = Readonly<Record<DirectoryRole, string>>;

/** `work` holds files between being claimed and being archived. */
export const DIRECTORY_ROLES = ["in", "out", "archive", "error", "work"] as const;
export type DirectoryRole = (typeof DIRECTORY_ROLES)[number];

/** The connectors that exchange files. */
type FolderConnectorConfig = Exclude<ConnectorConfig, { readonly type: "mllp" }>;

/** Whether a connector exchanges files. */
export function isFolderConnector(connector: ConnectorConfig): connector is FolderConnectorConfig {
  return connector.type !== "mllp";
}

interface DropConnectorConfig {
  readonly name: string;
  readonly directories: ConnectorDirectories;
  readonly stableForMs: number;
  /** The marker file: `.ok` for `NAME.EXT.ok`, `{stem}.ok` for `NAME.ok`. */
  readonly marker?: string | undefined;
  readonly scanIntervalMs: number;
  readonly folderMode: number;
  readonly alertAfterMs: number;
  readonly maxBytes: number;
  readonly repeatedFiles: "report" | "answer";
  /** A key of `profileByName`, or a built-in profile. */
  readonly profile: string;
  readonly encoding?: EncodingSetting | undefined;
}

export type ConnectorConfig =
  | (DropConnectorConfig & {
      readonly type: "hl7-drop";
      readonly unterminated: "refuse" | "accept";
      readonly mixedLineEnds: "refuse" | "accept";
    })
  | (DropConnectorConfig & { readonly type: "csv-drop"; readonly resultsEveryMs: number })
  | MllpConnectorConfig;

type QueueConfig = FileConfig["queue"];

/** The folders of a drop connector, absolute. Also used before validation, hence the loose input. */
export function connectorDirectories(
  connector: { readonly directory: string } & Partial<Record<DirectoryRole, string | undefined>>,
  baseDirectory: string,
): ConnectorDirectories {
  const directory = (role: DirectoryRole) =>
    path.resolve(baseDirectory, connector[role] ?? path.join(connector.directory, role));
  return {
    in: directory("in"),
    out: directory("out"),
    archive: directory("archive"),
    error: directory("error"),
    work: directory("work"),
  };
}

/** How the orders of a facility go to the service; a facility that is no longer configured goes by the usual way. */
export function wayOfFacility(
  { facilityWayById, service }: Pick<Config, "facilityWayById"> & { readonly service: FacilityWay },
  facilityId: number,
): FacilityWay {
  return facilityWayById.get(facilityId) ?? { surface: service.surface, subjects: service.subjects };
}

/** A validated file, with the profiles of all files in it. */
type WrittenSettings = Omit<FileConfig, "profiles"> & {
  readonly profiles: Readonly<Record<string, unknown>>;
};

/** What a validated file says, in the shape of {@link Config}. */
export function toConfig<P>(
  given: FileConfig,
  file: string,
  profileByName: ReadonlyMap<string, LoadedProfile<P>>,
  warnings: readonly ConfigProblem[],
): Config<P> {
  const baseDirectory = path.dirname(file);
  return {
    file,
    dataDir: path.resolve(baseDirectory, given.dataDir),
    epochFile:
      given.epochFile === undefined
        ? `${path.resolve(baseDirectory, given.dataDir)}.epoch`
        : path.resolve(baseDirectory, given.epochFile),
    processingId: given.processingId,
    service: toServiceConfig(given.service, baseDirectory),
    proxy: given.proxy === "none" ? undefined : given.proxy,
    ...toFacilities(given.facilities, given.service),
    connectors: given.connectors.map((connector) => toConnectorConfig(connector, baseDirectory)),
    refills: toRefillsConfig(given.refills),
    profileByName,
    database: given.database,
    queue: toQueueConfig(given.queue, baseDirectory),
    console: given.console,
    alerts: toAlertsConfig(given.alerts, baseDirectory),
    tracing: given.tracing,
    retention: { messagesMs: given.retention.messages, ordersMs: given.retention.orders },
    worker: { name: given.worker.name, stopWithinMs: given.worker.stopWithin },
    lanes: given.lanes,
    delivery: given.delivery,
    mapping: given.mapping,
    guards: given.guards,
    log: given.log,
    written: { ...given, profiles: writtenProfiles(profileByName) },
    warnings,
  };
}

/** A module that was changed counts as a change of its profile. */
function writtenProfiles(profileByName: ReadonlyMap<string, LoadedProfile>): Record<string, unknown> {
  return Object.fromEntries(
    [...profileByName].map(([name, { value, moduleStamp }]) => [
      name,
      moduleStamp === undefined ? value : { ...(value as object), module: moduleStamp },
    ]),
  );
}

function toServiceConfig(service: FileService, baseDirectory: string): ServiceConfig {
  const {
    timeout,
    polling,
    reconcile,
    listEnvelope,
    listEnvelopes,
    auth,
    externalAuth,
    ca,
    cancel,
    ...rest
  } = service;
  return {
    ...rest,
    caFile: ca === undefined ? undefined : path.resolve(baseDirectory, ca),
    timeoutMs: timeout,
    listEnvelope: keyOfEnvelope(listEnvelope),
    listEnvelopes: Object.fromEntries(
      Object.entries(listEnvelopes).flatMap(([list, envelope]) =>
        envelope === undefined ? [] : [[list, keyOfEnvelope(envelope)]],
      ),
    ),
    polling: { firstMs: polling.first, maxMs: polling.max, factor: polling.factor },
    reconcile: {
      checksMs: reconcile.checks,
      giveUpAfterMs: reconcile.giveUpAfter,
      recheckMs: reconcile.recheck,
      retrievals: reconcile.retrievals,
    },
    auth: toAuthConfig(auth),
    externalAuth: externalAuth && toAuthConfig(externalAuth),
    cancel: toCancelCalls(cancel),
  };
}

function toAuthConfig(auth: FileService["auth"]): AuthConfig {
  if ("apiToken" in auth) return { kind: "apiToken", ...auth };
  const { assumedLifetime, ...rest } = auth;
  return { kind: "oauth", ...rest, assumedLifetimeMs: assumedLifetime };
}

function keyOfEnvelope(envelope: FileService["listEnvelope"]): string {
  return typeof envelope === "string" ? envelope : envelope.key;
}

function toConnectorConfig(connector: FileConnector, baseDirectory: string): ConnectorConfig {
  if (connector.type === "mllp") return toMllpConfig(connector, baseDirectory);
  const { name, marker, maxBytes, repeatedFiles, profile, encoding } = connector;
  const shared = {
    name,
    marker,
    maxBytes,
    repeatedFiles,
    profile,
    encoding,
    directories: connectorDirectories(connector, baseDirectory),
    stableForMs: connector.stableFor,
    scanIntervalMs: connector.scanInterval,
    folderMode: connector.folderMode,
    alertAfterMs: connector.alertAfter,
  };
  if (connector.type === "hl7-drop") {
    const { unterminated, mixedLineEnds } = connector;
    return { type: "hl7-drop", ...shared, unterminated, mixedLineEnds };
  }
  return { type: "csv-drop", ...shared, resultsEveryMs: connector.resultsEvery };
}
