import { expect, test } from "vitest";
import { addAlert } from "../../alerts/add-alert.ts";
import { withReceiver } from "../../alerts/receivers.ts";
import { withPages, wordsOf } from "./with-pages.ts";

const KEY = "invented-key-of-the-hook";

test("the alerts' page says what is wrong, how urgent it is, since when, and what was over lately", () =>
  withPages(async ({ operator, pool }) => {
    expect(wordsOf(await operator.open("/alerts"))).toMatch(
      /Alerts are sent to nobody.*No alert holds.*Nothing is silenced/,
    );
    await addAlert(pool, "tankOverdue", "NORTH <b>T1");
    await addAlert(pool, "noTraffic", "lims");
    await pool.query("update alerts set over_at = now() where id = 2");
    const page = await operator.open("/alerts");
    expect(page).toContain('href="/alerts/a1"');
    expect(page).not.toContain("<b>T1");
    expect(wordsOf(page)).toMatch(
      /Alerts that hold .* a1 needs a person open tankOverdue .* 1m ago tankOverdue of NORTH <b>T1 hook waits \(status 500\).*Over lately .* a2 /,
    );
    const one = wordsOf(await operator.open("/alerts/a1"));
    expect(one).toMatch(/about NORTH <b>T1 .*hook its start waits 2 status 500/);
    expect(wordsOf(await operator.open("/alerts/a9"))).toContain("Not found");
  }));

test("an open alert leads to the page of what it is about, in the colour of its urgency", () =>
  withPages(
    async ({ operator, pool }) => {
      await addAlert(pool, "ordersParked", "SUBMIT_UNCERTAIN");
      expect(await operator.open("/alerts/a1")).toMatch(
        /class="why act">[\s\S]*href="\/orders\?state=parked&#38;failure=SUBMIT_UNCERTAIN"/,
      );
      await pool.query("update alerts set over_at = now()");
      expect(await operator.open("/alerts/a1")).not.toContain("state=parked");
    },
    {
      deps: {
        attention: async () => ({
          ...{ deliveries: [], pausedQueues: [], alertPlaces: [], refusals: [] },
          orders: [
            {
              kind: "parked",
              orderId: "o17",
              orderIds: [],
              count: 2,
              since: new Date(),
              code: "SUBMIT_UNCERTAIN",
              text: "nothing proves it",
            },
          ],
        }),
      },
    },
  ));

test("maintenance that is in force is shown with its end, on the page and by the command", () =>
  withPages(
    async ({ lab, operator }) => {
      const words = /Maintenance until 2999-01-01 00:00:00: nothing is announced/;
      expect(wordsOf(await operator.open("/alerts"))).toMatch(words);
      expect((await lab.cli(["alerts", "list"])).stderr).toMatch(words);
    },
    { config: "alerts: { maintenance: [{ start: 2026-01-01T00:00, end: 2999-01-01T00:00 }] }" },
  ));

test("a person sees to an alert with a reason, once, under their name, and a viewer can't", () =>
  withPages(async ({ operator, viewer, pool }) => {
    await addAlert(pool, "tasksOpen", "");
    await viewer.open("/alerts/a1");
    await viewer.send("/alerts/a1/acknowledge", { reason: "x" });
    await operator.open("/alerts/a1");
    await operator.send("/alerts/a1/acknowledge", { reason: "x" }, "another token");
    expect(wordsOf(await operator.send("/alerts/a1/acknowledge"))).toContain("Say why: nothing was done.");
    expect((await pool.query("select from audit")).rowCount).toBe(0);
    const form = { reason: "called them" };
    expect(wordsOf(await operator.send("/alerts/a1/acknowledge", form))).toMatch(
      /a1 is acknowledged .*erika \(console\) sees to it.*called them/,
    );
    expect(wordsOf(await operator.send("/alerts/a1/acknowledge", form))).toContain(
      "somebody sees to it already",
    );
    expect((await pool.query("select actor, action, target from audit")).rows).toEqual([
      { actor: "erika (console)", action: "alert-acknowledge", target: "a1" },
    ]);
  }));

test("an alert or a whole kind is silenced with a reason, and a silence is ended", () =>
  withPages(async ({ operator, viewer, pool }) => {
    await addAlert(pool, "noTraffic", "lims");
    await operator.open("/alerts/a1");
    const why = { reason: "holiday" };
    expect(wordsOf(await operator.send("/alerts/a1/silence", why))).toContain("nothing was silenced");
    expect(wordsOf(await operator.send("/alerts/a1/silence", { ...why, for: "4h" }))).toMatch(
      /Nothing is announced of noTraffic lims until .*open, silenced/,
    );
    expect(
      wordsOf(await operator.send("/alerts/silence", { ...why, for: "1d", kind: "tankOverdue" })),
    ).toMatch(/announced of all tankOverdue until .* s2 all tankOverdue .* in 1d erika \(console\) holiday/);
    expect(wordsOf(await operator.send("/alerts/silence", { ...why, for: "1d", kind: "none" }))).toContain(
      "Not found",
    );
    await viewer.open("/alerts");
    await viewer.send("/alerts/silences/s1/end");
    expect(wordsOf(await operator.send("/alerts/silences/s1/end"))).toContain("s1 is ended");
    expect(wordsOf(await operator.send("/alerts/silences/s1/end"))).toContain("s1 had ended before");
    expect((await pool.query("select action, target from audit order by id")).rows).toEqual([
      { action: "alert-silence", target: "noTraffic lims" },
      { action: "alert-silence", target: "tankOverdue" },
      { action: "alert-unsilence", target: "s1" },
    ]);
  }));

test("a test is sent to each place, or to one, and the page says what came of it", () =>
  withReceiver(KEY, (receiver) =>
    withPages(
      async ({ operator, viewer, pool }) => {
        await viewer.open("/alerts");
        await viewer.send("/alerts/test");
        const page = wordsOf(await operator.open("/alerts"));
        expect(page).toContain("Sent to hook, command.");
        expect(wordsOf(await operator.send("/alerts/test", { place: "hook" }))).toContain("hook: sent");
        expect(wordsOf(await operator.send("/alerts/test"))).toMatch(/hook: sent command: .* ENOENT/);
        expect(wordsOf(await operator.send("/alerts/test", { place: "nobody" }))).toContain("nobody");
        expect(receiver.taken.map(({ news }) => news.event)).toEqual(["test", "test"]);
        const { rows } = await pool.query("select action, target from audit order by id");
        expect(rows).toEqual(["hook", "hook", "command"].map((target) => ({ action: "alert-test", target })));
      },
      {
        config: `alerts:
  to:
    - { type: webhook, name: hook, url: "${receiver.url}", secret: ${KEY} }
    - { type: command, command: [/nowhere/at-all] }
`,
      },
    ),
  ));
