import type { Surface } from "./surface.ts";

/** What paths of the external surface have in common (specification, "What the service does" 4). */
export const EXTERNAL_BASE = "/api/v1/external/";

/** One list of the service as its specification has it. */
export interface ServiceList {
  /** For people. */
  readonly title: string;
  readonly surface: Surface;
  readonly path: string;
  /** The filters that the specification names for it; all others, and forms, fall under "most endpoints accept". */
  readonly filters: readonly string[];
  /** The fields of an entry. */
  readonly fields: readonly string[];
  readonly statuses: readonly string[];
  readonly types: readonly string[];
}

const words = (text: string): readonly string[] => text.split(" ");

/** What a request goes through (specification, Request states). */
const REQUEST_STATUSES = ["PENDING", "ACCEPTED", "REJECTED", "CANCELLED"] as const;
/** What a procedure goes through (specification, Procedure states). */
export const PROCEDURE_STATUSES = [
  "PENDING",
  "CREATED",
  "IN_PROGRESS",
  "COMPLETED",
  "CANCELLED",
  "FAILED",
] as const;
/** All of both. */
export const STATUSES = [...new Set([...REQUEST_STATUSES, ...PROCEDURE_STATUSES])];
/** All types of requests and procedures. */
export const TYPES = ["STORE", "RETRIEVAL", "TRANSFER", "REFILL", "REGISTER_STORAGE"] as const;
const NO_WORDS = { statuses: [], types: [] };
const CONTAINER = {
  filters: ["subjectCode"],
  fields: words("id name subject description storedAt"),
  ...NO_WORDS,
};

/** The lists of both surfaces, by the names that the configuration has for them. */
export const LISTS = {
  subjects: {
    title: "subjects",
    surface: "request",
    path: "/api/subjects",
    filters: [],
    fields: words("id facilityId code firstName lastName dateOfBirth createdAt"),
    ...NO_WORDS,
  },
  requests: {
    title: "requests",
    surface: "request",
    path: "/api/procedure-requests",
    filters: ["status"],
    fields: words(
      "id type status facilityId subjectCode sampleContainers sampleContainerIds procedureId createdAt acceptedAt acceptedBy",
    ),
    statuses: REQUEST_STATUSES,
    types: words("STORE RETRIEVAL"),
  },
  procedures: {
    title: "procedures",
    surface: "request",
    path: "/api/procedures",
    filters: ["facilityId"],
    fields: words(
      "id type status facilityId storageId sampleContainerIds requestId performedBy createdAt startedAt completedAt error",
    ),
    statuses: PROCEDURE_STATUSES,
    types: TYPES,
  },
  containers: { ...CONTAINER, title: "containers", surface: "request", path: "/api/sample-containers" },
  storage: {
    title: "storage",
    surface: "request",
    path: "/api/storage",
    filters: ["facilityId"],
    fields: words("id name"),
    ...NO_WORDS,
  },
  externalProcedures: {
    title: "external procedures",
    surface: "external",
    path: "/api/v1/external/procedures",
    filters: ["facilityId", "type"],
    fields: words("id code type status facility subject sampleContainers createdAt completedAt"),
    statuses: PROCEDURE_STATUSES,
    types: words("STORE RETRIEVAL REFILL"),
  },
  externalContainers: {
    ...CONTAINER,
    title: "external containers",
    surface: "external",
    path: "/api/v1/external/sample-containers",
  },
} as const satisfies Record<string, ServiceList>;
export type ListName = keyof typeof LISTS;
export const LIST_NAMES = Object.keys(LISTS) as ListName[];

/** What can be read by its id, with its path on the surface that has it. */
export const RECORDS = {
  subject: `${LISTS.subjects.path}/{id}`,
  request: `${LISTS.requests.path}/{id}`,
  procedure: `${LISTS.procedures.path}/{id}`,
  /** Where a sample container is stored. */
  location: `${LISTS.containers.path}/{id}/location`,
  /** What a storage solution holds. */
  inventory: `${LISTS.storage.path}/{id}/inventory`,
  externalProcedure: `${LISTS.externalProcedures.path}/{id}`,
} as const;

/** Each list by what it holds, then by the surfaces that have it. */
export const LISTS_OF = {
  subjects: { request: LISTS.subjects },
  requests: { request: LISTS.requests },
  procedures: { request: LISTS.procedures, external: LISTS.externalProcedures },
  containers: { request: LISTS.containers, external: LISTS.externalContainers },
  storage: { request: LISTS.storage },
} as const satisfies Record<string, { readonly [surface in Surface]?: ServiceList }>;
export type ListKind = keyof typeof LISTS_OF;

/** What orders become on each surface: listed there, and created. */
export const MADE_AT = { request: LISTS.requests, external: LISTS.externalProcedures } as const;

