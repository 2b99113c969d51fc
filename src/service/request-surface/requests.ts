import { Failure } from "../../core/failures.ts";
import type { Phi } from "../../core/phi.ts";
import { unwrapObject } from "../http/answer.ts";
import { getOne, type ServiceContext } from "../http/context.ts";
import { type NewRequest, requestBody } from "../new-request.ts";
import {
  NO_STATUS,
  type ProcedureStatus,
  parseProcedure,
  parseRequest,
  type RequestStatus,
} from "../shapes.ts";
import { isOtherType } from "../values.ts";

export const REQUESTS = "/api/procedure-requests";

/** A request that the service has certainly created. */
export interface CreatedRequest {
  readonly requestId: number;
  /** As answered, `PENDING` when the answer doesn't say. */
  readonly status: string;
  /** Set when the request was accepted at once. */
  readonly procedureId?: number | undefined;
}

/** Options of the one call that must not be made twice. */
export interface CreateOptions {
  /** Runs right before the first byte leaves, after all waiting; when it throws, nothing is sent. */
  readonly beforeSend?: (() => void | Promise<void>) | undefined;
  /** Further values of the patient (names, birth date) to mask in what the service says. */
  readonly sensitive?: readonly Phi[] | undefined;
}

/**
 * Creates a procedure request: sent once, and never again by anything in this folder. It counts as created only
 * when the answer is JSON with an integer id and contradicts nothing of what was sent.
 * @throws Failure SERVICE_NO_ANSWER or SERVICE_ANSWER_DIFFERS when it may have been created, SERVICE_REFUSED when
 * it was not and won't be, a transient one when nothing was done.
 */
export function createRequest(
  context: ServiceContext,
  request: NewRequest,
  signal: AbortSignal,
  options: CreateOptions = {},
): Promise<CreatedRequest> {
  return context.transport.call(
    {
      method: "POST",
      route: REQUESTS,
      creates: request.type,
      body: requestBody(request, context.settings.correlation),
      sensitive: [request.subjectCode, ...(options.sensitive ?? [])],
      beforeSend: options.beforeSend,
      read: (answer) => {
        const created = parseRequest(unwrapObject(answer.json), context.settings.words);
        if (!created)
          throw new Failure("SERVICE_NO_ANSWER", `POST ${REQUESTS}: the answer holds no request id`);
        const differing = differences(request, created);
        if (differing.length > 0) {
          throw new Failure(
            "SERVICE_ANSWER_DIFFERS",
            `POST ${REQUESTS}: the answer (id ${created.id}) has another ${differing.join(", ")}`,
          );
        }
        return {
          requestId: created.id,
          status: created.status === NO_STATUS ? "PENDING" : created.status,
          procedureId: created.procedureId,
        };
      },
    },
    signal,
  );
}

/** Reads one procedure request; the answer may be a short form. */
export function getRequest(context: ServiceContext, id: number, signal: AbortSignal): Promise<RequestStatus> {
  return getOne(context, { route: `${REQUESTS}/{id}`, id }, parseRequest, signal);
}

/** What an answer tells of a request, or of a procedure of the external surface. */
export type Told = Pick<RequestStatus, "type" | "facilityId" | "subjectCode" | "containers" | "containerIds">;

/** Names of the fields in which an answer contradicts what was sent; a field that is missing contradicts nothing. */
export function differences(request: NewRequest, told: Told): string[] {
  const names: string[] = [];
  if (isOtherType(told.type, request.type)) names.push("type");
  if (told.facilityId !== undefined && told.facilityId !== request.facilityId) names.push("facilityId");
  if (told.subjectCode && told.subjectCode.reveal() !== request.subjectCode.reveal())
    names.push("subjectCode");
  if (request.type === "STORE" && hasSameLabels(request, told) === false) names.push("sampleContainers");
  if (request.type === "RETRIEVAL" && hasSameContainerIds(request, told.containerIds) === false) {
    names.push("sampleContainerIds");
  }
  return names;
}

/** Whether exactly the labels that were sent are named; undefined when the entry names none or not all. */
export function hasSameLabels(
  request: Extract<NewRequest, { type: "STORE" }>,
  told: Pick<RequestStatus, "containers">,
): boolean | undefined {
  if (!told.containers || told.containers.length === 0) return undefined;
  const labels = told.containers.map((each) => each.label);
  if (labels.includes(undefined)) return undefined;
  return isSameSet(
    labels,
    request.containers.map((each) => each.label),
  );
}

/** Whether exactly the containers that were asked for are named; undefined when none are. */
export function hasSameContainerIds(
  request: Extract<NewRequest, { type: "RETRIEVAL" }>,
  ids: readonly number[] | undefined,
): boolean | undefined {
  return ids && ids.length > 0 ? isSameSet(ids, request.containerIds) : undefined;
}

function isSameSet<T>(a: readonly T[], b: readonly T[]): boolean {
  const left = new Set(a);
  const right = new Set(b);
  return a.length === b.length && left.size === right.size && [...left].every((each) => right.has(each));
}

export const PROCEDURES = "/api/procedures";

/** Reads one procedure. */
export function getProcedure(
  context: ServiceContext,
  id: number,
  signal: AbortSignal,
): Promise<ProcedureStatus> {
  return getOne(context, { route: `${PROCEDURES}/{id}`, id }, parseProcedure, signal);
}
