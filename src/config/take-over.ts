import { isDeepStrictEqual } from "node:util";
import { Masked } from "../core/phi.ts";
import type { Config, ConnectorConfig } from "./config.ts";
import { toFacilities } from "./facility-schema.ts";
import { writtenKey } from "./scalars.ts";

interface FileChanges {
  /** Settings that a daemon takes over while it runs. */
  readonly live: readonly string[];
  /** Settings that it takes over when it is started again. */
  readonly restart: readonly string[];
}

/** A secret of the service that was replaced is read again when it is needed. */
const READ_AGAIN = /^service\.(auth|externalAuth)\.(clientSecret|apiToken)$/;

/** What is formed otherwise than it is written is named whole. */
const WHOLE = new Set(["service.cancel"]);

/** What was changed in the file: what stays different once a daemon took over what it can waits for a restart. */
export function changesOf(running: Config, read: Config): FileChanges {
  const after = settingsOf(read);
  const differing = (one: Config) =>
    differingSettings(settingsOf(one), after).filter((each) => !READ_AGAIN.test(each));
  const restart = differing(takeOver(running, read));
  return { live: differing(running).filter((each) => !restart.includes(each)), restart };
}

/** Behind the name of a profile that a connector keeps until the restart, while the file has another one of that name. */
export const AS_IT_WAS = " (as it was)";

/** What the file and its profiles say, without what is made of it. */
function settingsOf(config: Config): unknown {
  const {
    file: _,
    facilityIdByCode: __,
    facilityWayById: ___,
    profileByName: ____,
    warnings: _____,
    ...settings
  } = config;
  const connectors = settings.connectors.map((each) => ({
    ...each,
    profile: each.profile.replace(AS_IT_WAS, ""),
  }));
  return { ...settings, connectors };
}

/**
 * What a daemon works by once it has taken over what it can of a file. That is what is read wherever it is used; everything else is
 * a part of what was built at the start (sockets, folders, pools, clients), and stays.
 */
export function takeOver<P>(running: Config<P>, read: Config<P>): Config<P> {
  const { alerts, mapping, profiles, profilesDir, profileByName, warnings } = read;
  const facilities = takeFacilities(running, read);
  // By the surface that the daemon has, where a facility names none.
  const { facilityIdByCode, facilityWayById } = toFacilities(facilities, running.service);
  return {
    ...running,
    ...{ facilities, facilityIdByCode, alerts, mapping, profiles, profilesDir, profileByName, warnings },
    // Orders of a facility that is no longer in the file may be in hand.
    facilityWayById: new Map([...running.facilityWayById, ...facilityWayById]),
    connectors: takeConnectors(running.connectors, read.connectors),
  };
}

function takeConnectors(running: Config["connectors"], read: Config["connectors"]): Config["connectors"] {
  return running.map((own) => {
    const theirs = read.find((each) => isSameConnector(each, own));
    return theirs ? { ...own, profile: theirs.profile, encoding: theirs.encoding } : own;
  });
}

/** Whether a connector of a file is the one that runs; one of another type would be built anew. */
export function isSameConnector(one: Pick<ConnectorConfig, "name" | "type">, other: typeof one): boolean {
  return one.name === other.name && one.type === other.type;
}

type Facilities = Config["facilities"];

/**
 * Facilities as far as they can be taken over. The way of a facility whose orders may be in hand stays: a request that went by one
 * surface does not show on the other. So does a facility whose refills are followed, and what goes with a changed service.
 */
function takeFacilities(running: Config, read: Config): Facilities {
  const before = running.facilities;
  const isServiceChanged = differingSettings(running.service, read.service).length > 0;
  const followed = new Set(running.refills?.facilities);
  const given = Object.entries(read.facilities).filter(([code]) => !followed.has(code));
  const kept = Object.entries(before).filter(([code]) => followed.has(code));
  const fits = ([code, each]: (typeof given)[number]) => {
    const isOfService = typeof each !== "number" && isServiceChanged;
    const [...ways] = toFacilities({ [code]: each }, running.service).facilityWayById;
    return ways.every(([id, { surface, subjects }]) => {
      const known = running.facilityWayById.get(id);
      return known ? known.surface === surface && known.subjects === subjects : !isOfService;
    });
  };
  // What does not fit stays as it is, also where the file has another name for it.
  const stays = given
    .filter((each) => !fits(each))
    .flatMap(([code, each]) =>
      Object.entries(before).filter(([own, was]) => own === code || idOf(was) === idOf(each)),
    );
  return Object.fromEntries([...kept, ...stays, ...given.filter(fits)]);
}

function idOf(facility: Facilities[string]): number {
  return typeof facility === "number" ? facility : facility.id;
}

/**
 * The settings in which two files differ, by their keys as people write them: `service.timeout`, `connectors.lab.profile`,
 * `facilities.WEST`. Lists of named things are compared by name, so that their order says nothing. No values are in it.
 */
function differingSettings(before: unknown, after: unknown): string[] {
  return [...differences(before, after, "")];
}

function* differences(before: unknown, after: unknown, path: string): Generator<string> {
  const [one, other] = [entriesOf(before), entriesOf(after)];
  if (one === undefined || other === undefined || WHOLE.has(path)) {
    if (!isDeepStrictEqual(plain(before), plain(after))) yield path;
    return;
  }
  for (const key of new Set([...one.keys(), ...other.keys()])) {
    const own = writtenKey(key);
    const place = path === "" ? own : `${path}.${own}`;
    if (one.has(key) && other.has(key)) yield* differences(one.get(key), other.get(key), place);
    else if ((one.get(key) ?? other.get(key)) !== undefined) yield place;
  }
}

/** What stands below a value, by key or name; undefined for a value that is compared whole. */
function entriesOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== "object" || value === null || value instanceof Masked) return undefined;
  if (value instanceof Map) return value;
  if (!Array.isArray(value)) return isTable(value) ? new Map(Object.entries(value)) : undefined;
  const names = value.map(nameOf);
  const areNames = names.length > 0 && names.every((name) => name !== undefined);
  return areNames ? new Map(value.map((each) => [nameOf(each) ?? "", each])) : undefined;
}

/** What zod makes of a section; anything with a class of its own is one value. */
function isTable(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function nameOf(value: unknown): string | undefined {
  const isNamed = typeof value === "object" && value !== null && "name" in value;
  return isNamed && typeof value.name === "string" ? value.name : undefined;
}

/** A value with its credentials revealed, for comparing alone. */
function plain(value: unknown): unknown {
  if (value instanceof Masked) return plain(value.reveal());
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || !isTable(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}
