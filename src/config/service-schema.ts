import { z } from "zod";
import { bareHost } from "../core/address-list.ts";
import { SURFACES, type Surface } from "../core/surface.ts";
import { subjectsSchema, surfaceSchema } from "./facility-schema.ts";
import {
  filtersSchema,
  inventorySchema,
  listEnvelopeSchema,
  listEnvelopesSchema,
  pathsSchema,
  subjectRequiresSchema,
  unpagedSchema,
  wordsSchema,
} from "./open-points-schema.ts";
import { duration, filePath, httpUrl, secret, section } from "./scalars.ts";

const PATH_RULE =
  "expected a path that begins with / and holds {id} once, such as /api/procedure-requests/{id}/cancel";

const call = {
  method: z.enum(["POST", "PUT", "PATCH", "DELETE"]).describe("HTTP method of the cancel call."),
  path: z
    .string()
    .regex(/^\/[^\s?#{}]*\{id\}[^\s?#{}]*$/, {
      error: PATH_RULE,
    })
    .describe("Path of the cancel call, with {id} for the request's id (external surface: the procedure's)."),
  body: z
    .record(z.string().min(1), z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .optional()
    .describe("JSON body of the cancel call, the same for every order, such as { status: CANCELLED }."),
};

const oneCall = z.strictObject(call);

const cancelSection = z
  .strictObject({
    method: call.method.optional(),
    path: call.path.optional(),
    body: call.body,
    surface: z
      .enum(SURFACES)
      .optional()
      .describe("The only surface whose orders are cancelled so; both unless set."),
    request: oneCall.optional().describe("The call for orders of the request surface."),
    external: oneCall.optional().describe("The call for orders of the external surface."),
  })
  .superRefine((given, context) => {
    const complain = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    if (given.request === undefined && given.external === undefined) {
      if (given.method === undefined) complain(["method"], "missing; expected POST, PUT, PATCH or DELETE");
      if (given.path === undefined) complain(["path"], `missing; ${PATH_RULE}`);
      return;
    }
    for (const key of ["method", "path", "body", "surface"] as const) {
      if (given[key] !== undefined)
        complain([key], "belongs under request or external, since one of them is there");
    }
  });

/** `service.cancel`: `none`, one call, or a call for each surface. */
const cancelSchema = z
  .union([z.literal("none"), cancelSection])
  .prefault("none")
  .transform((given) => (given === "none" ? {} : callsOf(given)));

/** The call of each surface that has one. */
type CancelCalls = { readonly [surface in Surface]?: z.output<typeof oneCall> | undefined };

function callsOf(given: z.output<typeof cancelSection>): CancelCalls {
  const { method, path, body, surface, request, external } = given;
  if (method === undefined || path === undefined) return { request, external };
  const same = { method, path, body };
  return surface === undefined ? { request: same, external: same } : { [surface]: same };
}

/** Classes of statuses. 1xx and 3xx are no answers of the service. */
const CLASSES = ["2xx", "4xx", "5xx"] as const;
const METHODS = ["read", "write", "GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const MEANINGS = ["refused", "notExecuted", "unknown", "credentials", "notFound"] as const;

const statusForm = "expected an HTTP status from 200 to 599, or one of 2xx, 4xx, 5xx";
const status = z.union(
  [
    z.int().min(200, { error: statusForm, abort: true }).max(599, { error: statusForm, abort: true }),
    z.enum(CLASSES),
  ],
  { error: statusForm },
);

const codeForm = "expected an error code as the service writes it, such as DUPLICATE";
const code = z.union([z.string().min(1), z.int().transform(String)], { error: codeForm });

/** One entry of `service.errors`. */
const errorRule = z
  .strictObject({
    status: z
      .union([status, z.array(status).min(1)], { error: `${statusForm}, or a list of these` })
      .transform((given) => (Array.isArray(given) ? given : [given]))
      .optional()
      .describe("HTTP status, or a list: numbers, or 2xx, 4xx, 5xx; any but 2xx when not set."),
    code: z
      .union([code, z.array(code).min(1)], { error: `${codeForm}, or a list of these` })
      .transform((given) => (Array.isArray(given) ? given : [given]))
      .optional()
      .describe("Error code in the body, or a list, exactly as it is written there."),
    body: z
      .enum(["json", "html", "empty", "other"])
      .optional()
      .describe("What the body is: json, html, empty, or other."),
    method: z
      .enum(METHODS)
      .optional()
      .describe("Which calls: read, write (all that change the service), or an HTTP method."),
    path: z
      .string()
      .regex(/^\/[^\s?#*]*\*?$/, {
        error:
          "expected a path as the specification writes it, such as /api/procedures/{id}, or one that ends in *",
      })
      .optional()
      .describe("Path as the specification writes it, with {id}; with * at its end, whatever begins so."),
    means: z
      .enum(MEANINGS)
      .describe(
        "What it means: refused (for good), notExecuted (for now), unknown (it may have been done), credentials, or notFound.",
      ),
  })
  .refine((rule) => rule.status !== undefined || rule.code !== undefined || rule.body !== undefined, {
    error: "the rule says nothing about which answers it is for; expected status, code or body",
  })
  .refine((rule) => rule.code !== undefined || !rule.status?.some(isSuccess), {
    error:
      "a status of 200 to 299 says that the call went well; only together with code can a rule be about such an answer",
  });

function isSuccess(status: number | string): boolean {
  return typeof status === "number" ? status < 300 : status === "2xx";
}

/** The key `service.errors`: a site's own rules for error answers, in the order in which they are tried. */
const errorRulesSchema = z
  .array(errorRule)
  .max(100)
  .default([])
  .describe(
    "What error answers of this service mean, where it is not what the built-in table says; the first rule that fits decides.",
  );

const peerUrls = new WeakSet<z.core.$ZodType>();

/** An address that credentials and patients' data go to: of a server, never of the machine's own surroundings. */
function peerUrl(description: string) {
  const schema = httpUrl(description)
    .refine((text) => !isMetadataAddress(bareHost(new URL(text).hostname)), {
      error: "names a link-local or cloud metadata address; expected the address of a server",
    })
    .describe(description);
  peerUrls.add(schema);
  return schema;
}

/** Whether a schema is that of the service's address, or of one of its token endpoints. */
export function isPeerUrl(schema: z.core.$ZodType): boolean {
  return peerUrls.has(schema);
}

function isMetadataAddress(named: string): boolean {
  // A name may end in the dot of the root.
  const host = named.replace(/\.$/, "");
  if (host === "metadata.google.internal" || host === "fd00:ec2::254") return true;
  // The URL parser writes an IPv4 address inside IPv6 as ::ffff:a9fe:….
  return host.startsWith("169.254.") || host.startsWith("::ffff:a9fe:") || /^fe[89ab][0-9a-f]:/.test(host);
}

const oauth = section({
  tokenUrl: peerUrl(
    "Address of the token endpoint; the service's specification leaves it open, ask its administrator.",
  ),
  clientId: z
    .string()
    .min(1)
    .refine((text) => text.trim() !== "", { error: "must not be empty" })
    .describe("Client id that the service's administrator issued."),
  clientSecret: secret(`Client secret; write it as \${NAME}.`),
  method: z
    .enum(["basic", "post"])
    .default("basic")
    .describe("How the client proves itself: basic (Authorization header) or post (form fields)."),
  scope: z.string().min(1).optional().describe("Scope to ask for, when the token endpoint wants one."),
  audience: z.string().min(1).optional().describe("Audience to ask for, when the token endpoint wants one."),
  resource: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9+.-]*:[^\s#]+$/, {
      error: "expected an address without #, such as https://storage.example.org/api",
    })
    .optional()
    .describe("Resource to ask for (RFC 8707), when the token endpoint wants that instead of an audience."),
  assumedLifetime: duration("How long a token is taken to live when the token endpoint doesn't say.", {
    min: "5s",
    max: "1d",
  }).prefault("5m"),
});

