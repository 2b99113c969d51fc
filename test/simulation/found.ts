import { plain } from "./plain.ts";
import type { Plan } from "./plan.ts";

/** A plan that differs from the plain one in this. */
const planOf = ({
  service,
  ...other
}: Partial<Omit<Plan, "service">> & { readonly service?: Partial<Plan["service"]> }): Plan => ({
  ...plain,
  ...other,
  service: { ...plain.service, ...service },
});

/** Histories that went wrong once, shrunk; the plan is kept and not the seed, which draws another one once plans change. */
export const FOUND: readonly { readonly what: string; readonly plan: Plan }[] = [
  {
    what: "what came in right after the ledger was put back got the control id of another result",
    plan: planOf({
      chance: 511861079,
      service: { staffMs: 2200 },
      orders: [
        {
          operation: "RETRIEVAL",
          subject: 0,
          atMs: 3000,
          acts: [
            { what: "hold", afterMs: 4800 },
            { what: "release", afterMs: 3200 },
          ],
        },
      ],
      calls: [
        { kind: "create", nth: 2, fate: "429 before" },
        { kind: "create", nth: 3, fate: "silent after" },
      ],
      ledger: [{ daemon: 1, nth: 71, fate: "answer lost" }],
      results: [
        { nth: 3, fate: "answer lost" },
        { nth: 5, fate: "answer lost" },
      ],
      daemonEvents: [{ what: "clock", daemon: 0, atMs: 200, forMs: 19800, byMs: 20000 }],
      placeEvents: [{ what: "ledger put back", atMs: 7500, forMs: 1800, byMs: 20000 }],
    }),
  },
  {
    what: "the ledger's clock jumped ahead, and a call that was interrupted a moment later counted as an hour old",
    plan: planOf({
      chance: 487640477,
      daemons: 2,
      service: {
        envelope: "data",
        mostPerPage: 10,
        listLagMs: 7000,
        tokenLifeMs: 10000,
        staffMs: 9600,
        deviceMs: 1400,
        ends: ["FAILED"],
      },
      orders: [{ operation: "STORE", subject: 0, atMs: 9700, acts: [] }],
      calls: [{ kind: "create", nth: 1, fate: "silent after" }],
      placeEvents: [{ what: "ledger clock", atMs: 9700, forMs: 1000, byMs: 3600000 }],
    }),
  },
  {
    what: "no daemon led while both held calls back, and the simulation's daemons tried the service by themselves no more",
    plan: planOf({
      surface: "external",
      daemons: 2,
      service: { tokenLifeMs: 10000, staffMs: 13100, deviceMs: 19700 },
      orders: [
        { operation: "STORE", subject: 0, atMs: 1900, acts: [] },
        { operation: "STORE", subject: 1, atMs: 5800, acts: [] },
      ],
      calls: [
        { kind: "token", nth: 3, fate: "silent after" },
        { kind: "token", nth: 4, fate: "silent after" },
        { kind: "token", nth: 5, fate: "silent after" },
      ],
    }),
  },
  {
    what: "a ledger put back right after a call believed a list that lagged, and had the order done once more",
    plan: planOf({
      chance: 40309381,
      daemons: 2,
      service: { mostPerPage: 2, listLagMs: 7000, tokenLifeMs: 10000, staffMs: 1300, deviceMs: 1500 },
      orders: [
        {
          operation: "RETRIEVAL",
          subject: 1,
          atMs: 8800,
          acts: [
            { what: "change", afterMs: 14300 },
            { what: "again", afterMs: 700 },
          ],
        },
      ],
      calls: [{ kind: "create", nth: 6, fate: "reset before" }],
      ledger: [{ daemon: 0, nth: 49, fate: "answer lost" }],
      results: [{ nth: 6, fate: "refused" }],
      placeEvents: [
        { what: "ledger clock", atMs: 7500, forMs: 17800, byMs: -3600000 },
        { what: "ledger put back", atMs: 8300, forMs: 2000, byMs: -3600000 },
      ],
      people: [
        { what: "resolve", order: 1, atMs: 34600 },
        { what: "cancel", order: 2, atMs: 31300 },
      ],
      strikes: [
        { what: "freeze", when: "before", at: "records what calls came to", nth: 4, forMs: 20000 },
        { what: "freeze", when: "after", at: "records what calls came to", nth: 4, forMs: 7000 },
      ],
      correlation: "labels",
    }),
  },
  {
    what: "the ledger's clock went back an hour, and what the lab had asked a moment before was answered an hour later",
    plan: planOf({
      chance: 2099052638,
      service: {
        listLagMs: 2000,
        tokenLifeMs: 10000,
        staffMs: 1300,
        deviceMs: 1100,
        ends: ["FAILED", "COMPLETED", "FAILED"],
        isBusy: true,
      },
      orders: [
        { operation: "RETRIEVAL", subject: 0, atMs: 400, acts: [{ what: "release", afterMs: 700 }] },
        { operation: "RETRIEVAL", subject: 0, atMs: 9700, acts: [{ what: "change", afterMs: 2500 }] },
      ],
      calls: [
        { kind: "create", nth: 2, fate: "late" },
        { kind: "create", nth: 5, fate: "doubled" },
        { kind: "create", nth: 8, fate: "401 before" },
      ],
      daemonEvents: [{ what: "kill", daemon: 0, atMs: 38700, forMs: 1200, byMs: 3600000 }],
      placeEvents: [
        { what: "ledger clock", atMs: 13700, forMs: 2200, byMs: -3600000 },
        { what: "job doubled", atMs: 27400, forMs: 14000, byMs: -3600000 },
      ],
      strikes: [{ what: "freeze", when: "after", at: "composes results", nth: 4, forMs: 2000 }],
      correlation: "labels",
    }),
  },
  {
    what: "a changed order was sent, and what it had asked for before as well, once the ledger was put back to before the change",
    plan: planOf({
      chance: 7,
      surface: "external",
      daemons: 2,
      orders: [
        {
          operation: "STORE",
          subject: 0,
          atMs: 3000,
          acts: [
            { what: "change", afterMs: 16300 },
            { what: "change", afterMs: 2000 },
          ],
        },
      ],
      calls: [{ kind: "create", nth: 5, fate: "refused" }],
      ledger: [{ daemon: 0, nth: 39, fate: "refused" }],
      placeEvents: [
        { what: "ledger put back", atMs: 5000, forMs: 16500, byMs: 20000 },
        { what: "ledger put back", atMs: 15700, forMs: 2500, byMs: 20000 },
      ],
      strikes: [{ what: "kill", when: "after", at: "raises the epoch", nth: 3, forMs: 2000 }],
    }),
  },
  {
    what: "a request of the changed order counts as none since the daemon clock is an hour behind",
    plan: planOf({
      chance: 0,
      service: { reviews: ["accept", "cancel"] },
      orders: [{ operation: "STORE", subject: 0, atMs: 800, acts: [{ what: "change", afterMs: 3400 }] }],
      daemonEvents: [{ what: "clock", daemon: 0, atMs: 0, forMs: 22600, byMs: -3600000 }],
      placeEvents: [
        { what: "ledger clock", atMs: 36100, forMs: 8700, byMs: -3600000 },
        { what: "ledger put back", atMs: 4200, forMs: 13200, byMs: 3600000 },
      ],
      people: [{ what: "retry", order: 2, atMs: 2100 }],
      strikes: [{ what: "kill", when: "before", at: "writes calls down", nth: 1, forMs: 40000 }],
      others: [{ order: 1, atMs: 300 }],
    }),
  },
  {
    what: "a copy is not noticed since the daemon clock is an hour behind",
    plan: planOf({
      chance: 5,
      surface: "external",
      daemons: 2,
      service: { ends: ["FAILED"] },
      orders: [{ operation: "STORE", subject: 0, atMs: 9000, acts: [] }],
      daemonEvents: [{ what: "clock", daemon: 0, atMs: 0, forMs: 22800, byMs: -3600000 }],
      placeEvents: [{ what: "ledger put back", atMs: 14400, forMs: 15200, byMs: 20000 }],
      people: [{ what: "cancel", order: 0, atMs: 57300 }],
      strikes: [{ what: "freeze", when: "before", at: "raises the epoch", nth: 4, forMs: 20000 }],
      others: [{ order: 2, atMs: 13300 }],
    }),
  },
  {
    what: "a retrieval takes over what another one made, which the ledger has forgotten",
    plan: planOf({
      chance: 0,
      service: { staffMs: 6400 },
      orders: [
        { operation: "RETRIEVAL", subject: 1, atMs: 9300, acts: [] },
        { operation: "RETRIEVAL", subject: 1, atMs: 300, acts: [] },
        {
          operation: "STORE",
          subject: 0,
          atMs: 300,
          acts: [
            { what: "cancel", afterMs: 2500 },
            { what: "release", afterMs: 1500 },
          ],
        },
      ],
      calls: [
        { kind: "create", nth: 4, fate: "silent after" },
        { kind: "create", nth: 2, fate: "502 before" },
      ],
      daemonEvents: [{ what: "kill", daemon: 0, atMs: 16800, forMs: 21400, byMs: -20000 }],
      placeEvents: [{ what: "ledger put back", atMs: 15300, forMs: 12500, byMs: 20000 }],
      people: [{ what: "release", order: 1, atMs: 18100 }],
      strikes: [
        { what: "freeze", when: "after", at: "writes calls down", nth: 3, forMs: 7000 },
        { what: "freeze", when: "after", at: "changes orders", nth: 2, forMs: 2000 },
      ],
    }),
  },
  {
    what: "a claim that was taken back sends with the intent of the next claim of the same worker",
    plan: planOf({
      chance: 15,
      service: { listLagMs: 2000, reviews: ["reject"] },
      orders: [
        { operation: "STORE", subject: 0, atMs: 3700, acts: [] },
        {
          operation: "STORE",
          subject: 0,
          atMs: 4300,
          acts: [
            { what: "change", afterMs: 15400 },
            { what: "release", afterMs: 7600 },
          ],
        },
        { operation: "STORE", subject: 1, atMs: 7000, acts: [] },
      ],
      calls: [
        { kind: "create", nth: 8, fate: "silent after" },
        { kind: "create", nth: 7, fate: "reset before" },
      ],
      daemonEvents: [
        { what: "clock", daemon: 0, atMs: 400, forMs: 21300, byMs: -3600000 },
        { what: "freeze", daemon: 1, atMs: 39400, forMs: 1300, byMs: 3600000 },
        { what: "kill", daemon: 0, atMs: 34000, forMs: 1000, byMs: 20000 },
      ],
      placeEvents: [
        { what: "tokens end", atMs: 10800, forMs: 10300, byMs: 3600000 },
        { what: "ledger put back", atMs: 19700, forMs: 1200, byMs: 20000 },
      ],
      strikes: [{ what: "freeze", when: "before", at: "records what calls came to", nth: 3, forMs: 40000 }],
      others: [{ order: 2, atMs: 25400 }],
    }),
  },
  {
    what: "a retrieval took over what a later one of its subject had made, whose call a person had discarded without an answer",
    plan: planOf({
      chance: 0,
      daemons: 2,
      service: { reviews: ["cancel"] },
      orders: [
        { operation: "STORE", subject: 0, atMs: 600, acts: [] },
        { operation: "RETRIEVAL", subject: 1, atMs: 0, acts: [{ what: "again", afterMs: 5000 }] },
        { operation: "RETRIEVAL", subject: 1, atMs: 3600, acts: [{ what: "hold", afterMs: 10600 }] },
      ],
      calls: [
        { kind: "create", nth: 2, fate: "reset before" },
        { kind: "create", nth: 3, fate: "late" },
        { kind: "create", nth: 8, fate: "429 after" },
        { kind: "create", nth: 7, fate: "401 before" },
      ],
      ledger: [{ daemon: 0, nth: 21, fate: "refused" }],
      daemonEvents: [
        { what: "kill", daemon: 0, atMs: 17600, forMs: 20100, byMs: -20000 },
        { what: "clock", daemon: 1, atMs: 23600, forMs: 22900, byMs: 20000 },
      ],
      placeEvents: [{ what: "ledger away", atMs: 0, forMs: 15300, byMs: 20000 }],
      people: [
        { what: "cancel", order: 1, atMs: 47600 },
        { what: "discard", order: 2, atMs: 48000 },
      ],
      correlation: "labels",
    }),
  },
  {
    what: "the ledger was put back while a claim was in hand, and the order that came since had its id and its fence: both wrote their call down",
    plan: planOf({
      chance: 17,
      surface: "external",
      daemons: 2,
      orders: [
        { operation: "STORE", subject: 0, atMs: 1900, acts: [] },
        { operation: "RETRIEVAL", subject: 1, atMs: 600, acts: [{ what: "change", afterMs: 18800 }] },
      ],
      calls: [{ kind: "create", nth: 8, fate: "reset before" }],
      ledger: [
        { daemon: 0, nth: 38, fate: "refused" },
        { daemon: 0, nth: 56, fate: "refused" },
      ],
      daemonEvents: [{ what: "kill", daemon: 1, atMs: 36600, forMs: 29300, byMs: 3600000 }],
      placeEvents: [{ what: "ledger put back", atMs: 500, forMs: 1100, byMs: -3600000 }],
      people: [
        { what: "retry", order: 2, atMs: 35300 },
        { what: "release", order: 2, atMs: 700 },
      ],
      correlation: "labels",
    }),
  },
  {
    what: "a gateway delivered a retrieval twice, and an earlier one of the subject, whose call was lost, took the copy for its own",
    plan: planOf({
      chance: 0,
      service: { reviews: ["accept", "cancel", "accept"] },
      orders: [
        { operation: "RETRIEVAL", subject: 0, atMs: 0, acts: [] },
        { operation: "RETRIEVAL", subject: 0, atMs: 0, acts: [] },
      ],
      calls: [{ kind: "create", nth: 1, fate: "doubled" }],
      daemonEvents: [
        { what: "clock", daemon: 1, atMs: 25500, forMs: 19600, byMs: -20000 },
        { what: "kill", daemon: 0, atMs: 17200, forMs: 15500, byMs: -3600000 },
        { what: "freeze", daemon: 1, atMs: 27900, forMs: 5800, byMs: 20000 },
      ],
      people: [{ what: "not at service", order: 0, atMs: 37100 }],
      strikes: [
        { what: "freeze", when: "after", at: "claims orders", nth: 2, forMs: 20000 },
        { what: "kill", when: "after", at: "writes calls down", nth: 1, forMs: 40000 },
      ],
    }),
  },
  {
    what: "the ledger's clock went back an hour while a call was looked for, and nothing was looked at for an hour",
    plan: planOf({
      chance: 0,
      orders: [
        { operation: "RETRIEVAL", subject: 0, atMs: 0, acts: [] },
        { operation: "STORE", subject: 0, atMs: 0, acts: [] },
      ],
      placeEvents: [{ what: "ledger clock", atMs: 2200, forMs: 1400, byMs: -3600000 }],
      strikes: [
        { what: "kill", when: "after", at: "raises the epoch", nth: 1, forMs: 7000 },
        { what: "freeze", when: "after", at: "records what calls came to", nth: 4, forMs: 2000 },
      ],
      others: [{ order: 1, atMs: 3000 }],
    }),
  },
  {
    what: "a person cancelled an order that had been sent, in the moment between a ledger's being put back and a daemon's noticing it",
    plan: planOf({
      chance: 0,
      orders: [{ operation: "STORE", subject: 0, atMs: 0, acts: [] }],
      calls: [{ kind: "read", nth: 2, fate: "silent after" }],
      placeEvents: [{ what: "ledger put back", atMs: 13900, forMs: 17400, byMs: -20000 }],
      people: [
        { what: "cancel", order: 2, atMs: 32600 },
        { what: "resolve", order: 0, atMs: 47300 },
      ],
      strikes: [
        { what: "freeze", when: "after", at: "claims orders", nth: 3, forMs: 20000 },
        { what: "freeze", when: "after", at: "raises the epoch", nth: 4, forMs: 20000 },
      ],
    }),
  },
];
