import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { PeerCertificates } from "../core/peer-certificates.ts";
import { hasPath, locationSurface, type PathName } from "../core/service-catalogue.ts";
import type { OtherWorkers, ServiceNews } from "../core/service-outage.ts";
import { CALL_PURPOSES, type CallPurpose } from "../core/service-quota.ts";
import type { Surface } from "../core/surface.ts";
import { cancelAtService, lookForCancel } from "./cancel.ts";
import { type Breaker, CircuitBreaker } from "./http/breaker.ts";
import type { ServiceContext } from "./http/context.ts";
import { Limiter } from "./http/limiter.ts";
import type { QuotaInForce } from "./http/quotas.ts";
import type { CountedCalls, Turn } from "./http/sent-calls.ts";
import { OAuthTokens, StaticTokens, type TokenLife } from "./http/token.ts";
import { callsFor, type ObservedCall, Transport } from "./http/transport.ts";
import { createWire, type Wire } from "./http/wire.ts";
import { findInInventory, inventoryTrust, judgeInventory } from "./inventory/find.ts";
import { InventoryWorth } from "./inventory/worth.ts";
import { Capabilities, type ShapeChange } from "./lists/capabilities.ts";
import { getInventory, readList, readPage, readRecord } from "./lists/reads.ts";
import { create } from "./new-request.ts";
import { probeLists, probeUnknownId } from "./probe/probe.ts";
import { probeInventory } from "./probe/probe-inventory.ts";
import { listMade } from "./reconcile/made.ts";
import { listNewest } from "./reconcile/newest.ts";
import { searchRequestIds, snapshotRequestIds } from "./reconcile/search.ts";
import { getRefill, listTanks, readRefills } from "./refills.ts";
import { getLocation, listSubjectContainers, readContainers } from "./request-surface/containers.ts";
import { getProcedure, getRequest, readProcedures, readRequests } from "./request-surface/requests.ts";
import { findSubject, getSubject, registerSubject } from "./request-surface/subjects.ts";
import { callSettings, type ServiceAuth, type ServiceSettings } from "./settings.ts";

/** The calls of both surfaces. */
const CALLS = {
  findSubject,
  getSubject,
  registerSubject,
  create,
  searchRequestIds,
  snapshotRequestIds,
  listSubjectContainers,
  readContainers,
  getLocation,
  findInInventory,
  inventoryTrust,
  judgeInventory,
  getRequest,
  getProcedure,
  readRequests,
  readProcedures,
  listMade,
  listNewest,
  cancelAtService,
  lookForCancel,
  readList,
  readPage,
  readRecord,
  getInventory,
  readRefills,
  getRefill,
  listTanks,
  probeLists,
  probeUnknownId,
  probeInventory,
};

