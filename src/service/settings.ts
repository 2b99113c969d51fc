import { bareHost, isLoopbackHost } from "../core/address-list.ts";
import { Failure } from "../core/failures.ts";
import type { GivenPaths } from "../core/service-catalogue.ts";
import type { Surface } from "../core/surface.ts";
import type { ErrorRule } from "./http/classify.ts";
import type { ProxySettings } from "./http/proxy.ts";
import type { Method } from "./http/wire.ts";
import type { InventoryFields } from "./inventory/shape.ts";
import { type GivenWords, type ServiceWords, toServiceWords } from "./values.ts";

/** A secret, or how to read it again: a rotated file is picked up without a restart. */
export type Secret = string | (() => Promise<string>);

/** A static API token, or OAuth 2.0 client credentials (specification, Authentication 1 and 2). */
export type ServiceAuth =
  | { readonly apiToken: Secret }
  | {
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: Secret;
      /** How the client proves itself: HTTP Basic, or form fields in the body. */
      readonly method: "basic" | "post";
      readonly scope?: string | undefined;
      /** Sent as `audience`, which some authorization servers want. */
      readonly audience?: string | undefined;
      /** Sent as `resource`, the standard's own name for it (RFC 8707). */
      readonly resource?: string | undefined;
      /** A token's life where the answer says nothing, ms; five minutes when absent. */
      readonly assumedLifetimeMs?: number | undefined;
    };

/** Which filters are sent that the specification does not name for a list. */
export type FilterPolicy = "auto" | "none" | readonly string[];

/** How the service is reached, and what the site knows of the points that the specification leaves open. */
export interface ServiceSettings {
  /** `{base_url}` of the specification; may have a path of its own. */
  readonly baseUrl: string;
  readonly auth: ServiceAuth;
  /**
   * Another credential for calls of the external surface, and for whatever lies below `/api/v1/external`; `auth` when
   * absent. Whether the two surfaces take the same is not shown (specification, Authentication 7).
   */
  readonly externalAuth?: ServiceAuth | undefined;
  /** Limit for one call from its first byte to the last of its answer, ms. Default 15 s. */
  readonly timeoutMs?: number | undefined;
  /** Longest pause by `Retry-After` after which a read is tried again by itself, ms. Default 5 s. */
  readonly longestPauseMs?: number | undefined;
  /** Cap shared by all callers of one client. Default 20. */
  readonly maxRequestsPerSecond?: number | undefined;
  /** The same for a minute; learned of the service unless set. */
  readonly maxRequestsPerMinute?: number | undefined;
  /** Calls under way at once. Default 8. */
  readonly concurrency?: number | undefined;
  /** Page size asked for; a smaller cap of the service is noticed. Default 100. */
  readonly perPage?: number | undefined;
  /** How lists are wrapped: found out (`auto`), bare, or under a key (dots step into objects). */
  readonly listEnvelope?: "auto" | "array" | "data" | "items" | (string & {}) | undefined;
  /** The same for single lists, by the specification's path (`/api/subjects`), where they differ from the others. */
  readonly listEnvelopes?: Readonly<Record<string, string>> | undefined;
  /** The specification's paths of lists that come whole and take neither `page` nor `perPage`. */
  readonly unpaged?: readonly string[] | undefined;
  /**
   * Filters to send beyond those that the specification names for a list: all, unless the service refuses them
   * (`auto`), none, or these. A field's name (`id`) stands for its four forms, `createdAt_from` for itself.
   */
  readonly filters?: FilterPolicy | undefined;
  /** The site's own words for statuses and types. */
  readonly words?: GivenWords | undefined;
  /** Statuses that the site knows to mean: nothing was done. 429 always belongs to them, and is all of them by default. */
  readonly notExecuted?: readonly number[] | undefined;
  /** What the site knows of further error answers; the first rule that fits goes before everything else. */
  readonly errors?: readonly ErrorRule[] | undefined;
  /** Fields of a sample container entry that may hold the lab's label. */
  readonly containerLabelFields?: readonly string[] | undefined;
  /** Whether places are taken from inventories of storage solutions, and how its fields are called. */
  readonly inventory?: InventorySettings | undefined;
  /** How a storage request is recognised after a lost answer: a token in the descriptions, or its set of labels. */
  readonly correlation?: "token" | "labels" | undefined;
  /** The call that cancels an order, by the surface that has one. */
  readonly cancel?: { readonly [surface in Surface]?: CancelCall | undefined } | undefined;
  /** Where the service has what the specification has elsewhere, and what it does not have. */
  readonly paths?: GivenPaths | undefined;
  /** Lets `http://` go to another machine, which sends tokens and patients' data in clear. */
  readonly allowInsecure?: boolean | undefined;
  /** Largest answer that is read, bytes. Default 8 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** PEM certificates to trust instead of the public authorities, for a hospital's own. */
  readonly ca?: string | undefined;
  /** The proxy through which the service and its token endpoint are reached; directly when absent. */
  readonly proxy?: ProxySettings | undefined;
}

