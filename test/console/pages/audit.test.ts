import { expect, test } from "vitest";
import { recordAudit } from "../../../src/ledger/operator/audit.ts";
import { csvMessage } from "../../cli/with-lab.ts";
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
    const ofOne = wordsOf(await viewer.open("/audit?target=o1"));
    expect(ofOne).toContain("retry");
    expect(ofOne).not.toContain("pause");
    expect(wordsOf(await viewer.open("/audit?before=2"))).not.toContain("pause");
  }));

test("a long audit is shown a page at a time", () =>
  withPages(async ({ viewer, pool }) => {
    const targets = Array.from({ length: 60 }, (_, n) => ({ target: `o${n + 1}` }));
    await recordAudit(pool, { actor: "anna" }, "retry", targets);
    const first = await viewer.open("/audit?actor=anna");
    expect(first).toContain("/audit?actor=anna&#38;before=11");
    expect(await viewer.open("/audit?actor=anna&before=11")).not.toContain("Older ones");
  }));
