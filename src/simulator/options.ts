import { type Clock, systemClock } from "../core/clock.ts";
import { type Behaviour, type BehaviourChange, changedBehaviour, DEFAULT_BEHAVIOUR } from "./behaviour.ts";
import type { SeedContainer } from "./control.ts";
import type { FaultRule } from "./fault-rule.ts";
import type { Spread } from "./random.ts";
import type { NewSubject } from "./state.ts";

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
  /** Where tokens are asked for. */
  readonly path: string;
  /** A scope that each token request must name, among others if it likes; any scope or none when absent. */
  readonly scope?: string | undefined;
  /** The audience that each token request must name; any or none when absent. */
  readonly audience?: string | undefined;
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

/** Devices that ask for liquid nitrogen by themselves, in simulated time. */
export interface RefillOptions {
  readonly auto: boolean;
  /** Time between two refills of one storage solution. */
  readonly everyMs: Spread;
}

/** A cancel call of the requester: the specification names none, so a site's own may be set up. */
export interface CancelRoute {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** With `{id}` where the id stands: `/api/procedure-requests/{id}/cancel`. */
  readonly path: string;
  /** Whose id it takes: a PENDING request's (`request`, when absent), or that of a procedure that doesn't run yet. */
  readonly surface?: "request" | "external" | undefined;
  /** Members that the JSON body must have, such as `{ status: "CANCELLED" }`; no body is wanted when absent. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** What a call that worked is answered with: the row (200), or nothing (204). */
  readonly answer?: "row" | "empty" | undefined;
  /** Cancelled only after so much simulated time, and answered at once with 202; at once when absent. */
  readonly afterMs?: number | undefined;
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
  readonly refills?: Partial<RefillOptions>;
  readonly behaviour?: BehaviourChange;
  readonly faults?: readonly FaultRule[];
  /** None when absent. */
  readonly cancelRoute?: CancelRoute | readonly CancelRoute[];
  /** Subjects that are there before anyone calls; a code may stand twice. */
  readonly subjects?: readonly NewSubject[];
  /** Containers that are in storage before anyone calls; their subjects must be there. A label may stand twice. */
  readonly containers?: readonly SeedContainer[];
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
  readonly cancelRoutes: readonly CancelRoute[];
  readonly openControl: boolean;
  readonly subjects: readonly NewSubject[];
  readonly containers: readonly SeedContainer[];
}

/** What may be changed while the simulator runs. */
export interface Settings {
  speed: number;
  staff: StaffOptions;
  device: DeviceOptions;
  refills: RefillOptions;
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
    tokens: {
      lifetimeMs: 3_600_000,
      expiresIn: "number",
      methods: ["basic", "post"],
      path: "/oauth/token",
      ...options.tokens,
    },
    cancelRoutes: [options.cancelRoute ?? []].flat(),
    openControl: options.openControl ?? false,
    subjects: options.subjects ?? [],
    containers: options.containers ?? [],
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
    refills: { auto: false, everyMs: [86_400_000, 172_800_000], ...options.refills },
    behaviour: changedBehaviour(DEFAULT_BEHAVIOUR, options.behaviour ?? {}),
  };
}
