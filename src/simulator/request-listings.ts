import type { Listing } from "./lists.ts";
import type { Container, Procedure, ProcedureRequest, StorageSolution, Subject } from "./records.ts";
import { procedureType } from "./request-views.ts";
import type { State } from "./state.ts";
import { isForgotten } from "./surface.ts";

/** The lists of the request surface, with the fields that may be filtered. */
export function requestListings(state: State) {
  const subjects: Listing<Subject> = {
    table: state.subjects,
    keyField: "code",
    fields: {
      id: (row) => row.id,
      facilityId: (row) => row.facilityId,
      code: (row) => row.code,
      firstName: (row) => row.firstName,
      lastName: (row) => row.lastName,
      dateOfBirth: (row) => row.dateOfBirth,
      createdAt: (row) => row.createdAt,
    },
  };
  const requests: Listing<ProcedureRequest> = {
    table: state.requests,
    keyField: "subjectCode",
    fields: {
      id: (row) => row.id,
      type: (row) => row.type,
      status: (row) => row.status,
      facilityId: (row) => row.facilityId,
      subjectCode: (row) => row.subjectCode,
      procedureId: (row) => row.procedureId,
      createdAt: (row) => row.createdAt,
      acceptedAt: (row) => row.acceptedAt,
      acceptedBy: (row) => row.acceptedBy,
    },
    shows: (row, behaviour) => !isForgotten(row, behaviour),
    seen: (row, behaviour, random) => state.history.shown(row, behaviour, random),
  };
  const procedures: Listing<Procedure> = {
    table: state.procedures,
    keyField: "subjectCode",
    fields: {
      id: (row) => row.id,
      type: (row) => procedureType(row),
      status: (row) => row.status,
      facilityId: (row) => row.facilityId,
      storageId: (row) => row.storageId,
      requestId: (row) => row.requestId,
      subjectCode: (row) => row.subjectCode,
      performedBy: (row) => row.performedBy,
      createdAt: (row) => row.createdAt,
      startedAt: (row) => row.startedAt,
      completedAt: (row) => row.completedAt,
      error: (row) => row.error,
    },
    shows: (row, behaviour) => !isForgotten(row, behaviour),
    seen: (row, behaviour, random) => state.history.shown(row, behaviour, random),
  };
  const storages: Listing<StorageSolution> = {
    table: state.storages,
    keyField: "facilityId",
    fields: { id: (row) => row.id, name: (row) => row.name, facilityId: (row) => row.facilityId },
    shows: (row) => row.isRegistered,
  };
  return { subjects, requests, procedures, containers: containerListing(state), storages };
}

/** Sample containers as both surfaces list them. */
export function containerListing(state: State): Listing<Container> {
  return {
    table: state.containers,
    keyField: "subjectCode",
    fields: {
      id: (row) => row.id,
      name: (row) => row.name,
      description: (row) => row.description,
      facilityId: (row) => row.facilityId,
      subjectId: (row) => row.subjectId,
      subjectCode: (row) => row.subjectCode,
      storedAt: (row) => row.storedAt,
    },
    shows: (row, behaviour) => behaviour.listedContainers === "all" || row.slot !== undefined,
  };
}
