import { expect, test } from "vitest";
import { openConsole } from "../../src/app/console.ts";
import { systemClock } from "../../src/core/clock.ts";
import { Hl7Message } from "../../src/formats/hl7/message.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { withChildSite } from "../support/with-child-site.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

const tankOf = ({ control }: Simulator, facilityId: number) =>
  control.storages().find((storage) => storage.facilityId === facilityId)?.id ?? 0;
const IDLE = { device: { auto: false } };

/** A refill from its beginning to its end. */
function refill({ control }: Simulator, tankId: number, end: "complete" | "fail" = "complete"): number {
  const { id } = control.createRefill(tankId);
  control.startProcedure(id);
  if (end === "complete") control.completeProcedure(id);
  else control.failProcedure(id, "valve is stuck");
  return id;
}

/** Rows of all CSV files of refills: facility, procedure, status. */
function csvRows(files: ReadonlyMap<string, string>): string[] {
  const texts = [...files].flatMap(([name, text]) => (/^refills-\d+\.csv$/.test(name) ? [text] : []));
  return texts.flatMap((text) =>
    text
      .trim()
      .split("\r\n")
      .slice(1)
      .map((row) =>
        row
          .split(",")
          .filter((_cell, column) => [0, 3, 5].includes(column))
          .join(" "),
      ),
  );
}

const firstReadings = ({ pool }: Site, facilities: number) =>
  eventually(async () => {
    const { rowCount } = await pool.query(
      "select 1 from refill_subscriptions where first_read_at is not null",
    );
    return rowCount === facilities;
  });

test("two facilities on two surfaces: the bench gets a CSV row for each refill that ended, and no other", () => {
  let aheadMs = -3_600_000;
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const config = {
    facilities: { NORTH: 12, SOUTH: { id: 13, surface: "external" } },
    refills: { facilities: ["NORTH", "SOUTH"], every: "100ms", tell: { connector: "csv" } },
  };
  return withSite({ simulator: { ...IDLE, clock }, config }, async (site) => {
    const anHourAgo = refill(site.simulator, tankOf(site.simulator, 12));
    aheadMs = 0;
    await site.start();
    await firstReadings(site, 2);
    const north = refill(site.simulator, tankOf(site.simulator, 12));
    const south = refill(site.simulator, tankOf(site.simulator, 13), "fail");
    const rows = await eventually(async () => {
      const found = csvRows(await site.results("csv"));
      return found.length >= 2 && found.sort();
    });
    expect(rows).toEqual([`NORTH ${north} COMPLETED`, `SOUTH ${south} FAILED`]);
    const { stdout } = await runCli(["--config", site.configFile, "refills", "--json"]);
    const listed = JSON.parse(stdout).refills.map((each: { procedureId: number }) => each.procedureId);
    expect(listed.sort()).toEqual([anHourAgo, north, south]);
  });
});

test("the LIMS gets an equipment notification for each, as its profile says", () =>
  withSite(
    {
      simulator: IDLE,
      config: {
        refills: { facilities: ["NORTH"], every: "100ms", tell: { connector: "hl7", format: "hl7" } },
      },
    },
    async (site) => {
      await site.start();
      await firstReadings(site, 1);
      const id = refill(site.simulator, tankOf(site.simulator, 12));
      const [text = ""] = await eventually(async () => {
        const files = await site.results("hl7");
        return files.size === 1 && [...files.values()];
      });
      const message = Hl7Message.parse(text);
      expect(message.header).toMatchObject({ messageCode: "EAN", triggerEvent: "U09", structure: "EAN_U09" });
      expect(message.get("NDS-4.1")).toBe("REFILL-COMPLETED");
      expect(message.first("NTE")?.get(3, 4)).toBe(`procedure_id: ${id}`);
      expect(message.get("EQU-1")).toBe(String(tankOf(site.simulator, 12)));
    },
  ));

test("an outage of the service delays refills and loses none", () =>
  withSite(
    {
      simulator: IDLE,
      config: { refills: { facilities: ["NORTH"], every: "100ms", tell: { connector: "csv" } } },
    },
    async (site) => {
      await site.start();
      await firstReadings(site, 1);
      site.simulator.control.setFaults([{ before: "drop" }]);
      const ids = [1, 2, 3].map(() => refill(site.simulator, tankOf(site.simulator, 12)));
      const { received } = site.simulator.tally();
      await eventually(() => site.simulator.tally().received > received + 2);
      site.simulator.control.setFaults([]);
      const rows = await eventually(async () => {
        const found = csvRows(await site.results("csv"));
        return found.length === 3 && found;
      });
      expect(rows).toEqual(ids.map((id) => `NORTH ${id} COMPLETED`));
    },
  ));

test("a tank that was not refilled for too long alerts in the metrics and on the status page, and the daemon stays ready", () =>
  withSite(
    {
      simulator: IDLE,
      config: { refills: { facilities: ["NORTH"], every: "100ms", alertAfter: "14d" } },
    },
    async (site) => {
      const daemon = await site.start();
      const opened = await openConsole(daemon, { version: "0", logger: silent, clock: systemClock });
      try {
        await firstReadings(site, 1);
        const overdue = async () =>
          /^cryobridge_tanks_overdue (\d+)$/m.exec(await (await fetch(`${opened.url}/metrics`)).text())?.[1];
        refill(site.simulator, tankOf(site.simulator, 12));
        await eventually(
          async () => (await site.pool.query("select 1 from refills where reached = 3")).rowCount === 1,
        );
        expect(await overdue()).toBe("0");
        await site.pool.query("update refills set completed_time = now() - interval '15 days'");
        expect(await overdue()).toBe("1");
        const status = (await (await fetch(`${opened.url}/api/status`)).json()) as {
          overdueTanks: unknown[];
        };
        expect(status.overdueTanks).toHaveLength(1);
        expect((await fetch(`${opened.url}/readyz`)).status).toBe(200);
        const { stdout } = await runCli(["--config", site.configFile, "refills", "tanks"]);
        expect(stdout).toMatch(/14d +overdue$/m);
      } finally {
        await opened.close();
      }
    },
  ));

test("a daemon that is killed again and again tells each refill, and a repeat has the same name and bytes", () =>
  withChildSite(
    {
      simulator: IDLE,
      config: { refills: { facilities: ["NORTH"], every: "100ms", tell: { connector: "csv" } } },
    },
    async (site) => {
      const ids: number[] = [];
      const seen = new Map<string, string>();
      const look = async () => {
        for (const [name, text] of await site.lab.read("csv", "out")) {
          expect(seen.get(name) ?? text).toBe(text);
          seen.set(name, text);
        }
        return csvRows(seen);
      };
      for (const calls of [1, 2, 3]) {
        const daemon = site.start();
        await daemon.running;
        for (let count = 0; count < 5; count += 1)
          ids.push(refill(site.simulator, tankOf(site.simulator, 12)));
        // The kill meets the reading, the recording or the writing, whichever follows so many calls.
        const { received } = site.simulator.tally();
        await eventually(() => site.simulator.tally().received >= received + calls);
        await daemon.end("SIGKILL");
        await look();
      }
      await site.start().running;
      await eventually(async () => (await look()).length >= ids.length);
      expect((await look()).sort()).toEqual(ids.map((id) => `NORTH ${id} COMPLETED`).sort());
    },
  ));
