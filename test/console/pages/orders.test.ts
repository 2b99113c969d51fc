import { describe, expect, test } from "vitest";
import { csvMessage, hl7Message } from "../../cli/with-lab.ts";
import { withPages, wordsOf } from "./with-pages.ts";

const idsOf = (page: string) => [...page.matchAll(/href="\/orders\/(o\d+)"/g)].map(([, id]) => id);
const PARK = `update orders set state = 'parked', failure_code = 'SUBMIT_UNCERTAIN', failure_text = 'nothing proves it'`;

describe("the list of orders", () => {
  test("finds an order by number, id, container label, control id and the beginning of its file's name", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2, { subject_code: "OTHER" })]);
      await lab.take("lims", [hl7Message(1)]);
      const rows = async (query: string) => idsOf(await operator.open(`/orders?${query}&failure=`));
      const found = async (find: string, more: Readonly<Record<string, string>> = {}) =>
        idsOf(await operator.send("/orders/filter", { find, failure: "", ...more }));
      expect(await rows("")).toEqual(["o3", "o2", "o1"]);
      expect(await found("C-2")).toEqual(["o2"]);
      expect(await found("o1")).toEqual(["o1"]);
      expect(await found("V-1")).toEqual(["o1"]);
      expect(await found("MSG0001")).toEqual(["o3"]);
      expect(await found("file-1")).toEqual(["o2", "o1"]);
      expect(idsOf(await operator.open(`${operator.at()}&before=o2`))).toEqual(["o1"]);
      expect(await found("%")).toEqual([]);
      expect(await found("file-1", { connector: "lims" })).toEqual([]);
      expect(operator.at()).toContain("connector=lims");
      for (const states of ["state=received&state=parked", "state=received%2Cparked"]) {
        expect(await rows(states)).toEqual(["o3", "o2", "o1"]);
      }
      expect(await rows("state=failed%2Cparked")).toEqual([]);
    }));

  test("escapes texts from outside", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1, { order_number: "<script>x</script>" })]);
      for (const path of ["/orders", "/orders/o1"])
        expect(await operator.open(path)).not.toContain("<script>x");
      expect(await operator.send("/orders/filter", { find: "<script>x" })).not.toContain("<script>x");
    }));
});

describe("many orders at once", () => {
  test("are named before anything is done, and tried in the order of receipt", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2, { subject_code: "OTHER" })]);
      await pool.query(PARK);
      await operator.open("/orders");
      const asked = wordsOf(
        await operator.send("/orders/choose", { act: "retry", all: "yes", filter: "state=parked" }),
      );
      expect(asked).toContain("Try 2 orders?");
      expect(asked).toMatch(/o1 \(C-1\) · STORE · parked .*o2 \(C-2\)/);
      expect((await pool.query("select state from orders")).rows).toEqual([
        ...[{ state: "parked" }, { state: "parked" }],
      ]);
      const done = wordsOf(await operator.send("/orders/retry", { id: "o2 o1", reason: "it is back" }));
      expect(done).toContain("done for 2 orders of 2");
      const { rows } = await pool.query("select actor, action, target from audit order by id");
      expect(rows).toEqual([
        { actor: "erika (console)", action: "retry", target: "o1" },
        { actor: "erika (console)", action: "retry", target: "o2" },
      ]);
    }));

  test("say what could not be done to some of them", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2, { subject_code: "OTHER" })]);
      await pool.query("update orders set state = 'completed' where id = 1");
      await operator.open("/orders");
      const done = wordsOf(await operator.send("/orders/discard", { id: "o1 o2", reason: "twice" }));
      expect(done).toContain("done for 1 order of 2");
      expect(done).toContain("o1 (C-1) can't be changed that way: it is completed");
    }));

  test("stay as they are without a reason, without the form's token, and for who may only look", () =>
    withPages(async ({ lab, operator, viewer, pool }) => {
      await lab.take("bench", [csvMessage(1)]);
      await operator.open("/orders");
      expect(wordsOf(await operator.send("/orders/cancel", { id: "o1" }))).toContain("Say why");
      await operator.send("/orders/cancel", { id: "o1", reason: "x" }, "another");
      expect(await viewer.open("/orders")).not.toContain('type="checkbox"');
      await viewer.send("/orders/cancel", { id: "o1", reason: "x" });
      expect((await pool.query("select state from orders")).rows).toEqual([{ state: "received" }]);
    }));
});

describe("an order's page", () => {
  test("offers to go on without comparing while a restored ledger is compared", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1)]);
      expect(await operator.open("/orders/o1")).not.toContain("release-after-restore");
      await pool.query("update ledger set restored_at = now(), restored_by = 'x', forgotten_since = now()");
      await pool.query("update orders set compare_at = now()");
      expect(await operator.open("/orders/o1")).toContain("/orders/release-after-restore");
      const answer = await operator.send("/orders/release-after-restore", { reason: "all was sent again" });
      expect(wordsOf(answer)).toContain("1 were not compared");
      expect((await pool.query("select action from audit")).rows).toEqual([
        { action: "release-after-restore" },
      ]);
    }));
});
