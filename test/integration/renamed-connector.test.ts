import { readFile, writeFile } from "node:fs/promises";
import { pino } from "pino";
import { expect, test } from "vitest";
import { listOrphaned, moveResults } from "../../src/ledger/results/orphaned.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

const CONFIGURED = ["renamed", "csv"];

test("orders of a connector that was renamed are carried out, and their results are sent once a person says through which", () => {
  const lines: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  return withSite({ simulator: { staff: { auto: false } }, logger }, async (site) => {
    const { pool, configFile, simulator } = site;
    const reported = async () => (await site.results("hl7")).size;
    const isAllTold = async () => {
      const open =
        "select from outcomes where not is_composed union all select from deliveries where state = 'pending'";
      return (await pool.query(open)).rowCount === 0;
    };
    const before = await site.start();
    await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }) + omlO33({ number: "A-2" }));
    await site.waitForOrders(2, ["submitted"]);
    await eventually(isAllTold);
    await before.stop();
    const sofar = await reported();

    // The folder stays where it was; only the name is another.
    const config = await readFile(configFile, "utf8");
    await writeFile(configFile, config.replace("- name: hl7\n", "- name: renamed\n"));
    await site.start();
    expect(lines.join("")).toContain("the configuration names no connector hl7");
    const [first, second] = simulator.control.requests();
    simulator.control.rejectRequest(first?.id ?? 0);
    await eventually(async () => (await site.orders()).some(({ state }) => state === "rejected"));
    const left = { connector: "hl7", results: 1, orders: 1 };
    expect(await listOrphaned(pool, CONFIGURED)).toMatchObject([left]);
    expect(await reported()).toBe(sofar);

    expect(await moveResults(pool, { from: "hl7", to: "renamed" }, { actor: "kim" })).toBe(1);
    await eventually(async () => (await reported()) === sofar + 1);
    simulator.control.rejectRequest(second?.id ?? 0);
    await eventually(async () => (await reported()) === sofar + 2);
    await eventually(async () => (await listOrphaned(pool, CONFIGURED)).length === 0);
  });
});
