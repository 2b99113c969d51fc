import { z } from "zod";
import { type Clock, systemClock } from "../core/clock.ts";
import { type GivenPaths, PUBLIC_PATHS } from "../core/service-catalogue.ts";
import {
  type Behaviour,
  type BehaviourChange,
  behaviourSchema,
  changed,
  DEFAULT_BEHAVIOUR,
} from "./behaviour.ts";
import { milliseconds, share, spread } from "./chance.ts";
import { type FaultRule, faultSchema } from "./faults.ts";

/** The specification as it is written, or the form in which such a service is described in public. */
export const EDITIONS = ["specification", "public"] as const;
export type Edition = (typeof EDITIONS)[number];

/** What an edition decides where nothing else is said. */
interface EditionParts {
  /** Where it has what the specification has elsewhere, and what it does not have. */
  readonly paths: GivenPaths;
  readonly behaviour: BehaviourChange;
  /** Ways of sending the client's credentials that are taken. */
  readonly tokenMethods: ("basic" | "post")[];
}

export const EDITION_PARTS: Readonly<Record<Edition, EditionParts>> = {
  specification: { paths: {}, behaviour: {}, tokenMethods: ["basic", "post"] },
  public: {
    paths: PUBLIC_PATHS,
    behaviour: {
      listEnvelope: "data",
      externalEnvelope: "data",
      listMeta: true,
      subjects: "nested",
      inventory: "pages",
      errorBody: "nested",
      callsPerMinute: 60,
    },
    tokenMethods: ["post"],
  },
};

const path = z.string().startsWith("/").describe("a path that begins with /");

/** Staff who review requests. Durations are simulated time: at speed 60, a minute passes in a second. */
const staff = z.strictObject({
  /** Off: requests wait for a person or a test. */
  auto: z.boolean(),
  reviewAfterMs: spread,
  /** Share of requests that are accepted; the others are rejected. */
  acceptanceRate: share,
});

/** The device that runs procedures, in simulated time. */
const device = z.strictObject({
  auto: z.boolean(),
  startAfterMs: spread,
  runMs: spread,
  /** Share of procedures that fail. */
  failureRate: share,
});

/** Devices that ask for liquid nitrogen by themselves, in simulated time between two refills of a storage solution. */
const refills = z.strictObject({ auto: z.boolean(), everyMs: spread });

const settings = {
  /** How much faster than the clock staff and devices live. */
  speed: z.number().positive().describe("a number above 0"),
  staff: staff.partial(),
  device: device.partial(),
  refills: refills.partial(),
  behaviour: behaviourSchema,
};

/** A change of the settings while the simulator runs; unknown keys are refused. */
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
export type NewSubject = Readonly<z.infer<typeof subjectSchema>>;

/** A container that is in storage without a procedure ever having put it there; `name` is its label. */
export const containerSchema = z.strictObject({
  facilityId: z.int(),
  subjectCode: z.string().min(1),
  name: z.string().min(1),
  description: z.string().optional(),
});
export type SeedContainer = Readonly<z.infer<typeof containerSchema>>;

const organization = z.strictObject({
  id: z.int(),
  name: z.string(),
  facilities: z.array(
    // Two tanks when no storage is named.
    z.strictObject({ id: z.int(), name: z.string(), storages: z.array(z.string()).min(1).optional() }),
  ),
  clients: z.array(
    z.strictObject({
      clientId: z.string().min(1),
      clientSecret: z.string().min(1),
      /** Accepted as a bearer credential as it stands, without a token request; never expires. */
      apiToken: z.string().min(1).optional(),
    }),
  ),
});
export type OrganizationOptions = z.infer<typeof organization>;

const tokens = z.strictObject({
  /** How long an access token is good. */
  lifetimeMs: milliseconds,
  /** How the answer says it: `expires_in` as a number of seconds, as a string of digits, or not at all. */
  expiresIn: z.enum(["number", "string", "absent"]),
  /** Ways of sending the client's credentials that are taken. */
  methods: z.array(z.enum(["basic", "post"])).min(1),
  /** Where tokens are asked for. */
  path,
  /** A scope that each token request must name, among others if it likes; any scope or none when absent. */
  scope: z.string().min(1).optional(),
  /** The audience that each token request must name; any or none when absent. */
  audience: z.string().min(1).optional(),
});
export type TokenOptions = z.infer<typeof tokens>;

/** A cancel call of the requester: the specification names none, so a site's own may be set up. */
const cancelRoute = z.strictObject({
  method: z.enum(["POST", "PUT", "PATCH", "DELETE"]),
  path: path.refine((text) => text.includes("{id}"), {
    error: "expected a path with {id} in it, such as /api/procedure-requests/{id}/cancel",
  }),
  /** Whose id it takes: a PENDING request's (`request`, when absent), or that of a procedure that doesn't run yet. */
  surface: z.enum(["request", "external"]).optional(),
  /** Members that the JSON body must have, such as `{ status: "CANCELLED" }`; no body is wanted when absent. */
  body: z.record(z.string(), z.unknown()).optional(),
  /** What a call that worked is answered with: the row (200), or nothing (204). */
  answer: z.enum(["row", "empty"]).optional(),
  /** Cancelled only after this much simulated time, and answered at once with 202; at once when absent. */
  afterMs: milliseconds.optional(),
});
export type CancelRoute = Readonly<z.infer<typeof cancelRoute>>;

