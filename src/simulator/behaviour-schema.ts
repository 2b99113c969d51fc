import { z } from "zod";
import type { BehaviourChange } from "./behaviour.ts";
import { INVENTORY_SHAPES } from "./inventory.ts";
import { ERROR_BODIES } from "./refusal.ts";
import { milliseconds, share } from "./scalars.ts";

const envelope = z
  .union([
    z.enum(["array", "data", "items", "results"]),
    z.strictObject({ key: z.string().min(1), paging: z.enum(["beside", "meta"]).optional() }),
  ])
  .describe("array, data, items, results, or { key: NAME, paging: beside or meta }");
const statusCode = (least: number, most: number) =>
  z.int().min(least).max(most).describe(`an HTTP status from ${least} to ${most}`);
const form = z.enum(["short", "full"]);

/** Reads a change of the behaviour; an unknown key is refused. */
export const behaviourSchema: z.ZodType<BehaviourChange> = z
  .strictObject({
    listEnvelope: envelope,
    externalPaging: z.enum(["paged", "whole", "refuse"]),
    maxPerPage: z.int().min(1),
    overPerPage: z.enum(["cap", "refuse"]),
    filters: z
      .union([z.enum(["all", "none"]), z.array(z.string())])
      .describe("all, none, or a list of fields and forms such as [status, createdAt_from]"),
    otherFilters: z.enum(["ignore", "refuse"]),
    unknownFilters: z.enum(["ignore", "refuse"]),
    sort: z.enum(["id", "-id", "createdAt", "-createdAt", "random"]),
    listLagMs: milliseconds,
    shiftingPages: z.boolean(),
    ids: z.enum(["number", "string"]),
    timestamps: z.enum(["milliseconds", "seconds", "offset"]),
    absentFields: z.enum(["omitted", "null"]),
    extraFields: z.record(z.string(), z.unknown()),
    words: z.record(z.string(), z.string()),
    wordCase: z.enum(["specified", "lower"]),
    hiddenStatuses: z.array(z.string()),
    staleReads: share,
    singleRequest: form,
    createdRequest: form,
    listedRequest: form,
    cancelledRows: z.enum(["shown", "gone"]),
    listedContainers: z.enum(["stored", "all"]),
    inventory: z.enum(INVENTORY_SHAPES),
    credentials: z.enum(["either", "separate"]),
    errorBody: z.enum(ERROR_BODIES),
    validationStatus: statusCode(400, 499),
    createdStatus: statusCode(200, 299),
    foreignStatus: z.union([z.literal(404), z.literal(403)]).describe("404 or 403"),
    requiredDescription: z.boolean(),
    unknownMembers: z.enum(["ignore", "refuse"]),
  })
  .partial();
