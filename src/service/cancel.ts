import { Failure } from "../core/failures.ts";
import { MADE_AT, RECORDS } from "../core/service-catalogue.ts";
import type { Surface } from "../core/surface.ts";
import { unwrapObject } from "./http/answer.ts";
import { findErrorRule } from "./http/classify.ts";
import type { ServiceContext } from "./http/context.ts";
import { readReport } from "./http/refusal.ts";
import { fetchPage } from "./lists/list.ts";
import { getProcedure, getRequest } from "./request-surface/requests.ts";
import { parseProcedure } from "./shapes.ts";

/** What is to be cancelled: a procedure request, or on the external surface a procedure. */
export interface CancelTarget {
  readonly surface: Surface;
  /** The request's id, or on the external surface the procedure's. */
  readonly id: number;
  readonly facilityId: number;
  readonly type: "STORE" | "RETRIEVAL";
  /** The procedure that became of a request, as far as it is known. */
  readonly procedureId?: number | undefined;
}

/** How a request or procedure that is to be cancelled stands. */
export interface CancelLook {
  readonly isCancelled: boolean;
  /** The service's word, in upper case. */
  readonly status: string;
}

const CANCELLED = "CANCELLED";

/**
 * Makes the configured cancel call: sent once, and never again by anything in this folder.
 *
 * @returns how it stands by the answer, where that names the same request or procedure with its status; any other answer
 * says no more than that the service took the call, and is looked into with {@link lookForCancel}
 * @throws Failure CANCEL_NOT_OFFERED where none is configured for the surface; SERVICE_NO_ANSWER when it may have been
 * done, also where a status 2xx comes with an error code; SERVICE_REFUSED when it was not and won't be, a transient one
 * when nothing was done.
 */
export async function cancelAtService(
  context: ServiceContext,
  target: CancelTarget,
  signal: AbortSignal,
): Promise<CancelLook | undefined> {
  const call = context.settings.cancel[target.surface];
  if (!call) {
    throw new Failure("CANCEL_NOT_OFFERED", `no cancel call is configured for surface ${target.surface}`);
  }
  return context.transport.call(
    {
      method: call.method,
      route: call.path,
      id: target.id,
      cancels: true,
      body: call.body,
      read: (answer) => {
        // Requests and procedures show their id and status alike.
        const shown = parseProcedure(unwrapObject(answer.json), context.settings.words);
        if (shown?.id === target.id) return standing(shown);
        if (readReport(answer).errorCodes.length > 0) {
          throw new Failure(
            "SERVICE_NO_ANSWER",
            `${call.method} ${call.path}: status ${answer.status} with an error code`,
          );
        }
        return undefined;
      },
    },
    signal,
  );
}

/**
 * Looks whether it is cancelled: the procedure on the external surface; else the request, and the procedure that became
 * of it. What has an id is read by it and not searched for: the search (`reconcile/made.ts`) walks all that the subject has, on the
 * external surface all that the facility has, twice, and a list that lags would show it as gone. The page of a list only shows that the
 * service itself answers.
 *
 * @returns "gone" when the service itself says that there is no such request, or on the external surface no such
 * procedure, and can list others: a gateway that has lost its way answers 404 to both. Where a procedure became of the
 * request, it must be gone as well: it may run on without it
 * @throws the SERVICE_ failures of reads
 */
export async function lookForCancel(
  context: ServiceContext,
  target: CancelTarget,
  signal: AbortSignal,
): Promise<CancelLook | "gone"> {
  try {
    return await lookAt(context, target, signal);
  } catch (error) {
    const endpoint = MADE_AT[target.surface].path;
    if (!isOwnNotFound(context, `${endpoint}/{id}`, error)) throw error;
    const { facilityId, type } = target;
    const query = target.surface === "external" ? { facilityId, type } : { facilityId };
    const paging = { page: 1, perPage: context.settings.perPage };
    await fetchPage(context, { endpoint, query }, paging, signal);
    return target.surface === "request" && target.procedureId !== undefined
      ? lookAtProcedure(context, target.procedureId, signal)
      : "gone";
  }
}

async function lookAtProcedure(
  context: ServiceContext,
  procedureId: number,
  signal: AbortSignal,
): Promise<CancelLook | "gone"> {
  try {
    return standing(await getProcedure(context, "request", procedureId, signal));
  } catch (error) {
    if (isOwnNotFound(context, RECORDS.procedure, error)) return "gone";
    throw error;
  }
}

async function lookAt(
  context: ServiceContext,
  target: CancelTarget,
  signal: AbortSignal,
): Promise<CancelLook> {
  if (target.surface === "external")
    return standing(await getProcedure(context, "external", target.id, signal));
  const request = await getRequest(context, target.id, signal);
  const procedureId = request.procedureId ?? target.procedureId;
  return request.status === CANCELLED || procedureId === undefined
    ? standing(request)
    : standing(await getProcedure(context, "request", procedureId, signal));
}

const standing = ({ status }: { readonly status: string }): CancelLook => ({
  isCancelled: status === CANCELLED,
  status,
});

/**
 * Whether the service itself says that what was read at `route` is not there: in JSON, as it writes its errors, or in
 * what a rule of the site says means just that. A page, an empty answer or a line of text may be a gateway's.
 */
function isOwnNotFound({ settings }: ServiceContext, route: string, error: unknown): boolean {
  if (!(error instanceof Failure) || error.code !== "SERVICE_NOT_FOUND" || !error.answer) return false;
  if (error.answer.route !== route) return false;
  const { status, shape } = error.answer;
  if (shape === "json") return true;
  const rule = findErrorRule(settings.errors, { method: "GET", route }, { status, shape, headers: {} });
  return rule?.means === "notFound";
}
