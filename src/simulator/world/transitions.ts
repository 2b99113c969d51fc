import type { Behaviour } from "../behaviour.ts";
import { notFound, Refusal } from "../http/refusal.ts";
import {
  type Container,
  ENDED_PROCEDURE,
  type NewOrder,
  type Procedure,
  type ProcedureRequest,
} from "./rows.ts";
import type { State } from "./state.ts";

const STAFF = "Robin Example";
const OPERATOR = "Sam Example";
const OPEN_PROCEDURE = ["PENDING", "CREATED", "IN_PROGRESS"];

/**
 * What staff, devices and the requester do to requests and procedures. Each act throws a 404, 409 or 422
 * {@link Refusal} when the row is not there, or its status or the input doesn't allow it.
 */
export class Transitions {
  protected readonly state: State;
  readonly #behaviour: () => Behaviour;

  constructor(state: State, behaviour: () => Behaviour) {
    this.state = state;
    this.#behaviour = behaviour;
  }

  /** A web-app user approves: the procedure is created, and a STORE's containers get their ids. */
  acceptRequest(id: number, by = STAFF): Procedure {
    const request = this.#pendingRequest(id);
    const subject = this.state.subjects.find(request.subjectId);
    if (!subject) throw notFound("subject");
    const containerIds =
      request.type === "STORE"
        ? this.state.addContainers(subject, request.containers).map((container) => container.id)
        : request.containerIds;
    const { type, facilityId } = request;
    const made = { type, facilityId, containerIds, subject, requestId: request.id, status: "CREATED" };
    const procedure = this.state.addProcedure(made);
    request.procedureId = procedure.id;
    request.acceptedAt = this.state.timestamp();
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

  /** Staff do what a PENDING procedure of the external surface waits for: they accept it, or tag its containers. */
  acceptProcedure(id: number): Procedure {
    return this.#moveProcedure(this.#procedureIn(id, ["PENDING"]), "CREATED");
  }

  /** A device begins. */
  startProcedure(id: number, by = OPERATOR): Procedure {
    const procedure = this.#procedureIn(id, ["CREATED"]);
    procedure.startedAt = this.state.timestamp();
    procedure.performedBy = by;
    return this.#moveProcedure(procedure, "IN_PROGRESS");
  }

  /** The device is done: containers are in their slots or out of storage. */
  completeProcedure(id: number): Procedure {
    const procedure = this.#procedureIn(id, ["IN_PROGRESS"]);
    for (const container of this.#containersOf(procedure)) {
      this.state.takeOutOfStorage(container);
      if (procedure.type === "STORE") this.state.putIntoStorage(container, procedure.storageId);
    }
    procedure.completedAt = this.state.timestamp();
    return this.#moveProcedure(procedure, "COMPLETED");
  }

  /** The device could not do it. */
  failProcedure(id: number, error = "device error: lid did not open"): Procedure {
    const procedure = this.#procedureIn(id, OPEN_PROCEDURE);
    procedure.error = error;
    return this.#moveProcedure(procedure, "FAILED");
  }

  /** Staff call it off. */
  cancelProcedure(id: number): Procedure {
    return this.#moveProcedure(this.#procedureIn(id, OPEN_PROCEDURE), "CANCELLED");
  }

  /** A device asks for liquid nitrogen. */
  createRefill(storageId: number): Procedure {
    const storage = this.state.storages.find(storageId);
    if (!storage) throw notFound("storage solution");
    const made = { facilityId: storage.facilityId, storageId, containerIds: [], subject: undefined };
    return this.state.addProcedure({ ...made, type: "REFILL", requestId: null, status: "CREATED" });
  }

  /** A web-app user orders storage or retrieval directly, without a request. */
  createProcedure(order: NewOrder): Procedure {
    return this.state.addOrderedProcedure(order, this.#behaviour(), "CREATED");
  }

  #containersOf({ containerIds }: Procedure): Container[] {
    return containerIds.flatMap((id) => this.state.containers.find(id) ?? []);
  }

  #pendingRequest(id: number): ProcedureRequest {
    const request = this.state.requests.find(id);
    if (!request) throw notFound("procedure request");
    if (request.status !== "PENDING") {
      throw new Refusal(409, "INVALID_STATE", `the request is ${request.status}, not PENDING`);
    }
    return request;
  }

  #procedureIn(id: number, statuses: readonly string[]): Procedure {
    const procedure = this.state.procedures.find(id);
    if (!procedure) throw notFound("procedure");
    if (!statuses.includes(procedure.status)) {
      const ended = ENDED_PROCEDURE.includes(procedure.status) ? " and has ended" : "";
      throw new Refusal(409, "INVALID_STATE", `the procedure is ${procedure.status}${ended}`);
    }
    return procedure;
  }

  #moveRequest(request: ProcedureRequest, status: string): ProcedureRequest {
    request.status = status;
    this.state.reportChanged("request", request);
    return request;
  }

  #moveProcedure(procedure: Procedure, status: string): Procedure {
    procedure.status = status;
    this.state.reportChanged("procedure", procedure);
    return procedure;
  }
}
