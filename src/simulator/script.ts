import { z } from "zod";
import { behaviourSchema } from "./behaviour-schema.ts";
import type { FaultRule } from "./fault-rule.ts";
import { faultSchema } from "./fault-schema.ts";
import type { SimulatorOptions } from "./options.ts";
import { milliseconds, share, spread } from "./scalars.ts";

const path = z.string().startsWith("/").describe("a path that begins with /");

/** A change of the settings while the simulator runs; unknown keys are refused. */
const settings = {
  speed: z.number().positive().describe("a number above 0"),
  staff: z.strictObject({ auto: z.boolean(), reviewAfterMs: spread, acceptanceRate: share }).partial(),
  device: z
    .strictObject({ auto: z.boolean(), startAfterMs: spread, runMs: spread, failureRate: share })
    .partial(),
  refills: z.strictObject({ auto: z.boolean(), everyMs: spread }).partial(),
  behaviour: behaviourSchema,
};
export const settingsSchema = z.strictObject(settings).partial();
export type SettingsChange = z.infer<typeof settingsSchema>;

/** A subject that is there before anyone calls. */
export const subjectSchema = z.strictObject({
  facilityId: z.int(),
  code: z.string().min(1),
  firstName: z.string().optional(),
  lastName: z.string().optional(),
  dateOfBirth: z.string().optional(),
});

/** A container that is in storage before anyone calls. */
export const containerSchema = z.strictObject({
  facilityId: z.int(),
  subjectCode: z.string().min(1),
  name: z.string().min(1),
  description: z.string().optional(),
});

const organization = z.strictObject({
  id: z.int(),
  name: z.string(),
  facilities: z.array(
    z.strictObject({ id: z.int(), name: z.string(), storages: z.array(z.string()).min(1).optional() }),
  ),
  clients: z.array(
    z.strictObject({
      clientId: z.string().min(1),
      clientSecret: z.string().min(1),
      apiToken: z.string().min(1).optional(),
    }),
  ),
});

const tokens = z
  .strictObject({
    lifetimeMs: milliseconds,
    expiresIn: z.enum(["number", "string", "absent"]),
    methods: z.array(z.enum(["basic", "post"])).min(1),
    path,
    scope: z.string().min(1),
    audience: z.string().min(1),
  })
  .partial();

const cancelRoute = z.strictObject({
  method: z.enum(["POST", "PUT", "PATCH", "DELETE"]),
  path: path.refine((text) => text.includes("{id}"), {
    error: "expected a path with {id} in it, such as /api/procedure-requests/{id}/cancel",
  }),
  surface: z.enum(["request", "external"]).optional(),
  body: z.record(z.string(), z.unknown()).optional(),
  answer: z.enum(["row", "empty"]).optional(),
  afterMs: milliseconds.optional(),
});

const wholeScript = z
  .strictObject({
    ...settings,
    faults: z.array(faultSchema),
    seed: z.int().min(0),
    firstId: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER - 1_000_000),
    organizations: z.array(organization).min(1),
    tokens,
    cancelRoute: z.union([cancelRoute, z.array(cancelRoute)]),
    subjects: z.array(subjectSchema),
    containers: z.array(containerSchema),
  })
  .partial()
  .describe("a list of faults, or a section with keys such as faults, behaviour and staff");

/** What a simulator file holds: a list of fault rules, or a section with any part of {@link SimulatorOptions}. */
export const scriptSchema = z.union([z.array(faultSchema), wholeScript]);
export type SimulatorScript = z.infer<typeof scriptSchema>;

type Part = "staff" | "device" | "refills" | "behaviour" | "tokens";
const PARTS: readonly Part[] = ["staff", "device", "refills", "behaviour", "tokens"];

/** Options from files and from the command line together: what stands later wins, key by key; faults add up. */
export function combineScripts(scripts: readonly SimulatorScript[]): SimulatorOptions {
  const combined: Record<string, unknown> = {};
  const faults: FaultRule[] = [];
  for (const script of scripts) {
    const { faults: more, ...rest } = isRuleList(script) ? { faults: script } : script;
    faults.push(...(more ?? []));
    for (const [key, value] of Object.entries(rest)) {
      if (value === undefined) continue;
      const isPart = PARTS.includes(key as Part);
      combined[key] = isPart ? { ...(combined[key] as object | undefined), ...(value as object) } : value;
    }
  }
  return { ...combined, faults };
}

function isRuleList(script: SimulatorScript): script is FaultRule[] {
  return Array.isArray(script);
}
