import { describe, expect, it } from "vitest";
import type { Status } from "../../src/console/status-document.ts";
import { Failure } from "../../src/core/failures.ts";
import type { JournalState } from "../../src/ledger/journal/journal.ts";
import { withConsole } from "./console-fixture.ts";

const WELL: JournalState = { connector: "lims", messages: 4, oldestSeconds: 1.5, isUsable: true };
const LATE: JournalState = { connector: "clinic", messages: 12, oldestSeconds: 8.9, isUsable: true };
const BROKEN: JournalState = { connector: "bench", messages: 0, oldestSeconds: 0, isUsable: false };

const withJournalsOf = (journals: readonly JournalState[], body: (url: string) => Promise<void>) =>
  withConsole({ deps: { journals: () => journals } }, ({ url }) => body(url));
const getStatus = async (url: string) => (await (await fetch(`${url}/api/status`)).json()) as Status;
const scrape = async (url: string) => (await fetch(`${url}/metrics`)).text();

describe("journals", () => {
  it("are in the metrics by connector: what they hold, for how long, and whether they are used", () =>
    withJournalsOf([LATE, BROKEN], async (url) => {
      const text = await scrape(url);
      expect([...text.matchAll(/^cryobridge_journal_.*$/gm)].map(([line]) => line)).toEqual([
        'cryobridge_journal_messages{connector="clinic"} 12',
        'cryobridge_journal_messages{connector="bench"} 0',
        'cryobridge_journal_oldest_age_seconds{connector="clinic"} 8.9',
        'cryobridge_journal_oldest_age_seconds{connector="bench"} 0',
        'cryobridge_journal_usable{connector="clinic"} 1',
        'cryobridge_journal_usable{connector="bench"} 0',
      ]);
    }));

  it("are nowhere in the metrics where there are none", () =>
    withConsole({}, async ({ url }) => expect(await scrape(url)).not.toMatch(/^cryobridge_journal_/m)));

  it("are in the status as they stand", () =>
    withJournalsOf([WELL, BROKEN], async (url) => {
      expect((await getStatus(url)).journals).toEqual([WELL, BROKEN]);
    }));

  it("give no reason for anything while they are well", () =>
    withJournalsOf([WELL, { ...WELL, oldestSeconds: 5 }], async (url) => {
      expect((await getStatus(url)).reasons).toEqual([]);
    }));

  it("that are out of use are told with what to do, and orders are taken all the same", () =>
    withJournalsOf([WELL, BROKEN], async (url) => {
      const { isReady, reasons } = await getStatus(url);
      expect({ isReady, reasons }).toEqual({
        isReady: true,
        reasons: [expect.stringMatching(/^the journal of connector bench is out of use .* then restart$/)],
      });
      expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ ready: true, reasons });
    }));

  it("that the ledger takes nothing of are told, also while the ledger gives no answer", async () => {
    const failure = new Failure("LEDGER_UNAVAILABLE", "the ledger's database does not answer");
    const readiness = () => Promise.reject(failure);
    await withConsole({ deps: { readiness, journals: () => [LATE] } }, async ({ url }) => {
      expect((await getStatus(url)).reasons).toEqual([
        "the ledger's database does not answer (LEDGER_UNAVAILABLE)",
        "12 acknowledged messages of connector clinic are on disk in the journal only: the ledger has taken none for 8 s",
      ]);
      expect(await scrape(url)).toContain('cryobridge_journal_messages{connector="clinic"} 12\n');
    });
  });
});
