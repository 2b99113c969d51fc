import type { Behaviour } from "../behaviour.ts";
import type { Random } from "../chance.ts";
import type { TallyKeeper } from "../tally.ts";
import type { NewOrder } from "../world/rows.ts";
import type { State } from "../world/state.ts";
import { type AuthorizedCall, answerJson, isExternalPath, type Route } from "./exchange.ts";
import { type Listing, listPage, wrapPage } from "./lists.ts";
import { readOrderBody } from "./order-body.ts";
import { notFound, Refusal } from "./refusal.ts";

/** What both surfaces stand on. */
export interface SurfaceParts {
  readonly state: State;
  readonly tally: TallyKeeper;
  /** Monotonic ms of the simulator's clock. */
  readonly nowMs: () => number;
  readonly random: Random;
}

/** Whether a call's token gives access to a facility: one of its own organization. */
function maySee(call: AuthorizedCall, facilityId: number, state: State): boolean {
  return state.facility(facilityId)?.organizationId === call.caller.organizationId;
}

/** The row if it is there and the caller may see it; else throws the Refusal that the behaviour has for it. */
export function visibleRow<Row extends { readonly facilityId: number; readonly status?: string }>(
  row: Row | undefined,
  what: string,
  call: AuthorizedCall,
  state: State,
): Row {
  if (!row || isForgotten(row, call.behaviour)) throw notFound(what);
  if (!maySee(call, row.facilityId, state)) throw notFound(what);
  return row;
}

/** Whether the service has forgotten the row, as one that deletes what is cancelled does. */
export function isForgotten({ status }: { readonly status?: string }, behaviour: Behaviour): boolean {
  return behaviour.cancelledRows === "gone" && status === "CANCELLED";
}

/** Throws a 403 Refusal unless the facility exists and the caller may write there. */
export function checkFacility(facilityId: number, call: AuthorizedCall, state: State): void {
  if (maySee(call, facilityId, state)) return;
  throw new Refusal(403, "FORBIDDEN", "the token gives no access to this facility");
}

/**
 * The operation that takes an order: counts it in the tally, also when the service's rules refuse it. `make` creates
 * what the surface makes of an order, and gives its ids and the view that answers.
 */
export function createsOrder(
  { state, tally }: SurfaceParts,
  surface: "request" | "external",
  path: string,
  make: (order: NewOrder, call: AuthorizedCall) => Made,
): Route {
  return {
    method: "POST",
    path,
    access: "bearer",
    handle: (call) => {
      const order = readOrderBody(call, surface === "request" ? "sampleContainerId" : "name");
      try {
        checkFacility(order.facilityId, call, state);
        const { view, ...made } = make(order, call);
        tally.recordCreation(order, { surface, ...made });
        return answerJson(call.behaviour.createdStatus, view, call.behaviour);
      } catch (error) {
        if (error instanceof Refusal) tally.recordRefusal(order, surface);
        throw error;
      }
    },
  };
}

/** What came of an order; `at` is ISO 8601. */
interface Made {
  readonly requestId: number | null;
  readonly procedureId: number | null;
  readonly at: string;
  readonly view: unknown;
}

/** The operation that answers one thing by its path, with `{id}` where an id stands. */
export function reads(
  path: string,
  handle: (call: AuthorizedCall) => unknown,
  names?: Route["names"],
): Route {
  return {
    method: "GET",
    path: path.replace("{id}", ":id"),
    access: "bearer",
    ...(names === undefined ? {} : { names }),
    handle: (call) => answerJson(200, handle(call), call.behaviour),
  };
}

/** The operation that lists rows, wrapped and paged as the behaviour says for its surface. */
export function lists<Row extends { id: number; facilityId: number; insertedAt: number }>(
  { state, nowMs, random }: SurfaceParts,
  path: string,
  listing: Listing<Row>,
  view: (row: Row, behaviour: Behaviour) => unknown,
): Route {
  const isExternal = isExternalPath(path);
  return reads(path, (call) => {
    const { behaviour, query } = call;
    const context = {
      behaviour,
      maySee: (facilityId: number) => maySee(call, facilityId, state),
      nowMs: nowMs(),
      random,
    };
    const page = listPage(listing, query, context, isExternal ? behaviour.externalPaging : "paged");
    const entries = page.rows.map((row) => view(row, behaviour));
    const envelope = isExternal ? behaviour.externalEnvelope : behaviour.listEnvelope;
    return wrapPage(entries, page, envelope, behaviour.listMeta);
  });
}
