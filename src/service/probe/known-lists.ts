import type { Surface } from "../../core/surface.ts";

/** A list that `check` looks at. */
export interface ProbedList {
  /** For people. */
  readonly title: string;
  readonly endpoint: string;
  readonly surface: Surface;
  /** The specification names `facilityId` for it, so a service may insist on it. */
  readonly wantsFacility: boolean;
  /** The same for `subjectCode`. */
  readonly wantsSubject?: true;
  /** Other parameters that the specification names for it. */
  readonly named?: Readonly<Record<string, string>>;
  /** Filters with a value that no entry has. */
  readonly impossible: readonly (readonly [name: string, value: string | number])[];
}

/** A subject code that nobody has. */
export const NOBODY = "cryobridge-probe-no-such-subject";
/** No id is below 1, and nothing was created in the year 2999. */
const NO_ID = ["id_to", 0] as const;
const FAR_FUTURE = ["createdAt_from", "2999-01-01T00:00:00Z"] as const;
const NO_SUBJECT = ["subjectCode", NOBODY] as const;

/** The lists of both surfaces, those that orders hang on first. */
export const PROBED_LISTS: readonly ProbedList[] = [
  {
    title: "requests",
    endpoint: "/api/procedure-requests",
    surface: "request",
    wantsFacility: false,
    impossible: [NO_ID, NO_SUBJECT, FAR_FUTURE],
  },
  {
    title: "procedures",
    endpoint: "/api/procedures",
    surface: "request",
    wantsFacility: true,
    impossible: [NO_ID, FAR_FUTURE],
  },
  {
    title: "subjects",
    endpoint: "/api/subjects",
    surface: "request",
    wantsFacility: false,
    impossible: [["code", NOBODY], NO_ID],
  },
  {
    title: "containers",
    endpoint: "/api/sample-containers",
    surface: "request",
    wantsFacility: false,
    wantsSubject: true,
    impossible: [NO_SUBJECT],
  },
  {
    title: "storage",
    endpoint: "/api/storage",
    surface: "request",
    wantsFacility: true,
    impossible: [NO_ID],
  },
  {
    title: "external procedures",
    endpoint: "/api/v1/external/procedures",
    surface: "external",
    wantsFacility: true,
    named: { type: "STORE" },
    impossible: [NO_ID, FAR_FUTURE],
  },
  {
    title: "external containers",
    endpoint: "/api/v1/external/sample-containers",
    surface: "external",
    wantsFacility: false,
    wantsSubject: true,
    impossible: [NO_SUBJECT],
  },
];

/** What the specification says of the entries of a list. */
export interface KnownEntry {
  readonly fields: ReadonlySet<string>;
  /** Those of them that an entry can always have, whatever its type and state. */
  readonly always: ReadonlySet<string>;
  readonly statuses: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" ").filter((word) => word !== ""));

const PROCEDURE_STATUSES = words("PENDING CREATED IN_PROGRESS COMPLETED CANCELLED FAILED");
const NONE = words("");

/** The fields, statuses and types of each list by its path (specification, Resources and their fields). */
export const KNOWN_ENTRIES: Readonly<Record<string, KnownEntry>> = {
  "/api/subjects": {
    fields: words("id facilityId code firstName lastName dateOfBirth createdAt"),
    always: words("id facilityId code firstName lastName dateOfBirth"),
    statuses: NONE,
    types: NONE,
  },
  "/api/procedure-requests": {
    fields: words(
      "id type status facilityId subjectCode sampleContainers sampleContainerIds procedureId createdAt acceptedAt acceptedBy",
    ),
    always: words("id type status facilityId subjectCode createdAt"),
    statuses: words("PENDING ACCEPTED REJECTED CANCELLED"),
    types: words("STORE RETRIEVAL"),
  },
  "/api/procedures": {
    fields: words(
      "id type status facilityId storageId sampleContainerIds requestId performedBy createdAt startedAt completedAt error",
    ),
    always: words("id type status facilityId createdAt"),
    statuses: PROCEDURE_STATUSES,
    types: words("STORE RETRIEVAL TRANSFER REFILL REGISTER_STORAGE"),
  },
  "/api/sample-containers": {
    fields: words("id name subject description storedAt"),
    always: words("id name subject"),
    statuses: NONE,
    types: NONE,
  },
  "/api/storage": { fields: words("id name"), always: words("id name"), statuses: NONE, types: NONE },
  "/api/v1/external/procedures": {
    fields: words("id code type status facility subject sampleContainers createdAt completedAt"),
    always: words("id code type status facility createdAt"),
    statuses: PROCEDURE_STATUSES,
    types: words("STORE RETRIEVAL REFILL"),
  },
  "/api/v1/external/sample-containers": {
    fields: words("id name subject description storedAt"),
    always: words("id name subject"),
    statuses: NONE,
    types: NONE,
  },
};
