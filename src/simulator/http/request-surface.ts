import { LISTS, RECORDS } from "../../core/service-catalogue.ts";
import type { Behaviour } from "../behaviour.ts";
import type { Container, Procedure, ProcedureRequest, StorageSolution, Subject } from "../world/rows.ts";
import type { State } from "../world/state.ts";
import { answerJson, type Route, readId } from "./exchange.ts";
import { fieldsOf, type Listing } from "./lists.ts";
import { readSubjectBody } from "./order-body.ts";
import { notFound } from "./refusal.ts";
import {
  checkFacility,
  createsOrder,
  isForgotten,
  lists,
  reads,
  type SurfaceParts,
  visibleRow,
} from "./surface.ts";

/** The request surface, `/api`: requests that a web-app user reviews, and everything that is read there. */
export function requestSurface(parts: SurfaceParts): Route[] {
  const { state, tally } = parts;
  const listings = requestListings(state);
  const requestView = (form: "short" | "full") => (form === "full" ? fullRequestView : shortRequestView);
  return [
    {
      method: "POST",
      path: LISTS.subjects.path,
      access: "bearer",
      handle: (call) => {
        const input = readSubjectBody(call);
        checkFacility(input.facilityId, call, state);
        const subject = state.addSubject(input);
        const { id, facilityId, code, createdAt } = subject;
        tally.recordSubject({ subjectId: id, facilityId, code, at: createdAt });
        const view = subjectView(subject, state, call.behaviour);
        return answerJson(call.behaviour.createdStatus, view, call.behaviour);
      },
    },
    lists(parts, LISTS.subjects.path, listings.subjects, (row, behaviour) =>
      subjectView(row, state, behaviour),
    ),
    reads(RECORDS.subject, (call) => {
      const subject = visibleRow(state.subjects.find(readId(call)), "subject", call, state);
      return subjectView(subject, state, call.behaviour);
    }),
    createsOrder(parts, "request", LISTS.requests.path, (order, { behaviour }) => {
      const request = state.addRequest(order, behaviour);
      return {
        requestId: request.id,
        procedureId: null,
        at: request.createdAt,
        view: fullRequestView(request),
      };
    }),
    lists(parts, LISTS.requests.path, listings.requests, (row, { listedRequest }) =>
      requestView(listedRequest)(row),
    ),
    reads(
      RECORDS.request,
      (call) => {
        const request = visibleRow(state.requests.find(readId(call)), "procedure request", call, state);
        return requestView(call.behaviour.singleRequest)(request);
      },
      "request",
    ),
    lists(parts, LISTS.procedures.path, listings.procedures, procedureView),
    reads(
      RECORDS.procedure,
      (call) => procedureView(visibleRow(state.procedures.find(readId(call)), "procedure", call, state)),
      "procedure",
    ),
    lists(parts, LISTS.containers.path, listings.containers, containerView),
    reads(
      RECORDS.location,
      (call) => {
        const container = visibleRow(state.containers.find(readId(call)), "sample container", call, state);
        const location = locationView(container, state);
        if (!location) throw notFound("location of the sample container");
        return location;
      },
      "container",
    ),
    lists(parts, LISTS.storage.path, listings.storages, storageView),
    reads(RECORDS.inventory, (call) => {
      const storage = visibleRow(state.storages.find(readId(call)), "storage solution", call, state);
      const { behaviour, query } = call;
      return inventoryView(storage, state.containers.all(), { behaviour, query, nowMs: parts.nowMs() });
    }),
  ];
}

interface InventoryAsked {
  readonly behaviour: Pick<Behaviour, "inventory" | "inventoryLagMs" | "maxPerPage">;
  readonly query: URLSearchParams;
  /** Monotonic ms. */
  readonly nowMs: number;
}

/** What is in a storage solution, in the form that the behaviour says: the specification leaves it open. */
export function inventoryView(
  { id, name }: StorageSolution,
  containers: readonly Container[],
  { behaviour, query, nowMs }: InventoryAsked,
): unknown {
  const newest = nowMs - behaviour.inventoryLagMs;
  const stored = containers.filter(({ slot, slotSince }) => slot?.storageId === id && slotSince <= newest);
  switch (behaviour.inventory) {
    case "count":
      return { storageId: id, count: stored.length };
    case "tree":
      return { id, name, canisters: canistersOf(stored) };
    case "pages": {
      const page = Number(query.get("page") ?? 1);
      const perPage = Math.min(behaviour.maxPerPage, Number(query.get("perPage") ?? 10));
      const entries = stored.slice((page - 1) * perPage, page * perPage).map(withParts);
      return { data: entries, meta: { page, perPage, total: stored.length } };
    }
    default: {
      const placed = stored.map((each) => ({ ...containerView(each), position: positionText(each) }));
      return { storageId: id, storageName: name, count: stored.length, sampleContainers: placed };
    }
  }
}

function withParts(container: Container) {
  const { slot } = container;
  return { ...containerView(container), canister: slot?.canister, cane: slot?.cane, slot: slot?.slot };
}

/** Levels without ids of their own. */
function canistersOf(stored: readonly Container[]) {
  const canisters = Map.groupBy(stored, ({ slot }) => slot?.canister);
  return [...canisters].map(([canister, inside]) => ({
    name: canister,
    canes: [...Map.groupBy(inside, ({ slot }) => slot?.cane)].map(([cane, held]) => ({
      name: cane,
      sampleContainers: held.map(({ id, name, slot, storedAt }) => ({
        id,
        name,
        slot: slot?.slot,
        storedAt,
      })),
    })),
  }));
}

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
    shows: () => true,
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
