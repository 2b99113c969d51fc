import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import type { Status } from "../../src/console/status-document.ts";
import { eventually } from "../support/eventually.ts";
import { type JournalSite, withJournalSite } from "../support/journal-site.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { machineHas } from "../support/needs.ts";
import { countUp, sendOrders } from "../support/send-orders.ts";
import { killServer } from "../support/server-outage.ts";

const PATIENT = "Quillfeather";
/** No file of the daemon may be larger from some moment on. */
const LIMIT_BYTES = 256 * 1024;

const gauge = async ({ consoleUrl }: JournalSite, name: string) => {
  const text = await (await fetch(`${consoleUrl}/metrics`)).text();
  const value = new RegExp(`^cryobridge_journal_${name}{connector="hl7"} (\\S+)$`, "m").exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
};
const readStatus = async ({ consoleUrl }: JournalSite) =>
  (await (await fetch(`${consoleUrl}/api/status`)).json()) as Status;

/** These daemons have no worker, which is a reason of its own. */
const aboutJournal = async (site: JournalSite) =>
  (await readStatus(site)).reasons.filter((reason) => !reason.includes("role worker"));

describe.runIf(machineHas("linux")).concurrent("what a person or a monitor sees of the journal", () => {
  test("while the database is away are the acknowledged messages in it, until the ledger has them", () =>
    withJournalSite(async (site) => {
      await site.run();
      expect(await gauge(site, "messages")).toBe(0);
      const answers = new Map<string, string>();
      const sending = sendOrders(countUp("A", []), { port: site.port, answers });
      await eventually(() => answers.size > 500);
      const endOutage = await killServer(site.dataDir);
      try {
        await sending;
        expect(await gauge(site, "messages")).toBeGreaterThan(0);
        const { isReady, reasons, journals } = await eventually(async () => {
          const status = await readStatus(site);
          return status.reasons.some((reason) => reason.includes("in the journal only")) && status;
        });
        expect(isReady).toBe(false);
        const messages = await gauge(site, "messages");
        expect(journals).toMatchObject([{ connector: "hl7", messages, isUsable: true }]);
        expect(reasons.join()).toContain(`${messages} acknowledged messages of connector hl7 are on disk`);
        expect(await gauge(site, "oldest_age_seconds")).toBeGreaterThan(5);
      } finally {
        await endOutage();
      }
      await eventually(async () => (await gauge(site, "messages")) === 0);
      await eventually(async () => (await aboutJournal(site)).length === 0);
    }));

  test.runIf(machineHas("prlimit"))(
    "after a write that failed is that it is out of use, and the patients in it are wiped at the end of the daemon",
    () =>
      withJournalSite(async (site) => {
        const daemon = await site.run();
        const limit = (bytes: string) =>
          execFileSync("prlimit", ["--pid", `${daemon.pid}`, `--fsize=${bytes}:`]);
        const compose = (number: string) =>
          `${omlO33({ number, lastName: PATIENT })}NTE|1||${"x".repeat(2 * LIMIT_BYTES)}\r`;
        limit(String(LIMIT_BYTES));
        const numbers = countUp("B", []);
        await eventually(async () => {
          await sendOrders([numbers.next().value], { port: site.port, compose });
          return (await gauge(site, "usable")) === 0;
        });
        const { isReady, journals } = await readStatus(site);
        expect({ isReady, journals }).toMatchObject({ isReady: true, journals: [{ isUsable: false }] });
        expect(await aboutJournal(site)).toEqual([
          expect.stringContaining("the journal of connector hl7 is out of use"),
        ]);
        expect((await site.journal()).includes(PATIENT)).toBe(true);
        limit("unlimited");
        await daemon.end("SIGTERM");
        expect((await site.journal()).includes(PATIENT)).toBe(false);
      }),
  );
});
