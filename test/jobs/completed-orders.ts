import { expect } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { phi } from "../../src/core/phi.ts";
import { type LocateDeps, lookForLocations } from "../../src/jobs/track/locate.ts";
import type { LocationLook } from "../../src/jobs/track/look.ts";
import type { Completed } from "../../src/jobs/track/news.ts";
import type { LedgerContainer } from "../../src/ledger/orders/row.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { never } from "../service/with-client.ts";
import { byRequest } from "../support/ways.ts";
import { silent } from "../support/with-ledger.ts";

export const vial = (position: number, more: Partial<LedgerContainer> = {}): LedgerContainer => ({
  position,
  label: `V-${position}`,
  description: "",
  ...more,
});

export function anOrder(more: Partial<Completed["order"]> = {}): Completed["order"] {
  const subject = { code: phi("S-1") };
  return {
    id: 7,
    connector: "lims",
    operation: "STORE",
    surface: "request",
    facilityId: 12,
    subject,
    containers: [vial(1), vial(2)],
    attempts: 0,
    receivedAt: new Date("2026-11-20T08:00:00Z"),
    ...more,
  };
}

export async function look(
  client: ServiceClient,
  order: Completed["order"],
  procedure?: Completed["procedure"] | readonly number[],
  wayOf: LocateDeps["wayOf"] = byRequest,
): Promise<LocationLook> {
  const deps = { service: client, concurrency: 2, logger: silent, clock: systemClock, wayOf };
  const looks: LocationLook[] = [];
  const round = {
    forMs: 600_000,
    unfinished: new Map(),
    record: async (_item: Completed, ended: LocationLook) => void looks.push(ended),
  };
  const named = Array.isArray(procedure) ? { containerIds: procedure } : procedure;
  const item = { order, procedure: named as Completed["procedure"] };
  expect(await lookForLocations([item], round, deps, never)).toBe(true);
  const [ended] = looks;
  if (looks.length !== 1 || !ended) throw new Error("one look is recorded");
  return ended;
}

export const row = (id: number) => ({ id, name: `V-${id}`, subjectCode: "S-1", storageName: `Tank ${id}` });
