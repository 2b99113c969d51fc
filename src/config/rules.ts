import { isLoopbackHost } from "../core/address-list.ts";
import { parseDuration } from "../core/duration.ts";
import {
  findList,
  findPath,
  type GivenPaths,
  type ListKind,
  locationSurface,
  PATH_NAMES,
  PATHS,
  type PathName,
} from "../core/service-catalogue.ts";
import type { Surface } from "../core/surface.ts";
import { type Finding, folderFindings } from "./folder-rules.ts";
import type { Path } from "./problems.ts";
import { fileSchema } from "./schema.ts";
import { childOf, heldValues, settingAt, valueAt } from "./schema-at.ts";
import { isPeerUrl } from "./service-schema.ts";
import { unknownWords } from "./words.ts";

interface KnownProfiles {
  readonly names: readonly string[];
  /** Where further ones are to lie, as people write it. */
  readonly folder: string;
}

/**
 * The rules that span several keys. They read the file's own values, not the validated ones, so that they are reported
 * together with the schema's complaints; a value of the wrong kind is left to the schema.
 *
 * @param value with absolute paths
 */
export function ruleFindings(value: unknown, profiles: KnownProfiles): Finding[] {
  return [
    ...connectorNameFindings(value),
    ...profileFindings(value, profiles),
    ...folderFindings(value),
    ...plainHttpFindings(value),
    ...allowedSubjectFindings(value),
    ...facilityFindings(value),
    ...pathFindings(value),
    ...locationFindings(value),
    ...timeFindings(value),
    ...consoleFindings(value),
    ...queueFindings(value),
    ...refillFindings(value),
    ...alertFindings(value),
  ];
}

function connectorNameFindings(value: unknown): Finding[] {
  const seen = new Set<string>();
  return connectorsOf(value).flatMap(({ connector, path }) => {
    const name = childOf(connector, "name");
    if (typeof name !== "string") return [];
    // File systems and people confuse names that differ in case only.
    const isTwin = seen.has(name.toLowerCase());
    seen.add(name.toLowerCase());
    if (!isTwin) return [];
    return [
      {
        path: [...path, "name"],
        message: `another connector is called "${name}"; give each a name of its own`,
      },
    ];
  });
}

function profileFindings(value: unknown, { names: known, folder }: KnownProfiles): Finding[] {
  return connectorsOf(value).flatMap(({ connector, path }) => {
    const profile = childOf(connector, "profile");
    if (typeof profile !== "string" || known.includes(profile)) return [];
    const words = unknownWords("profile", profile, known, "there are");
    const place = /^[\w-]+$/.test(profile)
      ? `; one of your own is the file ${folder}/${profile}.yaml, or a section below profiles`
      : "";
    return [{ path: [...path, "profile"], message: `${words}${place}` }];
  });
}

/** Places are distinguished by their names, and traffic is expected of connectors that there are. */
function alertFindings(value: unknown): Finding[] {
  const places = valueAt(value, ["alerts", "to"]);
  const seen = new Set<unknown>();
  const twins = (Array.isArray(places) ? places : []).flatMap((place, index) => {
    const name = childOf(place, "name") ?? childOf(place, "type");
    if (typeof name !== "string") return [];
    const isTwin = seen.has(name);
    seen.add(name);
    const message = `another place is called "${name}"; give each a name of its own`;
    return isTwin ? [{ path: ["alerts", "to", index], message }] : [];
  });
  const expected = valueAt(value, ["alerts", "expectTraffic"]);
  const known = connectorsOf(value).map(({ connector }) => childOf(connector, "name"));
  const unknown = (Array.isArray(expected) ? expected : []).flatMap((each, index) => {
    const name = childOf(each, "connector");
    if (typeof name !== "string" || known.includes(name)) return [];
    const names = known.filter((one) => typeof one === "string");
    const message = unknownWords("connector", name, names, "there are");
    return [{ path: ["alerts", "expectTraffic", index, "connector"], message }];
  });
  return [...twins, ...unknown];
}

/** Without a certificate nobody has a name, and a list of names would let everybody in. */
function allowedSubjectFindings(value: unknown): Finding[] {
  return connectorsOf(value).flatMap(({ connector, path }) => {
    const tls = valueAt(connector, ["listen", "tls"]);
    if (childOf(tls, "allowSubjects") === undefined || childOf(tls, "requestCert") === true) return [];
    const message = "names certificates that no sender is asked for; set requestCert: true beside it";
    return [{ path: [...path, "listen", "tls", "allowSubjects"], message }];
  });
}

/** The service and its token endpoints, by their addresses. */
export function servicePeers(value: unknown): { readonly path: Path; readonly url: URL }[] {
  return [...heldValues(fileSchema, value)].flatMap(({ path, value: text, schemas }) =>
    typeof text === "string" && URL.canParse(text) && schemas.some(isPeerUrl)
      ? [{ path, url: new URL(text) }]
      : [],
  );
}

