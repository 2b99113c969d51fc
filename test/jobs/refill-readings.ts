import type { RefillLab } from "../support/refill-lab.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

export const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString();

/** The refills of the ledger by their ids: `7 COMPLETED`. */
export const known = async (lab: RefillLab) =>
  (await lab.refills()).map(({ refill }) => `${refill.id} ${refill.status}`).sort();

export const statuses = async (lab: RefillLab) => (await lab.refills()).map(({ refill }) => refill.status);

export const requests = ({ simulator }: RefillLab) => simulator.tally().received;
