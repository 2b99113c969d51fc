import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { OrderSubject } from "../core/order.ts";
import type { ContainerLocation } from "../core/outcome.ts";
import type { Phi } from "../core/phi.ts";
import type { Refill, Tank } from "../core/refill.ts";
import type { Surface } from "../core/surface.ts";
import { type CancelLook, type CancelTarget, cancelAtService, lookForCancel } from "./cancel.ts";
import {
  type CreatedProcedure,
  createProcedure,
  getExternalProcedure,
} from "./external-surface/procedures.ts";
import { type Breaker, CircuitBreaker } from "./http/breaker.ts";
import type { ServiceContext } from "./http/context.ts";
import { Limiter } from "./http/limiter.ts";
import { OAuthTokens, StaticTokens, type TokenLife } from "./http/token.ts";
import { type ObservedCall, Transport } from "./http/transport.ts";
import { createWire } from "./http/wire.ts";
import type { BatchRead } from "./lists/batch-reader.ts";
import { Capabilities, type ShapeChange } from "./lists/capabilities.ts";
import {
  getInventory,
  type ListQuestion,
  type ReadableRecord,
  type ReadPage,
  readList,
  readPage,
  readRecord,
} from "./lists/reads.ts";
import type { CreateOptions, NewRequest } from "./new-request.ts";
import { type ListFacts, type ProbePlan, probeLists, probeUnknownId, type UnknownId } from "./probe/probe.ts";
import { type ExternalBatch, readExternalProcedures, readProcedures, readRequests } from "./read-batch.ts";
import { findCreatedProcedure } from "./reconcile/find-procedure.ts";
import { findCreatedRequest, type ReconcileFindings } from "./reconcile/find-request.ts";
import { listMade, type Made, type MadeSearch } from "./reconcile/made.ts";
import type { LostRequest } from "./reconcile/match.ts";
import { listNewest, type Newest } from "./reconcile/newest.ts";
import { snapshotRequestIds } from "./reconcile/search-requests.ts";
import { getRefill, listTanks, type RefillReading, type RefillSearch, readRefills } from "./refills.ts";
import { getLocation, listSubjectContainers } from "./request-surface/containers.ts";
import { type CreatedRequest, createRequest, getProcedure, getRequest } from "./request-surface/requests.ts";
import { findSubject, getSubject, registerSubject } from "./request-surface/subjects.ts";
import { resolveSettings, type ServiceAuth, type ServiceSettings } from "./settings.ts";
import type { ProcedureStatus, RequestStatus, ServiceContainer, ServiceSubject } from "./shapes.ts";
import type { RawObject } from "./values.ts";

/** The calls of the external surface, `/api/v1/external`: an order becomes a procedure at once. */
export interface ExternalSurface {
  createProcedure(
    request: NewRequest,
    signal: AbortSignal,
    options?: CreateOptions,
  ): Promise<CreatedProcedure>;
  findCreatedProcedure(lost: LostRequest, signal: AbortSignal): Promise<ReconcileFindings>;
  getProcedure(id: number, signal: AbortSignal): Promise<ProcedureStatus>;
  readProcedures(batch: ExternalBatch, signal: AbortSignal): Promise<BatchRead<ProcedureStatus>>;
  listSubjectContainers(subjectCode: Phi, signal: AbortSignal): Promise<ServiceContainer[]>;
}

/**
 * The Sample Storage Integration Service. Orders go by the request surface through the methods themselves, and by the
 * external one through `external`; subjects and locations exist on the request surface only. Each method may throw the SERVICE_
 * failures of the registry; a transient one means that nothing was done, an ambiguous one that it may have been.
 * What each method promises stands with the function of the same name in this folder.
 */
export interface ServiceClient {
  findSubject(facilityId: number, code: Phi, signal: AbortSignal): Promise<ServiceSubject | undefined>;
  getSubject(id: number, signal: AbortSignal): Promise<ServiceSubject>;
  registerSubject(
    facilityId: number,
    subject: OrderSubject,
    signal: AbortSignal,
    beforeSend?: () => void,
  ): Promise<ServiceSubject>;

  createRequest(request: NewRequest, signal: AbortSignal, options?: CreateOptions): Promise<CreatedRequest>;
  findCreatedRequest(lost: LostRequest, signal: AbortSignal): Promise<ReconcileFindings>;
  snapshotRequestIds(
    facilityId: number,
    subjectCode: Phi,
    type: "STORE" | "RETRIEVAL",
    signal: AbortSignal,
  ): Promise<number[]>;

  listSubjectContainers(subjectCode: Phi, signal: AbortSignal): Promise<ServiceContainer[]>;
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

  readonly external: ExternalSurface;

  listMade(search: MadeSearch, signal: AbortSignal): Promise<Made[]>;
  listNewest(
    search: { readonly surface: Surface; readonly facilityId: number; readonly since: Date },
    signal: AbortSignal,
  ): Promise<Newest[]>;

  cancelAtService(target: CancelTarget, signal: AbortSignal): Promise<CancelLook | undefined>;
  lookForCancel(target: CancelTarget, signal: AbortSignal): Promise<CancelLook | "gone">;

  readList(question: ListQuestion, signal: AbortSignal): AsyncIterable<ReadPage>;
  readPage(question: ListQuestion, page: number, signal: AbortSignal): Promise<ReadPage>;
  readRecord(record: ReadableRecord, surface: Surface, id: number, signal: AbortSignal): Promise<RawObject>;
  getInventory(storageId: number, signal: AbortSignal): Promise<unknown>;

