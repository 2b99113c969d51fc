import type { ServiceContext } from "./context.ts";
import { type ProcedureStatus, parseProcedure } from "./shapes.ts";
import { getOne } from "./single.ts";

export const PROCEDURES = "/api/procedures";

/** Reads one procedure. */
export function getProcedure(
  context: ServiceContext,
  id: number,
  signal: AbortSignal,
): Promise<ProcedureStatus> {
  return getOne(context, { route: `${PROCEDURES}/{id}`, id }, parseProcedure, signal);
}
