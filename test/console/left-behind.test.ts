import { describe, expect, it } from "vitest";
import type { ConsoleDeps } from "../../src/console/deps.ts";
import type { Status } from "../../src/console/status-document.ts";
import type { LeftBehind } from "../../src/ledger/left-behind.ts";
import { countsOf, withConsole } from "./console-fixture.ts";

const SINCE = new Date("2026-11-22T08:00:00Z");
const LEFT: LeftBehind = {
  ...{ connector: "old", results: 3, orders: 1, messages: 0 },
  since: SINCE,
  movedTo: undefined,
};

async function seen(deps: Partial<ConsoleDeps>): Promise<{ status: Status; metrics: string }> {
  let found = { status: {} as Status, metrics: "" };
  await withConsole({ deps }, async ({ url }) => {
    const status = (await (await fetch(`${url}/api/status`)).json()) as Status;
    found = { status, metrics: await (await fetch(`${url}/metrics`)).text() };
  });
  return found;
}

describe("what waits of a connector that is configured no more", () => {
  it("is told with the way on, and counted", async () => {
    const { status, metrics } = await seen({ leftBehind: async () => [LEFT] });
    expect(status.leftBehind).toMatchObject([{ connector: "old", results: 3, orders: 1, messages: 0 }]);
    expect(status.attention).toEqual([
      {
        level: "act",
        what: "the configuration names no connector old, and there are 3 results and 1 order in work of it, whose lab hears nothing",
        since: SINCE.toISOString(),
        hint: "Name old in the configuration again, or have its results go out through another connector: `cryobridge queue move --from old --to NAME`.",
        command: "cryobridge queue",
      },
    ]);
    expect(metrics).toContain('cryobridge_left_behind{connector="old",kind="results"} 3');
    expect(metrics).toContain('cryobridge_left_behind{connector="old",kind="orders"} 1');
  });

  it("needs nobody where only orders are left, whose results go out through another one", async () => {
    const moved = { ...LEFT, results: 0, movedTo: "lims" };
    const { status, metrics } = await seen({ leftBehind: async () => [moved] });
    expect(status.attention).toEqual([]);
    expect(metrics).not.toContain('cryobridge_left_behind{connector="old"');
  });

  it("is unknown while the ledger is out of reach, which stops nothing else", async () => {
    const { status, metrics } = await seen({ leftBehind: () => Promise.reject(new Error("gone")) });
    expect(status.leftBehind).toBeNull();
    expect(metrics).toContain("cryobridge_ready 1");
  });
});

it("results that fail while others get through are counted", async () => {
  const counts = async () => ({ ...countsOf(), deliveriesPending: 2, deliveriesAside: 1 });
  const { status, metrics } = await seen({ counts });
  expect(status.deliveries).toMatchObject({ pending: 2, aside: 1 });
  expect(metrics).toMatch(/^cryobridge_deliveries_aside 1$/m);
  const unknown = await seen({ counts: () => Promise.reject(new Error("gone")) });
  expect(unknown.metrics).not.toMatch(/^cryobridge_deliveries_aside /m);
});
