import { z } from "zod";
import { parseDuration } from "../core/duration.ts";
import { duration } from "./scalars.ts";

const TANK_FORM = { error: "expected a duration such as 30d, at least 1s, or off" };

/** The section `refills`: the liquid-nitrogen refills that are followed. Off when it is absent. */
export const refillsSchema = z.strictObject({
  facilities: z
    .array(z.string().min(1).describe("A name from facilities."))
    .min(1, { error: "expected at least one facility, by its name in the section facilities" })
    .describe("The facilities whose refills are followed, by their names in the section facilities."),
  every: duration("How often the lists of refills are read.", { min: "100ms", max: "1d" }).prefault("10m"),
  alertAfter: duration("A tank without a completed refill for longer than this alerts.", {
    min: "1s",
  }).optional(),
  tanks: z
    .record(
      z.string().min(1),
      z
        .string(TANK_FORM)
        .refine((text) => text === "off" || (parseDuration(text) ?? 0) >= 1_000, TANK_FORM)
        .transform((text) => (text === "off" ? ("off" as const) : (parseDuration(text) ?? 0)))
        .describe("A duration instead of alertAfter, or off for no alert."),
    )
    .default({})
    .describe(
      "Single tanks by name or id, which differ from alertAfter; FACILITY/NAME where two facilities have a tank of one name.",
    ),
});

/** The section as the rest of the program sees it. */
export interface RefillsConfig {
  /** The lab's names of the facilities. */
  readonly facilities: readonly string[];
  readonly everyMs: number;
  readonly alertAfterMs?: number | undefined;
  /** `off`, or ms, by what a person wrote for the tank. */
  readonly limitByTank: ReadonlyMap<string, number | "off">;
}

/** What a validated section says, in the shape of {@link RefillsConfig}. */
export function toRefillsConfig(
  given: z.output<typeof refillsSchema> | undefined,
): RefillsConfig | undefined {
  if (given === undefined) return undefined;
  return {
    facilities: given.facilities,
    everyMs: given.every,
    alertAfterMs: given.alertAfter,
    limitByTank: new Map(Object.entries(given.tanks)),
  };
}
