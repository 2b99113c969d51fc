import { z } from "zod";
import { ERROR_BODIES, type ErrorBody } from "./refusal.ts";

/**
 * How the service decides what its specification leaves open, and how it departs from it. May be changed while
 * the simulator runs; a fault rule may change any of it for single calls (`behave`).
 */
export interface Behaviour {
  /** How lists are wrapped: a bare array, `{ data }`, `{ items }`, or `{ results, page, perPage, total }`. */
  readonly listEnvelope: "array" | "data" | "items" | "results";
  /** Items per page when the call names none. */
  readonly defaultPerPage: number;
  /** The largest page; a larger `perPage` is cut down to it, or refused with `overPerPage: "refuse"`. */
  readonly maxPerPage: number;
  readonly overPerPage: "cap" | "refuse";
  /**
   * The filters that are honoured: all, none, or those listed. A list entry is a field (`status`: all four forms)
   * or one form of it (`createdAt_from`). Other filters are ignored.
   */
  readonly filters: "all" | "none" | readonly string[];
  /** What happens to a filter on a field that the resource does not have. */
  readonly unknownFilters: "ignore" | "refuse";
  /** Order of lists: by id or creation, `-` for newest first, or drawn anew for each call. */
  readonly sort: "id" | "-id" | "createdAt" | "-createdAt" | "random";
  /** New rows appear in lists only after so many ms; reading one by its id is never late. */
  readonly listLagMs: number;
  /** Later pages slide by one entry to either side at random, as when rows come and go between two calls. */
  readonly shiftingPages: boolean;
  /** How ids are written: as integers, or as strings of digits. */
  readonly ids: "number" | "string";
  /** Members added to every object that is answered, such as `{ tenant: "x" }`. */
  readonly extraFields: Readonly<Record<string, unknown>>;
  /** Other words for values of `status` and `type`: `{ IN_PROGRESS: "RUNNING", storage: "STORE" }`. */
  readonly words: Readonly<Record<string, string>>;
  /** `GET /api/procedure-requests/{id}`: the short forms of the specification, or every field. */
  readonly singleRequest: "short" | "full";
  /** Entries of `GET /api/procedure-requests`. */
  readonly listedRequest: "short" | "full";
  /** ACCEPTED requests keep `procedureId: null`. */
  readonly hideProcedureId: boolean;
  /** Which containers lists show: those in storage, or all that ever got an id. */
  readonly listedContainers: "stored" | "all";
  /** Shape of error bodies. */
  readonly errorBody: ErrorBody;
  /** Status of `VALIDATION_ERROR`. */
  readonly validationStatus: number;
  /** Status of a successful creation. */
  readonly createdStatus: number;
  /** Status for an existing row of another organization, read by its id. */
  readonly foreignStatus: 404 | 403;
  /** A second subject with the same code at a facility: 409, or taken as another subject. */
  readonly duplicateSubjects: "refuse" | "allow";
  /** A STORE of a label that the subject has in storage or in an open request already: taken, or 409. */
  readonly duplicateLabels: "allow" | "refuse";
  /** Subject fields that must be given and not empty. */
  readonly requiredSubjectFields: readonly SubjectField[];
}

const SUBJECT_FIELDS = ["facilityId", "code", "firstName", "lastName", "dateOfBirth"] as const;
export type SubjectField = (typeof SUBJECT_FIELDS)[number];

export const DEFAULT_BEHAVIOUR: Behaviour = {
  listEnvelope: "array",
  defaultPerPage: 10,
  maxPerPage: 100,
  overPerPage: "cap",
  filters: "all",
  unknownFilters: "ignore",
  sort: "id",
  listLagMs: 0,
  shiftingPages: false,
  ids: "number",
  extraFields: {},
  words: {},
  singleRequest: "short",
  listedRequest: "full",
  hideProcedureId: false,
  listedContainers: "stored",
  errorBody: "code",
  validationStatus: 422,
  createdStatus: 201,
  foreignStatus: 404,
  duplicateSubjects: "refuse",
  duplicateLabels: "allow",
  requiredSubjectFields: SUBJECT_FIELDS,
};

/** Any part of a {@link Behaviour}; parts that are undefined stay as they are. */
export type BehaviourChange = { readonly [Part in keyof Behaviour]?: Behaviour[Part] | undefined };

/** Reads a change of the behaviour; an unknown key is refused. */
export const behaviourSchema: z.ZodType<BehaviourChange> = z
  .strictObject({
    listEnvelope: z.enum(["array", "data", "items", "results"]),
    defaultPerPage: z.int().min(1),
    maxPerPage: z.int().min(1),
    overPerPage: z.enum(["cap", "refuse"]),
    filters: z.union([z.enum(["all", "none"]), z.array(z.string())]),
    unknownFilters: z.enum(["ignore", "refuse"]),
    sort: z.enum(["id", "-id", "createdAt", "-createdAt", "random"]),
    listLagMs: z.number().min(0),
    shiftingPages: z.boolean(),
    ids: z.enum(["number", "string"]),
    extraFields: z.record(z.string(), z.unknown()),
    words: z.record(z.string(), z.string()),
    singleRequest: z.enum(["short", "full"]),
    listedRequest: z.enum(["short", "full"]),
    hideProcedureId: z.boolean(),
    listedContainers: z.enum(["stored", "all"]),
    errorBody: z.enum(ERROR_BODIES),
    validationStatus: z.int().min(400).max(499),
    createdStatus: z.int().min(200).max(299),
    foreignStatus: z.union([z.literal(404), z.literal(403)]),
    duplicateSubjects: z.enum(["refuse", "allow"]),
    duplicateLabels: z.enum(["allow", "refuse"]),
    requiredSubjectFields: z.array(z.enum(SUBJECT_FIELDS)),
  })
  .partial();

/** A behaviour with the given parts replaced. */
export function changedBehaviour(behaviour: Behaviour, change: BehaviourChange): Behaviour {
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  return { ...behaviour, ...given };
}