/** Functions of this folder without the context that each of them is given first. */
type Bound = {
  readonly [Name in keyof typeof CALLS]: (typeof CALLS)[Name] extends (
    context: ServiceContext,
    ...rest: infer Rest
  ) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

/** What functions that ask the service are given. */
export interface ServiceCalls extends Bound {
  /** Whether the service has something, as far as the site says. */
  has(name: PathName): boolean;
  /** Which surface's ids of containers locations are asked by. */
  readonly locationSurface: Surface;
  /**
   * How far the service's clock is ahead of the ledger's, ms; of this machine's where there is no ledger, as for `check`. Undefined before
   * the first answer.
   */
  readonly clockSkewMs: number | undefined;
}

/**
 * The Sample Storage Integration Service. Subjects and locations are described for the request surface only. Each method may throw the SERVICE_
 * failures of the registry; a transient one means that nothing was done, an ambiguous one that it may have been.
 * What each method promises stands with the function of the same name in this folder.
 */
export interface ServiceClient extends ServiceCalls {
  /** The same calls for a purpose, whose turn it is more or less often where calls wait; those of the client itself are for `other`. */
  for(purpose: CallPurpose): ServiceCalls;
  /** Takes a token for a surface (by default the request one) without calling the service, for `check`. */
  checkToken(signal: AbortSignal, surface?: Surface): Promise<void>;
  /** How long the current token lives; undefined before the first, and for a static API token. */
  readonly tokenLife: TokenLife | undefined;
  /** The latest change in how lists are answered, since the start. */
  readonly lastChange: ShapeChange | undefined;
  readonly breaker: Breaker;
  /** How many calls may be under way at once: this worker's share. */
  readonly callsAtOnce: number;
  /** Takes what the workers of the ledger know of the service. */
  follow(news: ServiceNews): void;
  /** Requests sent so far by `METHOD route`; token requests are not among them. */
  readonly requestCounts: ReadonlyMap<string, number>;
  /** What was sent since the start, requests for tokens among it. */
  readonly sent: CountedCalls;
  /** The same within the last minute. */
  readonly lastMinute: CountedCalls;
  /** What holds calls back. */
  readonly limit: CallLimit;
  /** Cuts what is under way and closes the connections. */
  close(): Promise<void>;
}

/** What holds the calls of all workers together back, and how busy this one is. */
export interface CallLimit {
  /** The quota that holds back the most. */
  readonly quota: QuotaInForce;
  /** So many calls leave in a minute at most. */
  readonly mostPerMinute: number;
  /** How many workers and commands share it, this one included. */
  readonly sharedBy: number;
  /** For how long calls of this worker have been under way without a break, ms. */
  readonly busyForMs: number;
}

export interface ServiceDeps {
  readonly clock: Clock;
  /**
   * The time by the ledger's clock, which that of the service is compared with, undefined while it isn't sure; this machine's where there is
   * no ledger.
   */
  readonly ledgerNow?: (() => number | undefined) | undefined;
  readonly logger: Logger;
  /** Between 0 and 1, for jitter; `Math.random` by default. */
  readonly random?: (() => number) | undefined;
  /** Hear what this client finds of the service; absent where it works alone. */
  readonly others?: OtherWorkers | undefined;
  /** Called after each call, for metrics. */
  readonly onCall?: ((call: ObservedCall) => void) | undefined;
  /** The connections to the service and its token endpoint; real ones by default. */
  readonly wire?: Wire | undefined;
  /** Where the certificates are noted that the service and its token endpoint show. */
  readonly certificates?: PeerCertificates | undefined;
}

function bind(context: ServiceContext): ServiceCalls {
  const calls: Record<string, (context: ServiceContext, ...rest: never[]) => unknown> = CALLS;
  const bound = Object.entries(calls).map(([name, call]) => [name, call.bind(undefined, context)]);
  return {
    ...(Object.fromEntries(bound) as Bound),
    has: (name) => hasPath(context.settings.paths, name),
    locationSurface: locationSurface(context.settings.paths),
    get clockSkewMs() {
      return context.transport.clockSkewMs;
    },
  };
}

/** Opens a client of the service, both its surfaces. Nothing is sent until the first call. */
export function createServiceClient(given: ServiceSettings, deps: ServiceDeps): ServiceClient {
  const settings = callSettings(given);
  const { clock, ledgerNow = () => clock.now(), logger, random = Math.random, others, onCall } = deps;
  const wire = deps.wire ?? createWire(settings, deps.certificates);
  const breaker = new CircuitBreaker(clock, random, others);
  breaker.onChange((change) => logger.warn(change, "circuit breaker of the service"));
  const limiter = new Limiter(
    { ...settings, maxWaitMs: Math.max(settings.timeoutMs, settings.longestPauseMs) },
    clock,
    random,
    others,
  );
  const openTokens = (auth: ServiceAuth, name: string) => {
    let taken: Turn | undefined;
    const turn = async (signal: AbortSignal) => {
      taken = await limiter.turn(signal, "tokens");
    };
    const exchange: Wire["exchange"] = async (request, signal) => {
      const result = await wire.exchange(request, signal);
      // What the token endpoint says of its limit is another one; its refusals are counted.
      if (taken && result.kind === "answer" && result.status === 429) limiter.sent.refused(taken);
      return result;
    };
    const onSecretChanged = () => breaker.probeNow();
    const deps = { clock, random, logger, key: `service.${name}`, turn, onSecretChanged };
    return "apiToken" in auth
      ? new StaticTokens(auth.apiToken, deps)
      : new OAuthTokens(auth, { ...wire, exchange }, deps);
  };
  const tokens = openTokens(settings.auth, "auth");
  const externalTokens = settings.externalAuth && openTokens(settings.externalAuth, "externalAuth");
  const transport = new Transport({
    settings,
    wire,
    tokens,
    externalTokens,
    limiter,
    breaker,
    clock,
    ledgerNow,
    random,
    logger,
    onCall,
  });
  const capabilities = new Capabilities(clock, logger, settings.filters);
  const inventories = new InventoryWorth(clock, logger);
  const context = { settings, capabilities, inventories, clock, logger };

  const calls = new Map(
    CALL_PURPOSES.map((purpose) => [purpose, bind({ ...context, transport: callsFor(transport, purpose) })]),
  );
  const own = bind({ ...context, transport: callsFor(transport, "other") });

  return {
    ...own,
    for: (purpose) => calls.get(purpose) ?? own,
    checkToken: async (signal, surface = "request") => {
      await (surface === "external" ? (externalTokens ?? tokens) : tokens).get(signal);
    },
    get tokenLife() {
      return tokens.life;
    },
    get lastChange() {
      return capabilities.lastChange;
    },
    breaker,
    get callsAtOnce() {
      return limiter.atOnce;
    },
    follow: (news) => {
      limiter.follow(news);
      breaker.follow(news.outage);
    },
    requestCounts: transport.counts,
    get sent() {
      return limiter.sent.inAll();
    },
    get lastMinute() {
      return limiter.sent.lastMinute();
    },
    get limit() {
      return limiter;
    },
    get clockSkewMs() {
      return transport.clockSkewMs;
    },
    close: async () => {
      tokens.close();
      externalTokens?.close();
      breaker.close();
      await wire.close();
    },
  };
}
