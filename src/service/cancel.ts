import { Failure } from "../core/failures.ts";
import type { Phi } from "../core/phi.ts";
import type { Surface } from "../core/surface.ts";
import type { ServiceContext } from "./context.ts";
import { unwrapObject } from "./envelope.ts";
import type { Method } from "./error-rules.ts";
import { getExternalProcedure } from "./external-procedures.ts";
import { getProcedure } from "./procedures.ts";
import { getRequest } from "./requests.ts";
import { parseProcedure } from "./shapes.ts";

/** The service's call that cancels a request or procedure; the specification leaves it open, so it is the site's word. */
export interface CancelCall {
  readonly method: Exclude<Method, "GET">;
  /** With `{id}` where the request's id, or on the external surface the procedure's, stands. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

/** What is to be cancelled: a procedure request, or on the external surface a procedure. */
export interface CancelTarget {
  readonly surface: Surface;
  /** The request's id, or on the external surface the procedure's. */
  readonly id: number;
  /** The procedure that became of a request, as far as it is known. */
  readonly procedureId?: number | undefined;
  /** The patient's values, masked in whatever the service says. */
  readonly sensitive: readonly Phi[];
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
 * proves nothing, and is looked into with {@link lookForCancel}
 * @throws Failure CANCEL_NOT_OFFERED where none is configured for the surface; SERVICE_NO_ANSWER when it may have been
 * done, SERVICE_REFUSED when it was not and won't be, a transient one when nothing was done.
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
      body: call.body,
      sensitive: target.sensitive,
      read: (answer) => {
        // Requests and procedures tell their id and status alike.
        const told = parseProcedure(unwrapObject(answer.json), context.settings.words);
        return told?.id === target.id
          ? { isCancelled: told.status === CANCELLED, status: told.status }
          : undefined;
      },
    },
    signal,
  );
}

/**
 * Looks whether it is cancelled: the procedure on the external surface; else the request, and the procedure that became
 * of it. @throws the SERVICE_ failures of reads
 */
export async function lookForCancel(
  context: ServiceContext,
  target: CancelTarget,
  signal: AbortSignal,
): Promise<CancelLook> {
  if (target.surface === "external") {
    const { status } = await getExternalProcedure(context, target.id, signal);
    return { isCancelled: status === CANCELLED, status };
  }
  const request = await getRequest(context, target.id, signal);
  const procedureId = request.procedureId ?? target.procedureId;
  if (request.status === CANCELLED || procedureId === undefined) {
    return { isCancelled: request.status === CANCELLED, status: request.status };
  }
  const { status } = await getProcedure(context, procedureId, signal);
  return { isCancelled: status === CANCELLED, status };
}
