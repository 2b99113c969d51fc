import { type AuthorizedCall, answerJson, type Route, readId } from "./exchange.ts";
import { inventoryView } from "./inventory.ts";
import { readOrderBody, readSubjectBody } from "./order-body.ts";
import { notFound } from "./refusal.ts";
import { requestListings } from "./request-listings.ts";
import {
  containerView,
  fullRequestView,
  locationView,
  procedureView,
  shortRequestView,
  storageView,
  subjectView,
} from "./request-views.ts";
import {
  answerList,
  checkFacility,
  countingRefusals,
  type ListForm,
  type SurfaceParts,
  visibleRow,
} from "./surface.ts";

/** The request surface, `/api`: requests that a web-app user reviews, and everything that is read there. */
export function requestSurface(parts: SurfaceParts): Route[] {
  const { state, tally, random } = parts;
  const listings = requestListings(state);
  const form = ({ behaviour }: AuthorizedCall): ListForm => ({
    envelope: behaviour.listEnvelope,
    paging: "paged",
  });
  const get = (path: string, handle: (call: AuthorizedCall) => unknown, names?: Route["names"]): Route => ({
    method: "GET",
    path,
    access: "bearer",
    ...(names === undefined ? {} : { names }),
    handle: (call) => answerJson(200, handle(call), call.behaviour),
  });

  return [
    {
      method: "POST",
      path: "/api/subjects",
      access: "bearer",
      handle: (call) => {
        const input = readSubjectBody(call);
        checkFacility(input.facilityId, call, state);
        const subject = state.addSubject(input);
        const { id, facilityId, code, createdAt } = subject;
        tally.recordSubject({ subjectId: id, facilityId, code, at: createdAt });
        return answerJson(call.behaviour.createdStatus, subjectView(subject), call.behaviour);
      },
    },
    {
      method: "GET",
      path: "/api/subjects",
      access: "bearer",
      handle: (call) => answerList(listings.subjects, subjectView, call, parts, form(call)),
    },
    get("/api/subjects/:id", (call) =>
      subjectView(visibleRow(state.subjects.find(readId(call)), "subject", call, state)),
    ),
    {
      method: "POST",
      path: "/api/procedure-requests",
      access: "bearer",
      handle: (call) => {
        const order = readOrderBody(call, "sampleContainerId");
        const request = countingRefusals(order, "request", tally, () => {
          checkFacility(order.facilityId, call, state);
          return state.addRequest(order, call.behaviour);
        });
        tally.recordCreation(order, {
          surface: "request",
          requestId: request.id,
          procedureId: null,
          at: request.createdAt,
        });
        return answerJson(
          call.behaviour.createdStatus,
          (call.behaviour.createdRequest === "full" ? fullRequestView : shortRequestView)(request),
          call.behaviour,
        );
      },
    },
    {
      method: "GET",
      path: "/api/procedure-requests",
      access: "bearer",
      handle: (call) => {
        const view = call.behaviour.listedRequest === "full" ? fullRequestView : shortRequestView;
        return answerList(listings.requests, view, call, parts, form(call));
      },
    },
    get(
      "/api/procedure-requests/:id",
      (call) => {
        const request = visibleRow(state.requests.find(readId(call)), "procedure request", call, state);
        const view = call.behaviour.singleRequest === "full" ? fullRequestView : shortRequestView;
        return view(state.history.shown(request, call.behaviour, random));
      },
      "request",
    ),
    {
      method: "GET",
      path: "/api/procedures",
      access: "bearer",
      handle: (call) => answerList(listings.procedures, procedureView, call, parts, form(call)),
    },
    get(
      "/api/procedures/:id",
      (call) => {
        const procedure = visibleRow(state.procedures.find(readId(call)), "procedure", call, state);
        return procedureView(state.history.shown(procedure, call.behaviour, random));
      },
      "procedure",
    ),
    {
      method: "GET",
      path: "/api/sample-containers",
      access: "bearer",
      handle: (call) => answerList(listings.containers, containerView, call, parts, form(call)),
    },
    get(
      "/api/sample-containers/:id/location",
      (call) => {
        const container = visibleRow(state.containers.find(readId(call)), "sample container", call, state);
        const location = locationView(container, state);
        if (!location) throw notFound("location of the sample container");
        return location;
      },
      "container",
    ),
    {
      method: "GET",
      path: "/api/storage",
      access: "bearer",
      handle: (call) => answerList(listings.storages, storageView, call, parts, form(call)),
    },
    get("/api/storage/:id/inventory", (call) => {
      const storage = visibleRow(state.storages.find(readId(call)), "storage solution", call, state);
      const stored = state.containers.all().filter((container) => container.slot?.storageId === storage.id);
      return inventoryView(storage, stored, call.behaviour.inventory);
    }),
  ];
}
