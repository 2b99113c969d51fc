import type pg from "pg";
import type { Config } from "../../config/config.ts";
import type { Clock } from "../../core/clock.ts";
import { groupCommit } from "../../core/group-commit.ts";
import type { Logger } from "../../core/logger.ts";
import { isTerminal } from "../../core/order-state.ts";
import type { FacilityWay } from "../../core/surface.ts";
import { changeOrders, type OrderChange, REQUEST_GONE } from "../../ledger/orders/change.ts";
import { type LedgerOrder, linkOf } from "../../ledger/orders/row.ts";
import {
  type DueTracked,
  findDueTracked,
  postponeTracked,
  postponeUnread,
} from "../../ledger/orders/tracking.ts";
import type { Membership } from "../../ledger/workers/membership.ts";
import type { ServiceCalls } from "../../service/client.ts";
import type { BatchRead } from "../../service/lists/batch-reader.ts";
import type { ProcedureStatus, RequestStatus } from "../../service/shapes.ts";
import type { IsSent } from "../submit/deps.ts";
import { describeUnlocated, lookForLocations } from "./locate.ts";
import type { LocationLook, Look } from "./look.ts";
import { type RemoteProcedure, readTracked, type Tracked } from "./news.ts";
import type { UnreadFacilities } from "./unread.ts";

/** How often an order is asked about. */
type Polling = Config["service"]["polling"];

/**
 * The interval of an order of which nothing was heard for so long: the one that it has come to when each follows the one before. With
 * 60 s, 1.5 and 15 min: 60 s, 90 s, 135 s, 203 s, 304 s, 456 s, 683 s, 900 s. No jitter: orders that are due together share the pages
 * they are read from (`postponeTracked` keeps them so).
 */
export function nextPollMs(quietMs: number, { firstMs, maxMs, factor }: Polling): number {
  let ms = firstMs;
  for (let endMs = ms; endMs <= quietMs && ms < maxMs && factor > 1; endMs += ms)
    ms = Math.min(maxMs, ms * factor);
  return ms;
}

/** How long a facility is left alone between two polls, so that orders gather and are read together. */
export function pollPauseMs(polling: Polling): number {
  return polling.firstMs / 4;
}

/** How much longer than a reading took the locations of completed orders are looked up before the next one. */
const LOCATING_PER_READING = 4;

/** What the track job is given. */
export interface TrackDeps {
  readonly pool: pg.Pool;
  readonly service: ServiceCalls;
  /** The same calls, to find the places of containers. */
  readonly locating: ServiceCalls;
  readonly logger: Logger;
  readonly clock: Clock;
  /** This worker: while it is not sure, another one may have recorded newer news, so it records none. */
  readonly worker: Pick<Membership, "isSure" | "ledgerNow">;
  readonly polling: Polling;
  /** Hears of orders that could not be asked about. */
  readonly unread?: UnreadFacilities | undefined;
  /** How many containers are looked up at once when orders complete. */
  readonly concurrency: number;
  /** How orders of a facility, by the service's id for it, go to the service. */
  readonly wayOf: (facilityId: number) => FacilityWay;
  readonly isSent: IsSent;
}

/** Orders read in one go; the rest follow at once. */
const BATCH = 2_000;
/** Completed orders that are recorded in one transaction. */
const COMPLETED_BATCH = 100;
/** A request or procedure that the service doesn't know, or doesn't let us read, for this long is a person's business. */
const MISSING_TOO_LONG_MS = 86_400_000;

/**
 * Asks the service about a facility's orders that are due, in batches, and records the news. Requests are followed to
 * their acceptance, then their procedures to the end; what is accepted meanwhile is read on in the same pass. Orders of
 * the external surface are procedures from the beginning. Where the locations of completed orders take longer than the
 * pause between two looks, the news of the other orders are read in between.
 */
export async function trackFacility(facilityId: number, deps: TrackDeps, signal: AbortSignal): Promise<void> {
  const unfinished = new Map<number, Look>();
  for (;;) {
    signal.throwIfAborted();
    const due = await findDueTracked(deps.pool, {
      facilityId,
      aheadMs: pollPauseMs(deps.polling),
      limit: BATCH,
    });
    if (due.length === 0) return;
    const { found, isWhole } = await trackBatch(facilityId, due, unfinished, deps, signal);
    // What could not be read now will hardly be readable a moment later.
    if ((due.length < BATCH && isWhole) || found === 0) return;
  }
}

