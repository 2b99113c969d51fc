import type { Config } from "../config/config.ts";
import type { Secret as GivenSecret } from "../config/secret.ts";
import type { ProxySettings } from "./http/proxy.ts";
import { type GivenWords, type ServiceWords, toServiceWords } from "./values.ts";

type Section = Config["service"];

/** A secret, or how to read it again: a rotated file is picked up without a restart. */
export type Secret = string | (() => Promise<string>);

type Readable<Auth> = {
  readonly [Key in keyof Auth]: Auth[Key] extends GivenSecret ? Secret : Auth[Key];
};

/** A static API token, or OAuth 2.0 client credentials (specification, Authentication 1 and 2). */
export type ServiceAuth = Readable<Section["auth"]>;

/** Which filters are sent that the specification does not name for a list. */
export type FilterPolicy = Section["filters"];

/** How inventories are used. */
export type InventorySettings = Section["inventory"];

/** How the service is reached, and what the site knows of the points that the specification leaves open. */
export interface ServiceSettings
  extends Omit<
      Section,
      | ("auth" | "externalAuth" | "ca" | "words")
      | ("surface" | "subjects" | "subjectRequires" | "polling" | "reconcile" | "allowInsecure")
    >,
    Partial<CallLimits> {
  readonly auth: ServiceAuth;
  /**
   * Another credential for calls of the external surface, and for whatever lies below `/api/v1/external`; `auth` when
   * absent. Whether the two surfaces take the same is not shown (specification, Authentication 7).
   */
  readonly externalAuth?: ServiceAuth | undefined;
  /** The site's own words for statuses and types. */
  readonly words: GivenWords;
  /** PEM certificates to trust instead of the public authorities, for a hospital's own. */
  readonly ca?: string | undefined;
  /** The proxy through which the service and its token endpoint are reached; directly when absent. */
  readonly proxy?: ProxySettings | undefined;
}

/** What no site sets, but who calls the service for something of its own. */
interface CallLimits {
  /** Longest pause by `Retry-After` after which a read is tried again by itself, ms. */
  readonly longestPauseMs: number;
  /** Largest answer that is read, bytes. */
  readonly maxBodyBytes: number;
}

const USUAL_LIMITS: CallLimits = { longestPauseMs: 5_000, maxBodyBytes: 8 * 1024 * 1024 };

/** The same as calls use it. */
export interface CallSettings extends Omit<ServiceSettings, "words" | keyof CallLimits>, CallLimits {
  readonly words: ServiceWords;
}

/** @returns the settings as calls use them */
export function callSettings(given: ServiceSettings): CallSettings {
  return { ...USUAL_LIMITS, ...given, words: toServiceWords(given.words) };
}
