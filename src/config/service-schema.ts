import { z } from "zod";
import { duration, filePath, httpUrl, secret } from "./scalars.ts";

const oauth = z.strictObject({
  tokenUrl: httpUrl(
    "Address of the token endpoint; the service's specification leaves it open, ask its administrator.",
  ),
  clientId: z.string().min(1).describe("Client id that the service's administrator issued."),
  clientSecret: secret(`Client secret; write it as \${NAME}.`),
  method: z
    .enum(["basic", "post"])
    .default("basic")
    .describe("How the client proves itself: basic (Authorization header) or post (form fields)."),
  scope: z.string().min(1).optional().describe("Scope to ask for, when the token endpoint wants one."),
  audience: z.string().min(1).optional().describe("Audience to ask for, when the token endpoint wants one."),
});

const apiToken = z.strictObject({
  apiToken: secret(`API token that the service's administrator issued; write it as \${NAME}.`),
});

const polling = z.strictObject({
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

const settle = z.strictObject({
  looks: z
    .array(duration("Time since the call was sent."))
    .min(1)
    .prefault(["5s", "30s"])
    .describe("When to look for what an unanswered call may have done, counted from the call."),
  after: duration(
    "When a last look that finds nothing is believed; longer than the service or a gateway can hold a call.",
    {
      min: "1s",
    },
  ).prefault("15m"),
  retrievals: z
    .enum(["park", "retry"])
    .default("park")
    .describe(
      "A retrieval that could not be found after all looks: park it for a person, or retry. A retrieval request carries no mark of its own, so a retry may double it.",
    ),
});

const cancelCall = z.strictObject({
  method: z.enum(["POST", "PUT", "PATCH", "DELETE"]).describe("HTTP method of the cancel call."),
  path: z
    .string()
    .regex(/^\/[^\s?#]*\{id\}[^\s?#]*$/, {
      error: "expected a path that begins with / and holds {id}, such as /api/procedure-requests/{id}/cancel",
    })
    .describe("Path of the cancel call, with {id} for the request's id."),
});

/** The section `service`: how the storage service is reached and followed. */
export const serviceSchema = z.strictObject({
  baseUrl: httpUrl("Address of the service, without /api."),
  surface: z
    .enum(["request", "external"])
    .default("request")
    .refine((surface) => surface === "request", {
      error: "this release speaks the request surface only; expected request",
    })
    .describe(
      "Which of the service's two interfaces. This release speaks request: staff review each request.",
    ),
  auth: z
    .union([oauth, apiToken])
    .describe(
      "The credentials: tokenUrl, clientId and clientSecret (OAuth 2.0 client credentials), or apiToken.",
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
    .describe("Upper bound of calls in a second."),
  concurrency: z.int().min(1).max(256).default(8).describe("Upper bound of calls in flight at once."),
  perPage: z
    .int()
    .min(1)
    .max(10_000)
    .default(100)
    .describe("Page size asked for in lists; a smaller cap of the service is noticed."),
  listEnvelope: z
    .union([
      z.enum(["auto", "array", "data", "items"]),
      z.strictObject({
        key: z
          .string()
          .min(1)
          .describe("Name of the key that holds the entries, when it is neither data nor items."),
      }),
    ])
    .default("auto")
    .describe("How lists are wrapped: auto (found out), array (not at all), data, items, or { key: NAME }."),
  polling: polling.prefault({}).describe("How often open orders are looked at."),
  settle: settle.prefault({}).describe("What follows a call whose answer never came."),
  notExecuted: z
    .array(z.int().min(400).max(599).describe("An HTTP status."))
    .default([429, 503])
    .describe("HTTP statuses that are known to mean: nothing was done."),
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
  cancel: z
    .union([z.literal("none"), cancelCall])
    .default("none")
    .refine((cancel) => cancel === "none", { error: "this release makes no cancel call yet; expected none" })
    .describe(
      "The call that cancels a request, which the specification leaves open. This release makes none.",
    ),
  allowInsecure: z
    .boolean()
    .default(false)
    .describe("Allow http:// to another machine. Names and birth dates then cross the network unprotected."),
});
