import { z } from "zod";
import { behaviourSchema } from "./behaviour-schema.ts";
import type { FaultRule } from "./fault-rule.ts";
import { milliseconds, share, spread } from "./scalars.ts";

const lost = z.enum(["drop", "close", "hang"]);

/** Reads a fault rule; unknown keys are refused. */
export const faultSchema: z.ZodType<FaultRule> = z
  .strictObject({
    name: z.string(),
    method: z.string(),
    path: z.string().startsWith("/").describe("a path that begins with /, such as /api/procedure-requests/*"),
    skip: z.int().min(0),
    times: z.int().min(0),
    probability: share,
    fromMs: milliseconds,
    untilMs: milliseconds,
    executeAfterMs: spread,
    answerAfterMs: spread,
    before: lost,
    after: lost,
    status: z.int().min(200).max(599).describe("an HTTP status from 200 to 599"),
    executed: z.boolean(),
    retryAfter: z
      .union([z.number(), z.string(), z.strictObject({ dateInMs: milliseconds })])
      .describe("seconds, a text, or { dateInMs: how far ahead }"),
    headers: z.record(z.string(), z.string()),
    body: z.enum(["empty", "html", "truncated", "not-json", "without-ids"]),
    cutAfterBytes: z.int().min(0),
    revokeToken: z.boolean(),
    revokeAllTokens: z.boolean(),
    behave: behaviourSchema,
  })
  .partial();
