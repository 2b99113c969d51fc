import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { openArrivals } from "../support/arrivals.ts";
import { eventually } from "../support/eventually.ts";
import { holdCommit, idsOf, withJournals } from "../support/journals.ts";

test("stopping doesn't wait for a ledger that gives no answer, and nothing is lost by it", () =>
  withJournals(async ({ pool, open, take, messages }) => {
    const commit = holdCommit(pool, "asked for");
    const arrivals = openArrivals(pool, systemClock);
    await arrivals.start(await open({ pool: commit.pool }));
    const left = await take(1);
    await arrivals.putDown(left);
    await commit.held;
    await arrivals.stop(100);
    expect(await messages()).toEqual([]);
    commit.letGo();
    await eventually(async () => (await messages()).length > 0);
    await (await open()).empty();
    expect(idsOf(await messages())).toEqual(left.map(({ messageId }) => messageId));
  }));
