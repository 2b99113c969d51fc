import type { Plan } from "./plan.ts";

/** One STORE that nothing goes wrong with. */
export const plain: Plan = {
  ...{ chance: 1, surface: "request", daemons: 1 },
  service: {
    ...{ envelope: "array", mostPerPage: 100, newestFirst: false, listLagMs: 0, tokenLifeMs: 3_600_000 },
    ...{ staffMs: 1_000, deviceMs: 1_000, reviews: ["accept"], ends: ["COMPLETED"] },
    ...{ hasCancel: false, isBusy: false },
  },
  orders: [{ operation: "STORE", subject: 0, atMs: 3_000, acts: [] }],
  ...{ calls: [], ledger: [], results: [], daemonEvents: [], placeEvents: [], people: [] },
  ...{ strikes: [], correlation: "token", others: [] },
};
