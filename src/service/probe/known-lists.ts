import { LISTS, type ServiceList } from "../../core/service-catalogue.ts";

/** A list that `check` looks at. */
export interface ProbedList {
  readonly list: ServiceList;
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
  { list: LISTS.requests, impossible: [NO_ID, NO_SUBJECT, FAR_FUTURE] },
  { list: LISTS.procedures, impossible: [NO_ID, FAR_FUTURE] },
  { list: LISTS.subjects, impossible: [["code", NOBODY], NO_ID] },
  { list: LISTS.containers, impossible: [NO_SUBJECT] },
  { list: LISTS.storage, impossible: [NO_ID] },
  { list: LISTS.externalProcedures, impossible: [NO_ID, FAR_FUTURE] },
  { list: LISTS.externalContainers, impossible: [NO_SUBJECT] },
];