const sections = z
  .strictObject({
    ...settings,
    /** Which form of the service is played; every other key goes before what the edition decides. */
    edition: z.enum(EDITIONS),
    faults: z.array(faultSchema).readonly(),
    /** Seed of all chance: ids of tokens, fates of requests, probabilities of faults. */
    seed: z.int().min(0),
    /** The first id given out; ids are unique across kinds of rows, so a mixed-up id is found out. */
    firstId: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER - 1_000_000),
    organizations: z.array(organization).min(1).readonly(),
    tokens: tokens.partial(),
    cancelRoute: z.union([cancelRoute, z.array(cancelRoute).readonly()]),
    /** What is there before anyone calls; a code or a label may stand twice. */
    subjects: z.array(subjectSchema).readonly(),
    containers: z.array(containerSchema).readonly(),
  })
  .partial()
  .describe("a list of faults, or a section with keys such as faults, behaviour and staff");

/** What a simulator file holds: a list of fault rules, or a section with any part of {@link SimulatorOptions}. */
export const scriptSchema = z.union([z.array(faultSchema), sections]);
export type SimulatorScript = z.infer<typeof scriptSchema>;

/** Everything that can be set; each part has a default. */
export interface SimulatorOptions extends z.infer<typeof sections> {
  /** When given, `createSimulator` listens at once, on loopback; 0 takes any free port. */
  readonly port?: number;
  readonly clock?: Clock;
}

/** What may be changed while the simulator runs. */
export interface Settings {
  speed: number;
  staff: z.infer<typeof staff>;
  device: z.infer<typeof device>;
  refills: z.infer<typeof refills>;
  behaviour: Behaviour;
}

/** The options with every default filled in. */
interface ResolvedOptions {
  readonly edition: Edition;
  readonly clock: Clock;
  readonly seed: number;
  readonly firstId: number;
  readonly organizations: readonly OrganizationOptions[];
  readonly tokens: TokenOptions;
  readonly cancelRoutes: readonly CancelRoute[];
  readonly subjects: readonly NewSubject[];
  readonly containers: readonly SeedContainer[];
  readonly faults: readonly FaultRule[];
  readonly settings: Settings;
}

/** The organization that a simulator has when none is named. */
export const DEFAULT_ORGANIZATION: OrganizationOptions = {
  id: 1,
  name: "Example Clinics",
  facilities: [
    { id: 12, name: "North" },
    { id: 13, name: "South" },
  ],
  clients: [{ clientId: "cryobridge", clientSecret: "simulator-secret", apiToken: "simulator-api-token" }],
};

const DEFAULT_TOKENS: Omit<TokenOptions, "methods"> = {
  lifetimeMs: 3_600_000,
  expiresIn: "number",
  path: "/oauth/token",
};

const DEFAULT_SETTINGS: Settings = {
  speed: 1,
  staff: { auto: true, reviewAfterMs: [30_000, 90_000], acceptanceRate: 1 },
  device: { auto: true, startAfterMs: [10_000, 30_000], runMs: [60_000, 120_000], failureRate: 0 },
  refills: { auto: false, everyMs: [86_400_000, 172_800_000] },
  behaviour: DEFAULT_BEHAVIOUR,
};

/** Fills in the defaults. */
export function resolveOptions(options: SimulatorOptions): ResolvedOptions {
  const edition = options.edition ?? "specification";
  const { behaviour, tokenMethods } = EDITION_PARTS[edition];
  return {
    edition,
    clock: options.clock ?? systemClock,
    seed: options.seed ?? 1,
    firstId: options.firstId ?? 101,
    organizations: options.organizations ?? [DEFAULT_ORGANIZATION],
    tokens: changed({ ...DEFAULT_TOKENS, methods: tokenMethods }, options.tokens),
    cancelRoutes: [options.cancelRoute ?? []].flat(),
    subjects: options.subjects ?? [],
    containers: options.containers ?? [],
    faults: options.faults ?? [],
    settings: changedSettings(changedSettings(DEFAULT_SETTINGS, { behaviour }), options),
  };
}

/** Settings with the given parts replaced, key by key. */
export function changedSettings(settings: Settings, change: SettingsChange): Settings {
  return {
    speed: change.speed ?? settings.speed,
    staff: changed(settings.staff, change.staff),
    device: changed(settings.device, change.device),
    refills: changed(settings.refills, change.refills),
    behaviour: changed(settings.behaviour, change.behaviour),
  };
}

const PARTS = ["staff", "device", "refills", "behaviour", "tokens"];

/** Options from files and from the command line together: what stands later wins, key by key; faults add up. */
export function combineScripts(scripts: readonly SimulatorScript[]): SimulatorOptions {
  const combined: Record<string, unknown> = {};
  const faults: FaultRule[] = [];
  for (const script of scripts) {
    const { faults: more, ...rest } = Array.isArray(script) ? { faults: script } : script;
    faults.push(...(more ?? []));
    for (const [key, value] of Object.entries(rest)) {
      if (value === undefined) continue;
      combined[key] = PARTS.includes(key) ? { ...(combined[key] as object), ...(value as object) } : value;
    }
  }
  return { ...combined, faults };
}
