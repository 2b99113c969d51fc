import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { OrderSubject } from "../core/order.ts";
import type { ContainerLocation } from "../core/outcome.ts";
import type { Phi } from "../core/phi.ts";
import { type Breaker, CircuitBreaker } from "./breaker.ts";
import { Capabilities, type EndpointFindings } from "./capabilities.ts";
import { findContainersByLabel, getLocation, listSubjectContainers } from "./containers.ts";
import type { ServiceContext } from "./context.ts";
import type { NewRequest } from "./correlation.ts";
import { Limiter } from "./limiter.ts";
import { getProcedure } from "./procedures.ts";
import { type BatchRead, readProcedures, readRequests } from "./read-batch.ts";
import { getInventory, readList } from "./reads.ts";
import { type CreatedRequest, type CreateOptions, createRequest, getRequest } from "./requests.ts";
import { snapshotRequestIds } from "./search-requests.ts";
import { resolveSettings, type ServiceSettings } from "./settings.ts";
import { findCreatedRequest, type LostRequest, type SettleFindings } from "./settle.ts";
import type { ProcedureStatus, RequestStatus, ServiceContainer, ServiceSubject } from "./shapes.ts";
import { findSubject, getSubject, registerSubject } from "./subjects.ts";
import { OAuthTokens, StaticTokens } from "./token.ts";
import { type ObservedCall, type Query, Transport } from "./transport.ts";
import type { RawObject } from "./values.ts";
import { createWire } from "./wire.ts";

/** A list read for a person: objects as they came, patients' values included. */
export type RawList = (query: Query, signal: AbortSignal) => AsyncIterable<RawObject>;

/**
 * The Sample Storage Integration Service, whichever surface it is reached by. Each method may throw the SERVICE_
 * failures of the registry; a transient one means that nothing was done, an ambiguous one that it may have been.
 * What each method promises stands with the function of the same name in this folder.
 */
export interface ServiceClient {
  findSubject(facilityId: number, code: Phi, signal: AbortSignal): Promise<ServiceSubject | undefined>;
  getSubject(id: number, signal: AbortSignal): Promise<ServiceSubject>;
  registerSubject(facilityId: number, subject: OrderSubject, signal: AbortSignal): Promise<ServiceSubject>;

  createRequest(request: NewRequest, signal: AbortSignal, options?: CreateOptions): Promise<CreatedRequest>;
  findCreatedRequest(lost: LostRequest, signal: AbortSignal): Promise<SettleFindings>;
  snapshotRequestIds(
    facilityId: number,
    subjectCode: Phi,
    type: "STORE" | "RETRIEVAL",
    signal: AbortSignal,
  ): Promise<number[]>;

  listSubjectContainers(subjectCode: Phi, signal: AbortSignal): Promise<ServiceContainer[]>;
  findContainersByLabel(
    subjectCode: Phi,
    labels: readonly string[],
    signal: AbortSignal,
  ): Promise<Map<string, number[]>>;
  getLocation(containerId: number, signal: AbortSignal): Promise<ContainerLocation>;

  getRequest(id: number, signal: AbortSignal): Promise<RequestStatus>;
  getProcedure(id: number, signal: AbortSignal): Promise<ProcedureStatus>;
  readRequests(
    facilityId: number,
    ids: readonly number[],
    signal: AbortSignal,
  ): Promise<BatchRead<RequestStatus>>;
  readProcedures(
    facilityId: number,
    ids: readonly number[],
    signal: AbortSignal,
  ): Promise<BatchRead<ProcedureStatus>>;

  readonly listSubjects: RawList;
  readonly listRequests: RawList;
  readonly listProcedures: RawList;
  readonly listContainers: RawList;
  readonly listStorage: RawList;
  getInventory(storageId: number, signal: AbortSignal): Promise<unknown>;

