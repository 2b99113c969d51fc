import { LISTS, LISTS_OF, RECORDS, RECORDS_OF } from "../../core/service-catalogue.ts";
import type { Surface } from "../../core/surface.ts";
import { getOne, type ServiceContext } from "../http/context.ts";
import { type BatchRead, BatchReader, type Kind } from "../lists/batch-reader.ts";
import {
  NO_STATUS,
  type ProcedureStatus,
  parseProcedure,
  parseRequest,
  type RequestStatus,
} from "../shapes.ts";

/** Reads one procedure request; the answer may be a short form. */
export function getRequest(context: ServiceContext, id: number, signal: AbortSignal): Promise<RequestStatus> {
  return getOne(context, { route: RECORDS.request, id }, parseRequest, signal);
}

/** Reads one procedure; on the external surface with its containers, and their locations once a STORE is completed. */
export function getProcedure(
  context: ServiceContext,
  surface: Surface,
  id: number,
  signal: AbortSignal,
): Promise<ProcedureStatus> {
  return getOne(context, { route: RECORDS_OF.procedure[surface], id }, parseProcedure, signal);
}

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

/** Procedures of one facility; the list of the external surface is asked by their type besides. */
interface ProcedureBatch {
  readonly surface: Surface;
  readonly facilityId: number;
  readonly type?: "STORE" | "RETRIEVAL" | undefined;
  readonly ids: readonly number[];
}

/**
 * The same for procedures; a completed one comes with its container ids where the service shows them. The list of the external
 * surface is only asked by facility and type, which the specification names. Its entries omit the containers, so a completed
 * procedure is read by its id: that is where locations come from.
 */
export function readProcedures(
  context: ServiceContext,
  { surface, facilityId, type, ids }: ProcedureBatch,
  signal: AbortSignal,
): Promise<BatchRead<ProcedureStatus>> {
  const kind: Kind<ProcedureStatus> = {
    endpoint: LISTS_OF.procedures[surface].path,
    filters: type === undefined ? { facilityId } : { facilityId, type },
    hasRanges: surface === "request",
    parse: parseProcedure,
    isWhole: isWholeProcedure,
    single: (id) => getProcedure(context, surface, id, signal),
  };
  return new BatchReader(context, kind, signal).read(ids);
}

function isWholeProcedure({ status, containerIds }: ProcedureStatus): boolean {
  return status !== NO_STATUS && (status !== "COMPLETED" || containerIds !== undefined);
}
