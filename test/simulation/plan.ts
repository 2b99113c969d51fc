import fc from "fast-check";
import { RESULT_FATES } from "./lab.ts";
import { CALL_FATES, CALL_KINDS } from "./network.ts";

const seconds = (least: number, most: number) =>
  fc.integer({ min: least * 10, max: most * 10 }).map((tenths) => tenths * 100);

/**
 * Which of the moments at which something else begins or ends a thing comes close to, instead of at its own time: what goes wrong is
 * mostly two things within seconds.
 */
const near = fc.option(fc.record({ moment: fc.nat({ max: 9 }), byMs: seconds(-1, 3) }), { freq: 2 });

const labAct = fc.record({
  what: fc.constantFrom("cancel", "hold", "release", "change", "again"),
  afterMs: seconds(0, 20),
  near,
});

const order = fc.record({
  operation: fc.constantFrom("STORE", "RETRIEVAL"),
  subject: fc.integer({ min: 0, max: 1 }),
  atMs: seconds(0, 10),
  near,
  acts: fc.array(labAct, { maxLength: 2 }),
});

const call = fc.record({
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constant("create" as const) },
    { weight: 1, arbitrary: fc.constantFrom(...CALL_KINDS) },
  ),
  nth: fc.integer({ min: 1, max: 8 }),
  fate: fc.constantFrom(...CALL_FATES),
});

const ledger = fc.record({
  daemon: fc.integer({ min: 0, max: 1 }),
  nth: fc.integer({ min: 1, max: 120 }),
  fate: fc.constantFrom("refused", "answer lost"),
});

const result = fc.record({ nth: fc.integer({ min: 1, max: 6 }), fate: fc.constantFrom(...RESULT_FATES) });

const daemonEvent = fc.record({
  // One that is away was killed, and starts after its time only.
  what: fc.constantFrom("kill", "freeze", "clock", "away"),
  daemon: fc.integer({ min: 0, max: 1 }),
  atMs: seconds(0, 40),
  near,
  forMs: seconds(1, 30),
  byMs: fc.constantFrom(-3_600_000, -20_000, 20_000, 3_600_000),
});

/** Statements at which a daemon is struck, by what stands in them. */
export const AIMS = {
  "takes a message in": "insert into messages",
  "claims orders": "with due as",
  "writes calls down": "with mine as materialized",
  "raises the epoch": "update ledger set epoch",
  "records what calls came to": "update calls k\n   set outcome",
  "changes orders": "set state = coalesce(x",
  "releases orders": "with abandoned as",
  "takes a lock": "pg_try_advisory_lock",
  "composes results": "with fresh as materialized",
  "finds results to send": "from deliveries d",
  "records sent results": "with done as",
} as const;

const at = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom("writes calls down", "raises the epoch") },
  { weight: 1, arbitrary: fc.constantFrom("claims orders", "records what calls came to") },
  { weight: 2, arbitrary: fc.constantFrom(...(Object.keys(AIMS) as (keyof typeof AIMS)[])) },
);

const strike = fc.record({
  what: fc.constantFrom<"kill" | "freeze">("kill", "freeze", "freeze"),
  when: fc.constantFrom("before", "after"),
  at: at as fc.Arbitrary<keyof typeof AIMS>,
  nth: fc.integer({ min: 1, max: 4 }),
  // Until it is still sure, is not any more, was taken for dead, and what it had in hand was given up and done again.
  forMs: fc.constantFrom(2_000, 7_000, 20_000, 40_000) as fc.Arbitrary<number>,
});

/**
 * What others make for an order's subject: a STORE, with the order's label where a mark tells the two apart; or, before the order comes, a
 * retrieval of another container.
 */
const other = fc.record({
  what: fc.constantFrom<"STORE" | "RETRIEVAL">("STORE", "STORE", "RETRIEVAL"),
  order: fc.integer({ min: 0, max: 2 }),
  atMs: seconds(0, 30),
  near,
});

const placeEvent = fc.record({
  what: fc.constantFrom(
    ...(["queue emptied", "job doubled", "ledger restarted", "ledger away", "ledger put back"] as const),
    ...(["tokens end", "service clock", "ledger clock"] as const),
  ),
  atMs: seconds(0, 40),
  forMs: seconds(1, 20),
  byMs: fc.constantFrom(-3_600_000, -20_000, 20_000, 3_600_000),
});

const person = fc.record({
  what: fc.constantFrom("retry", "discard", "release", "override", "resolve", "not at service", "cancel"),
  order: fc.integer({ min: 0, max: 2 }),
  atMs: seconds(0, 60),
  near,
});

