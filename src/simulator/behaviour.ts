import { z } from "zod";
import { milliseconds } from "./chance.ts";

const form = z.enum(["short", "full"]);
const statusCode = (least: number, most: number) =>
  z.int().min(least).max(most).describe(`an HTTP status from ${least} to ${most}`);

/**
 * The shape of error bodies, which the specification leaves open.
 * - `code`: `{ code, message, details }`
 * - `nested`: `{ error: { code, message, details } }`
 * - `problem`: RFC 9457 `application/problem+json`
 * - `html`: the page of a gateway
 */
const errorBody = z.enum(["code", "nested", "problem", "html"]);
export type ErrorBody = z.infer<typeof errorBody>;

const behaviour = z.strictObject({
  /**
   * How lists of the request surface are wrapped: `array` for a bare one, else the member that holds the entries;
   * `results` brings page, perPage and total along.
   */
  listEnvelope: z.string().min(1).describe("array, or the name of the member that holds the entries"),
  /** The same for lists of the external surface. */
  externalEnvelope: z.string().min(1).describe("array, or the name of the member that holds the entries"),
  /** Lists that are wrapped bring page, perPage and total along as `meta`. */
  listMeta: z.boolean(),
  /** How often a client may call in a minute; what is more is answered with 429 and how long to wait. */
  callsPerMinute: z.union([z.int().min(1), z.literal("unlimited")]),
  /**
   * Lists of the external surface come in pages like the others (`paged`), whole whatever is asked (`whole`), or
   * whole with `page` and `perPage` refused as unknown (`refuse`).
   */
  externalPaging: z.enum(["paged", "whole", "refuse"]),
  /** The largest page. */
  maxPerPage: z.int().min(1),
  /** A larger `perPage` is cut down to it, or refused. */
  overPerPage: z.enum(["cap", "refuse"]),
  /** The filters that are honoured: a field (`status`: all four forms) or one form of it (`createdAt_from`). */
  filters: z
    .union([z.enum(["all", "none"]), z.array(z.string())])
    .describe("all, none, or a list of fields and forms such as [status, createdAt_from]"),
  /** What happens to a filter on a field of the resource that is not honoured: ignored, or 400. */
  otherFilters: z.enum(["ignore", "refuse"]),
  /** What happens to a filter on a field that the resource does not have: ignored, or 400. */
  unknownFilters: z.enum(["ignore", "refuse"]),
  /** Order of lists: by id, `-id` for newest first, or drawn for each call. */
  sort: z.enum(["id", "-id", "random"]),
  /** New rows appear in lists only after this many ms; reading one by its id is never late. */
  listLagMs: milliseconds,
  /** Later pages slide by one entry to either side at random, as when rows come and go between two calls. */
  shiftingPages: z.boolean(),
  /** How ids are written: as integers, or as strings of digits. */
  ids: z.enum(["number", "string"]),
  /** Members added to every object that is answered, such as `{ tenant: "x" }`. */
  extraFields: z.record(z.string(), z.unknown()),
  /** Other words for values of `status` and `type`: `{ IN_PROGRESS: "RUNNING", storage: "STORE" }`. */
  words: z.record(z.string(), z.string()),
  /** A subject with its `facilityId` and date of birth, or with a nested `facility` and without the date. */
  subjects: z.enum(["flat", "nested"]),
  /** `GET /api/procedure-requests/{id}`: the short forms of the specification, or every field. */
  singleRequest: form,
  /** Entries of `GET /api/procedure-requests`. */
  listedRequest: form,
  /** Requests and procedures that were cancelled: with their status, or as if they had never been (404, in no list). */
  cancelledRows: z.enum(["shown", "gone"]),
  /** Which containers lists show: those in storage, or all that ever got an id. */
  listedContainers: z.enum(["stored", "all"]),
  /**
   * What `GET /api/storage/{id}/inventory` shows of what is stored: a list with positions as text, a list in pages with
   * canister, cane and slot, canisters with their canes, or only how much it is.
   */
  inventory: z.enum(["list", "pages", "tree", "count"]),
  /** What is stored appears in inventories only after this many ms. */
  inventoryLagMs: milliseconds,
  /** Which credential each surface takes: either, or access tokens for one and API tokens for the external one. */
  credentials: z.enum(["either", "separate"]),
  errorBody,
  /** Status of `VALIDATION_ERROR`. */
  validationStatus: statusCode(400, 499),
  /** Status of a successful creation. */
  createdStatus: statusCode(200, 299),
});

/**
 * How the service decides what its specification leaves open, and how it departs from it. May be changed while the
 * simulator runs; a fault rule may change any of it for single calls (`behave`).
 */
export type Behaviour = Readonly<z.infer<typeof behaviour>>;

/** Reads a change of the behaviour; an unknown key is refused. */
export const behaviourSchema = behaviour.partial();

/** Any part of a {@link Behaviour}; parts that are undefined stay as they are. */
export type BehaviourChange = Readonly<z.infer<typeof behaviourSchema>>;

export const DEFAULT_BEHAVIOUR: Behaviour = {
  listEnvelope: "array",
  externalEnvelope: "array",
  listMeta: false,
  callsPerMinute: "unlimited",
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
  extraFields: {},
  words: {},
  subjects: "flat",
  singleRequest: "short",
  listedRequest: "full",
  cancelledRows: "shown",
  listedContainers: "stored",
  inventory: "list",
  inventoryLagMs: 0,
  credentials: "either",
  errorBody: "code",
  validationStatus: 422,
  createdStatus: 201,
};

/** A value with the parts replaced that are given; a part that is undefined never takes a setting away. */
export function changed<T extends object>(
  value: T,
  change: { readonly [Part in keyof T]?: T[Part] | undefined } | undefined,
): T {
  const given = Object.entries(change ?? {}).filter(([, part]) => part !== undefined);
  return { ...value, ...Object.fromEntries(given) };
}
