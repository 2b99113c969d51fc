import type { CancelRoute } from "../options.ts";
import type { Procedure, ProcedureRequest } from "../world/rows.ts";
import type { Schedule } from "../world/schedule.ts";
import type { State } from "../world/state.ts";
import type { Transitions } from "../world/transitions.ts";
import {
  type Answer,
  type AuthorizedCall,
  answerJson,
  type Route,
  readId,
  readJsonObject,
} from "./exchange.ts";
import { invalid, json, Refusal } from "./refusal.ts";
import { visibleRow } from "./surface.ts";

interface CancelParts {
  readonly state: State;
  readonly transitions: Transitions;
  readonly schedule: Schedule;
}

/** The requester's cancel call, for sites whose service has one. */
export function cancelCall(route: CancelRoute, parts: CancelParts): Route {
  const isExternal = route.surface === "external";
  return {
    method: route.method,
    path: route.path.replace("{id}", ":id"),
    access: "bearer",
    names: isExternal ? "procedure" : "request",
    handle: (call) => {
      checkBody(route, call);
      return isExternal ? cancelProcedure(route, call, parts) : cancelRequest(route, call, parts);
    },
  };
}

function checkBody({ body }: CancelRoute, call: AuthorizedCall): void {
  if (body === undefined) return;
  const sent = readJsonObject(call);
  const wrong = Object.keys(body).filter((key) => JSON.stringify(sent[key]) !== JSON.stringify(body[key]));
  if (wrong.length === 0) return;
  const fields = wrong.map((field) => ({ field, message: `must be ${JSON.stringify(body[field])}` }));
  throw invalid(call.behaviour.validationStatus, "the body breaks the interface's rules", fields);
}

function cancelRequest(route: CancelRoute, call: AuthorizedCall, parts: CancelParts): Answer {
  const { state, transitions } = parts;
  const request = visibleRow(state.requests.find(readId(call)), "procedure request", call, state);
  checkStatus(request, ["PENDING"]);
  return carryOut(route, call, parts, request, () => transitions.cancelRequest(request.id));
}

/** A procedure can be called off until a device has begun it. */
function cancelProcedure(route: CancelRoute, call: AuthorizedCall, parts: CancelParts): Answer {
  const { state, transitions } = parts;
  const procedure = visibleRow(state.procedures.find(readId(call)), "procedure", call, state);
  checkStatus(procedure, ["PENDING", "CREATED"]);
  return carryOut(route, call, parts, procedure, () => transitions.cancelProcedure(procedure.id));
}

function checkStatus({ status }: { readonly status: string }, statuses: readonly string[]): void {
  if (!statuses.includes(status)) throw new Refusal(409, "INVALID_STATE", `it is ${status}`);
}

function carryOut(
  route: CancelRoute,
  call: AuthorizedCall,
  { schedule }: CancelParts,
  row: ProcedureRequest | Procedure,
  cancel: () => unknown,
): Answer {
  const { status } = row;
  if (route.afterMs === undefined) cancel();
  // By then staff or a device may have been faster.
  else schedule.add(route.afterMs, () => row.status === status && cancel());
  if (route.answer === "empty") return { status: 204, body: { ...json(null), text: "" } };
  const view = { id: row.id, type: row.type, status: row.status, createdAt: row.createdAt };
  return answerJson(route.afterMs === undefined ? 200 : 202, view, call.behaviour);
}