async function trackBatch(
  facilityId: number,
  due: readonly DueTracked[],
  unfinished: Map<number, Look>,
  deps: TrackDeps,
  signal: AbortSignal,
): Promise<{ readonly found: number; readonly isWhole: boolean }> {
  const startedAt = deps.clock.monotonic();
  const news = await readNews(facilityId, due, deps, signal);
  const readingMs = deps.clock.monotonic() - startedAt;
  reportUnread(facilityId, news.reads, deps);
  if (!deps.worker.isSure) return { found: 0, isWhole: false };
  const quiet: { orderId: number; intervalMs: number }[] = [];
  const unread: number[] = [];
  const changes: OrderChange[] = [];
  const completed: { order: LedgerOrder; tracked: Tracked; procedure: RemoteProcedure | undefined }[] = [];
  const nowMs = deps.worker.ledgerNow();
  for (const order of due) {
    const { request, procedure, isMissing } = news.of(order);
    const tracked = readTracked(order, request, procedure);
    const intervalMs = nextPollMs(nowMs - order.newsAt.getTime(), deps.polling);
    if (!tracked && isMissing) changes.push(missing(order, intervalMs, nowMs));
    else if (!tracked) unread.push(order.id);
    else if (tracked.to === "completed") completed.push({ order, tracked, procedure });
    else if (isNews(order, tracked)) changes.push(toChange(order, tracked, deps));
    else quiet.push({ orderId: order.id, intervalMs });
  }
  // Sooner than any that was read, so that it is their turn first where a reading takes some of them only.
  await postponeUnread(deps.pool, unread, deps.polling.firstMs / 2);
  await postponeTracked(deps.pool, quiet);
  await changeOrders(deps.pool, changes);
  const record = groupCommit(
    async (ended: readonly OrderChange[]) => {
      if (deps.worker.isSure) await changeOrders(deps.pool, ended);
      return ended.map(() => undefined);
    },
    { items: COMPLETED_BATCH, bytes: Number.POSITIVE_INFINITY },
    () => false,
  );
  const round = {
    // Completed orders are read once more with each reading: many of them would cost more than they bring.
    forMs: Math.max(pollPauseMs(deps.polling), LOCATING_PER_READING * readingMs),
    unfinished,
    record: ({ order, tracked }: (typeof completed)[number], look: LocationLook) =>
      record(completionChange(order, tracked, look, deps), 0, order),
  };
  const isWhole = await lookForLocations(completed, round, { ...deps, service: deps.locating }, signal);
  return { found: news.reads.reduce((sum, read) => sum + read.found.size, 0), isWhole };
}

/** What could not be read is asked for again; an operator sees that it happened. */
function reportUnread(
  facilityId: number,
  reads: readonly BatchRead<unknown>[],
  { logger, unread: facilities }: Pick<TrackDeps, "logger" | "unread">,
): void {
  for (const { unread, refused, failure, listFailure } of reads) {
    if (listFailure) {
      logger.warn(
        { facilityId, err: listFailure },
        "a list can't be read; orders are asked about one by one",
      );
    }
    const [reason] = refused.values();
    if (unread.length + refused.size === 0) continue;
    const found = failure ?? reason;
    if (found !== undefined && unread.length > 0) facilities?.note(facilityId, found);
    logger.warn(
      { facilityId, unread: unread.length, refused: refused.size, err: found },
      "some orders could not be asked about",
    );
  }
}

function isNews(order: LedgerOrder, tracked: Tracked): boolean {
  return (
    tracked.to !== undefined ||
    tracked.notice !== undefined ||
    tracked.remoteStatus !== order.remoteStatus ||
    tracked.procedureId !== order.procedureId
  );
}

/** Somebody may have acted on the order since it was read. */
function sinceRead(order: LedgerOrder): Pick<OrderChange, "orderId" | "from" | "about"> {
  return { orderId: order.id, from: [order.state], about: linkOf(order) };
}

function toChange(
  order: LedgerOrder,
  tracked: Tracked,
  { polling, isSent }: Pick<TrackDeps, "polling" | "isSent">,
): OrderChange {
  const detail = { status: tracked.remoteStatus, procedureId: tracked.procedureId, ...tracked.reason };
  return {
    ...sinceRead(order),
    to: tracked.to,
    failure: tracked.reason,
    answer: tracked.answer,
    remoteStatus: tracked.remoteStatus,
    procedureId: tracked.procedureId,
    procedureCode: tracked.procedureCode,
    // Soon again, even where its state stays the same.
    nextInMs: polling.firstMs,
    isMissing: false,
    isLocating: false,
    event:
      tracked.to === undefined
        ? (tracked.notice ?? { kind: "status", detail })
        : { kind: tracked.to, detail },
    isReported: tracked.to !== undefined && (isTerminal(tracked.to) || isSent(order.connector, tracked.to)),
  };
}

/**
 * The lab is sent a completed order once it is known where its containers stand, or once that has been looked for
 * long enough; what was found is kept whatever follows.
 */
