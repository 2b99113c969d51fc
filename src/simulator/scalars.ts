import { z } from "zod";
import { parseDuration } from "../core/duration.ts";

const WORDS = { error: "expected milliseconds, or a duration such as 500ms, 15s or 2m" };

/** A length of time: milliseconds as a number, or a duration as text. Milliseconds after validation. */
export const milliseconds: z.ZodType<number> = z
  .union([
    z.number().min(0),
    z
      .string()
      .refine((text) => parseDuration(text) !== undefined, WORDS)
      .transform((text) => parseDuration(text) ?? 0),
  ])
  .describe("milliseconds, or a duration such as 500ms, 15s or 2m");

/** A length of time, or two between which each use draws evenly. */
export const spread: z.ZodType<number | readonly [number, number]> = z
  .union([milliseconds, z.tuple([milliseconds, milliseconds])])
  .describe("a duration, or a list of two between which it is drawn");

/** A share of calls or rows, 0 to 1. */
export const share = z.number().min(0).max(1).describe("a share from 0 to 1");