function plainHttpFindings(value: unknown): Finding[] {
  if (valueAt(value, ["service", "allowInsecure"]) === true) return [];
  return servicePeers(value).flatMap(({ path, url }) => {
    if (url.protocol !== "http:" || isLoopbackHost(url.hostname)) return [];
    const message =
      "http:// would send credentials and patients' data over the network unprotected; expected https:// (or, on a network you trust, service.allowInsecure: true)";
    return [{ path, message }];
  });
}

function timeFindings(value: unknown): Finding[] {
  const findings: Finding[] = [];
  const first = durationAt(value, ["service", "polling", "first"]);
  const max = durationAt(value, ["service", "polling", "max"]);
  if (first !== undefined && max !== undefined && max < first) {
    findings.push({
      path: ["service", "polling", "max"],
      message: "must not be shorter than service.polling.first",
    });
  }
  const after = durationAt(value, ["service", "reconcile", "giveUpAfter"]);
  const timeout = durationAt(value, ["service", "timeout"]);
  if (after !== undefined && timeout !== undefined && after <= timeout) {
    findings.push({
      path: ["service", "reconcile", "giveUpAfter"],
      message: "must be longer than service.timeout: a call that is still under way can't be called lost",
    });
  }
  const looks = valueAt(value, ["service", "reconcile", "checks"]);
  for (const [index, look] of (Array.isArray(looks) ? looks : []).entries()) {
    const lookMs = typeof look === "string" ? parseDuration(look) : undefined;
    if (lookMs === undefined || after === undefined || lookMs < after) continue;
    findings.push({
      path: ["service", "reconcile", "checks", index],
      message: "must be shorter than service.reconcile.giveUpAfter",
    });
  }
  return findings;
}

/** Whether other machines can reach what listens at this host. */
export function isReachedByOthers(host: unknown): boolean {
  return typeof host === "string" && !isLoopbackHost(host);
}

function consoleFindings(value: unknown): Finding[] {
  const token = valueAt(value, ["console", "token"]) ?? undefined;
  const users = valueAt(value, ["console", "users"]) ?? {};
  const hasUsers = token !== undefined || Object.keys(users).length > 0;
  if (hasUsers || !isReachedByOthers(valueAt(value, ["console", "host"]))) return [];
  const message = `other machines can reach this address, so console.token or console.users is needed; expected token: \${CONSOLE_TOKEN}`;
  return [{ path: ["console", "host"], message }];
}

function queueFindings(value: unknown): Finding[] {
  const queue = childOf(value, "queue");
  if (childOf(queue, "backend") !== "redis") return [];
  const given = ["url", "sentinels", "cluster"].filter(
    (key) => (childOf(queue, key) ?? undefined) !== undefined,
  );
  if (given.length !== 1) {
    const found = given.length === 0 ? "none of them" : given.join(" and ");
    return [{ path: ["queue"], message: `expected one of url, sentinels and cluster; got ${found}` }];
  }
  if (given[0] !== "url") return [];
  return ["username", "password", "tls"]
    .filter((key) => (childOf(queue, key) ?? undefined) !== undefined)
    .map((key) => ({
      path: ["queue", key],
      message: "belongs into the url: rediss://user:password@host:6379 (rediss is TLS)",
    }));
}

/** The connectors of the file, each with its place. */
export function connectorsOf(value: unknown): { readonly connector: unknown; readonly path: Path }[] {
  const connectors = childOf(value, "connectors");
  if (!Array.isArray(connectors)) return [];
  return connectors.map((connector: unknown, index) => ({ connector, path: ["connectors", index] }));
}

function keysOf(section: unknown): string[] {
  return typeof section === "object" && section !== null ? Object.keys(section) : [];
}

function durationAt(value: unknown, path: Path): number | undefined {
  const text = settingAt(value, path);
  return typeof text === "string" ? parseDuration(text) : undefined;
}

/** The section `refills` against the facilities that it names. */
function refillFindings(value: unknown): Finding[] {
  const facilities = childOf(value, "facilities");
  const known = keysOf(facilities);
  const named = childOf(childOf(value, "refills"), "facilities");
  const nameById = new Map<unknown, string>();
  return (Array.isArray(named) ? named : []).flatMap((name: unknown, index): Finding[] => {
    if (typeof name !== "string" || name === "") return [];
    const path = ["refills", "facilities", index];
    if (!known.includes(name)) {
      return [{ path, message: unknownWords("facility", name, known, "facilities has") }];
    }
    const facility = childOf(facilities, name);
    const id = childOf(facility, "id") ?? facility;
    const other = nameById.get(id);
    nameById.set(id, name);
    if (other === undefined) return [];
    const message =
      other === name
        ? `"${name}" is named twice`
        : `"${other}" is the same facility (id ${String(id)}); expected one of the two names`;
    return [{ path, message }];
  });
}

