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
