import { expect, test } from "vitest";
import type { FaultRule } from "../../src/simulator/faults.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { type ChildSite, withChildSite, withPool } from "../support/with-child-site.ts";

const PATH = "/api/procedure-requests/{id}";
const CANCEL = { method: "DELETE", path: PATH } as const;
const CALLS: FaultRule = { name: "calls", method: "DELETE", path: "/api/procedure-requests/*" };

const options = (after: string, ...faults: FaultRule[]) => ({
  service: { cancel: CANCEL, timeout: "5s", reconcile: { checks: ["200ms", "500ms"], giveUpAfter: after } },
  simulator: {
    staff: { auto: false },
    cancelRoute: { ...CANCEL, answer: "empty" },
    behaviour: { cancelledRows: "gone" },
    faults: [...faults, CALLS],
  } as const,
});

/** An order at the service, and the message that cancels it. */
async function cancel({ lab, orders, start }: ChildSite) {
  const daemon = start();
  await daemon.running;
  await lab.drop("hl7", "order.hl7", omlO33({ number: "A-1" }));
  await eventually(async () => (await orders())[0]?.state === "submitted");
  await lab.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
  return daemon;
}

/** The words of the answers to it. */
async function reportedWords({ lab }: ChildSite): Promise<string[]> {
  return eventually(async () => {
    const texts = [...(await lab.read("hl7", "out")).values()];
    const words = texts.flatMap((text) => /\rORC\|(CR|UC)\|/.exec(text)?.[1] ?? []);
    return words.length > 0 && words;
  });
}

test("a daemon that is killed before the answer to its cancel call learns from reconcile.giveUpAfter that the request is gone", () =>
  withChildSite(options("6s", { ...CALLS, name: "lost", times: 1, after: "hang" }), async (site) => {
    const { simulator } = site;
    const first = await cancel(site);
    await eventually(() => simulator.control.requests()[0]?.status === "CANCELLED");
    await first.end("SIGKILL");
    await site.start().running;
    expect(await reportedWords(site)).toEqual(["CR"]);
    expect((await site.orders())[0]?.state).toBe("cancelled");
    expect(simulator.tally().faults.calls).toBe(1);
  }));

test("a daemon that is killed between its cancel call and the check answers the lab at once when it is back", () => {
  const hanging: FaultRule = { method: "GET", path: "/api/procedure-requests/*", before: "hang" };
  return withChildSite(options("1h", hanging), async (site) => {
    const { simulator, dataDir } = site;
    const first = await cancel(site);
    const isTaken = "select from calls where kind = 'cancel' and answer = 'taken'";
    await withPool(dataDir, (pool) => eventually(async () => (await pool.query(isTaken)).rowCount === 1));
    await first.end("SIGKILL");
    expect((await site.orders())[0]?.state).toBe("submitted");
    simulator.control.setFaults([CALLS]);
    await site.start().running;
    expect(await reportedWords(site)).toEqual(["CR"]);
    expect((await site.orders())[0]?.state).toBe("cancelled");
    expect(simulator.tally().faults.calls).toBe(0);
  });
});
