import { LISTS, RECORDS } from "../../core/service-catalogue.ts";
import { getOne, type ServiceContext } from "../http/context.ts";
import { type CreateOptions, type NewRequest, postNew } from "../new-request.ts";
import { type ProcedureStatus, parseProcedure, parseRequest, type RequestStatus } from "../shapes.ts";

/** A request that the service has certainly created. */
interface CreatedRequest {
  readonly requestId: number;
  /** As answered, `PENDING` when the answer doesn't say. */
  readonly status: string;
  /** Set when the request was accepted at once. */
  readonly procedureId?: number | undefined;
}

/**
 * Creates a procedure request: sent once, and never again by anything in this folder.
 * @throws Failure those of {@link postNew}
 */
export async function createRequest(
  context: ServiceContext,
  request: NewRequest,
  signal: AbortSignal,
  options: CreateOptions = {},
): Promise<CreatedRequest> {
  const at = { surface: "request", route: LISTS.requests.path } as const;
  const { id, status, procedureId } = await postNew(
    context,
    at,
    { request, ...options },
    parseRequest,
    signal,
  );
  return { requestId: id, status, procedureId };
}

/** Reads one procedure request; the answer may be a short form. */
export function getRequest(context: ServiceContext, id: number, signal: AbortSignal): Promise<RequestStatus> {
  return getOne(context, { route: RECORDS.request, id }, parseRequest, signal);
}

/** Reads one procedure. */
export function getProcedure(
  context: ServiceContext,
  id: number,
  signal: AbortSignal,
): Promise<ProcedureStatus> {
  return getOne(context, { route: RECORDS.procedure, id }, parseProcedure, signal);
}