/** One name of a facility with what its orders would go by. */
interface Named {
  readonly name: string;
  readonly id: number;
  readonly surface: string;
  readonly subjects: string;
}

/**
 * Two names of one facility must say the same of it: an order is reconciled and followed by the facility's id, and one
 * surface doesn't show what was sent to the other.
 */
function facilityFindings(value: unknown): Finding[] {
  const first = new Map<number, Named>();
  return namedFacilities(value).flatMap((facility) => {
    const other = first.get(facility.id);
    if (!other) {
      first.set(facility.id, facility);
      return [];
    }
    return (["surface", "subjects"] as const)
      .filter((key) => facility[key] !== other[key])
      .map((key) => ({
        path: ["facilities", facility.name],
        message: `is the facility ${facility.id} like ${other.name}, which has ${key} ${other[key]} and not ${facility[key]}; one facility goes by one way`,
      }));
  });
}

/** What the orders of a facility need of the service, as far as their surface has it. */
const NEEDED = ["requests", "procedures", "containers"] as const satisfies readonly ListKind[];

function needs(surface: string, name: PathName): boolean {
  return NEEDED.some((kind) => findList(kind, surface as Surface)?.path === PATHS[name]);
}

/** What is `none` under `service.paths` and yet needed by the orders of a facility. */
function pathFindings(value: unknown): Finding[] {
  const paths = childOf(childOf(value, "service"), "paths");
  const facilities = namedFacilities(value);
  return PATH_NAMES.filter((name) => childOf(paths, name) === "none").flatMap((name) => {
    const path = ["service", "paths", name];
    const listed = (of: readonly Named[]) => of.map((each) => each.name).join(", ");
    const going = facilities.filter(({ surface }) => needs(surface, name));
    const looking = name === "subjects" ? facilities.filter(({ subjects }) => subjects !== "none") : [];
    const [first] = going;
    if (first !== undefined) {
      const other = first.surface === "request" ? "external" : "request";
      const message = `none, and the orders of ${listed(going)} go by the ${first.surface} surface, which needs it; write its path here, or surface: ${other} for them`;
      return [{ path, message }];
    }
    if (looking.length === 0) return [];
    const message = `none, and the subjects of orders of ${listed(looking)} are looked up; write the path here, or subjects: none for them`;
    return [{ path, message }];
  });
}

/** Ids of the one surface say nothing of containers of the other, unless both have the same list. */
function locationFindings(value: unknown): Finding[] {
  const paths = childOf(childOf(value, "service"), "paths");
  const given = Object.fromEntries(
    PATH_NAMES.flatMap((name) => {
      const path = childOf(paths, name);
      return typeof path === "string" ? [[name, path]] : [];
    }),
  ) as GivenPaths;
  const isApart = findPath(given, PATHS.containers) !== findPath(given, PATHS.externalContainers);
  if (!isApart || locationSurface(given) !== "external") return [];
  const going = namedFacilities(value).filter(({ surface }) => surface === "request");
  if (going.length === 0) return [];
  const message = `lies below the external surface, and the orders of ${going.map(({ name }) => name).join(", ")} know containers by ids of the request surface, which may be others; write containers: ${PATHS.externalContainers} too where both surfaces have the same ids, or locations: none`;
  return [{ path: ["service", "paths", "locations"], message }];
}

/** With `subjects: none` the guard against the wrong patient can't work. */
export function subjectRiskFindings(value: unknown): Finding[] {
  const message =
    "subjects are neither looked up nor registered: orders of a patient with another name or birth date than the service has are not noticed";
  const service = childOf(value, "service");
  const facilities = childOf(value, "facilities");
  const isNone = (section: unknown) => childOf(section, "subjects") === "none";
  return [
    ...(isNone(service) ? [{ path: ["service", "subjects"], message }] : []),
    ...keysOf(facilities)
      .filter((name) => isNone(childOf(facilities, name)))
      .map((name) => ({ path: ["facilities", name, "subjects"], message })),
  ];
}

function namedFacilities(value: unknown): Named[] {
  const facilities = childOf(value, "facilities");
  if (typeof facilities !== "object" || facilities === null || Array.isArray(facilities)) return [];
  return Object.entries(facilities).flatMap(([name, given]) => {
    const id = typeof given === "number" ? given : childOf(given, "id");
    if (typeof id !== "number") return [];
    const read = (key: "surface" | "subjects") => {
      const word = childOf(given, key) ?? settingAt(value, ["service", key]);
      return typeof word === "string" ? word : "";
    };
    return [{ name, id, surface: read("surface"), subjects: read("subjects") }];
  });
}