/** The same for records. */
export const RECORDS_OF = {
  subject: { request: RECORDS.subject },
  request: { request: RECORDS.request },
  procedure: { request: RECORDS.procedure, external: RECORDS.externalProcedure },
  location: { request: RECORDS.location },
} as const satisfies Record<string, { readonly [surface in Surface]?: string }>;
export type RecordKind = keyof typeof RECORDS_OF;

/** A list of a surface; undefined when the surface has no such list. */
export function findList(kind: ListKind, surface: Surface): ServiceList | undefined {
  const lists: { readonly [surface in Surface]?: ServiceList } = LISTS_OF[kind];
  return lists[surface];
}

/** The filters on things within an entry, by their names; a list of things has none. */
const FILTERS_WITHIN: Readonly<Record<string, readonly string[]>> = {
  facility: ["facilityId"],
  subject: ["subjectId", "subjectCode"],
  sampleContainers: [],
  sampleContainerIds: [],
};

/** The fields that a list may be filtered by where it accepts whatever "most endpoints accept", each in all four forms. */
export function filterFields({ fields, filters }: ServiceList): string[] {
  return [...new Set([...fields.flatMap((field) => FILTERS_WITHIN[field] ?? [field]), ...filters])];
}

const LIST_BY_PATH: ReadonlyMap<string, ServiceList> = new Map(
  Object.values(LISTS).map((list) => [list.path, list]),
);

/** The list at a path of the specification. */
export function findListAt(path: string): ServiceList | undefined {
  return LIST_BY_PATH.get(path);
}

/** The name that the configuration has for the list at a path of the specification. */
export function findListName(path: string): ListName | undefined {
  return LIST_NAMES.find((name) => LISTS[name].path === path);
}

/** What may lie elsewhere at a service, by the names of `service.paths`, with the specification's path of each. */
export const PATHS = {
  subjects: LISTS.subjects.path,
  procedureRequests: LISTS.requests.path,
  procedures: LISTS.procedures.path,
  containers: LISTS.containers.path,
  locations: RECORDS.location,
  storage: LISTS.storage.path,
  inventory: RECORDS.inventory,
  externalProcedures: LISTS.externalProcedures.path,
  externalContainers: LISTS.externalContainers.path,
} as const;
export type PathName = keyof typeof PATHS;
export const PATH_NAMES = Object.keys(PATHS) as PathName[];

/** Where a service has what the specification has elsewhere; `none` for what it does not have. */
export type GivenPaths = { readonly [Name in PathName]?: string | undefined };

/**
 * Where a service of the public edition has what the specification has elsewhere: everything lies below the base of the external
 * surface, and there are no procedure requests.
 */
export const PUBLIC_PATHS = {
  subjects: `${EXTERNAL_BASE}subjects`,
  procedureRequests: "none",
  procedures: "none",
  containers: "none",
  locations: `${LISTS.externalContainers.path}/{id}/location`,
  storage: `${EXTERNAL_BASE}storage`,
} as const satisfies GivenPaths;

/**
 * Where the service has what the specification has at `route`; undefined where it has none. What lies below a path
 * (`/{id}`, a container's location, an inventory) moves with it, unless it has a path of its own.
 */
export function findPath(given: GivenPaths, route: string): string | undefined {
  const name = nameOfPath(route, given);
  if (name === undefined) return route;
  const path = given[name];
  return path === "none" ? undefined : `${path}${route.slice(PATHS[name].length)}`;
}

/** Whether the service has what lies at a path of that name, as far as the site says. */
export function hasPath(given: GivenPaths, name: PathName): boolean {
  return findPath(given, PATHS[name]) !== undefined;
}

/** The most exact of the names under which something is given for a route. */
export function nameOfPath(route: string, given: GivenPaths = PATHS): PathName | undefined {
  const names = PATH_NAMES.filter(
    (name) => given[name] !== undefined && (route === PATHS[name] || route.startsWith(`${PATHS[name]}/`)),
  );
  return names.sort((a, b) => PATHS[b].length - PATHS[a].length)[0];
}

/** Which surface's ids of containers locations are asked by: the external one's where its list is the only one, or they lie below its base. */
export function locationSurface(given: GivenPaths): Surface {
  const own = findPath(given, LISTS.containers.path);
  const isOneList = own === undefined || own === findPath(given, LISTS.externalContainers.path);
  return isOneList ? "external" : surfaceAt(given, RECORDS.location);
}

/** Which surface's credentials a call takes: the external one's for its own calls, and for what lies below its base. */
export function surfaceAt(given: GivenPaths, route: string): Surface {
  const isExternal = [route, findPath(given, route)].some((path) => path?.startsWith(EXTERNAL_BASE));
  return isExternal ? "external" : "request";
}
