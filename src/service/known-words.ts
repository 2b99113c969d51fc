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