/** All that is chosen for a history; everything else follows from it. */
const drawn = fc.record({
  chance: fc.nat(),
  surface: fc.constantFrom("request", "external"),
  daemons: fc.constantFrom(1, 2, 2),
  isIntakeApart: fc.constantFrom(false, false, true),
  service: fc.record({
    envelope: fc.constantFrom("array", "data"),
    mostPerPage: fc.constantFrom(100, 2, 10),
    newestFirst: fc.boolean(),
    listLagMs: fc.constantFrom(0, 0, 2_000, 7_000),
    tokenLifeMs: fc.constantFrom(3_600_000, 10_000),
    staffMs: seconds(1, 30),
    deviceMs: seconds(1, 20),
    reviews: fc.array(fc.constantFrom("accept", "accept", "accept", "reject", "cancel"), {
      minLength: 1,
      maxLength: 3,
    }),
    ends: fc.array(fc.constantFrom("COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "CANCELLED"), {
      minLength: 1,
      maxLength: 3,
    }),
    hasCancel: fc.boolean(),
    isBusy: fc.boolean(),
  }),
  orders: fc.array(order, { minLength: 1, maxLength: 3 }),
  calls: fc.array(call, { maxLength: 4 }),
  ledger: fc.array(ledger, { maxLength: 2 }),
  results: fc.array(result, { maxLength: 2 }),
  daemonEvents: fc.array(daemonEvent, { maxLength: 3 }),
  placeEvents: fc.array(placeEvent, { maxLength: 2 }),
  people: fc.array(person, { maxLength: 2 }),
  strikes: fc.array(strike, { maxLength: 2 }),
  correlation: fc.constantFrom("token", "token", "labels"),
  others: fc.array(other, { maxLength: 1 }),
  /** Whether the service has the first order's subject under another name. */
  hasNamesake: fc.integer({ min: 0, max: 19 }).map((drawn) => drawn === 19),
});

/**
 * A ledger that is put back while no worker lives, with an order that was sent since the copy and that the lab cancels then: each of them
 * seldom comes close to the others.
 */
const unattended = fc
  .record({
    history: drawn,
    putBack: fc.record({ atMs: seconds(2, 15), forMs: seconds(1, 8) }),
    ordered: fc.record({ operation: fc.constantFrom("STORE", "RETRIEVAL"), byMs: seconds(-2, 2) }),
    cancelled: fc.record({
      what: fc.constantFrom("cancel", "cancel", "change", "hold"),
      byMs: seconds(0, 4),
    }),
    person: fc.record({ what: fc.constantFrom("cancel", "discard", "retry"), byMs: seconds(0, 4) }),
    gone: fc.array(
      fc.record({
        what: fc.constantFrom("away", "away", "freeze"),
        byMs: seconds(-1, 0),
        forMs: seconds(2, 20),
      }),
      { minLength: 2, maxLength: 2 },
    ),
  })
  .map(({ history, putBack, ordered, cancelled, person, gone }) => {
    const at = (moment: number, byMs: number) => ({ atMs: 0, near: { moment, byMs } });
    return {
      ...history,
      isIntakeApart: true,
      placeEvents: [{ what: "ledger put back" as const, ...putBack, byMs: 20_000 }],
      daemonEvents: gone.map(({ what, byMs, forMs }, daemon) => ({
        ...{ what, daemon, forMs, ...at(1, byMs) },
        byMs: 20_000 as const,
      })),
      orders: [
        {
          ...{ operation: ordered.operation, subject: 0, ...at(0, ordered.byMs) },
          acts: [{ what: cancelled.what, afterMs: 0, near: { moment: 1, byMs: cancelled.byMs } }],
        },
        ...history.orders.slice(0, 1),
      ],
      people: [{ what: person.what, order: 0, ...at(1, person.byMs) }],
    };
  });

/**
 * A worker that is frozen at a statement about an order until others have taken that over, or are about to: what it does once it wakes up
 * comes between what they do.
 */
const takenOver = fc
  .record({
    history: drawn,
    orders: fc.array(fc.record({ order, subject: fc.constantFrom(0, 0, 1) }), {
      minLength: 1,
      maxLength: 2,
    }),
    freezes: fc.array(
      fc.record({
        when: fc.constantFrom("before", "after"),
        at: fc.constantFrom(
          ...(["claims orders", "writes calls down", "raises the epoch", "changes orders"] as const),
          ...(["records what calls came to", "composes results", "records sent results"] as const),
        ),
        nth: fc.integer({ min: 1, max: 2 }),
        forMs: seconds(14, 45),
      }),
      { minLength: 1, maxLength: 2 },
    ),
    calls: fc.array(
      fc.record({ nth: fc.integer({ min: 1, max: 3 }), fate: fc.constantFrom(...CALL_FATES) }),
      {
        maxLength: 2,
      },
    ),
  })
  .map(({ history, orders, freezes, calls }) => ({
    ...history,
    daemons: 2 as const,
    isIntakeApart: false,
    orders: orders.map(({ order, subject }) => ({ ...order, subject, atMs: 2_000 + (order.atMs % 2_000) })),
    calls: calls.map((each) => ({ kind: "create" as const, ...each })),
    strikes: freezes.map((each) => ({ what: "freeze" as const, ...each })),
    daemonEvents: [],
    placeEvents: [],
  }));

