import { LISTS } from "../core/service-catalogue.ts";
import { getExternalProcedure } from "./external-surface/procedures.ts";
import type { ServiceContext } from "./http/context.ts";
import { type BatchRead, BatchReader, type Kind } from "./lists/batch-reader.ts";
import { getProcedure, getRequest } from "./request-surface/requests.ts";
import {
  NO_STATUS,
  type ProcedureStatus,
  parseProcedure,
  parseRequest,
  type RequestStatus,
} from "./shapes.ts";

/** The state of many requests of a facility, in as few requests as the service allows. Never throws. */
export function readRequests(
  context: ServiceContext,
  facilityId: number,
  ids: readonly number[],
  signal: AbortSignal,
): Promise<BatchRead<RequestStatus>> {
  const kind: Kind<RequestStatus> = {
    endpoint: LISTS.requests.path,
    filters: { facilityId },
    hasRanges: true,
    parse: parseRequest,
    // A short list entry may leave out the procedure that an accepted request has become.
    isWhole: (each) => each.status !== NO_STATUS && (each.status !== "ACCEPTED" || each.isProcedureShown),
    single: (id) => getRequest(context, id, signal),
  };
  return new BatchReader(context, kind, signal).read(ids);
}

/** The same for procedures; a completed one comes with its container ids where the service shows them. */
export function readProcedures(
  context: ServiceContext,
  facilityId: number,
  ids: readonly number[],
  signal: AbortSignal,
): Promise<BatchRead<ProcedureStatus>> {
  const kind: Kind<ProcedureStatus> = {
    endpoint: LISTS.procedures.path,
    filters: { facilityId },
    hasRanges: true,
    parse: parseProcedure,
    isWhole: isWholeProcedure,
    single: (id) => getProcedure(context, id, signal),
  };
  return new BatchReader(context, kind, signal).read(ids);
}

/** Procedures of the external surface of one facility and type. */
interface ExternalBatch {
  readonly facilityId: number;
  readonly type: "STORE" | "RETRIEVAL";
  readonly ids: readonly number[];
}

/**
 * The same for procedures of the external surface. Its list is only asked by facility and type, which the specification
 * names. Entries omit the containers, so a completed procedure is read by its id: that is where locations come from.
 */
export function readExternalProcedures(
  context: ServiceContext,
  { facilityId, type, ids }: ExternalBatch,
  signal: AbortSignal,
): Promise<BatchRead<ProcedureStatus>> {
  const kind: Kind<ProcedureStatus> = {
    endpoint: LISTS.externalProcedures.path,
    filters: { facilityId, type },
    hasRanges: false,
    parse: parseProcedure,
    isWhole: isWholeProcedure,
    single: (id) => getExternalProcedure(context, id, signal),
  };
  return new BatchReader(context, kind, signal).read(ids);
}

function isWholeProcedure({ status, containerIds }: ProcedureStatus): boolean {
  return status !== NO_STATUS && (status !== "COMPLETED" || containerIds !== undefined);
}
