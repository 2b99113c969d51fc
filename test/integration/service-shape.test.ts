import { pino } from "pino";
import { expect, it } from "vitest";
import { labCsv } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

it("follows a service that wraps its lists otherwise, and shows the change as one line of log and status", () => {
  const lines: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => lines.push(line) });
  return withSite({ logger }, async (site) => {
    const daemon = await site.start();
    await site.drop("csv", "a.csv", labCsv([{ number: "C-1" }]));
    await site.waitForOrders(1);
    expect(daemon.conditions()).toEqual([]);
    site.simulator.control.behave({ listEnvelope: "items" });
    await site.drop("csv", "b.csv", labCsv([{ number: "C-2" }]));
    await site.waitForOrders(2);
    const change = '/api/subjects comes as a list under "items"; before: array';
    expect(lines.filter((line) => line.includes(JSON.stringify(change).slice(1, -1)))).toHaveLength(1);
    expect(daemon.conditions()[0]?.text).toContain("the storage service answers in another shape");
  });
});