  /** Takes a token without calling the service, for `check`. */
  checkToken(signal: AbortSignal): Promise<void>;
  /** What was found out about list endpoints in the last hour. */
  readonly findings: Readonly<Record<string, EndpointFindings>>;
  readonly breaker: Breaker;
  /** Requests sent so far by `METHOD route`; token requests are not among them. */
  readonly requestCounts: ReadonlyMap<string, number>;
  /** How far the service's clock is ahead of ours, ms; undefined before the first answer. */
  readonly clockSkewMs: number | undefined;
  /** Cuts what is under way and closes the connections. */
  close(): Promise<void>;
}

export interface ServiceDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between 0 and 1, for jitter; `Math.random` by default. */
  readonly random?: (() => number) | undefined;
  /** Called after each call, for metrics. */
  readonly onCall?: ((call: ObservedCall) => void) | undefined;
}

/**
 * Opens a client of the service's request surface. Nothing is sent until the first call.
 * @throws Failure CONFIG_INVALID for settings that can't be used.
 */
export function createServiceClient(settings: ServiceSettings, deps: ServiceDeps): ServiceClient {
  const resolved = resolveSettings(settings);
  const { clock, logger, random = Math.random, onCall } = deps;
  const wire = createWire(resolved);
  const breaker = new CircuitBreaker(clock, random);
  breaker.onChange((change) => logger.warn(change, "circuit breaker of the service"));
  const limiter = new Limiter({ ...resolved, maxWaitMs: resolved.timeoutMs }, clock, random);
  const tokens =
    "apiToken" in resolved.auth
      ? new StaticTokens(resolved.auth.apiToken, clock)
      : new OAuthTokens(resolved.auth, wire, { clock, random, logger });
  const transport = new Transport({
    settings: resolved,
    wire,
    tokens,
    limiter,
    breaker,
    clock,
    logger,
    onCall,
  });
  const capabilities = new Capabilities(clock, logger);
  const context: ServiceContext = { settings: resolved, transport, capabilities, clock, logger };

  return {
    findSubject: (facilityId, code, signal) => findSubject(context, facilityId, code, signal),
    getSubject: (id, signal) => getSubject(context, id, signal),
    registerSubject: (facilityId, subject, signal) => registerSubject(context, facilityId, subject, signal),
    createRequest: (request, signal, options) => createRequest(context, request, signal, options),
    findCreatedRequest: (lost, signal) => findCreatedRequest(context, lost, signal),
    snapshotRequestIds: (facilityId, subjectCode, type, signal) =>
      snapshotRequestIds(context, { facilityId, subjectCode, type }, signal),
    listSubjectContainers: (subjectCode, signal) => listSubjectContainers(context, subjectCode, signal),
    findContainersByLabel: (subjectCode, labels, signal) =>
      findContainersByLabel(context, subjectCode, labels, signal),
    getLocation: (containerId, signal) => getLocation(context, containerId, signal),
    getRequest: (id, signal) => getRequest(context, id, signal),
    getProcedure: (id, signal) => getProcedure(context, id, signal),
    readRequests: (facilityId, ids, signal) => readRequests(context, facilityId, ids, signal),
    readProcedures: (facilityId, ids, signal) => readProcedures(context, facilityId, ids, signal),
    listSubjects: (query, signal) => readList(context, "subjects", query, signal),
    listRequests: (query, signal) => readList(context, "requests", query, signal),
    listProcedures: (query, signal) => readList(context, "procedures", query, signal),
    listContainers: (query, signal) => readList(context, "containers", query, signal),
    listStorage: (query, signal) => readList(context, "storage", query, signal),
    getInventory: (storageId, signal) => getInventory(context, storageId, signal),
    checkToken: async (signal) => {
      await tokens.get(signal);
    },
    get findings() {
      return capabilities.report();
    },
    breaker,
    requestCounts: transport.counts,
    get clockSkewMs() {
      return transport.clockSkewMs;
    },
    close: async () => {
      tokens.close();
      breaker.close();
      await wire.close();
    },
  };
}
