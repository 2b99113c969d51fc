/** Whose integration calls: the organisation under test, or another one that must see nothing of it. */
export type Organization = "ours" | "theirs";

/**
 * What a test may ask of a storage service that somebody else wrote from the specification. The services beside this
 * file share this face and nothing else: each decides what the specification leaves open in its own way, and strictly.
 *
 * In each of them staff turn down what has a container label with REJECT in it, and the device fails on FAIL.
 */
export interface OtherService {
  readonly baseUrl: string;
  /** The ids of the facilities: two of the organisation under test, and one of the other organisation. */
  readonly facilities: { readonly NORTH: number; readonly SOUTH: number; readonly FOREIGN: number };
  /** What an administrator of the service hands to an integration: `service.auth`, and `service.externalAuth` if it is another. */
  credentials(organization: Organization): Readonly<Record<string, unknown>>;
  /** What the service's manual lets a site write under `service` for a surface, beyond its credentials. */
  manual(surface: "request" | "external"): Readonly<Record<string, unknown>>;
  /** The part of it without which no site could work, since nothing that the service answers shows it. */
  readonly knownBeforehand: Readonly<Record<string, unknown>>;
  /** Requests that were refused for their shape, with the reason; expected to stay empty. */
  readonly misshapen: readonly string[];
  /** How often an integration made the same request or procedure: by facility, type and container labels. */
  made(): ReadonlyMap<string, number>;
  /** How many answers to creating calls were lost after the work was done. */
  lost(): number;
  close(): Promise<void>;
}

/** What a test asks for when it starts one. */
export interface Disturbance {
  /** The answer to every n-th creating call is lost after the work is done; 0 for never. */
  readonly loseEvery: number;
  /** The answer to every n-th call comes late by `lateByMs`; 0 for never. */
  readonly lateEvery: number;
  readonly lateByMs: number;
}

/** A service on its good day. */
export const UNDISTURBED: Disturbance = { loseEvery: 0, lateEvery: 0, lateByMs: 0 };