/**
 * Orders of one subject that come at about the same time, and calls of which the service hears nothing or refuses the first: what one waits
 * for, the next one may go past. What the lab and people do comes while they wait.
 */
const neighbours = fc
  .record({
    history: drawn,
    orders: fc.array(
      fc.record({
        order,
        acts: fc.array(fc.record({ act: labAct, afterMs: seconds(0, 6) }), { maxLength: 2 }),
      }),
      {
        minLength: 2,
        maxLength: 3,
      },
    ),
    calls: fc.array(
      fc.record({
        nth: fc.integer({ min: 1, max: 4 }),
        fate: fc.oneof(
          fc.constantFrom("refused", "429 before", "502 before", "reset before", "silent before"),
          fc.constantFrom(...CALL_FATES),
        ),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    people: fc.array(fc.record({ person, atMs: seconds(2, 25) }), { maxLength: 2 }),
  })
  .map(({ history, orders, calls, people }) => ({
    ...history,
    orders: orders.map(({ order, acts }) => ({
      ...{ ...order, subject: 0, near: null, atMs: 2_000 + (order.atMs % 3_000) },
      acts: acts.map(({ act, afterMs }) => ({ ...act, near: null, afterMs })),
    })),
    calls: calls.map((each) => ({ kind: "create" as const, ...each })),
    people: people.map(({ person, atMs }) => ({ ...person, near: null, atMs })),
    daemonEvents: history.daemonEvents.slice(0, 1),
    placeEvents: [],
    strikes: [],
  }));

/** What goes on from `atMs` until `forMs` later. */
const LASTING: ReadonlySet<string> = new Set(["freeze", "away", "ledger away", "ledger put back"]);

/** When a thing of a place or a daemon begins, and ends where it takes time. */
const momentsOf = ({ what, atMs, forMs }: { what: string; atMs: number; forMs: number }): number[] =>
  LASTING.has(what) ? [atMs, atMs + forMs] : [atMs];

/** The thing at its time, or close to the moment that was drawn for it. */
function placed<T extends { atMs: number; near: typeof near extends fc.Arbitrary<infer N> ? N : never }>(
  { near: to, ...thing }: T,
  moments: readonly number[],
) {
  const moment = to === null ? undefined : moments[to.moment % moments.length];
  return to === null || moment === undefined ? thing : { ...thing, atMs: Math.max(0, moment + to.byMs) };
}

export const plans = fc
  .oneof(
    { weight: 6, arbitrary: drawn },
    { weight: 1, arbitrary: unattended },
    { weight: 1, arbitrary: takenOver },
    { weight: 2, arbitrary: neighbours },
  )
  .map(({ orders, daemonEvents, placeEvents, people, others, ...rest }) => {
    const ofPlaces = placeEvents.flatMap(momentsOf);
    const events = daemonEvents.map((each) => placed(each, ofPlaces));
    const moments = [...ofPlaces, ...events.flatMap(momentsOf)];
    return {
      ...rest,
      orders: orders.map((each) => {
        const { acts, ...order } = placed(each, moments);
        const ofLab = acts.map(({ afterMs, ...act }) => {
          const { atMs, ...what } = placed({ ...act, atMs: order.atMs + afterMs }, moments);
          return { ...what, afterMs: Math.max(0, atMs - order.atMs) };
        });
        return { ...order, acts: ofLab };
      }),
      daemonEvents: events,
      placeEvents,
      people: people.map((each) => placed(each, moments)),
      others: others.map((each) => placed(each, moments)),
    };
  });

type Drawn = typeof plans extends fc.Arbitrary<infer T> ? T : never;

/** What a plan that was kept before it was drawn does not have: then it is as if it were false, and others make a STORE. */
type Since = "isIntakeApart" | "hasNamesake";
type Other = Drawn["others"][number];
export type Plan = Omit<Drawn, Since | "others" | "orders"> &
  Partial<Pick<Drawn, Since>> & {
    others: (Omit<Other, "what"> & Partial<Pick<Other, "what">>)[];
    /**
     * Whose container it is for, by that order's place from 0. Not drawn, since no oracle can tell the requests of the two apart: only for
     * plans in which the second one is never sent.
     */
    orders: (Drawn["orders"][number] & { readonly same?: number })[];
  };
