import { expect, test } from "vitest";
import { csvMessage, PATIENT } from "../../cli/with-lab.ts";
import { withPages, wordsOf } from "./with-pages.ts";

test("a day's report leads to the days around it, its month, and the same as CSV and JSON", () =>
  withPages(async ({ lab, viewer, pool }) => {
    await lab.take("bench", [csvMessage(1), csvMessage(2, { subject_code: "" })]);
    await pool.query("update orders set received_at = $1", [new Date(2026, 2, 1, 12)]);
    await pool.query("update messages set received_at = $1", [new Date(2026, 2, 1, 12)]);
    const page = await viewer.open("/reports?day=2026-03-01");
    expect(wordsOf(page)).toMatch(/Report of 2026-03-01.*bench STORE 1 1.*messages refused/);
    for (const to of ["?day=2026-02-28", "?day=2026-03-02", "?month=2026-03", "/csv?day=2026-03-01"])
      expect(page).toContain(`href="/reports${to}"`);
    const csv = await viewer.open("/reports/csv?day=2026-03-01");
    expect(csv).toMatch(/^part,.*\r\norders,bench,STORE,open,/);
    expect(JSON.parse(await viewer.open("/reports/json?month=2026-03"))).toMatchObject({
      month: "2026-03",
      orders: [{ connector: "bench", all: 1 }],
    });
    for (const text of [page, csv])
      for (const value of Object.values(PATIENT)) expect(text).not.toContain(value);
  }));

test("what a refusal means is told in words alone", () =>
  withPages(async ({ lab, viewer, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    await pool.query("update orders set state = 'parked', failure_code = 'DELIVERY_FAILS_ALONE'");
    const page = wordsOf(await viewer.open("/reports"));
    expect(page).toContain("A result failed again and again (delivery.parkAfter)");
  }));

test("without a day the report is today's, and what is no day is named", () =>
  withPages(async ({ lab, viewer }) => {
    await lab.take("bench", [csvMessage(1)]);
    expect(wordsOf(await viewer.open("/reports"))).toContain("bench STORE 1");
    expect(wordsOf(await viewer.open("/reports?day=2026-02-30"))).toContain('"2026-02-30" is no day');
    expect(await viewer.open("/reports/csv?month=x")).toContain("Not found");
  }));
