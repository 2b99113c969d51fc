import type { Container, Procedure, ProcedureRequest, StorageSolution, Subject } from "./records.ts";
import type { State } from "./state.ts";

/** A subject, on the request surface. */
export function subjectView({ id, facilityId, code, firstName, lastName, dateOfBirth, createdAt }: Subject) {
  return { id, facilityId, code, firstName, lastName, dateOfBirth, createdAt };
}

/** A procedure request with every field of the specification's table. A RETRIEVAL doesn't tell its containers. */
export function fullRequestView(request: ProcedureRequest) {
  const { id, type, status, facilityId, subjectCode, containers, createdAt } = request;
  const sampleContainers = containers.map(({ name, description }) => ({
    sampleContainerId: name,
    description,
  }));
  return {
    id,
    type,
    status,
    facilityId,
    subjectCode,
    ...(type === "STORE" ? { sampleContainers } : {}),
    procedureId: request.procedureId,
    createdAt,
    acceptedAt: request.acceptedAt,
    acceptedBy: request.acceptedBy,
  };
}

/** The two short forms of the specification: one while pending (or turned down), one once accepted. */
export function shortRequestView(request: ProcedureRequest) {
  const { id, type, status, procedureId, createdAt, acceptedAt, acceptedBy } = request;
  if (acceptedAt === undefined) return { id, type, status, procedureId, createdAt };
  return { id, type, status, procedureId, acceptedAt, acceptedBy };
}

/**
 * The specification's sample writes `storage` for a STORE; the others follow its lower case, `register storage` with
 * a space.
 */
export function procedureType({ type }: Pick<Procedure, "type">): string {
  return type === "STORE" ? "storage" : type.toLowerCase().replaceAll("_", " ");
}

/** A procedure, on the request surface. */
export function procedureView(procedure: Procedure) {
  return {
    id: procedure.id,
    type: procedureType(procedure),
    status: procedure.status,
    facilityId: procedure.facilityId,
    storageId: procedure.storageId,
    sampleContainerIds: procedure.containerIds,
    requestId: procedure.requestId,
    performedBy: procedure.performedBy,
    createdAt: procedure.createdAt,
    startedAt: procedure.startedAt,
    completedAt: procedure.completedAt,
    error: procedure.error,
  };
}

/** A sample container as lists show it. */
export function containerView({ id, name, subjectId, subjectCode, description, storedAt }: Container) {
  return { id, name, subject: { id: subjectId, code: subjectCode }, description, storedAt };
}

/** Free text naming canister, cane and slot. */
export function position({ slot }: Container): string | undefined {
  return slot && `Canister ${slot.canister}, Cane ${slot.cane}, Slot ${slot.slot}`;
}

/** Where a container is; undefined while it is not in storage. */
export function locationView(container: Container, state: State) {
  const { id, slot, storedAt } = container;
  if (!slot) return undefined;
  return {
    sampleContainerId: id,
    storageId: slot.storageId,
    storageName: state.storages.find(slot.storageId)?.name,
    position: position(container),
    storedAt,
  };
}

/** A storage solution: the specification shows these two fields. */
export function storageView({ id, name }: StorageSolution) {
  return { id, name };
}
