import { describe, expect, it } from "vitest";
import type { ConsoleDeps } from "../../src/console/deps.ts";
import type { Orphaned } from "../../src/ledger/results/orphaned.ts";
import type { Status } from "../../src/standing/status-document.ts";
import { withConsole } from "./console-fixture.ts";

const SINCE = new Date("2026-11-22T08:00:00Z");
const LEFT: Orphaned = {
  ...{ connector: "old", results: 3, orders: 1, messages: 0 },
  since: SINCE,
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
    const { status, metrics } = await seen({ orphaned: async () => [LEFT] });
    expect(status.orphaned).toMatchObject([{ connector: "old", results: 3, orders: 1, messages: 0 }]);
    expect(status.attention).toMatchObject([
      {
        level: "act",
        what: "the configuration names no connector old, and there are 3 results and 1 order in work of it, of which the lab is sent nothing",
        since: SINCE.toISOString(),
        hint: "Name old in the configuration again, or give its orders and results to another one: `cryobridge queue move --from old --to NAME`.",
        command: "cryobridge queue",
      },
    ]);
    expect(metrics).toContain('cryobridge_orphaned{connector="old",kind="results"} 3');
    expect(metrics).toContain('cryobridge_orphaned{connector="old",kind="orders"} 1');
  });

  it("is unknown while the ledger is out of reach, which stops nothing else", async () => {
    const { status, metrics } = await seen({ orphaned: () => Promise.reject(new Error("gone")) });
    expect(status.orphaned).toBeNull();
    expect(metrics).toContain("cryobridge_ready 1");
  });
});
