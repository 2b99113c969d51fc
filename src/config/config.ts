import path from "node:path";
import type { LogSettings } from "../core/logger.ts";
import type { ConfigProblem } from "./problem.ts";
import type { LoadedProfile } from "./profiles.ts";
import type { FileConfig } from "./schema.ts";
import type { Secret } from "./secret.ts";

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
  readonly processingId: "P" | "T" | "D";
  readonly service: ServiceConfig;
  /** The service's id of each facility, by the lab's name for it. */
  readonly facilityIdByCode: ReadonlyMap<string, number>;
  readonly connectors: readonly ConnectorConfig[];
  readonly profileByName: ReadonlyMap<string, LoadedProfile<P>>;
  /** Without a url: the embedded server under `dataDir`. */
  readonly database: { readonly url?: Secret | undefined };
  readonly queue: QueueConfig;
  readonly console: { readonly host: string; readonly port: number; readonly token?: Secret | undefined };
  readonly retention: { readonly messagesMs: number; readonly ordersMs: number };
  readonly lanes: { readonly parkedBlocks: boolean };
  readonly log: LogSettings;
  /** What works but is unwise, such as a credential in clear text. Shown at start and by `cryobridge check`. */
  readonly warnings: readonly ConfigProblem[];
}

export interface ServiceConfig {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly surface: "request" | "external";
  readonly auth: AuthConfig;
  /** File of PEM certificates to trust instead of the public authorities; absolute. */
  readonly caFile?: string | undefined;
  readonly timeoutMs: number;
  readonly maxRequestsPerSecond: number;
  readonly concurrency: number;
  readonly perPage: number;
  /** `auto` is found out, `array` is no wrapping; anything else is the name of the key that holds the entries. */
  readonly listEnvelope: string;
  readonly polling: { readonly firstMs: number; readonly maxMs: number; readonly factor: number };
  readonly settle: {
    /** Since the call was sent, each. */
    readonly looksMs: readonly number[];
    readonly afterMs: number;
    readonly retrievals: "park" | "retry";
  };
  readonly notExecuted: readonly number[];
  readonly correlation: "token" | "labels";
  readonly containerLabelFields: readonly string[];
  readonly cancel: "none" | { readonly method: "POST" | "PUT" | "PATCH" | "DELETE"; readonly path: string };
  readonly allowInsecure: boolean;
}

export type AuthConfig =
  | {
      readonly kind: "oauth";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: Secret;
      readonly method: "basic" | "post";
      readonly scope?: string | undefined;
      readonly audience?: string | undefined;
    }
  | { readonly kind: "apiToken"; readonly apiToken: Secret };

/** The folders of a drop connector, absolute. */
export type ConnectorDirectories = Readonly<Record<DirectoryRole, string>>;

/** `work` holds files between being claimed and being archived. */
export const DIRECTORY_ROLES = ["in", "out", "archive", "error", "work"] as const;
export type DirectoryRole = (typeof DIRECTORY_ROLES)[number];

interface DropConnectorConfig {
  readonly name: string;
  readonly directories: ConnectorDirectories;
  readonly settleMs: number;
  /** Ending of the marker file, such as `.ok`. */
  readonly marker?: string | undefined;
  readonly scanIntervalMs: number;
  readonly maxBytes: number;
  /** A key of `profileByName`, or a built-in profile. */
  readonly profile: string;
  readonly encoding?: string | undefined;
}

export type ConnectorConfig =
  | (DropConnectorConfig & { readonly type: "hl7-drop" })
  | (DropConnectorConfig & { readonly type: "csv-drop"; readonly resultsEveryMs: number });

export type QueueConfig = FileConfig["queue"];

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
    processingId: given.processingId,
    service: toServiceConfig(given.service, baseDirectory),
    facilityIdByCode: new Map(Object.entries(given.facilities)),
    connectors: given.connectors.map((connector) => toConnectorConfig(connector, baseDirectory)),
    profileByName,
    database: given.database,
    queue: given.queue,
    console: given.console,
    retention: { messagesMs: given.retention.messages, ordersMs: given.retention.orders },
    lanes: given.lanes,
    log: given.log,
    warnings,
  };
}

function toServiceConfig(service: FileConfig["service"], baseDirectory: string): ServiceConfig {
  const { timeout, polling, settle, listEnvelope, auth, ca, ...rest } = service;
  return {
    ...rest,
    caFile: ca === undefined ? undefined : path.resolve(baseDirectory, ca),
    timeoutMs: timeout,
    listEnvelope: typeof listEnvelope === "string" ? listEnvelope : listEnvelope.key,
    polling: { firstMs: polling.first, maxMs: polling.max, factor: polling.factor },
    settle: { looksMs: settle.looks, afterMs: settle.after, retrievals: settle.retrievals },
    auth: toAuthConfig(auth),
  };
}

function toAuthConfig(auth: FileConfig["service"]["auth"]): AuthConfig {
  return "apiToken" in auth ? { kind: "apiToken", ...auth } : { kind: "oauth", ...auth };
}

function toConnectorConfig(connector: FileConnector, baseDirectory: string): ConnectorConfig {
  const { name, marker, maxBytes, profile, encoding } = connector;
  const shared = {
    name,
    marker,
    maxBytes,
    profile,
    encoding,
    directories: connectorDirectories(connector, baseDirectory),
    settleMs: connector.settle,
    scanIntervalMs: connector.scanInterval,
  };
  if (connector.type === "hl7-drop") return { type: "hl7-drop", ...shared };
  return { type: "csv-drop", ...shared, resultsEveryMs: connector.resultsEvery };
}
