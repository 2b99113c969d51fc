import type { InventoryShape } from "./inventory.ts";
import type { ErrorBody } from "./refusal.ts";

/**
 * How a list is wrapped: a bare array, `{ data }`, `{ items }`, `{ results, page, perPage, total }`, or any other key,
 * with paging data beside the entries or in a member `meta`.
 */
export type ListEnvelope =
  | "array"
  | "data"
  | "items"
  | "results"
  | { readonly key: string; readonly paging?: "beside" | "meta" | undefined };

/**
 * How the service decides what its specification leaves open, and how it departs from it. May be changed while
 * the simulator runs; a fault rule may change any of it for single calls (`behave`).
 */
export interface Behaviour {
  /** How lists of the request surface are wrapped; those of the external surface are bare arrays. */
  readonly listEnvelope: ListEnvelope;
  /**
   * Lists of the external surface come in pages like the others (`paged`), whole whatever is asked (`whole`), or
   * whole with `page` and `perPage` refused as unknown (`refuse`).
   */
  readonly externalPaging: "paged" | "whole" | "refuse";
  /** The largest page; a larger `perPage` is cut down to it, or refused with `overPerPage: "refuse"`. */
  readonly maxPerPage: number;
  readonly overPerPage: "cap" | "refuse";
  /**
   * The filters that are honoured: all, none, or those listed. A list entry is a field (`status`: all four forms)
   * or one form of it (`createdAt_from`).
   */
  readonly filters: "all" | "none" | readonly string[];
  /** What happens to a filter on a field of the resource that is not honoured: ignored, or 400. */
  readonly otherFilters: "ignore" | "refuse";
  /** What happens to a filter on a field that the resource does not have: ignored, or 400. */
  readonly unknownFilters: "ignore" | "refuse";
  /** Order of lists: by id or creation, `-` for newest first, or drawn anew for each call. */
  readonly sort: "id" | "-id" | "createdAt" | "-createdAt" | "random";
  /** New rows appear in lists only after so many ms; reading one by its id is never late. */
  readonly listLagMs: number;
  /** Later pages slide by one entry to either side at random, as when rows come and go between two calls. */
  readonly shiftingPages: boolean;
  /** How ids are written: as integers, or as strings of digits. */
  readonly ids: "number" | "string";
  /** How moments are written, always in UTC: `…:00.000Z`, `…:00Z`, or `…:00.000+00:00`. */
  readonly timestamps: "milliseconds" | "seconds" | "offset";
  /** Members without a value, such as `acceptedAt` of a pending request: left out, or null. */
  readonly absentFields: "omitted" | "null";
  /** Members added to every object that is answered, such as `{ tenant: "x" }`. */
  readonly extraFields: Readonly<Record<string, unknown>>;
  /** Other words for values of `status` and `type`: `{ IN_PROGRESS: "RUNNING", storage: "STORE" }`. */
  readonly words: Readonly<Record<string, string>>;
  /** Letters of statuses and types: as the specification writes them, or all small. Filters take both. */
  readonly wordCase: "specified" | "lower";
  /** Statuses that readers never see: the row shows its status before, and then jumps. */
  readonly hiddenStatuses: readonly string[];
  /** Share of reads (0 to 1) that show a row as it was one status earlier, as from a copy that lags behind. */
  readonly staleReads: number;
  /** `GET /api/procedure-requests/{id}`: the short forms of the specification, or every field. */
  readonly singleRequest: "short" | "full";
  /** The answer to a created procedure request. */
  readonly createdRequest: "short" | "full";
  /** Entries of `GET /api/procedure-requests`. */
  readonly listedRequest: "short" | "full";
  /** Requests and procedures that were cancelled: with their status, or as if they had never been (404, in no list). */
  readonly cancelledRows: "shown" | "gone";
  /** Which containers lists show: those in storage, or all that ever got an id. */
  readonly listedContainers: "stored" | "all";
  /** `GET /api/storage/{id}/inventory`, whose answer is not specified. */
  readonly inventory: InventoryShape;
  /** Which credential each surface takes: either, or access tokens for one and API tokens for the external one. */
  readonly credentials: "either" | "separate";
  /** Shape of error bodies. */
  readonly errorBody: ErrorBody;
  /** Status of `VALIDATION_ERROR`. */
  readonly validationStatus: number;
  /** Status of a successful creation. */
  readonly createdStatus: number;
  /** Status for an existing row of another organization, read by its id. */
  readonly foreignStatus: 404 | 403;
  /** Whether each container of a STORE must have a description that is not empty. */
  readonly requiredDescription: boolean;
  /** Members of a body that the specification doesn't name: ignored, or refused. */
  readonly unknownMembers: "ignore" | "refuse";
}

export const DEFAULT_BEHAVIOUR: Behaviour = {
  listEnvelope: "array",
  externalPaging: "paged",
  maxPerPage: 100,
  overPerPage: "cap",
  filters: "all",
  otherFilters: "ignore",
  unknownFilters: "ignore",
  sort: "id",
  listLagMs: 0,
  shiftingPages: false,
  ids: "number",
  timestamps: "milliseconds",
  absentFields: "omitted",
  extraFields: {},
  words: {},
  wordCase: "specified",
  hiddenStatuses: [],
  staleReads: 0,
  singleRequest: "short",
  createdRequest: "full",
  listedRequest: "full",
  cancelledRows: "shown",
  listedContainers: "stored",
  inventory: "containers",
  credentials: "either",
  errorBody: "code",
  validationStatus: 422,
  createdStatus: 201,
  foreignStatus: 404,
  requiredDescription: false,
  unknownMembers: "ignore",
};

/** Any part of a {@link Behaviour}; parts that are undefined stay as they are. */
export type BehaviourChange = { readonly [Part in keyof Behaviour]?: Behaviour[Part] | undefined };

/** A behaviour with the given parts replaced. */
export function changedBehaviour(behaviour: Behaviour, change: BehaviourChange): Behaviour {
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  return { ...behaviour, ...given };
}
