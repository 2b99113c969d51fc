import { z } from "zod";
import { LIST_NAMES, PATH_NAMES, PATHS, type PathName, STATUSES, TYPES } from "../core/service-catalogue.ts";

/** How a list is wrapped: `auto` is found out, `array` not at all, anything else is the key that holds the entries. */
const envelope = z
  .union([
    z.enum(["auto", "array", "data", "items"]),
    z.strictObject({
      key: z
        .string()
        .min(1)
        .describe("Name of the key that holds the entries, when it is neither data nor items."),
    }),
  ])
  .transform((given) => (typeof given === "string" ? given : given.key));

/** `service.listEnvelope`. */
export const listEnvelopeSchema = envelope
  .prefault("auto")
  .describe(
    "How the request surface's lists are wrapped: auto (found out), array (not at all), data, items, or { key: NAME }.",
  );

/** `service.listEnvelopes`. */
export const listEnvelopesSchema = z
  .partialRecord(z.enum(LIST_NAMES), envelope)
  .prefault({})
  .describe("The same for single lists that are wrapped otherwise, by their name.");

/** `service.unpaged`. */
export const unpagedSchema = z
  .array(z.enum(LIST_NAMES).describe("A list, by its name."))
  .default([])
  .describe(
    "Lists that come whole and take neither page nor perPage, such as [externalProcedures, externalContainers]; the others are asked by pages until the service refuses that.",
  );

const HELD: Readonly<Record<PathName, string>> = {
  subjects: "The subjects",
  procedureRequests: "The procedure requests of the request surface",
  procedures: "The procedures of the request surface",
  containers: "The sample containers of the request surface",
  locations: "Where a container is stored",
  storage: "The storage solutions",
  inventory: "What a storage solution holds",
  externalProcedures: "The procedures of the external surface",
  externalContainers: "The sample containers of the external surface",
};

/** A path of the specification that may lie elsewhere. One below another's moves with it. */
function path(name: PathName) {
  const usual = PATHS[name];
  const hasId = usual.includes("{id}");
  const form = hasId ? "holds {id} once" : "holds no { }";
  return z
    .string()
    .regex(hasId ? /^(none|\/[^\s?#{}]*\{id\}(\/[^\s?#{}/]+)*)$/ : /^(none|(\/[^\s?#{}/]+)+)$/, {
      error: `expected a path that begins with /, ends without one and ${form}, such as ${usual}, or none`,
    })
    .optional()
    .describe(`${HELD[name]}; ${usual} when not set.`);
}

/** `service.paths`. */
export const pathsSchema = z
  .strictObject(
    Object.fromEntries(PATH_NAMES.map((name) => [name, path(name)])) as Record<
      PathName,
      ReturnType<typeof path>
    >,
  )
  .default({})
  .describe(
    "Where your service has what the specification has elsewhere; none for what it doesn't have. What lies below a path moves with it.",
  );

/** `service.filters`. */
export const filtersSchema = z
  .union([
    z.enum(["auto", "none"]),
    z
      .array(
        z
          .string()
          .regex(/^[A-Za-z][A-Za-z0-9_.]*$/, {
            error: "expected the name of a field, such as id, or of a filter, such as createdAt_from",
          })
          .describe("A field, for all its filters, or one filter such as createdAt_from."),
      )
      .min(1),
  ])
  .default("auto")
  .describe(
    "Filters to send beyond those that the specification names for a list: auto (all, until the service refuses them), none, or a list of names.",
  );

/** `service.words`. */
export const wordsSchema = z
  .strictObject({
    status: z
      .record(z.string().min(1), z.enum(STATUSES).describe("The specification's status."))
      .default({})
      .describe("The service's own words for a status."),
    type: z
      .record(z.string().min(1), z.enum(TYPES).describe("The specification's type."))
      .default({})
      .describe("The service's own words for a type."),
  })
  .prefault({})
  .describe(
    "Words of your service for statuses and types, each with the specification's, such as status: { DONE: COMPLETED }.",
  );

/** `service.subjectRequires`. */
export const subjectRequiresSchema = z
  .array(z.enum(["firstName", "lastName", "dateOfBirth"]).describe("A field of the subject."))
  .default(["firstName", "lastName", "dateOfBirth"])
  .describe("What the service demands of a subject besides its code; an order without it is parked.");

const field = z
  .string()
  .regex(/^[\p{L}_][\p{L}\p{N}_.-]*$/u, { error: "expected the name of a field, such as vialId" })
  .optional();
const use = z
  .enum(["auto", "always", "none"])
  .describe(
    "auto: where it shows as much of a place as the container's own location, and the same; always: whatever it shows; none: never.",
  );

/** `service.inventory`. */
export const inventorySchema = z
  .union([
    use,
    z.strictObject({
      use: use.default("auto"),
      fields: z
        .strictObject({
          id: field.describe("The container's id."),
          canister: field.describe("The canister, or what stands for it; also the list of them."),
          cane: field.describe("The cane, or what stands for it; also the list of them."),
          position: field.describe("The place within it."),
          storedAt: field.describe("When the container was stored."),
        })
        .prefault({})
        .describe("Names of fields in an inventory, where they are not found."),
    }),
  ])
  .prefault("auto")
  .transform((given) => (typeof given === "string" ? { use: given, fields: {} } : given))
  .describe(
    "Whether the places of stored containers are taken from the inventory of a storage solution, one call for many: auto, always, none, or { use, fields }.",
  );
