import { z } from "zod";
import { parseDuration } from "../core/duration.ts";
import { type FacilityWay, SUBJECT_MODES, SURFACES } from "../core/surface.ts";
import { duration, section } from "./scalars.ts";

const EXPECTED_ID = { error: "expected the service's id of the facility, a whole number above 0" };
const facilityId = z
  .int(EXPECTED_ID)
  .positive(EXPECTED_ID)
  .describe("The service's id of the facility, or a section { id, surface, subjects }.");

/** Which of the service's two interfaces orders go by. */
export const surfaceSchema = z.enum(SURFACES);

/** What is done about an order's subject before the order is sent. */
export const subjectsSchema = z.enum(SUBJECT_MODES);

const facility = z.union([
  facilityId,
  z.strictObject({
    id: facilityId.describe("The service's id of the facility."),
    surface: surfaceSchema
      .optional()
      .describe("Which of the service's two interfaces this facility's orders go by; else service.surface."),
    subjects: subjectsSchema
      .optional()
      .describe(
        "What is done about the subjects of this facility's orders before they are sent; else service.subjects.",
      ),
  }),
]);

/** The section `facilities`. */
export const facilitiesSchema = z
  .record(z.string().min(1), facility)
  .refine((facilities) => Object.keys(facilities).length > 0, { error: "expected at least one facility" })
  .describe("The service's id of each facility, by the name that the lab uses.");

type Facilities = z.output<typeof facilitiesSchema>;

/** The service's id of each facility by the lab's name, and how its orders go to the service by that id. */
export function toFacilities(
  given: Facilities,
  usual: FacilityWay,
): { facilityIdByCode: Map<string, number>; facilityWayById: Map<number, FacilityWay> } {
  const whole = Object.entries(given).map(([code, each]) => {
    const { id, surface, subjects } =
      typeof each === "number" ? { id: each, surface: undefined, subjects: undefined } : each;
    return {
      code,
      id,
      way: { surface: surface ?? usual.surface, subjects: subjects ?? usual.subjects },
    };
  });
  return {
    facilityIdByCode: new Map(whole.map(({ code, id }) => [code, id])),
    facilityWayById: new Map(whole.map(({ id, way }) => [id, way])),
  };
}

const TANK_FORM = { error: "expected a duration such as 30d, at least 1s, or off" };

/** The section `refills`: the liquid-nitrogen refills that are followed. Off when it is absent. */
export const refillsSchema = section({
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
    .transform((tanks): ReadonlyMap<string, number | "off"> => new Map(Object.entries(tanks)))
    .describe(
      "Single tanks by name or id, which differ from alertAfter; FACILITY/NAME where two facilities have a tank of one name.",
    ),
});
