import { describe, expect, test } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import type { OrderStep } from "../../src/core/order-step.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly order?: string;
}

/** Hears nothing of what a daemon does. */
const DEAF = {
  ...{ serviceCalled: () => {}, messagesCommitted: () => {}, messagesTaken: () => {}, jobFinished: () => {} },
  ...{ ordersMoved: () => {}, resultsSent: () => {} },
};
const INFO = 30;
const WARN = 40;
const SENT = "result sent to the lab";

/** A logger whose lines a test reads. */
function createLog() {
  const lines: Line[] = [];
  const stream = { write: (text: string) => void lines.push(JSON.parse(text)) };
  const logger = createLogger({ level: "info" }, stream);
  return { logger, lines, linesOf: (order: string) => lines.filter((line) => line.order === order) };
}

describe("the log of a site", () => {
  test("tells an order's life, each step with its order, connector and file", () => {
    const { logger, lines, linesOf } = createLog();
    return withSite({ logger }, async (site) => {
      const daemon = await site.start();
      const stages: (string | undefined)[] = [];
      const moved = (steps: readonly OrderStep[]) => {
        for (const { stage, to } of steps) if (to !== undefined) stages.push(stage?.name, to);
      };
      daemon.observe({ ...DEAF, ordersMoved: moved });
      await site.drop("hl7", "a.hl7", omlO33({ number: "A-1", subject: "S-1", labels: ["V-1"] }));
      await site.waitForOrders(1, ["completed"]);
      const sent = await eventually(() => linesOf("o1").find(({ msg }) => msg === SENT));
      expect(sent).toMatchObject({
        level: INFO,
        connector: "hl7",
        delivery: expect.stringMatching(/^d\d+$/),
      });
      const steps = linesOf("o1").filter(({ msg }) => msg !== SENT);
      for (const step of steps) expect(step).toMatchObject({ level: INFO, connector: "hl7", file: "f1" });
      // What comes between depends on when the service is asked.
      const words = steps.map(({ msg }) => msg);
      expect([words[0], words.at(-1)]).toEqual(["order received", "order completed"]);
      expect(words).toContain("order submitted");
      // The metrics count what was logged, each stage from where the one before it ended.
      expect(stages.slice(0, 6)).toEqual([
        undefined,
        "received",
        "received",
        "submitting",
        "submitting",
        "submitted",
      ]);
      expect(stages.at(-1)).toBe("completed");
      for (let n = 6; n < stages.length; n += 2) expect(stages[n]).toBe(stages[n - 1]);
      for (const secret of ["S-1", "V-1"]) expect(JSON.stringify(lines)).not.toContain(secret);
    });
  });

  test("tells at the level warn that an order needs a person, with the code", () => {
    const { logger, linesOf } = createLog();
    return withSite({ logger, simulator: { staff: { auto: false } } }, async (site) => {
      await site.start();
      await site.drop("hl7", "a.hl7", omlO33({ number: "A-1", subject: "S-1", labels: ["V-1"] }));
      await eventually(() => linesOf("o1").some(({ msg }) => msg === "order submitted"));
      await site.drop("csv", "b.csv", labCsv([{ number: "B-1", subject: "S-1", labels: ["V-1"] }]));
      const parked = await eventually(() => linesOf("o2").find(({ msg }) => msg === "order parked"));
      const code = "ORDER_CONTAINER_IN_OPEN_ORDER";
      expect(parked).toMatchObject({ level: WARN, connector: "csv", file: "f2", code });
    });
  });
});
