import type { Plan } from "./plan.ts";

/** Histories that went wrong once, shrunk; the plan is kept and not the seed, which draws another one once plans change. */
export const FOUND: readonly { readonly what: string; readonly plan: Plan }[] = [
  {
    what: "what came in right after the ledger was put back got the control id of another result",
    plan: {
      ...{ chance: 511861079, surface: "request", daemons: 1 },
      service: {
        ...{ envelope: "array", mostPerPage: 100, newestFirst: false, listLagMs: 0, tokenLifeMs: 3_600_000 },
        ...{
          staffMs: 2_200,
          deviceMs: 1_000,
          reviews: ["accept"],
          ends: ["COMPLETED"],
          hasCancel: false,
          isBusy: false,
        },
      },
      orders: [
        {
          ...{ operation: "RETRIEVAL", subject: 0, atMs: 3_000 },
          acts: [
            { what: "hold", afterMs: 4_800 },
            { what: "release", afterMs: 3_200 },
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
      daemonEvents: [{ what: "clock", daemon: 0, atMs: 200, forMs: 19_800, byMs: 20_000 }],
      placeEvents: [{ what: "ledger put back", atMs: 7_500, forMs: 1_800, byMs: 20_000 }],
      people: [],
      ...{ strikes: [], correlation: "token", others: [] },
    },
  },
  {
    what: "the ledger's clock jumped ahead, and a call that was interrupted a moment later counted as an hour old",
    plan: {
      ...{ chance: 487640477, surface: "request", daemons: 2 },
      service: {
        ...{ envelope: "data", mostPerPage: 10, newestFirst: false, listLagMs: 7_000, tokenLifeMs: 10_000 },
        ...{
          staffMs: 9_600,
          deviceMs: 1_400,
          reviews: ["accept"],
          ends: ["FAILED"],
          hasCancel: false,
          isBusy: false,
        },
      },
      orders: [{ operation: "STORE", subject: 0, atMs: 9_700, acts: [] }],
      calls: [{ kind: "create", nth: 1, fate: "silent after" }],
      ledger: [],
      results: [],
      daemonEvents: [],
      placeEvents: [{ what: "ledger clock", atMs: 9_700, forMs: 1_000, byMs: 3_600_000 }],
      people: [],
      ...{ strikes: [], correlation: "token", others: [] },
    },
  },
  {
    what: "no daemon led while both held calls back, and the simulation's daemons tried the service by themselves no more",
    plan: {
      ...{ chance: 1, surface: "external", daemons: 2 },
      service: {
        ...{ envelope: "array", mostPerPage: 100, newestFirst: false, listLagMs: 0, tokenLifeMs: 10_000 },
        ...{ staffMs: 13_100, deviceMs: 19_700, reviews: ["accept"], ends: ["COMPLETED"], hasCancel: false },
        isBusy: false,
      },
      orders: [
        { operation: "STORE", subject: 0, atMs: 1_900, acts: [] },
        { operation: "STORE", subject: 1, atMs: 5_800, acts: [] },
      ],
      calls: [
        { kind: "token", nth: 3, fate: "silent after" },
        { kind: "token", nth: 4, fate: "silent after" },
        { kind: "token", nth: 5, fate: "silent after" },
      ],
      ledger: [],
      results: [],
      daemonEvents: [],
      placeEvents: [],
      people: [],
      ...{ strikes: [], correlation: "token", others: [] },
    },
  },
  {
    what: "a ledger put back right after a call believed a list that lagged, and had the order done once more",
    plan: {
      chance: 40309381,
      surface: "request",
      daemons: 2,
      service: {
        envelope: "array",
        mostPerPage: 2,
        newestFirst: false,
        listLagMs: 7000,
        tokenLifeMs: 10000,
        staffMs: 1300,
        deviceMs: 1500,
        reviews: ["accept"],
        ends: ["COMPLETED"],
        hasCancel: false,
        isBusy: false,
      },
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
      daemonEvents: [],
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
      others: [],
    },
  },
  {
    what: "the ledger's clock went back an hour, and what the lab had asked a moment before was answered an hour later",
    plan: {
      chance: 2099052638,
      surface: "request",
      daemons: 1,
      service: {
        envelope: "array",
        mostPerPage: 100,
        newestFirst: false,
        listLagMs: 2000,
        tokenLifeMs: 10000,
        staffMs: 1300,
        deviceMs: 1100,
        reviews: ["accept"],
        ends: ["FAILED", "COMPLETED", "FAILED"],
        hasCancel: false,
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
      ledger: [],
      results: [],
      daemonEvents: [{ what: "kill", daemon: 0, atMs: 38700, forMs: 1200, byMs: 3600000 }],
      placeEvents: [
        { what: "ledger clock", atMs: 13700, forMs: 2200, byMs: -3600000 },
        { what: "job doubled", atMs: 27400, forMs: 14000, byMs: -3600000 },
      ],
      people: [],
      strikes: [{ what: "freeze", when: "after", at: "composes results", nth: 4, forMs: 2000 }],
      correlation: "labels",
      others: [],
    },
  },
];
