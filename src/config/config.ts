import { parseDuration } from "../core/duration.ts";
import type { FacilityWay } from "../core/surface.ts";
import { BACKUP_AGE } from "./alerts-schema.ts";
import { toFacilities } from "./facility-schema.ts";
import type { ConfigProblem } from "./problems.ts";
import type { LoadedProfile } from "./profiles.ts";
import type { FileConfig } from "./schema.ts";

/**
 * The configuration as the rest of the program sees it: what the schema makes of the file, by the file's keys, and what only
 * the whole can tell. Durations are milliseconds, their keys end in `Ms`; paths are absolute.
 */
export interface Config<P = unknown> extends FileConfig {
  /** The profiles of all files, as they are written. A module that was changed counts as a change of its profile. */
  readonly profiles: Readonly<Record<string, unknown>>;
  /** The file itself, absolute. */
  readonly file: string;
  /** The file by which a restored ledger is noticed; see `src/ledger/restored/`. */
  readonly epochFile: string;
  /** The service's id of each facility, by the lab's name for it. */
  readonly facilityIdByCode: ReadonlyMap<string, number>;
  /** How the orders of each facility go to the service, by its id there; see {@link wayOfFacility}. */
  readonly facilityWayById: ReadonlyMap<number, FacilityWay>;
  readonly profileByName: ReadonlyMap<string, LoadedProfile<P>>;
  /** What works but is unwise, such as a credential in clear text. Shown at start and by `cryobridge check`. */
  readonly warnings: readonly ConfigProblem[];
}

/** A connector, by its type. */
export type ConnectorConfig = FileConfig["connectors"][number];
/** The connectors that exchange files. */
export type FolderConnectorConfig = Exclude<ConnectorConfig, { readonly type: "mllp" }>;
export type MllpConnectorConfig = Extract<ConnectorConfig, { readonly type: "mllp" }>;

/** Whether a connector exchanges files. */
export function isFolderConnector(connector: ConnectorConfig): connector is FolderConnectorConfig {
  return connector.type !== "mllp";
}

/** The largest message or file that a connector takes, bytes. */
export function mostBytesOf(connector: ConnectorConfig): number {
  return isFolderConnector(connector) ? connector.maxBytes : connector.listen.maxBytes;
}

/** How the orders of a facility go to the service; a facility that is no longer configured goes by the usual way. */
export function wayOfFacility(
  { facilityWayById, service }: Pick<Config, "facilityWayById"> & { readonly service: FacilityWay },
  facilityId: number,
): FacilityWay {
  return facilityWayById.get(facilityId) ?? { surface: service.surface, subjects: service.subjects };
}

/** What a validated file says, with its profiles. */
export function toConfig<P>(
  given: FileConfig,
  file: string,
  profileByName: ReadonlyMap<string, LoadedProfile<P>>,
  warnings: readonly ConfigProblem[],
): Config<P> {
  const { facilities, service, dataDir, epochFile = `${dataDir}.epoch`, database } = given;
  const backupAge = database.url === undefined ? parseDuration(BACKUP_AGE) : undefined;
  const { aboveMs = backupAge, ...backupOld } = given.alerts.rules.backupOld;
  const rules = { ...given.alerts.rules, backupOld: { ...backupOld, aboveMs } };
  const profiles = [...profileByName].map(([name, { value, moduleStamp }]) => [
    name,
    moduleStamp === undefined ? value : { ...(value as object), module: moduleStamp },
  ]);
  return {
    ...{ ...given, ...toFacilities(facilities, service), file, epochFile, profileByName, warnings },
    profiles: Object.fromEntries(profiles),
    alerts: { ...given.alerts, rules },
  };
}
