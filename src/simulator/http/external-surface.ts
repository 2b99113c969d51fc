import { LISTS, RECORDS } from "../../core/service-catalogue.ts";
import type { Procedure } from "../world/rows.ts";
import type { State } from "../world/state.ts";
import { type Route, readId } from "./exchange.ts";
import { fieldsOf, type Listing } from "./lists.ts";
import { notFound } from "./refusal.ts";
import { containerListing, containerView } from "./request-surface.ts";
import { createsOrder, isForgotten, lists, reads, type SurfaceParts, visibleRow } from "./surface.ts";

/** The external surface, `/api/v1/external`: an integration creates procedures directly; lists are bare arrays. */
export function externalSurface(parts: SurfaceParts): Route[] {
  const { state } = parts;
  return [
    createsOrder(parts, "external", LISTS.externalProcedures.path, (order, { behaviour }) => {
      const procedure = state.addOrderedProcedure(order, behaviour, "PENDING");
      const { id: procedureId, createdAt: at } = procedure;
      return { requestId: null, procedureId, at, view: fullView(procedure, state) };
    }),
    lists(parts, LISTS.externalProcedures.path, procedureListing(state), (row) => summaryView(row, state)),
    reads(
      RECORDS.externalProcedure,
      (call) => {
        const procedure = visibleRow(state.procedures.find(readId(call)), "procedure", call, state);
        if (!isOffered(procedure)) throw notFound("procedure");
        return fullView(procedure, state);
      },
      "procedure",
    ),
    lists(parts, LISTS.externalContainers.path, containerListing(state), containerView),
  ];
}

function procedureListing(state: State): Listing<Procedure> {
  return {
    table: state.procedures,
    keyField: "subjectCode",
    fields: fieldsOf(LISTS.externalProcedures),
    shows: (row, behaviour) => isOffered(row) && !isForgotten(row, behaviour),
  };
}

/** The surface has three types of procedures; transfers and registrations are the web app's own. */
function isOffered({ type }: Procedure): boolean {
  return type === "STORE" || type === "RETRIEVAL" || type === "REFILL";
}

/** A list entry: everything but the containers; a refill has no subject. */
function summaryView(procedure: Procedure, state: State) {
  const { id, code, type, status, facilityId, subjectId, subjectCode, createdAt, completedAt } = procedure;
  const facility = { id: facilityId, name: state.facility(facilityId)?.name };
  const subject = subjectId === undefined ? {} : { subject: { id: subjectId, code: subjectCode } };
  return { id, code, type, status, facility, ...subject, createdAt, completedAt };
}

function fullView(procedure: Procedure, state: State) {
  if (procedure.type === "REFILL") return summaryView(procedure, state);
  const isStored = procedure.type === "STORE" && procedure.status === "COMPLETED";
  const sampleContainers = procedure.containerIds.map((containerId) => {
    const container = state.containers.find(containerId);
    const slot = isStored ? container?.slot : undefined;
    const shown = { id: containerId, name: container?.name, description: container?.description };
    if (!slot) return shown;
    const storage = { id: slot.storageId, name: state.storages.find(slot.storageId)?.name };
    const location = { storage, canister: slot.canister, cane: slot.cane };
    return { ...shown, location, storedAt: container?.storedAt };
  });
  return { ...summaryView(procedure, state), sampleContainers };
}