/** How inventories are used. */
export interface InventorySettings {
  /**
   * `auto`: where an inventory shows as much of a place as a container's own location, and the same; `always`: also where it shows
   * less, or nothing can be compared; `none`: never.
   */
  readonly use: "auto" | "always" | "none";
  /** The site's names for fields, beside the usual ones. */
  readonly fields: InventoryFields;
}

type Read =
  | "baseUrl"
  | "externalAuth"
  | "maxRequestsPerMinute"
  | "unpaged"
  | "words"
  | "notExecuted"
  | "allowInsecure"
  | "ca"
  | "proxy";

/** Settings with every default filled in and the addresses checked. */
export type ResolvedSettings = {
  readonly [Key in keyof Required<Omit<ServiceSettings, Read>>]: NonNullable<ServiceSettings[Key]>;
} & {
  readonly baseUrl: URL;
  readonly externalAuth: ServiceAuth | undefined;
  readonly maxRequestsPerMinute: number | undefined;
  readonly unpaged: ReadonlySet<string>;
  readonly words: ServiceWords;
  readonly notExecuted: ReadonlySet<number>;
  readonly ca: string | undefined;
  readonly proxy: ProxySettings | undefined;
};

/**
 * Fills in the defaults.
 * @throws Failure CONFIG_INVALID for an address that must not be used or a number out of range.
 */
export function resolveSettings(settings: ServiceSettings): ResolvedSettings {
  const allowInsecure = settings.allowInsecure ?? false;
  const baseUrl = checkAddress("service.baseUrl", settings.baseUrl, allowInsecure);
  if (baseUrl.search !== "") throw invalid("service.baseUrl", "must not have a query");
  for (const key of ["auth", "externalAuth"] as const) {
    const auth = settings[key];
    if (auth === undefined || !("tokenUrl" in auth)) continue;
    checkAddress(`service.${key}.tokenUrl`, auth.tokenUrl, allowInsecure);
    if (auth.clientId.trim() === "") throw invalid(`service.${key}.clientId`, "is empty");
  }
  return {
    baseUrl,
    auth: settings.auth,
    externalAuth: settings.externalAuth,
    timeoutMs: positive("service.timeout", settings.timeoutMs ?? 15_000),
    longestPauseMs: settings.longestPauseMs ?? 5_000,
    maxRequestsPerSecond: positive("service.maxRequestsPerSecond", settings.maxRequestsPerSecond ?? 20),
    maxRequestsPerMinute:
      settings.maxRequestsPerMinute &&
      positive("service.maxRequestsPerMinute", settings.maxRequestsPerMinute),
    concurrency: Math.ceil(positive("service.concurrency", settings.concurrency ?? 8)),
    perPage: Math.ceil(positive("service.perPage", settings.perPage ?? 100)),
    listEnvelope: settings.listEnvelope ?? "auto",
    listEnvelopes: settings.listEnvelopes ?? {},
    unpaged: new Set(settings.unpaged),
    filters: settings.filters ?? "auto",
    words: toServiceWords(settings.words),
    notExecuted: new Set([429, ...(settings.notExecuted ?? [])]),
    errors: settings.errors ?? [],
    containerLabelFields: settings.containerLabelFields ?? ["name", "sampleContainerId", "label"],
    inventory: settings.inventory ?? { use: "auto", fields: {} },
    correlation: settings.correlation ?? "token",
    cancel: settings.cancel ?? {},
    paths: settings.paths ?? {},
    maxBodyBytes: positive("service.maxBodyBytes", settings.maxBodyBytes ?? 8 * 1024 * 1024),
    ca: settings.ca,
    proxy: settings.proxy,
  };
}

function positive(name: string, value: number): number {
  if (Number.isFinite(value) && value > 0) return value;
  throw invalid(name, "must be a number above 0");
}

function invalid(name: string, rule: string): Failure {
  return new Failure("CONFIG_INVALID", `${name} ${rule}`);
}

/** Patients' data and tokens go to https addresses, to this machine, or where the site said so. */
function checkAddress(name: string, text: string, allowInsecure: boolean): URL {
  const url = URL.parse(text);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw invalid(name, "must be an address that begins with https://");
  }
  if (url.username !== "" || url.password !== "") throw invalid(name, "must not hold a user or password");
  if (url.hash !== "") throw invalid(name, "must not have a # part");
  const host = bareHost(url.hostname);
  if (isMetadataAddress(host)) throw invalid(name, "names a link-local or cloud metadata address");
  if (url.protocol === "http:" && !isLoopbackHost(host) && !allowInsecure) {
    throw invalid(
      name,
      "must begin with https:// for another machine (or service.allowInsecure must be true)",
    );
  }
  return url;
}

function isMetadataAddress(host: string): boolean {
  if (host === "metadata.google.internal" || host === "fd00:ec2::254") return true;
  // The URL parser writes an IPv4 address inside IPv6 as ::ffff:a9fe:….
  return host.startsWith("169.254.") || host.startsWith("::ffff:a9fe:") || /^fe[89ab][0-9a-f]:/.test(host);
}

/** The service's call that cancels a request or procedure; the specification leaves it open, so it is the site's word. */
interface CancelCall {
  readonly method: Exclude<Method, "GET">;
  /** With `{id}` where the request's id, or on the external surface the procedure's, stands. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}
