import { isAboutPart } from "../core/alert.ts";
import type { Condition } from "../core/condition.ts";
import type { Part } from "../core/condition-kinds.ts";
import { isFresh } from "../operator/service-columns.ts";
import { relativeTime } from "../operator/times.ts";
import { WORKER_STATES } from "../operator/worker-columns.ts";
import { haltOf } from "./ask.ts";
import type { Attention, Status, StatusPart } from "./status-document.ts";

type Facts = Omit<Status, "version" | "parts" | "attention">;

/** What is down comes first, for whoever looks. */
const ORDER: readonly StatusPart["state"][] = ["down", "waits", "up", "unknown"];

/**
 * How the parts stand of which everything else depends. What is wrong with one are the conditions that are about it; beside them stands what
 * is known of the parts that none is about.
 *
 * @param own what the daemon says of itself, among it why it takes no orders
 */
export function partsOf(
  facts: Facts,
  conditions: readonly Condition[],
  own: readonly Condition[],
): StatusPart[] {
  const wrong = Map.groupBy(conditions, partNameOf);
  wrong.delete(undefined);
  const down = [...wrong].flatMap(([name, all]) => (name === undefined ? [] : wrongPart(name, all, facts)));
  return [intakeOf(facts, own), ...down, ...restOf(facts, new Set(wrong.keys()))].sort(
    (one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state),
  );
}

/** The part that takes what the lab sends. */
export const INTAKE = "intake";
const SERVICE = "storage service";
const DAEMONS = "daemons";

/** A part of each kind, and what it says of all that is wrong with it. */
const PARTS = {
  service: { name: () => SERVICE, state: "down", words: (all) => all },
  lab: { name: (about) => `lab of ${about}`, state: "down", words: (all) => `takes no results: ${all}` },
  queue: { name: (about) => `queue ${about}`, state: "waits", words: (all) => all },
  daemons: { name: () => DAEMONS, state: "waits", words: (all, facts) => daemonWords(facts, all) },
} as const satisfies Record<
  Part,
  {
    readonly name: (about: string) => string;
    readonly state: StatusPart["state"];
    readonly words: (all: string, facts: Facts) => string;
  }
>;

/** The part that says a condition above each page; undefined for what stands in the list alone, as why no orders are taken does. */
export function partNameOf({ part, about, stopsIntake }: Condition): string | undefined {
  return part === undefined || stopsIntake ? undefined : PARTS[part].name(about);
}

/** What is wrong with a part is said by the part alone: what is left of it is what to do about that, each once. */
export function sayOnce(attention: readonly Attention[]): Record<"ofParts" | "beside", Attention[]> {
  // A daemon of an earlier release does not say which part.
  const { ofParts = [], beside = [] } = Object.groupBy(attention, ({ part }) =>
    part ? "ofParts" : "beside",
  );
  const toDo = ofParts.map((each) => ({ ...each, what: each.part ?? "", since: null }));
  const keyOf = ({ part, hint, command, who }: Attention) => JSON.stringify([part, hint, command, who]);
  // The first of those that say the same is the worst.
  return { ofParts: [...Map.groupBy(toDo, keyOf).values()].flatMap((all) => all.slice(0, 1)), beside };
}

const part = (
  name: string,
  state: StatusPart["state"],
  words: string,
  more: Partial<Pick<StatusPart, "since" | "nextTryAt" | "command" | "connectors">> = {},
): StatusPart => ({ name, state, words, since: null, nextTryAt: null, command: null, ...more });

function wrongPart(name: string, all: readonly Condition[], facts: Facts): StatusPart[] {
  const [first] = all;
  if (first?.part === undefined) return [];
  const briefs = all.map(({ text, since, brief }) => brief ?? { words: text, since });
  const { state, words } = PARTS[first.part];
  const isNone = name === DAEMONS && countWorking(facts) === 0;
  // One time for several would be wrong for all but one.
  const one = <Value>(values: readonly Value[]) => (new Set(values).size === 1 ? values[0] : undefined);
  return [
    part(name, isNone ? "down" : state, words(briefs.map((each) => each.words).join(", "), facts), {
      since: one(briefs.map(({ since }) => since)) ?? null,
      nextTryAt: one(briefs.map(({ nextTryAt }) => nextTryAt)) ?? null,
      command: first.command,
    }),
  ];
}

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

/** What is known of the parts with which nothing is wrong, or not for sure; what nobody knows is left out. */
function restOf(facts: Facts, wrong: ReadonlySet<string | undefined>): StatusPart[] {
  const { pausedQueues, workers } = facts;
  return [
    ...(wrong.has(SERVICE) ? [] : serviceOf(facts)),
    ...labsOf(facts, wrong),
    ...(pausedQueues?.length === 0 ? [part("queues", "up", "run")] : []),
    ...(workers === null || wrong.has(DAEMONS) ? [] : [daemonsOf(facts)]),
  ];
}

/** What this daemon saw of it, when it called it last. */
function serviceOf({ service, generatedAt }: Facts): StatusPart[] {
  if (service === null) return [];
  const { isReachable, answeredAt } = service;
  if (isReachable === null) return [part(SERVICE, "unknown", "not called yet")];
  if (!isReachable) return [part(SERVICE, "waits", "did not answer the last call")];
  const nowMs = Date.parse(generatedAt);
  if (isFresh(answeredAt, nowMs)) return [part(SERVICE, "up", "answers")];
  const when = answeredAt === null ? "" : ` ${relativeTime(new Date(answeredAt), nowMs)}`;
  return [part(SERVICE, "unknown", `answered${when}, not called since`)];
}

/** Labs of which none is known to be away: whether they took results, of those that did not each by itself. */
function labsOf(
  { connectors, failingDeliveries }: Facts,
  wrong: ReadonlySet<string | undefined>,
): StatusPart[] {
  // Where it is not known which results fail, neither is this.
  const all = failingDeliveries === null ? [] : (connectors ?? []);
  const others = all.filter(({ connector }) => !wrong.has(PARTS.lab.name(connector)));
  const takers = others.filter(({ hasTakenResults }) => hasTakenResults === true);
  const untried = others.filter(({ hasTakenResults }) => hasTakenResults === false);
  const none = "no result taken yet";
  if (untried.length > 0 && untried.length === all.length) return [part("labs", "unknown", none)];
  const isSome = untried.length > 0 || others.length < all.length;
  return [
    ...(takers.length === 0 ? [] : [part(isSome ? "other labs" : "labs", "up", "take results")]),
    ...untried.map(({ connector }) => part(PARTS.lab.name(connector), "unknown", none)),
  ];
}

function daemonsOf(facts: Facts): StatusPart {
  const state = countWorking(facts) === 0 ? "down" : silentIn(facts).length > 0 ? "waits" : "up";
  const more = state === "up" ? {} : { command: "cryobridge workers" };
  return part(DAEMONS, state, daemonWords(facts), more);
}

function countWorking({ workers }: Facts): number {
  return (workers ?? []).filter(({ state }) => state === "works" || state === "leads").length;
}

/** One that is not heard of is not lost yet. */
function silentIn({ workers }: Facts): string[] {
  return (workers ?? []).flatMap(({ name, state }) =>
    state === "gone" ? [`${name} is ${WORKER_STATES.gone.words}`] : [],
  );
}

function daemonWords(facts: Facts, wrong?: string): string {
  const working = countWorking(facts);
  const words = working === 0 ? "none works" : working === 1 ? "1 works" : `${working} work`;
  return [
    ...(facts.workers === null ? [] : [words]),
    ...(wrong === undefined ? [] : [wrong]),
    ...silentIn(facts),
  ].join(", ");
}
