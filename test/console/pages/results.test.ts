import type pg from "pg";
import { expect, test } from "vitest";
import { csvMessage, PATIENT } from "../../cli/with-lab.ts";
import { withPages, wordsOf } from "./with-pages.ts";

/** A result about order 1 that the lab has, one that is parked, and one that waits for it. */
const RESULTS = `
insert into deliveries (connector, file_name, bytes, state, order_ids, delivered_at, failure_code, failure_text)
values ('bench', 'a.csv', '${PATIENT.lastName};<script>x', 'delivered', '{1}', now(), null, null),
       ('bench', 'b.csv', 'b', 'parked', '{1}', null, 'FILE_SYSTEM_ERROR', 'the disk is full'),
       ('lims', 'c.hl7', 'c', 'pending', '{1}', null, null, null)`;

async function fill(pool: pg.Pool): Promise<void> {
  await pool.query(RESULTS);
}

test("the list of results has filters, and pages by key", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    await fill(pool);
    const found = async (query: string) =>
      [...(await operator.open(`/results?${query}`)).matchAll(/href="\/results\/(d\d+)"/g)].map(
        ([, id]) => id,
      );
    expect(await found("")).toEqual(["d3", "d2", "d1"]);
    expect(await found("state=parked")).toEqual(["d2"]);
    expect(await found("connector=lims")).toEqual(["d3"]);
    expect(await found("before=d2")).toEqual(["d1"]);
    expect(wordsOf(await operator.send("/results/filter", { find: "nobody" }))).toContain("No results.");
    expect(wordsOf(await operator.send("/results/filter", { find: "C-1" }))).toContain("About order o1");
  }));

test("where several orders have what was searched for, the list says so and leads to the others", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take("bench", [csvMessage(1), csvMessage(2, { container_label: "V-1" })]);
    await fill(pool);
    await operator.open("/results");
    const page = await operator.send("/results/filter", { find: "V-1" });
    expect(wordsOf(page)).toContain(
      "Several orders have that. These are the results about o2 (C-2) ; the others are o1 (C-1)",
    );
    expect(wordsOf(page)).toContain("No results.");
    expect(page).toContain('<a href="/orders/o1">o1 (C-1)</a>');
  }));

test("a result that the lab doesn't have says what to do about it", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    await fill(pool);
    await pool.query("update deliveries set failure_code = 'MLLP_RESULT_REFUSED' where id = 2");
    expect(wordsOf(await operator.open("/results/d2"))).toContain("and processing id, then “Try now”");
    expect((await lab.cli(["results", "show", "d2"])).stdout).toContain("then `cryobridge queue retry d2`:");
  }));

test("the list of results says what each is about, and what it says", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take(
      "bench",
      [1, 2, 3, 4].map((n) => csvMessage(n)),
    );
    await fill(pool);
    await pool.query("update deliveries set order_ids = '{1,2,3,4}' where id = 2");
    await pool.query("update deliveries set order_ids = '{}' where id = 3");
    await pool.query("update outcomes set delivery_id = 3 where message_id = 1");
    const page = await operator.open("/results");
    expect(page).toMatch(/href="\/orders\/o1">C-1</);
    expect(wordsOf(page)).toMatch(/a message acknowledged pending .*C-1 C-2 C-3 and 1 more parked/);
  }));

test("a result's text is hidden until somebody who may act asks, which is recorded", () =>
  withPages(async ({ lab, operator, viewer, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    await fill(pool);
    for (const page of [await operator.open("/results/d1"), await viewer.open("/results/d1")])
      expect(page).not.toContain(PATIENT.lastName);
    expect(await viewer.send("/results/d1/show")).not.toContain(PATIENT.lastName);
    const shown = await operator.send("/results/d1/show");
    expect(shown).toContain(PATIENT.lastName);
    expect(shown).not.toContain("<script>x");
    expect((await pool.query("select actor, action, target from audit")).rows).toEqual([
      { actor: "erika (console)", action: "show-phi", target: "d1" },
    ]);
  }));

test("a result is sent again, tried now or given up, and the audit has who did it", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    await fill(pool);
    expect(wordsOf(await operator.open("/results/d3"))).toContain("It waits for d2");
    expect(wordsOf(await operator.send("/results/d1/resend", { reason: "lost" }))).toContain(
      "d1 is sent again as a.csv",
    );
    await operator.send("/results/d2/retry");
    expect(wordsOf(await operator.send("/results/d3/drop", { reason: "told by phone" }))).toContain(
      "d3 is given up",
    );
    expect(
      (await pool.query("select state from deliveries order by id")).rows.map((row) => row.state),
    ).toEqual([...["pending", "pending", "dropped"]]);
    expect((await pool.query("select actor, action, target from audit order by id")).rows).toEqual([
      { actor: "erika (console)", action: "resend", target: "d1" },
      { actor: "erika (console)", action: "retry", target: "d2" },
      { actor: "erika (console)", action: "remove", target: "d3" },
    ]);
  }));

test("what cannot be done to a result changes nothing and is said", () =>
  withPages(async ({ lab, operator, viewer, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    await fill(pool);
    await operator.open("/results/d1");
    expect(wordsOf(await operator.send("/results/d1/drop", { reason: "x" }))).toContain("can't be given up");
    await operator.send("/results/d2/drop", { reason: "x" }, "another token");
    await viewer.open("/results/d2");
    await viewer.send("/results/d2/drop", { reason: "x" });
    expect((await pool.query("select state from deliveries where id = 2")).rows).toEqual([
      { state: "parked" },
    ]);
  }));

test("all that the lab had of an order is sent again from its page, where there is any", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take("bench", [csvMessage(1), csvMessage(2)]);
    await fill(pool);
    await pool.query("update deliveries set state = 'delivered' where id in (1, 2)");
    await pool.query("update deliveries set order_ids = '{1}'");
    await pool.query(
      `insert into outcomes (connector, message_id, order_id, kind, payload, delivery_id, is_composed)
       select 'bench', 1, 1, 'changed', '{}', id, true from deliveries`,
    );
    const page = wordsOf(await operator.open("/orders/o1"));
    expect(page).toContain(
      "All results that the lab had of the order, with the names and bytes that they had.",
    );
    expect(wordsOf(await operator.open("/orders/o2"))).not.toContain("Send its results again");
    const said = wordsOf(await operator.send("/orders/o1/resend", { reason: "lost" }));
    expect(said).toMatch(/d1 is sent again as \S+ d2 is sent again/);
    expect(operator.at()).toBe("/orders/o1");
    expect(wordsOf(await operator.send("/orders/o2/resend"))).toContain(
      "nothing was sent about order o2 (C-2) yet",
    );
    const { rows } = await pool.query("select action, target, detail from audit order by id");
    expect(rows).toEqual(
      ["d1", "d2"].map((target) => ({ action: "resend", target, detail: { reason: "lost" } })),
    );
  }));
