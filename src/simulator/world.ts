import { Credentials } from "./credentials.ts";
import { answerJson, type Route, readId } from "./exchange.ts";
import { externalSurface } from "./external-surface.ts";
import { FaultBook } from "./fault-book.ts";
import type { FaultRule } from "./fault-rule.ts";
import { Lifecycle } from "./lifecycle.ts";
import type { CancelRoute, ResolvedOptions, Settings } from "./options.ts";
import { createRandom } from "./random.ts";
import { requestSurface } from "./request-surface.ts";
import { Schedule } from "./schedule.ts";
import { type SimulatorEvent, State } from "./state.ts";
import { type SurfaceParts, visibleRow } from "./surface.ts";
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
  const transitions = new Transitions(state);
  const schedule = new Schedule(clock, settings.speed);
  const lifecycle = new Lifecycle({ state, transitions, schedule, settings, seed });
  const credentials = new Credentials(organizations, { clock, random: createRandom(seed + 1), tokens });
  const tally = new TallyKeeper();
  const parts: SurfaceParts = { state, tally, nowMs: () => clock.monotonic(), random };
  const routes = [
    ...tokenEndpoint(credentials, tokens),
    ...requestSurface(parts),
    ...externalSurface(parts),
    ...(options.cancelRoute ? [cancelOperation(options.cancelRoute, state, transitions)] : []),
  ];
  return {
    state,
    transitions,
    schedule,
    lifecycle,
    credentials,
    faults: new FaultBook(createRandom(seed + 2), faults),
    tally,
    routes: new Map(routes.map((route) => [`${route.method} ${route.path}`, route])),
  };
}

/** The requester's cancel call, for sites whose service has one. */
function cancelOperation(route: CancelRoute, state: State, transitions: Transitions): Route {
  return {
    method: route.method,
    path: route.path.replace("{id}", ":id"),
    access: "bearer",
    handle: (call) => {
      const found = visibleRow(state.requests.find(readId(call)), "procedure request", call, state);
      const { id, type, status, procedureId, createdAt } = transitions.cancelRequest(found.id);
      return answerJson(200, { id, type, status, procedureId, createdAt }, call.behaviour);
    },
  };
}
