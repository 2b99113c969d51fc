import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../cli/run-cli.ts";
import { eventually } from "../../support/eventually.ts";
import { omlO33 } from "../../support/lab-messages.ts";
import { withSite } from "../../support/with-daemon.ts";

const NUMBERS = Array.from({ length: 12 }, (_, i) => `L${i + 1}`);

const EXPECTED = ["SUBMIT_FORGOTTEN_REQUEST", "ORDER_CONTAINER_STORED_ALREADY"];

test("a backup made under load is restored, the lab sends again, and each order is at the service once", () =>
  withSite({}, async (site) => {
    const cli = (...words: string[]) => runCli(["--config", site.configFile, ...words]);
    const send = async (numbers: readonly string[], suffix: string) => {
      for (const number of numbers) await site.drop("hl7", `${number}${suffix}.hl7`, omlO33({ number }));
    };
    const daemon = await site.start();
    const sending = send(NUMBERS, "");
    await eventually(async () => (site.simulator.tally().journal.length > 3 ? true : undefined));
    const file = join(site.folder, "backup.gz");
    expect(await cli("backup", file)).toMatchObject({ status: 0 });
    await sending;
    await site.waitForOrders(NUMBERS.length);
    expect((await cli("restore", file, "--replace", "--yes")).stderr).toContain("a daemon works on");
    await daemon.stop();

    expect(await cli("restore", file, "--replace", "--yes")).toMatchObject({ status: 0 });
    await site.start();
    await send(NUMBERS, "-again");
    await eventually(async () => {
      const { rows } = await site.pool.query(
        "select from orders where placer_order_number = any($1) and state in ('completed', 'parked')",
        [NUMBERS],
      );
      return rows.length === NUMBERS.length;
    });
    const made = site.simulator.tally().journal.map(({ subjectCode }) => subjectCode);
    expect(made.toSorted()).toEqual(NUMBERS.map((number) => `S-${number}`).toSorted());
    const orders = await site.orders();
    // What the backup lacks the service has, its container too: a person links them.
    const codes = new Set(orders.flatMap(({ failure }) => failure?.code ?? []));
    expect([...codes].filter((code) => !EXPECTED.includes(code))).toEqual([]);
    expect((await cli("audit", "verify")).status).toBe(0);
  }));
