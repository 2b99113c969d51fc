import { RECORDS, RECORDS_OF } from "../../core/service-catalogue.ts";
import type { Surface } from "../../core/surface.ts";
import { getOne, type ServiceContext } from "../http/context.ts";
import { type ProcedureStatus, parseProcedure, parseRequest, type RequestStatus } from "../shapes.ts";

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
