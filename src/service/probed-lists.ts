import type { Surface } from "../core/surface.ts";

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
