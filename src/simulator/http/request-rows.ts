import { LISTS } from "../../core/service-catalogue.ts";
import type { Behaviour } from "../behaviour.ts";
import type { Container, Procedure, ProcedureRequest, StorageSolution, Subject } from "../world/rows.ts";
import type { State } from "../world/state.ts";
import { fieldsOf, type Listing } from "./lists.ts";
import { isForgotten } from "./surface.ts";

/** A subject as the behaviour has it. */
export function subjectView(subject: Subject, state: State, behaviour: Behaviour) {
  const { id, facilityId, code, firstName, lastName, dateOfBirth, createdAt } = subject;
  if (behaviour.subjects === "flat")
    return { id, facilityId, code, firstName, lastName, dateOfBirth, createdAt };
  const facility = { id: facilityId, name: state.facility(facilityId)?.name };
  return { id, facility, code, firstName, lastName, createdAt };
}

/** A procedure request with every field of the specification's table. A RETRIEVAL doesn't show its containers. */
export function fullRequestView(request: ProcedureRequest) {
  const { id, type, status, facilityId, subjectCode, containers } = request;
  const { procedureId, createdAt, acceptedAt, acceptedBy } = request;
  const sampleContainers = containers.map(({ name, description }) => ({
    sampleContainerId: name,
    description,
  }));
  return {
    ...{ id, type, status, facilityId, subjectCode },
    ...(type === "STORE" ? { sampleContainers } : {}),
    ...{ procedureId, createdAt, acceptedAt, acceptedBy },
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
export function procedureType({ type }: { readonly type: string }): string {
  return type === "STORE" ? "storage" : type.toLowerCase().replaceAll("_", " ");
}

/** A procedure, on the request surface. */
export function procedureView(procedure: Procedure) {
  const { id, status, facilityId, storageId, containerIds: sampleContainerIds, requestId } = procedure;
  const { performedBy, createdAt, startedAt, completedAt, error } = procedure;
  const type = procedureType(procedure);
  const ids = { facilityId, storageId, sampleContainerIds, requestId };
  return { id, type, status, ...ids, performedBy, createdAt, startedAt, completedAt, error };
}

/** A sample container as lists show it. */
export function containerView({ id, name, subjectId, subjectCode, description, storedAt }: Container) {
  return { id, name, subject: { id: subjectId, code: subjectCode }, description, storedAt };
}

/** Free text naming canister, cane and slot; undefined while it is not in storage. */
export function positionText({ slot }: Container): string | undefined {
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
    position: positionText(container),
    storedAt,
  };
}

/** A storage solution: the specification shows these two fields. */
export function storageView({ id, name }: StorageSolution) {
  return { id, name };
}

/** The lists of the request surface, with the fields that may be filtered. */
export function requestListings(state: State) {
  const subjects: Listing<Subject> = {
    table: state.subjects,
    keyField: "code",
    fields: fieldsOf(LISTS.subjects),
  };
  const requests: Listing<ProcedureRequest> = {
    table: state.requests,
    keyField: "subjectCode",
    fields: fieldsOf(LISTS.requests),
    shows: (row, behaviour) => !isForgotten(row, behaviour),
  };
  const procedures: Listing<Procedure> = {
    table: state.procedures,
    keyField: "subjectCode",
    fields: { ...fieldsOf(LISTS.procedures), type: procedureType },
    shows: (row, behaviour) => !isForgotten(row, behaviour),
  };
  const storages: Listing<StorageSolution> = {
    table: state.storages,
    keyField: "facilityId",
    fields: fieldsOf(LISTS.storage),
    shows: (row) => row.isRegistered,
  };
  return { subjects, requests, procedures, containers: containerListing(state), storages };
}

/** Sample containers as both surfaces list them. */
export function containerListing(state: State): Listing<Container> {
  return {
    table: state.containers,
    keyField: "subjectCode",
    fields: fieldsOf(LISTS.containers),
    shows: (row, behaviour) => behaviour.listedContainers === "all" || row.slot !== undefined,
  };
}