const apiToken = z.strictObject({
  apiToken: secret(`API token that the service's administrator issued; write it as \${NAME}.`),
});

const polling = section({
  first: duration("Wait before the first look; the specification suggests about a minute.", {
    min: "100ms",
  }).prefault("60s"),
  max: duration("Longest wait between two looks.", { min: "100ms" }).prefault("15m"),
  factor: z
    .number()
    .min(1)
    .max(10)
    .default(1.5)
    .describe("By how much the wait grows after each look that found nothing new."),
});

const reconcile = section({
  checks: z
    .array(duration("Time since the call was sent."))
    .min(1)
    .prefault(["5s", "30s"])
    .describe("When to check what a call without an answer may have done, counted from the call."),
  giveUpAfter: duration(
    "When a last look that finds nothing is believed; longer than the service or a gateway can hold a call.",
    {
      min: "1s",
    },
  ).prefault("15m"),
  recheck: duration(
    "When an order that was sent again is looked for once more, counted from that call: what the first one made may show late, and two of them open a task.",
    { min: "1s" },
  ).prefault("1h"),
  retrievals: z
    .enum(["park", "retry"])
    .default("park")
    .describe(
      "A retrieval that could not be found after all checks: park it for a person, or retry. A retrieval request carries no mark of its own, so a retry may double it.",
    ),
});

