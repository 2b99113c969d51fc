import { LISTS, RECORDS } from "../../core/service-catalogue.ts";
import { getOne, type ServiceContext } from "../http/context.ts";
import { type CreateOptions, type NewRequest, postNew } from "../new-request.ts";
import { type NamedContainer, type ProcedureStatus, parseProcedure } from "../shapes.ts";

/** A procedure that the service has certainly created. */
interface CreatedProcedure {
  readonly procedureId: number;
  /** As answered, `PENDING` when the answer doesn't say. */
  readonly status: string;
  readonly code?: string | undefined;
  /** Containers of a STORE with the ids that the service gave them (specification, External rule 2). */
  readonly containers: readonly NamedContainer[];
}

/**
 * Creates a procedure on the external surface: sent once, and never again by anything in this folder.
 * @throws Failure those of {@link postNew}
 */
export async function createProcedure(
  context: ServiceContext,
  request: NewRequest,
  signal: AbortSignal,
  options: CreateOptions = {},
): Promise<CreatedProcedure> {
  const at = { surface: "external", route: LISTS.externalProcedures.path } as const;
  const created = await postNew(context, at, { request, ...options }, parseProcedure, signal);
  const { id: procedureId, status, code, containers = [] } = created;
  return { procedureId, status, code, containers: request.type === "STORE" ? containers : [] };
}

/** Reads one procedure of the external surface, with its containers, and their locations once a STORE is completed. */
export function getExternalProcedure(
  context: ServiceContext,
  id: number,
  signal: AbortSignal,
): Promise<ProcedureStatus> {
  return getOne(context, { route: RECORDS.externalProcedure, id }, parseProcedure, signal);
}