function completionChange(
  order: LedgerOrder,
  tracked: Tracked,
  look: LocationLook,
  deps: TrackDeps,
): OrderChange {
  const { containers, unlocated, next } = look;
  if (next === "go_on") return { ...sinceRead(order), containers, nextInMs: 0 };
  const since = order.locatingSince;
  const isLongAgo = since !== undefined && deps.worker.ledgerNow() - since.getTime() > MISSING_TOO_LONG_MS;
  if (next === "report" || isLongAgo) {
    const text = describeUnlocated(unlocated);
    const reason = text === undefined ? undefined : ({ code: "ORDER_PLACE_UNKNOWN", text } as const);
    const change = toChange(order, { ...tracked, reason }, deps);
    const event = { kind: "completed", detail: { ...change.event?.detail, text } };
    return { ...change, containers, event };
  }
  return {
    ...sinceRead(order),
    containers,
    attempts: next === "look_again" ? order.attempts + 1 : undefined,
    isMissing: false,
    isLocating: true,
    nextInMs: deps.polling.firstMs,
    event:
      since === undefined ? { kind: "locating", detail: { text: describeUnlocated(unlocated) } } : undefined,
  };
}

function missing(order: LedgerOrder, intervalMs: number, nowMs: number): OrderChange {
  const since = order.missingSince;
  const isTooLong = since !== undefined && nowMs - since.getTime() > MISSING_TOO_LONG_MS;
  if (isTooLong) {
    const event = { kind: "parked", detail: REQUEST_GONE };
    return { ...sinceRead(order), to: "parked", failure: REQUEST_GONE, event, isReported: true };
  }
  return {
    ...sinceRead(order),
    isMissing: true,
    nextInMs: intervalMs,
    event:
      since === undefined
        ? { kind: "missing", detail: { requestId: order.requestId, procedureId: order.procedureId } }
        : undefined,
  };
}

/** What the service showed of one order. */
interface OrderNews {
  readonly request: RequestStatus | undefined;
  readonly procedure: ProcedureStatus | undefined;
  /** The service doesn't know what it made of the order, or doesn't let it be read. */
  readonly isMissing: boolean;
}

/** What the service showed of a batch of orders. */
interface News {
  readonly of: (order: LedgerOrder) => OrderNews;
  /** What was read on the way, for reports. */
  readonly reads: readonly BatchRead<unknown>[];
}

type Reader = Pick<ServiceCalls, "readRequests" | "readProcedures">;

/**
 * Reads the state of a facility's orders, each on the surface that it went to: the two number their procedures each in
 * their own way, and a facility may have moved from one to the other while orders were open. Never throws for the
 * service's sake.
 */
export async function readNews(
  facilityId: number,
  due: readonly LedgerOrder[],
  { service }: { readonly service: Reader },
  signal: AbortSignal,
): Promise<News> {
  const external = due.filter((order) => order.surface === "external");
  const others = due.filter((order) => order.surface !== "external");
  const known = others.flatMap((order) => order.procedureId ?? []);
  const pending = others.filter((order) => order.procedureId === undefined);
  const requests = await service.readRequests(
    facilityId,
    pending.flatMap((order) => order.requestId ?? []),
    signal,
  );
  const fresh = [...requests.found.values()].flatMap((request) => request.procedureId ?? []);
  const ids = [...new Set([...known, ...fresh])];
  const procedures = await service.readProcedures({ surface: "request", facilityId, ids }, signal);
  const readExternal = (type: "STORE" | "RETRIEVAL") => {
    const own = external.filter((order) => order.operation === type);
    const ids = own.flatMap((order) => order.procedureId ?? []);
    return service.readProcedures({ surface: "external", facilityId, type, ids }, signal);
  };
  const stores = await readExternal("STORE");
  const retrievals = await readExternal("RETRIEVAL");
  return {
    reads: [requests, procedures, stores, retrievals],
    of: (order) => {
      if (order.surface === "external") {
        return toNews(undefined, order.procedureId, order.operation === "STORE" ? stores : retrievals);
      }
      const request = order.requestId === undefined ? undefined : requests.found.get(order.requestId);
      const procedureId = request?.procedureId ?? order.procedureId;
      if (procedureId !== undefined) return toNews(request, procedureId, procedures);
      return { request, procedure: undefined, isMissing: isMissing(order.requestId, requests) };
    },
  };
}

function toNews(
  request: RequestStatus | undefined,
  procedureId: number | undefined,
  read: BatchRead<ProcedureStatus>,
): OrderNews {
  const procedure = procedureId === undefined ? undefined : read.found.get(procedureId);
  return { request, procedure, isMissing: isMissing(procedureId, read) };
}

function isMissing(id: number | undefined, read: BatchRead<unknown>): boolean {
  return id !== undefined && (read.missing.includes(id) || read.refused.has(id));
}
