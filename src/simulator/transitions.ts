import { ENDED_PROCEDURE, type Procedure, type ProcedureRequest } from "./records.ts";
import { notFound, Refusal } from "./refusal.ts";
import type { State } from "./state.ts";

const STAFF = "Robin Example";
const OPERATOR = "Sam Example";

/**
 * What staff, devices and the requester do to requests and procedures. Each act throws a 404 or 409
 * {@link Refusal} when the row is not there or its status doesn't allow it.
 */
export class Transitions {
  readonly #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  /** A web-app user approves: the procedure is created, and a STORE's containers get their ids. */
  acceptRequest(id: number, by = STAFF): Procedure {
    const request = this.#pendingRequest(id);
    const subject = this.#state.subjects.find(request.subjectId);
    if (!subject) throw notFound("subject");
    const containerIds =
      request.type === "STORE"
        ? this.#state.addContainers(subject, request.containers).map((container) => container.id)
        : request.containerIds;
    const { type, facilityId } = request;
    const procedure = this.#state.addProcedure({
      type,
      facilityId,
      containerIds,
      subject,
      requestId: request.id,
      status: "CREATED",
    });
    request.procedureId = procedure.id;
    request.acceptedAt = this.#state.timestamp();
    request.acceptedBy = by;
    this.#moveRequest(request, "ACCEPTED");
    return procedure;
  }

  /** A web-app user denies. */
  rejectRequest(id: number): ProcedureRequest {
    return this.#moveRequest(this.#pendingRequest(id), "REJECTED");
  }

  /** The requester cancels. */
  cancelRequest(id: number): ProcedureRequest {
    return this.#moveRequest(this.#pendingRequest(id), "CANCELLED");
  }

  /** Staff act on a procedure that an integration created: accept the retrieval, or tag the containers. */
  acceptProcedure(id: number): Procedure {
    return this.#moveProcedure(this.#procedureIn(id, ["PENDING"]), "CREATED");
  }

  /** A device begins. */
  startProcedure(id: number, by = OPERATOR): Procedure {
    const procedure = this.#procedureIn(id, ["CREATED"]);
    procedure.startedAt = this.#state.timestamp();
    procedure.performedBy = by;
    return this.#moveProcedure(procedure, "IN_PROGRESS");
  }

  /** The device is done: containers are in their slots, or out of storage. */
  completeProcedure(id: number): Procedure {
    const procedure = this.#procedureIn(id, ["IN_PROGRESS"]);
    for (const containerId of procedure.containerIds) {
      const container = this.#state.containers.find(containerId);
      if (!container) continue;
      if (procedure.type === "STORE") this.#state.putIntoStorage(container, procedure.storageId);
      else this.#state.takeOutOfStorage(container);
    }
    procedure.completedAt = this.#state.timestamp();
    return this.#moveProcedure(procedure, "COMPLETED");
  }

  /** The device could not do it. */
  failProcedure(id: number, error = "device error: lid did not open"): Procedure {
    const procedure = this.#procedureIn(id, ["PENDING", "CREATED", "IN_PROGRESS"]);
    procedure.error = error;
    return this.#moveProcedure(procedure, "FAILED");
  }

  /** Staff call it off. */
  cancelProcedure(id: number): Procedure {
    return this.#moveProcedure(this.#procedureIn(id, ["PENDING", "CREATED", "IN_PROGRESS"]), "CANCELLED");
  }

  /** A device asks for liquid nitrogen. */
  createRefill(storageId: number): Procedure {
    const storage = this.#state.storages.find(storageId);
    if (!storage) throw notFound("storage solution");
    return this.#state.addProcedure({
      type: "REFILL",
      facilityId: storage.facilityId,
      storageId,
      containerIds: [],
      subject: undefined,
      requestId: null,
      status: "CREATED",
    });
  }

  #pendingRequest(id: number): ProcedureRequest {
    const request = this.#state.requests.find(id);
    if (!request) throw notFound("procedure request");
    if (request.status !== "PENDING") {
      throw new Refusal(409, "INVALID_STATE", `the request is ${request.status}, not PENDING`);
    }
    return request;
  }

  #procedureIn(id: number, statuses: readonly string[]): Procedure {
    const procedure = this.#state.procedures.find(id);
    if (!procedure) throw notFound("procedure");
    if (!statuses.includes(procedure.status)) {
      const ended = ENDED_PROCEDURE.includes(procedure.status) ? " and has ended" : "";
      throw new Refusal(409, "INVALID_STATE", `the procedure is ${procedure.status}${ended}`);
    }
    return procedure;
  }

  #moveRequest(request: ProcedureRequest, status: string): ProcedureRequest {
    request.status = status;
    this.#state.tellChanged("request", request);
    return request;
  }

  #moveProcedure(procedure: Procedure, status: string): Procedure {
    procedure.status = status;
    this.#state.tellChanged("procedure", procedure);
    return procedure;
  }
}
