import { z } from "zod";

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
export const errorRulesSchema = z
  .array(errorRule)
  .max(100)
  .default([])
  .describe(
    "What error answers of this service mean, where it is not what the built-in table says; the first rule that fits decides.",
  );

export type ErrorRuleConfig = z.output<typeof errorRulesSchema>[number];
