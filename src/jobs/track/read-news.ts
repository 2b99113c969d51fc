import type { LedgerOrder } from "../../ledger/orders/row.ts";
import type { ServiceCalls } from "../../service/client.ts";
import type { BatchRead } from "../../service/lists/batch-reader.ts";
import type { ProcedureStatus, RequestStatus } from "../../service/shapes.ts";

/** What the service showed of one order. */
interface OrderNews {
  readonly request: RequestStatus | undefined;
  readonly procedure: ProcedureStatus | undefined;
  /** The service doesn't know what it made of the order, or doesn't let it be read. */
  readonly isMissing: boolean;
}

/** What the service showed of a batch of orders. */
export interface News {
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
  const requests = await readRequests(facilityId, others, service, signal);
  const procedures = await readProcedures(facilityId, others, requests, service, signal);
  const stores = await readExternal(facilityId, external, "STORE", service, signal);
  const retrievals = await readExternal(facilityId, external, "RETRIEVAL", service, signal);
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

const NOTHING: BatchRead<never> = {
  found: new Map<number, never>(),
  missing: [],
  refused: new Map(),
  unread: [],
};

async function readRequests(
  facilityId: number,
  due: readonly LedgerOrder[],
  service: Reader,
  signal: AbortSignal,
): Promise<BatchRead<RequestStatus>> {
  const ids = due
    .filter((order) => order.procedureId === undefined)
    .flatMap((order) => order.requestId ?? []);
  return ids.length === 0 ? NOTHING : service.readRequests(facilityId, ids, signal);
}

async function readProcedures(
  facilityId: number,
  due: readonly LedgerOrder[],
  requests: BatchRead<RequestStatus>,
  service: Reader,
  signal: AbortSignal,
): Promise<BatchRead<ProcedureStatus>> {
  const known = due.flatMap((order) => order.procedureId ?? []);
  const fresh = [...requests.found.values()].flatMap((request) => request.procedureId ?? []);
  const ids = [...new Set([...known, ...fresh])];
  return ids.length === 0 ? NOTHING : service.readProcedures({ surface: "request", facilityId, ids }, signal);
}

async function readExternal(
  facilityId: number,
  due: readonly LedgerOrder[],
  type: "STORE" | "RETRIEVAL",
  service: Reader,
  signal: AbortSignal,
): Promise<BatchRead<ProcedureStatus>> {
  const ids = due.filter((order) => order.operation === type).flatMap((order) => order.procedureId ?? []);
  return ids.length === 0
    ? NOTHING
    : service.readProcedures({ surface: "external", facilityId, type, ids }, signal);
}
