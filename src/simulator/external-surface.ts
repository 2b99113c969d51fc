import { type AuthorizedCall, answerJson, type Route, readId } from "./exchange.ts";
import type { Listing } from "./lists.ts";
import { readOrderBody } from "./order-body.ts";
import type { Procedure } from "./records.ts";
import { notFound } from "./refusal.ts";
import { containerListing } from "./request-listings.ts";
import { containerView } from "./request-views.ts";
import type { State } from "./state.ts";
import {
  answerList,
  checkFacility,
  countingRefusals,
  isForgotten,
  type ListForm,
  type SurfaceParts,
  visibleRow,
} from "./surface.ts";

/** The external surface, `/api/v1/external`: an integration creates procedures directly; lists are bare arrays. */
export function externalSurface(parts: SurfaceParts): Route[] {
  const { state, tally, random } = parts;
  const procedures = procedureListing(state);
  const form = ({ behaviour }: AuthorizedCall): ListForm => ({
    envelope: "array",
    paging: behaviour.externalPaging,
  });
  const containers = containerListing(state);
  return [
    {
      method: "POST",
      path: "/api/v1/external/procedures",
      access: "bearer",
      handle: (call) => {
        const order = readOrderBody(call, "name");
        const procedure = countingRefusals(order, "external", tally, () => {
          checkFacility(order.facilityId, call, state);
          const subject = state.checkOrder(order, call.behaviour);
          const containerIds =
            order.type === "STORE"
              ? state.addContainers(subject, order.containers).map((container) => container.id)
              : order.containerIds;
          const { type, facilityId } = order;
          const made = { type, facilityId, containerIds, subject, requestId: null, status: "PENDING" };
          return state.addProcedure(made);
        });
        tally.recordCreation(order, {
          surface: "external",
          requestId: null,
          procedureId: procedure.id,
          at: procedure.createdAt,
        });
        return answerJson(call.behaviour.createdStatus, fullView(procedure, state), call.behaviour);
      },
    },
    {
      method: "GET",
      path: "/api/v1/external/procedures",
      access: "bearer",
      handle: (call) => answerList(procedures, (row) => summaryView(row, state), call, parts, form(call)),
    },
    {
      method: "GET",
      path: "/api/v1/external/procedures/:id",
      access: "bearer",
      names: "procedure",
      handle: (call) => {
        const procedure = visibleRow(state.procedures.find(readId(call)), "procedure", call, state);
        if (!isOffered(procedure)) throw notFound("procedure");
        const shown = state.history.shown(procedure, call.behaviour, random);
        return answerJson(200, fullView(shown, state), call.behaviour);
      },
    },
    {
      method: "GET",
      path: "/api/v1/external/sample-containers",
      access: "bearer",
      handle: (call) => answerList(containers, containerView, call, parts, form(call)),
    },
  ];
}

function procedureListing(state: State): Listing<Procedure> {
  return {
    table: state.procedures,
    keyField: "subjectCode",
    fields: {
      id: (row) => row.id,
      code: (row) => row.code,
      type: (row) => row.type,
      status: (row) => row.status,
      facilityId: (row) => row.facilityId,
      subjectCode: (row) => row.subjectCode,
      createdAt: (row) => row.createdAt,
      completedAt: (row) => row.completedAt,
    },
    shows: (row, behaviour) => isOffered(row) && !isForgotten(row, behaviour),
    seen: (row, behaviour, random) => state.history.shown(row, behaviour, random),
  };
}

/** The surface has three types of procedures; transfers and registrations are the web app's own. */
function isOffered({ type }: Procedure): boolean {
  return type === "STORE" || type === "RETRIEVAL" || type === "REFILL";
}

/** A list entry: everything but the containers; a refill has no subject. */
function summaryView(procedure: Procedure, state: State) {
  const { id, code, type, status, facilityId, subjectId, subjectCode, createdAt, completedAt } = procedure;
  return {
    id,
    code,
    type,
    status,
    facility: { id: facilityId, name: state.facility(facilityId)?.name },
    ...(subjectId === undefined ? {} : { subject: { id: subjectId, code: subjectCode } }),
    createdAt,
    completedAt,
  };
}

function fullView(procedure: Procedure, state: State) {
  if (procedure.type === "REFILL") return summaryView(procedure, state);
  const isStored = procedure.type === "STORE" && procedure.status === "COMPLETED";
  const sampleContainers = procedure.containerIds.map((containerId) => {
    const container = state.containers.find(containerId);
    const slot = isStored ? container?.slot : undefined;
    return {
      id: containerId,
      name: container?.name,
      description: container?.description,
      ...(slot
        ? {
            location: {
              storage: { id: slot.storageId, name: state.storages.find(slot.storageId)?.name },
              canister: slot.canister,
              cane: slot.cane,
            },
            storedAt: container?.storedAt,
          }
        : {}),
    };
  });
  return { ...summaryView(procedure, state), sampleContainers };
}
