import { Failure } from "../../core/failures.ts";
import { unwrapObject } from "../http/answer.ts";
import { getOne, type ServiceContext } from "../http/context.ts";
import { type NewRequest, requestBody } from "../new-request.ts";
import { type CreateOptions, differences } from "../request-surface/requests.ts";
import { type NamedContainer, NO_STATUS, type ProcedureStatus, parseProcedure } from "../shapes.ts";

export const EXTERNAL_PROCEDURES = "/api/v1/external/procedures";

/** A procedure that the service has certainly created. */
export interface CreatedProcedure {
  readonly procedureId: number;
  /** As answered, `PENDING` when the answer doesn't say. */
  readonly status: string;
  readonly code?: string | undefined;
  /** Containers of a STORE with the ids that the service gave them (specification, External rule 2). */
  readonly containers: readonly NamedContainer[];
}

/**
 * Creates a procedure on the external surface: sent once, and never again by anything in this folder. It counts as
 * created only when the answer is JSON with an integer id and contradicts nothing of what was sent.
 * @throws Failure SERVICE_NO_ANSWER or SERVICE_ANSWER_DIFFERS when it may have been created, SERVICE_REFUSED and
 * CONTAINER_OF_OTHER_SUBJECT when it was not and won't be, a transient one when nothing was done.
 */
export function createProcedure(
  context: ServiceContext,
  request: NewRequest,
  signal: AbortSignal,
  options: CreateOptions = {},
): Promise<CreatedProcedure> {
  const { correlation, words } = context.settings;
  const route = EXTERNAL_PROCEDURES;
  return context.transport.call(
    {
      method: "POST",
      route,
      creates: request.type,
      body: requestBody(request, correlation, "external"),
      sensitive: [request.subjectCode, ...(options.sensitive ?? [])],
      beforeSend: options.beforeSend,
      read: (answer) => {
        const created = parseProcedure(unwrapObject(answer.json), words);
        if (!created) {
          throw new Failure("SERVICE_NO_ANSWER", `POST ${route}: the answer holds no procedure id`);
        }
        const differing = differences(request, created);
        if (differing.length > 0) {
          throw new Failure(
            "SERVICE_ANSWER_DIFFERS",
            `POST ${route}: the answer (id ${created.id}) has another ${differing.join(", ")}`,
          );
        }
        return {
          procedureId: created.id,
          status: created.status === NO_STATUS ? "PENDING" : created.status,
          code: created.code,
          containers: request.type === "STORE" ? (created.containers ?? []) : [],
        };
      },
    },
    signal,
  );
}

/** Reads one procedure of the external surface, with its containers, and their locations once a STORE is completed. */
export function getExternalProcedure(
  context: ServiceContext,
  id: number,
  signal: AbortSignal,
): Promise<ProcedureStatus> {
  const parse = (raw: unknown) => parseProcedure(raw, context.settings.words);
  return getOne(context, { route: `${EXTERNAL_PROCEDURES}/{id}`, id }, parse, signal);
}