  readRefills(search: RefillSearch, signal: AbortSignal): Promise<RefillReading>;
  getRefill(
    target: { readonly surface: Surface; readonly facilityId: number; readonly id: number },
    signal: AbortSignal,
  ): Promise<Refill | undefined>;
  listTanks(facilityId: number, signal: AbortSignal): Promise<Tank[]>;

  /** Takes a token for a surface (by default the request one) without calling the service, for `check`. */
  checkToken(signal: AbortSignal, surface?: Surface): Promise<void>;
  probeLists(plan: ProbePlan, signal: AbortSignal): AsyncIterable<ListFacts>;
  probeUnknownId(surface: Surface, signal: AbortSignal): Promise<UnknownId | undefined>;
  /** How long the current token lives; undefined before the first, and for a static API token. */
  readonly tokenLife: TokenLife | undefined;
  /** The latest change in how lists are answered, since the start. */
  readonly lastChange: ShapeChange | undefined;
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
 * Opens a client of the service, both its surfaces. Nothing is sent until the first call.
 * @throws Failure CONFIG_INVALID for settings that can't be used.
 */
export function createServiceClient(settings: ServiceSettings, deps: ServiceDeps): ServiceClient {
  const resolved = resolveSettings(settings);
  const { clock, logger, random = Math.random, onCall } = deps;
  const wire = createWire(resolved);
  const breaker = new CircuitBreaker(clock, random);
  breaker.onChange((change) => logger.warn(change, "circuit breaker of the service"));
  const limiter = new Limiter({ ...resolved, maxWaitMs: resolved.timeoutMs }, clock, random);
  const openTokens = (auth: ServiceAuth, name: string) => {
    const deps = { clock, random, logger, key: `service.${name}`, onMended: () => breaker.probeNow() };
    return "apiToken" in auth ? new StaticTokens(auth.apiToken, deps) : new OAuthTokens(auth, wire, deps);
  };
  const tokens = openTokens(resolved.auth, "auth");
  const externalTokens = resolved.externalAuth && openTokens(resolved.externalAuth, "externalAuth");
  const transport = new Transport({
    settings: resolved,
    wire,
    tokens,
    externalTokens,
    limiter,
    breaker,
    clock,
    random,
    logger,
    onCall,
  });
  const capabilities = new Capabilities(clock, logger, resolved.filters);
  const context: ServiceContext = { settings: resolved, transport, capabilities, clock, logger };

  return {
    findSubject: (facilityId, code, signal) => findSubject(context, facilityId, code, signal),
    getSubject: (id, signal) => getSubject(context, id, signal),
    registerSubject: (facilityId, subject, signal, beforeSend) =>
      registerSubject(context, facilityId, subject, signal, beforeSend),
    createRequest: (request, signal, options) => createRequest(context, request, signal, options),
    findCreatedRequest: (lost, signal) => findCreatedRequest(context, lost, signal),
    snapshotRequestIds: (facilityId, subjectCode, type, signal) =>
      snapshotRequestIds(context, { facilityId, subjectCode, type }, signal),
    listMade: (search, signal) => listMade(context, search, signal),
    listNewest: (search, signal) => listNewest(context, search, signal),
    listSubjectContainers: (subjectCode, signal) =>
      listSubjectContainers(context, { surface: "request", subjectCode }, signal),
    getLocation: (containerId, signal) => getLocation(context, containerId, signal),
    getRequest: (id, signal) => getRequest(context, id, signal),
    getProcedure: (id, signal) => getProcedure(context, id, signal),
    readRequests: (facilityId, ids, signal) => readRequests(context, facilityId, ids, signal),
    readProcedures: (facilityId, ids, signal) => readProcedures(context, facilityId, ids, signal),
    cancelAtService: (target, signal) => cancelAtService(context, target, signal),
    lookForCancel: (target, signal) => lookForCancel(context, target, signal),
    readList: (question, signal) => readList(context, question, signal),
    readPage: (question, page, signal) => readPage(context, question, page, signal),
    readRecord: (record, surface, id, signal) => readRecord(context, record, surface, id, signal),
    getInventory: (storageId, signal) => getInventory(context, storageId, signal),
    readRefills: (search, signal) => readRefills(context, search, signal),
    getRefill: (target, signal) => getRefill(context, target, signal),
    listTanks: (facilityId, signal) => listTanks(context, facilityId, signal),
    external: createExternalSurface(context),
    checkToken: async (signal, surface = "request") => {
      await (surface === "external" ? (externalTokens ?? tokens) : tokens).get(signal);
    },
    probeLists: (plan, signal) => probeLists(context, plan, signal),
    probeUnknownId: (surface, signal) => probeUnknownId(context, surface, signal),
    get tokenLife() {
      return tokens.life;
    },
    get lastChange() {
      return capabilities.lastChange;
    },
    breaker,
    requestCounts: transport.counts,
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

/** The calls of the external surface over the same connections and limits as the others. */
export function createExternalSurface(context: ServiceContext): ExternalSurface {
  const surface = "external";
  return {
    createProcedure: (request, signal, options) => createProcedure(context, request, signal, options),
    findCreatedProcedure: (lost, signal) => findCreatedProcedure(context, lost, signal),
    getProcedure: (id, signal) => getExternalProcedure(context, id, signal),
    readProcedures: (batch, signal) => readExternalProcedures(context, batch, signal),
    listSubjectContainers: (subjectCode, signal) =>
      listSubjectContainers(context, { surface, subjectCode }, signal),
  };
}
