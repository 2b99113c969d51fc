import type { Phi } from "../core/phi.ts";
import type { BatchRead } from "./batch-reader.ts";
import { listSubjectContainers } from "./containers.ts";
import type { ServiceContext } from "./context.ts";
import type { NewRequest } from "./correlation.ts";
import { type CreatedProcedure, createProcedure, getExternalProcedure } from "./external-procedures.ts";
import { findCreatedProcedure } from "./external-settle.ts";
import type { LostRequest } from "./likeness.ts";
import { type ExternalBatch, readExternalProcedures } from "./read-batch.ts";
import type { CreateOptions } from "./requests.ts";
import type { SettleFindings } from "./settle.ts";
import type { ProcedureStatus, ServiceContainer } from "./shapes.ts";

/** The calls of the external surface, `/api/v1/external`: an order becomes a procedure at once. */
export interface ExternalSurface {
  createProcedure(
    request: NewRequest,
    signal: AbortSignal,
    options?: CreateOptions,
  ): Promise<CreatedProcedure>;
  findCreatedProcedure(lost: LostRequest, signal: AbortSignal): Promise<SettleFindings>;
  getProcedure(id: number, signal: AbortSignal): Promise<ProcedureStatus>;
  readProcedures(batch: ExternalBatch, signal: AbortSignal): Promise<BatchRead<ProcedureStatus>>;
  listSubjectContainers(subjectCode: Phi, signal: AbortSignal): Promise<ServiceContainer[]>;
}

/** The calls of the external surface over the same connections, limits and findings as the others. */
export function createExternalSurface(context: ServiceContext): ExternalSurface {
  const surface = "external";
  return {
    createProcedure: (request, signal, options) => createProcedure(context, request, signal, options),
    findCreatedProcedure: (lost, signal) => findCreatedProcedure(context, lost, signal),
    getProcedure: (id, signal) => getExternalProcedure(context, id, signal),
    readProcedures: (batch, signal) => readExternalProcedures(context, batch, signal),
    listSubjectContainers: (subjectCode, signal) =>
      listSubjectContainers(context, { surface, subjectCode }, signal),
  };
}
