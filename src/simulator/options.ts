import { z } from "zod";
import { type Clock, systemClock } from "../core/clock.ts";
import { Failure } from "../core/failures.ts";
import { type Behaviour, behaviourSchema, changedBehaviour, DEFAULT_BEHAVIOUR } from "./behaviour.ts";
import { type FaultRule, faultSchema } from "./fault-rule.ts";
import type { Spread } from "./random.ts";

export interface FacilityOptions {
  readonly id: number;
  readonly name: string;
  /** Names of its storage solutions; two tanks when absent. */
  readonly storages?: readonly string[];
}

/** An integration of an organization: its OAuth client, its static API token, or both. */
export interface ClientOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Accepted as a bearer credential as it stands, without a token request; never expires, but may be revoked. */
  readonly apiToken?: string;
}

export interface OrganizationOptions {
  readonly id: number;
  readonly name: string;
  readonly facilities: readonly FacilityOptions[];
  readonly clients: readonly ClientOptions[];
}

export interface TokenOptions {
  /** How long an access token is good, ms. */
  readonly lifetimeMs: number;
  /** How the answer tells it: `expires_in` as a number of seconds, as a string of digits, or not at all. */
  readonly expiresIn: "number" | "string" | "absent";
  /** Ways of sending the client's credentials that are taken. */
  readonly methods: readonly ("basic" | "post")[];
}

/** Staff who review requests. Durations are simulated time: at speed 60, a minute passes in a second. */
export interface StaffOptions {
  /** Off: requests wait for a person or a test. */
  readonly auto: boolean;
  readonly reviewAfterMs: Spread;
  /** Share of requests that are accepted, 0 to 1; the others are rejected. */
  readonly acceptanceRate: number;
}

/** The device that runs procedures, in simulated time. */
export interface DeviceOptions {
  readonly auto: boolean;
  readonly startAfterMs: Spread;
  readonly runMs: Spread;
  /** Share of procedures that fail, 0 to 1. */
  readonly failureRate: number;
}

/** How the requester cancels a PENDING request: the specification names no call, so a site's own may be set up. */
export interface CancelRoute {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** With `{id}` where the request's id stands: `/api/procedure-requests/{id}/cancel`. */
  readonly path: string;
}

/** Everything a simulator can be told; each part has a default. */
export interface SimulatorOptions {
  /** When given, `createSimulator` listens at once; 0 takes any free port. */
  readonly port?: number;
  /** Where to listen; `127.0.0.1` when absent. */
  readonly host?: string;
  readonly clock?: Clock;
  /** Seed of all chance: ids of tokens, fates of requests, probabilities of faults. */
  readonly seed?: number;
  /** How much faster than the clock staff and devices live. */
  readonly speed?: number;
  /** The first id given out; ids are unique across kinds of rows, so a mixed-up id is found out. */
  readonly firstId?: number;
  readonly organizations?: readonly OrganizationOptions[];
  readonly tokens?: Partial<TokenOptions>;
  readonly staff?: Partial<StaffOptions>;
  readonly device?: Partial<DeviceOptions>;
  readonly behaviour?: Partial<Behaviour>;
  readonly faults?: readonly FaultRule[];
  readonly cancelRoute?: CancelRoute;
  /** Lets other machines and host names use `/simulator/*` and the page, as a container needs; loopback only when absent. */
  readonly openControl?: boolean;
}

/** The options with every default filled in. */
export interface ResolvedOptions {
  readonly host: string;
  readonly clock: Clock;
  readonly seed: number;
  readonly firstId: number;
  readonly organizations: readonly OrganizationOptions[];
  readonly tokens: TokenOptions;
  readonly cancelRoute: CancelRoute | undefined;
  readonly openControl: boolean;
}

/** What may be changed while the simulator runs. */
export interface Settings {
  speed: number;
  staff: StaffOptions;
  device: DeviceOptions;
  behaviour: Behaviour;
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

/** Fills in the defaults. */
export function resolveOptions(options: SimulatorOptions): ResolvedOptions {
  return {
    host: options.host ?? "127.0.0.1",
    clock: options.clock ?? systemClock,
    seed: options.seed ?? 1,
    firstId: options.firstId ?? 101,
    organizations: options.organizations ?? [DEFAULT_ORGANIZATION],
    tokens: { lifetimeMs: 3_600_000, expiresIn: "number", methods: ["basic", "post"], ...options.tokens },
    cancelRoute: options.cancelRoute,
    openControl: options.openControl ?? false,
  };
}

/** The settings a simulator starts with. */
export function initialSettings(options: SimulatorOptions): Settings {
  return {
    speed: options.speed ?? 1,
    staff: { auto: true, reviewAfterMs: [30_000, 90_000], acceptanceRate: 1, ...options.staff },
    device: {
      auto: true,
      startAfterMs: [10_000, 30_000],
      runMs: [60_000, 120_000],
      failureRate: 0,
      ...options.device,
    },
    behaviour: changedBehaviour(DEFAULT_BEHAVIOUR, options.behaviour ?? {}),
  };
}

const spreadSchema = z.union([z.number().min(0), z.tuple([z.number().min(0), z.number().min(0)])]);
const rate = z.number().min(0).max(1);

/** A change of the settings; unknown keys are refused. */
export const settingsSchema = z
  .strictObject({
    speed: z.number().positive(),
    staff: z.strictObject({ auto: z.boolean(), reviewAfterMs: spreadSchema, acceptanceRate: rate }).partial(),
    device: z
      .strictObject({
        auto: z.boolean(),
        startAfterMs: spreadSchema,
        runMs: spreadSchema,
        failureRate: rate,
      })
      .partial(),
    behaviour: behaviourSchema,
  })
  .partial();
export type SettingsChange = z.infer<typeof settingsSchema>;

const scriptSchema = z.union([
  z.array(faultSchema),
  settingsSchema.extend({ faults: z.array(faultSchema).optional() }),
]);

/** A fault script: fault rules and changes of the settings. */
export interface SimulatorScript {
  readonly faults: readonly FaultRule[];
  readonly settings: SettingsChange;
}

/**
 * Reads the parsed content of a fault script: a list of fault rules, or an object with `faults`, `speed`, `staff`,
 * `device` and `behaviour`. Throws CONFIG_INVALID naming each place that is wrong.
 */
export function parseScript(content: unknown): SimulatorScript {
  const read = scriptSchema.safeParse(content);
  if (!read.success) {
    throw new Failure("CONFIG_INVALID", `the fault script has mistakes:\n${z.prettifyError(read.error)}`);
  }
  if (Array.isArray(read.data)) return { faults: read.data, settings: {} };
  const { faults, ...settings } = read.data;
  return { faults: faults ?? [], settings };
}
