import { expect, test } from "vitest";
import { recordAudit } from "../../../src/ledger/operator/audit.ts";
import { csvMessage, PATIENT } from "../../cli/with-lab.ts";
import { withPages, wordsOf } from "./with-pages.ts";

test("the audit names who did what, to what and why, newest first, by person and by record", () =>
  withPages(async ({ lab, operator, viewer, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    const reason = "<i>twice</i>";
    await recordAudit(pool, { actor: "anna" }, "retry", [
      { target: "o1", detail: { reason, messageId: "m1" } },
    ]);
    await recordAudit(pool, { actor: "anna" }, "pause", [{ target: "submit" }]);
    await operator.open("/messages/m1");
    await operator.send("/messages/m1/show");
    const all = await viewer.open("/audit");
    expect(all).not.toContain("<i>");
    expect(wordsOf(all)).toMatch(
      /erika \(console\) looked at patients' data m1.*anna pause submit.*anna retry o1 messageId m1 <i>twice<\/i>/,
    );
    expect(all).toContain('href="/orders/o1"');
    expect(all).toContain('href="/messages/m1"');
    const annas = wordsOf(await viewer.open("/audit?actor=anna"));
    expect(annas).not.toContain("looked at");
    expect(annas).toContain("pause");
    // Offered by name, and found wherever she acted.
    expect(all).toContain('<option value="erika"');
    expect(wordsOf(await viewer.open("/audit?actor=erika"))).toContain("erika (console) looked");
    const ofOne = wordsOf(await viewer.send("/audit/filter", { find: "o1" }));
    expect(ofOne).toContain("retry");
    expect(ofOne).not.toContain("pause");
    expect(wordsOf(await viewer.open("/audit?before=2"))).not.toContain("pause");
    for (const none of ["1.5", "x", "9999999999999999999"])
      expect(wordsOf(await viewer.open(`/audit?before=${none}`))).toContain("pause");
  }));

test("which orders are one subject's is nothing that the audit shows those who may only look", () =>
  withPages(async ({ lab, operator, viewer }) => {
    await lab.take("bench", [csvMessage(1), csvMessage(2)]);
    await operator.open("/audit");
    await operator.send("/orders/find", { find: PATIENT.code });
    const page = await operator.open("/audit");
    expect(page).toContain('href="/orders/o1"');
    expect(page).toContain('href="/orders/o2"');
    const words = wordsOf(await viewer.open("/audit"));
    expect(words).toContain("erika (console) looked at patients' data •••• search subject code");
    expect(words).not.toMatch(/\bo[12]\b(?!7)/);
    expect(wordsOf(await viewer.send("/audit/filter", { find: "o1" }))).not.toContain(
      "erika (console) looked",
    );
    expect(wordsOf(await operator.send("/audit/filter", { find: "o1" }))).toContain("erika (console) looked");
  }));

test("a long audit is shown a page at a time", () =>
  withPages(async ({ viewer, pool }) => {
    const targets = Array.from({ length: 60 }, (_, n) => ({ target: `o${n + 1}` }));
    await recordAudit(pool, { actor: "anna" }, "retry", targets);
    const first = await viewer.open("/audit?actor=anna");
    expect(first).toContain("/audit?actor=anna&#38;before=11");
    expect(await viewer.open("/audit?actor=anna&before=11")).not.toContain("Older ones");
  }));
