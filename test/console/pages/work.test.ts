import { expect, test } from "vitest";
import { csvMessage } from "../../cli/with-lab.ts";
import { eventually } from "../../support/eventually.ts";
import { withPages, wordsOf } from "./with-pages.ts";

test("what is done to many records and takes long gets a page that says how far it is, and then what came of it", () =>
  withPages(async ({ lab, operator, viewer, pool }) => {
    await lab.take("bench", [csvMessage(1), csvMessage(2)]);
    const client = await pool.connect();
    try {
      await client.query("begin");
      await client.query("select from orders where id = 2 for update");
      await operator.open("/orders");
      const page = await operator.send("/orders/discard", { id: "o1 o2", filter: "", reason: "sent twice" });
      expect(wordsOf(page)).toMatch(/Discard 2 orders [01] of 2 .*goes on when you leave/);
      const path = /hx-get="(\/work\/[\w-]+)"/.exec(page)?.[1] ?? "";
      await client.query("rollback");
      const said = await eventually(async () => {
        const words = wordsOf(await operator.open(path));
        return words.includes("2 orders discarded.") && words;
      });
      expect(said).toContain("Back to the list");
      expect(wordsOf(await viewer.open("/work/nothing"))).toContain("Not found");
    } finally {
      client.release(true);
    }
    const { rows } = await pool.query("select distinct state from orders");
    expect(rows).toEqual([{ state: "discarded" }]);
  }));

test("a second click on the same form begins nothing, and leads to what the first one did", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take("bench", [csvMessage(1), csvMessage(2)]);
    await operator.open("/messages");
    const asked = await operator.send("/messages/choose", { act: "replay", all: "yes", filter: "" });
    const work = /name="work" value="([\w-]{16})"/.exec(asked)?.[1] ?? "";
    const form = { id: "m1 m2", filter: "connector=bench", work };
    const first = operator.send("/messages/replay", form);
    const second = operator.send("/messages/replay", form);
    await Promise.all([first, second]);
    const again = wordsOf(await operator.send("/messages/replay", form));
    expect(again).toContain("2 messages mapped again: 2 duplicate.");
    expect(operator.at()).toBe(`/work/${work}`);
    expect((await pool.query("select from audit")).rowCount).toBe(2);
    // Another form is another act, though it says the same.
    await operator.send("/messages/replay", { ...form, work: "" });
    expect((await pool.query("select from audit")).rowCount).toBe(4);
  }));

test("a notice is for the page that a form leads to, not for one that refreshes itself meanwhile", () =>
  withPages(async ({ lab, operator, url }) => {
    await lab.take("bench", [csvMessage(1)]);
    await operator.open("/orders");
    const refresh = { cookie: operator.cookie, "cryobridge-refresh": "1" };
    const form = { formToken: /"formToken" value="([^"]+)/.exec(await operator.open("/queue"))?.[1] ?? "" };
    const sent = await fetch(`${url}/queue/pause`, {
      method: "POST",
      headers: { cookie: operator.cookie, origin: url },
      body: new URLSearchParams({ ...form, queue: "submit" }),
      redirect: "manual",
    });
    expect(sent.status).toBe(303);
    expect(await (await fetch(`${url}/queue`, { headers: refresh })).text()).not.toContain("is paused:");
    const page = await operator.open("/queue");
    expect(page).toContain("is paused:");
    expect(page.indexOf("is paused:")).toBeLessThan(page.indexOf('<main id="page"'));
    expect(await operator.open("/queue")).not.toContain("is paused:");
  }));
