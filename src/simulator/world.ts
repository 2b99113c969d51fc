import { cancelOperation } from "./cancel-operation.ts";
import { Credentials } from "./credentials.ts";
import type { Route } from "./exchange.ts";
import { externalSurface } from "./external-surface.ts";
import { FaultBook } from "./fault-book.ts";
import type { FaultRule } from "./fault-rule.ts";
import { Lifecycle } from "./lifecycle.ts";
import type { ResolvedOptions, Settings } from "./options.ts";
import { createRandom } from "./random.ts";
import { requestSurface } from "./request-surface.ts";
import { Schedule } from "./schedule.ts";
import { seed as plant } from "./seed.ts";
import { type SimulatorEvent, State } from "./state.ts";
import type { SurfaceParts } from "./surface.ts";
import { TallyKeeper } from "./tally.ts";
import { tokenEndpoint } from "./token-endpoint.ts";
import { Transitions } from "./transitions.ts";

/** Everything that a reset throws away, and the operations that work on it. */
export interface World {
  readonly state: State;
  readonly transitions: Transitions;
  readonly schedule: Schedule;
  readonly lifecycle: Lifecycle;
  readonly credentials: Credentials;
  readonly faults: FaultBook;
  readonly tally: TallyKeeper;
  /** By method and path: `GET /api/subjects/:id`. */
  readonly routes: ReadonlyMap<string, Route>;
}

/** A world with nothing in it but organizations, facilities, storage and clients. */
export function createWorld(
  options: ResolvedOptions,
  settings: Settings,
  faults: readonly FaultRule[],
  onEvent: (event: SimulatorEvent) => void,
): World {
  const { clock, seed, firstId, organizations, tokens } = options;
  // Separate sequences, so that a fault rule with a probability doesn't change which tokens are given out.
  const random = createRandom(seed);
  const state: State = new State({
    clock,
    firstId,
    organizations,
    onEvent: (event) => {
      lifecycle.observe(event);
      onEvent(event);
    },
  });
  const transitions = new Transitions(state, () => settings.behaviour);
  const schedule = new Schedule(clock, settings.speed);
  const lifecycle = new Lifecycle({ state, transitions, schedule, settings, seed });
  const credentials = new Credentials(organizations, { clock, random: createRandom(seed + 1), tokens });
  const tally = new TallyKeeper((kind, id) => orderIdsOf(kind, id, state));
  const parts: SurfaceParts = { state, tally, nowMs: () => clock.monotonic(), random };
  const routes = [
    ...tokenEndpoint(credentials, tokens),
    ...requestSurface(parts),
    ...externalSurface(parts),
    ...options.cancelRoutes.map((route) => cancelOperation(route, { state, transitions, schedule })),
  ];
  plant(state, options);
  lifecycle.replan();
  return {
    state,
    transitions,
    schedule,
    lifecycle,
    credentials,
    faults: new FaultBook(createRandom(seed + 2), faults, () => schedule.now()),
    tally,
    routes: new Map(routes.map((route) => [`${route.method} ${route.path}`, route])),
  };
}

/** The request and the procedure that a row belongs to. */
function orderIdsOf(
  kind: "request" | "procedure" | "container",
  id: number,
  state: State,
): { readonly requestId: number | null; readonly procedureId: number | null } {
  if (kind === "request") return { requestId: id, procedureId: null };
  const procedure = kind === "procedure" ? state.procedures.find(id) : state.lastProcedureOf(id);
  return { requestId: procedure?.requestId ?? null, procedureId: procedure?.id ?? null };
}
