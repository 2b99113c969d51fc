import { isAboutPart } from "../core/alert.ts";
import type { Condition } from "../core/condition.ts";
import { pausedInWords } from "../operator/things/queues.ts";
import { WORKER_STATES } from "../operator/worker-columns.ts";
import { haltOf } from "./ask.ts";
import { lostWorkers } from "./attention/workers.ts";
import type { Status, StatusPart } from "./status-document.ts";

/** Alerts of what is down, before those of what waits for it. */
const OF_SERVICE = "serviceUnreachable";

/** What is down comes first, for whoever looks. */
const ORDER: readonly StatusPart["state"][] = ["down", "waits", "up", "unknown"];

/** How the parts stand of which everything else depends, the same in each place. */
export function partsOf(status: Omit<Status, "version" | "parts">, own: readonly Condition[]): StatusPart[] {
  return [intakeOf(status, own), serviceOf(status), ...labsOf(status), ...queuesOf(status), daemonsOf(status)]
    .flatMap((part) => part ?? [])
    .sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
}

type Facts = Parameters<typeof partsOf>[0];

/** The part that takes what the lab sends. */
export const INTAKE = "intake";

const part = (
  name: string,
  state: StatusPart["state"],
  words: string,
  more: Partial<Pick<StatusPart, "since" | "nextTryAt" | "command" | "connectors">> = {},
): StatusPart => ({ name, state, words, since: null, nextTryAt: null, command: null, ...more });

function intakeOf({ isReady, connectors }: Facts, own: readonly Condition[]): StatusPart {
  if (isReady) return part(INTAKE, "up", "takes orders");
  const stopping = own.filter(({ stopsIntake }) => stopsIntake);
  const halted = (connectors ?? []).filter(({ connector }) =>
    stopping.some(({ kind, about }) => kind === "connectorDown" && isAboutPart(connector, about)),
  );
  const isOfAll = halted.length === connectors?.length || haltOf(own) !== undefined;
  const names = isOfAll ? [] : halted.map(({ connector }) => connector);
  return part(INTAKE, "down", `takes no orders${through(names)}`, {
    command: "cryobridge check",
    connectors: names,
  });
}

/** ` through lims` where no orders are taken through some connectors alone; else empty. */
export function through(connectors: readonly string[]): string {
  return connectors.length === 0 ? "" : ` through ${connectors.join(", ")}`;
}

/** What this daemon sees of it; where it doesn't call it, what another one said. */
function serviceOf({ service, attention }: Facts): StatusPart | undefined {
  const name = "storage service";
  if (service?.opening) {
    const { since, text, nextTryAt } = service.opening;
    return part(name, "down", text, { since, nextTryAt, command: "cryobridge check" });
  }
  const found = attention.find(({ alerts }) => alerts.some(({ kind }) => kind === OF_SERVICE));
  if (found) return part(name, "down", found.what, { since: found.since, command: "cryobridge check" });
  if (service === null) return undefined;
  if (service.isReachable === null) return part(name, "unknown", "not called yet");
  return service.isReachable
    ? part(name, "up", "answers")
    : part(name, "waits", "did not answer the last call");
}

/** A lab that this daemon finds away, or that has not taken results, whichever daemon sends them. */
function labsOf({ connectors, failingDeliveries }: Facts): StatusPart[] {
  if (connectors === null || connectors.length === 0 || failingDeliveries === null) return [];
  const failing = failingDeliveries.filter(({ state }) => state === "pending");
  const away = new Set([
    ...connectors.flatMap(({ connector, isLabAway }) => (isLabAway ? [connector] : [])),
    ...failing.map(({ connector }) => connector),
  ]);
  if (away.size === 0) {
    // Where that is not known, neither is this.
    if (connectors.some(({ hasTakenResults }) => hasTakenResults === null)) return [];
    const isNone = connectors.every(({ hasTakenResults }) => hasTakenResults === false);
    return [isNone ? part("labs", "unknown", "no result taken yet") : part("labs", "up", "take results")];
  }
  return [...away].map((connector) => {
    const { since = failing.find((each) => each.connector === connector)?.since ?? null, nextTryAt = null } =
      connectors.find((each) => each.connector === connector)?.labOutage ?? {};
    const words = "takes no results, and is tried again";
    return part(`lab of ${connector}`, "down", words, { since, nextTryAt, command: "cryobridge queue" });
  });
}

function queuesOf({ pausedQueues }: Facts): StatusPart[] {
  if (pausedQueues === null) return [];
  if (pausedQueues.length === 0) return [part("queues", "up", "run")];
  return pausedQueues.map((paused) =>
    part(`queue ${paused.queue}`, "waits", pausedInWords(paused), {
      since: paused.since,
      command: `cryobridge queue resume ${paused.queue}`,
    }),
  );
}

function daemonsOf({ workers }: Facts): StatusPart | undefined {
  if (workers === null) return undefined;
  const working = workers.filter(({ state }) => state === "works" || state === "leads").length;
  const lost = lostWorkers({ workers });
  const silent = workers.filter(({ state }) => state === "gone");
  const command = "cryobridge workers";
  if (working === 0) return part("daemons", "down", "none works", { command });
  const words = working === 1 ? "1 works" : `${working} work`;
  const away = [
    ...lost.map(({ name }) => `${name} is lost`),
    ...silent.map(({ name }) => `${name} is ${WORKER_STATES.gone.words}`),
  ];
  if (away.length === 0) return part("daemons", "up", words);
  return part("daemons", "waits", [words, ...away].join(", "), { command });
}
