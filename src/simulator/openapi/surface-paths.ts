import type { CancelRoute } from "../options.ts";
import type { Schema } from "./answer-schemas.ts";
import {
  createOperation,
  listOperation,
  operation,
  type Paths,
  readOperation,
  type SurfaceWords,
} from "./operations.ts";
import { ID_PARAMETER } from "./parameters.ts";
import { ORDER_TYPES, PROCEDURE_STATUSES, PROCEDURE_TYPES, REQUEST_STATUSES } from "./request-schemas.ts";
import { jsonResponse, type Response } from "./responses.ts";

/** The paths of the request surface. */
export function requestPaths(surface: SurfaceWords): Paths {
  const { behaviour } = surface;
  const form = (schema: string, isShort: boolean) => (isShort ? `${schema}Short` : schema);
  const say = (operationId: string, summary: string) => ({ operationId, summary });
  const listedSubject = form("Subject", behaviour.listedSubject === "short");
  const listedRequest = form("ProcedureRequest", behaviour.listedRequest === "short");
  const listedProcedure = form("Procedure", behaviour.listedProcedure === "short");
  const createdRequest = form("ProcedureRequest", behaviour.createdRequest === "short");
  const singleRequest = form("ProcedureRequest", behaviour.singleRequest === "short");
  return {
    "/api/subjects": {
      get: listOperation(say("listSubjects", "Subjects"), "subjects", listedSubject, surface),
      post: createOperation(
        say("createSubject", "Register a subject"),
        "NewSubject",
        "Subject",
        ["subjectExists"],
        surface,
      ),
    },
    "/api/subjects/{id}": { get: readOperation(say("getSubject", "A subject"), "Subject", surface) },
    "/api/procedure-requests": {
      get: listOperation(say("listRequests", "Procedure requests"), "requests", listedRequest, surface),
      post: createOperation(
        say("createRequest", "Ask for storage or retrieval; a web-app user reviews it"),
        "NewProcedureRequest",
        createdRequest,
        ["containerExists"],
        surface,
      ),
    },
    "/api/procedure-requests/{id}": {
      get: readOperation(say("getRequest", "A procedure request"), singleRequest, surface),
    },
    "/api/procedures": {
      get: listOperation(say("listProcedures", "Procedures"), "procedures", listedProcedure, surface),
    },
    "/api/procedures/{id}": { get: readOperation(say("getProcedure", "A procedure"), "Procedure", surface) },
    "/api/sample-containers": {
      get: listOperation(
        say("listContainers", "Sample containers"),
        "containers",
        "SampleContainer",
        surface,
      ),
    },
    "/api/sample-containers/{id}/location": {
      get: readOperation(
        say("getLocation", "Where a sample container is; 404 while it is not in storage"),
        "SampleContainerLocation",
        surface,
      ),
    },
    "/api/storage": {
      get: listOperation(say("listStorage", "Storage solutions"), "storages", "StorageSolution", surface),
    },
    "/api/storage/{id}/inventory": {
      get: readOperation(say("getInventory", "What is in a storage solution"), "Inventory", surface),
    },
  };
}

/** The paths of the external surface. */
export function externalPaths(surface: SurfaceWords): Paths {
  const say = (operationId: string, summary: string) => ({ operationId, summary });
  return {
    "/api/v1/external/procedures": {
      get: listOperation(
        say("listExternalProcedures", "Procedures"),
        "externalProcedures",
        "ExternalProcedureSummary",
        surface,
      ),
      post: createOperation(
        say("createExternalProcedure", "Create a storage or retrieval procedure; facility staff act first"),
        "NewExternalProcedure",
        "ExternalProcedure",
        ["containerExists"],
        surface,
      ),
    },
    "/api/v1/external/procedures/{id}": {
      get: readOperation(say("getExternalProcedure", "A procedure"), "ExternalProcedure", surface),
    },
    "/api/v1/external/sample-containers": {
      get: listOperation(
        say("listExternalContainers", "Sample containers"),
        "containers",
        "ExternalSampleContainer",
        surface,
      ),
    },
  };
}

/** A cancel call that this simulator was given; the specification names none. */
export function cancelPath(route: CancelRoute, ordinal: number, surface: SurfaceWords): Paths {
  const isExternal = route.surface === "external";
  const { id, moment, word, object } = surface.answers;
  const row = object({
    id: id(isExternal ? "Of the procedure." : "Of the procedure request."),
    type: word(isExternal ? [...ORDER_TYPES, ...PROCEDURE_TYPES] : ORDER_TYPES, "What was asked for."),
    status: word(isExternal ? PROCEDURE_STATUSES : REQUEST_STATUSES, "Where it stands."),
    createdAt: moment("When it was created."),
  });
  const status = route.afterMs === undefined ? 200 : 202;
  const success: Record<string, Response> =
    route.answer === "empty"
      ? { 204: { description: "It was taken." } }
      : { [status]: jsonResponse("It was taken.", row) };
  const body = route.body && bodyOf(route.body);
  return {
    [route.path]: {
      [route.method.toLowerCase()]: operation(
        {
          operationId: `cancel${isExternal ? "Procedure" : "Request"}${ordinal === 0 ? "" : ordinal + 1}`,
          summary: "Not in the specification: cancel it",
        },
        surface,
        {
          parameters: [ID_PARAMETER],
          ...(body ? { body } : {}),
          success,
          reasons: [
            "unauthorized",
            "notFound",
            "wrongState",
            ...(surface.behaviour.foreignStatus === 403 ? (["forbidden"] as const) : []),
            ...(body ? (["malformed", "notJson", "tooLarge", "invalid"] as const) : []),
          ],
        },
      ),
    },
  };
}

function bodyOf(members: Readonly<Record<string, unknown>>): Schema {
  const properties = Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, { const: value }]),
  );
  return { type: "object", properties, required: Object.keys(members), additionalProperties: false };
}
