import { z } from "zod";
import { parseDuration } from "../core/duration.ts";

/** A source of chance that a seed makes repeatable. */
export interface Random {
  /** A number from 0 (included) to 1 (excluded). */
  next(): number;
  /** Whether something of this probability (0 to 1) happens. */
  happens(probability: number): boolean;
  /** One of the given values; the list is not empty. */
  pick<T>(values: readonly [T, ...T[]]): T;
  /** Hexadecimal digits, for tokens. */
  hex(digits: number): string;
}

const DURATION = { error: "expected milliseconds, or a duration such as 500ms, 15s or 2m" };

/** A length of time: milliseconds as a number, or a duration as text. Milliseconds after validation. */
export const milliseconds: z.ZodType<number> = z
  .union([
    z.number().min(0),
    z
      .string()
      .refine((text) => parseDuration(text) !== undefined, DURATION)
      .transform((text) => parseDuration(text) ?? 0),
  ])
  .describe("milliseconds, or a duration such as 500ms, 15s or 2m");

/** Either a fixed duration in ms, or a range from which each use draws evenly. */
export type Spread = number | readonly [min: number, max: number];

/** A length of time, or two between which each use draws evenly. */
export const spread: z.ZodType<Spread> = z
  .union([milliseconds, z.tuple([milliseconds, milliseconds])])
  .describe("a duration, or a list of two between which it is drawn");

/** A share of calls or rows, 0 to 1. */
export const share = z.number().min(0).max(1).describe("a share from 0 to 1");

/** Draws from a {@link Spread}. */
export function drawMs(spread: Spread, random: Random): number {
  if (typeof spread === "number") return spread;
  const [min, max] = spread;
  return min + (max - min) * random.next();
}

/**
 * Randomness from a 32-bit state that walks by an odd constant and is mixed on the way out (the SplitMix scheme):
 * every seed gives another sequence, and the same seed always the same. Nothing secret rests on it.
 */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 0x1_0000_0000;
  };
  return {
    next,
    happens: (probability) => next() < probability,
    pick: (values) => values[Math.floor(next() * values.length)] ?? values[0],
    hex: (digits) => {
      let text = "";
      while (text.length < digits) text += Math.floor(next() * 16).toString(16);
      return text;
    },
  };
}
