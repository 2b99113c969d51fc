import type { Behaviour, ListEnvelope } from "./behaviour.ts";
import { type Answer, type AuthorizedCall, answerJson } from "./exchange.ts";
import { type Listing, listPage, type Paging, wrapPage } from "./lists.ts";
import type { Random } from "./random.ts";
import { notFound, Refusal } from "./refusal.ts";
import type { NewOrder, State } from "./state.ts";
import type { TallyKeeper } from "./tally.ts";

/** What both surfaces stand on. */
export interface SurfaceParts {
  readonly state: State;
  readonly tally: TallyKeeper;
  /** Monotonic ms of the simulator's clock. */
  readonly nowMs: () => number;
  readonly random: Random;
}

/** Whether a call's token gives access to a facility: one of its own organization. */
export function maySee(call: AuthorizedCall, facilityId: number, state: State): boolean {
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
  if (maySee(call, row.facilityId, state)) return row;
  if (call.behaviour.foreignStatus === 403) throw forbidden();
  throw notFound(what);
}

/** Whether the service has forgotten the row, as one that deletes what is cancelled does. */
export function isForgotten({ status }: { readonly status?: string }, behaviour: Behaviour): boolean {
  return behaviour.cancelledRows === "gone" && status === "CANCELLED";
}

/** Throws a 403 Refusal unless the facility exists and the caller may write there. */
export function checkFacility(facilityId: number, call: AuthorizedCall, state: State): void {
  if (!maySee(call, facilityId, state)) throw forbidden();
}

/** Runs the creation of an order, and keeps count of it when the service's rules refuse it. */
export function countingRefusals<T>(
  order: NewOrder,
  surface: "request" | "external",
  tally: TallyKeeper,
  create: () => T,
): T {
  try {
    return create();
  } catch (error) {
    if (error instanceof Refusal) tally.recordRefusal(order, surface);
    throw error;
  }
}

/** How a surface's lists come. */
export interface ListForm {
  readonly envelope: ListEnvelope;
  readonly paging: Paging;
}

/** Answers a list endpoint. */
export function answerList<Row extends { id: number; facilityId: number; insertedAt: number }>(
  listing: Listing<Row>,
  view: (row: Row) => unknown,
  call: AuthorizedCall,
  parts: SurfaceParts,
  form: ListForm,
): Answer {
  const context = {
    behaviour: call.behaviour,
    maySee: (facilityId: number) => maySee(call, facilityId, parts.state),
    nowMs: parts.nowMs(),
    random: parts.random,
  };
  const page = listPage(listing, call.query, context, form.paging);
  return answerJson(200, wrapPage(page.rows.map(view), page, form.envelope), call.behaviour);
}

function forbidden(): Refusal {
  return new Refusal(403, "FORBIDDEN", "the token gives no access to this facility");
}