/** The section `service`: how the storage service is reached and followed. */
export const serviceSchema = section({
  baseUrl: peerUrl("Address of the service, without /api."),
  surface: surfaceSchema
    .default("request")
    .describe(
      "Which of the service's two interfaces orders go by: request (staff review a procedure request) or external (a procedure is created at once and waits for staff). A facility may say otherwise.",
    ),
  auth: z
    .union([oauth, apiToken])
    .describe(
      "The credentials: tokenUrl, clientId and clientSecret (OAuth 2.0 client credentials), or apiToken.",
    ),
  externalAuth: z
    .union([oauth, apiToken])
    .optional()
    .describe(
      "Other credentials for the external surface and all that lies below /api/v1/external, in the same forms; those of auth when not set.",
    ),
  subjects: subjectsSchema
    .default("register")
    .describe(
      "What is done about an order's subject before the order is sent: register (looked up, and registered where it is missing), look (looked up only) or none. A facility may say otherwise.",
    ),
  ca: filePath(
    "File with the certificates (PEM) of the authorities to trust instead of the public ones, for a hospital's own.",
  ).optional(),
  timeout: duration("How long one call may take.", { min: "100ms", max: "10m" }).prefault("15s"),
  maxRequestsPerSecond: z
    .number()
    .positive()
    .max(10_000)
    .default(20)
    .describe("Upper bound of calls in a second, by all workers of a ledger together: each takes its share."),
  maxRequestsPerMinute: z
    .int()
    .min(1)
    .max(600_000)
    .optional()
    .describe(
      "Upper bound of calls in a minute, for a service that counts so: evenly spread, by all workers of a ledger together. Where it is not set, the service's own limit is learned from its headers and refusals.",
    ),
  concurrency: z
    .int()
    .min(1)
    .max(256)
    .default(8)
    .describe(
      "Upper bound of calls in flight at once, by all workers of a ledger together. Each may have one, also where there are more workers.",
    ),
  perPage: z
    .int()
    .min(1)
    .max(10_000)
    .default(100)
    .describe("Page size asked for in lists; a smaller cap of the service is noticed."),
  paths: pathsSchema,
  listEnvelope: listEnvelopeSchema,
  listEnvelopes: listEnvelopesSchema,
  unpaged: unpagedSchema,
  filters: filtersSchema,
  words: wordsSchema,
  subjectRequires: subjectRequiresSchema,
  polling: polling.prefault({}).describe("How often open orders are looked at."),
  reconcile: reconcile.prefault({}).describe("What follows a call whose answer never came."),
  notExecuted: z
    .array(z.int().min(400).max(599).describe("An HTTP status."))
    .prefault([429])
    .transform((statuses): ReadonlySet<number> => new Set([429, ...statuses]))
    .describe(
      "HTTP statuses that are known to mean: nothing was done. 429 always belongs to them; name 503 only where no gateway answers it after it has passed a call on.",
    ),
  errors: errorRulesSchema,
  correlation: z
    .enum(["token", "labels"])
    .default("token")
    .describe(
      "How a stored request is found again: token (a short mark in the containers' descriptions, seen by staff) or labels (the set of labels alone; more orders need a person).",
    ),
  containerLabelFields: z
    .array(z.string().min(1).describe("A field name."))
    .min(1)
    .default(["name", "sampleContainerId", "label"])
    .describe(
      "Fields of a listed container that may hold the lab's label, the first that has a text counts.",
    ),
  inventory: inventorySchema,
  cancel: cancelSchema.describe(
    "The call that cancels an order at the service, which the specification leaves open: none, { method, path }, or one under request and one under external.",
  ),
  allowInsecure: z
    .boolean()
    .default(false)
    .describe("Allow http:// to another machine. Names and birth dates then cross the network unprotected."),
});
