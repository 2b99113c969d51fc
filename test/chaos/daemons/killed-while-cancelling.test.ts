import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { omlO33, ormCancel } from "../../support/lab-messages.ts";
import { withChildSite } from "../../support/with-child-site.ts";

const ROUTE = { method: "POST", path: "/api/procedure-requests/{id}/cancel" } as const;
const CALL = { method: "POST", path: "/api/procedure-requests/*/cancel" } as const;

test("a daemon that is killed within two cancel calls finds the one that worked, repeats the other, and tells the lab once of each", () =>
  withChildSite(
    {
      service: { cancel: ROUTE, timeout: "5s", reconcile: { checks: ["200ms", "500ms"], giveUpAfter: "6s" } },
      simulator: {
        staff: { auto: false },
        cancelRoute: ROUTE,
        faults: [
          { name: "done", ...CALL, times: 1, after: "hang" },
          { name: "lost", ...CALL, skip: 1, times: 1, before: "hang" },
          { name: "calls", ...CALL },
        ],
      },
    },
    async ({ simulator, lab, start, orders }) => {
      const first = start();
      await first.running;
      for (const number of ["A-1", "A-2"]) await lab.drop("hl7", `${number}.hl7`, omlO33({ number }));
      await eventually(() => simulator.control.requests().length === 2);
      await eventually(async () => (await orders()).every(({ state }) => state === "submitted"));
      for (const number of ["A-1", "A-2"]) await lab.drop("hl7", `c-${number}.hl7`, ormCancel({ number }));
      await eventually(() => simulator.tally().faults.lost === 1);
      await first.end("SIGKILL");
      await start().running;
      const answers = await eventually(async () => {
        const texts = [...(await lab.read("hl7", "out")).values()];
        const reported = texts.filter((text) => /\rORC\|(CR|UC)\|/.test(text));
        return reported.length >= 2 && reported;
      });
      expect(answers.map((text) => /\rORC\|(\w+)\|(A-\d)/.exec(text)?.slice(1)).sort()).toEqual([
        ["CR", "A-1"],
        ["CR", "A-2"],
      ]);
      expect(simulator.control.requests().map(({ status }) => status)).toEqual(["CANCELLED", "CANCELLED"]);
      expect(simulator.tally().faults.calls).toBe(3);
      expect((await orders()).map(({ state }) => state)).toEqual(["cancelled", "cancelled"]);
    },
  ));
