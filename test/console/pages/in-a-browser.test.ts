import type { Browser, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { csvMessage, PATIENT } from "../../cli/with-lab.ts";
import { machineHas } from "../../support/needs.ts";
import { sharedBrowser } from "../../support/with-browser.ts";
import { type Pages, USERS, withPages } from "./with-pages.ts";

/** A name of another machine, as a browser sees it: neither this machine nor TLS. */
const ELSEWHERE = "console.lab.example";

let withBrowser: ReturnType<typeof sharedBrowser>;

/** A console that other machines reach by plain HTTP, and somebody who may act and has signed in there with a browser. */
function withPerson(
  test: (page: Page, pages: Pages & { readonly browser: Browser }) => Promise<void>,
): Promise<void> {
  return withPages(
    ({ url, ...pages }) =>
      withBrowser(async (browser) => {
        const page = await (await browser.newContext()).newPage();
        await page.clock.install();
        const there = url.replace("localhost", ELSEWHERE);
        await page.goto(`${there}/login`);
        await page.fill("#token", USERS[0]?.token ?? "");
        await page.keyboard.press("Enter");
        await page.waitForURL(`${there}/`);
        await test(page, { ...pages, browser, url: there });
      }),
    { host: "0.0.0.0" },
  );
}

/** Has the page refresh itself, and waits until it has. */
async function refresh(page: Page): Promise<void> {
  const refreshed = page.waitForEvent(
    "requestfinished",
    (request) => "cryobridge-refresh" in request.headers(),
  );
  await page.clock.runFor(5_000);
  await refreshed;
}

/** An open task of an order. */
const TASK = "insert into tasks (order_id, kind, text) values ($1, 'cancel', 'see to order ' || $1::bigint)";

describe.runIf(machineHas("chromium"))("in a browser that comes by plain HTTP", () => {
  withBrowser = sharedBrowser([`--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`]);

  test("an open form with a typed reason stays with its record when a refresh takes others away, and goes with its own", () =>
    withPerson(async (page, { lab, pool, url }) => {
      await lab.take(
        "bench",
        [1, 2, 3, 4, 5].map((n) => csvMessage(n)),
      );
      for (const order of [1, 2, 3, 4]) await pool.query(TASK, [order]);
      await page.goto(`${url}/tasks`);
      // What is typed stands within its box, and the sign beside the button, too.
      await page.click("tr:nth-child(1) summary");
      const ends = await page.evaluate(
        `[...document.querySelectorAll("details[open], details[open] summary, details[open] [name=reason]")].map((each) =>
          each.getBoundingClientRect().right)`,
      );
      expect(Math.max(...(ends as number[]))).toBe((ends as number[])[0]);
      await page.click("tr:nth-child(1) summary");
      const reasons = () =>
        page.evaluate(`[...document.querySelectorAll("tbody tr")].map((row) => [
          row.querySelector('[data-head="id"]').textContent,
          row.querySelector("form").getAttribute("action"),
          row.querySelector('details[open] [name="reason"]')?.value,
        ])`);
      for (const n of [2, 3]) {
        await page.click(`tr:nth-child(${n}) summary`);
        await page.fill(`tr:nth-child(${n}) [name="reason"]`, `they rang about k${n}`);
      }
      await pool.query("update tasks set closed_at = now(), closed_by = 'x' where id in (1, 2)");
      await pool.query(TASK, [5]);
      await refresh(page);
      await page.waitForSelector('td:has-text("see to order 5")');
      expect(await reasons()).toEqual([
        ["k3", "/tasks/k3/done", "they rang about k3"],
        ["k4", "/tasks/k4/done", undefined],
        ["k5", "/tasks/k5/done", undefined],
      ]);
      await page.click('details[open] button:has-text("Done")');
      await page.waitForSelector('#notice:has-text("k3 is done")');
      const { rows } = await pool.query("select id from tasks where closed_by like 'erika%'");
      expect(rows).toEqual([{ id: 3 }]);
      // What became of it can be read until the next page.
      await refresh(page);
      expect(await page.textContent("#notice")).toContain("k3 is done");
    }));

  test("a reason of blanks is not taken, and what can't be done is said on the page of the form", () =>
    withPerson(async (page, { lab, pool, url }) => {
      await lab.take("bench", [csvMessage(1)]);
      await pool.query("update orders set state = 'parked', failure_code = 'SUBMIT_UNCERTAIN'");
      await page.goto(`${url}/orders/o1`);
      await page.click('summary:has-text("Discard")');
      await page.fill('details[open] [name="reason"]', "   ");
      await page.click('details[open] button:has-text("Discard")');
      expect(await page.$eval("details[open] input:invalid", (input) => input.getAttribute("name"))).toBe(
        "reason",
      );
      await page.click('summary:has-text("Link it")');
      await page.fill('[name="number"]', "999999999999999999");
      await page.click('button:has-text("Link it")');
      await page.waitForSelector("#notice.bad");
      expect(page.url()).toBe(`${url}/orders/o1`);
    }));

  test("what somebody searches for comes into no address that the browser keeps or asks for", () =>
    withPerson(async (page, { lab, url }) => {
      await lab.take("bench", [csvMessage(1, { subject_code: "OTHER" }), csvMessage(2)]);
      const asked: string[] = [];
      page.on("request", (request) => asked.push(request.url(), request.headers().referer ?? ""));
      for (const word of [PATIENT.code, PATIENT.lastName]) {
        await page.fill("#find", word);
        await page.keyboard.press("Enter");
        await page.waitForSelector('h1:has-text("Search")');
        for (const list of ["messages", "files", "results", "audit"]) {
          await page.goto(`${url}/${list}`);
          await page.fill('main [name="find"]', word);
          await page.keyboard.press("Enter");
          await page.waitForURL(/\?find=k\./);
          expect(await page.inputValue('main [name="find"]')).toBe(word);
        }
      }
      expect(asked.filter((each) => /PAT-4711|Quersack/.test(each))).toEqual([]);
    }));

  test("a choice in a filter loads nothing until somebody says so, and a day can be typed", () =>
    withPerson(async (page, { lab, url }) => {
      await lab.take("bench", [csvMessage(1)]);
      await page.goto(`${url}/orders`);
      await page.selectOption('main [name="state"]', "parked");
      await page.goto(`${url}/reports`);
      await page.focus('[name="day"]');
      await page.keyboard.type("11232026");
      expect(await page.inputValue('[name="day"]')).toBe("2026-11-23");
      expect(page.url()).toBe(`${url}/reports`);
      await page.keyboard.press("Enter");
      await page.waitForURL(`${url}/reports?day=2026-11-23`);
      await page.goto(`${url}/orders`);
      await page.selectOption('main [name="state"]', "parked");
      await page.click('main button:has-text("Find")');
      await page.waitForURL(`${url}/orders?state=parked`);
    }));

  test("what a page says of the present is taken back once the daemon does not answer", () =>
    withPerson(async (page, { url }) => {
      await page.goto(`${url}/`);
      expect(await page.isVisible(".parts.now")).toBe(true);
      await page.route("**/*", (route) => route.abort());
      await page.clock.runFor(5_000);
      await page.waitForSelector("#silent:not([hidden])");
      expect(await page.isVisible(".parts.now")).toBe(false);
    }));

  test("what is long needs no moving sideways, a worker's last sign stands on any window, and the form to sign in keeps off its edges", () =>
    withPerson(async (page, { lab, pool, url, browser }) => {
      const long = "KRYOKONSERVIERUNG".repeat(3);
      await lab.take("bench", [csvMessage(1, { order_number: long, container_label: long })]);
      await pool.query(
        `insert into deliveries (connector, file_name, state, order_ids, failure_code, failure_text, delivered_at)
         values ('bench', $1::text, 'parked', '{1}', 'MLLP_RESULT_REFUSED', 'the lab answered AE', null),
                ('bench', $1 || '.2', 'delivered', '{1}', null, null, now())`,
        ["Einlagerungsauftraege_Kryokonservierung_Universitaetsklinikum_2026-11-29.csv.results-1.csv"],
      );
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        for (const list of ["orders", "messages", "files", "results", "queue"]) {
          await page.goto(`${url}/${list}`);
          const beyond = await page.evaluate(
            "[document.documentElement, ...document.querySelectorAll('.table')].map((part) => part.scrollWidth - part.clientWidth)",
          );
          expect(Math.max(...(beyond as number[])), `${list} at ${width}`).toBeLessThanOrEqual(0);
        }
      }
      await pool.query(
        "insert into workers (name, host, pid, version, roles, connectors) values ('one', 'vm', 7, '1.2.3', '{worker}', '{}')",
      );
      await page.goto(`${url}/workers`);
      expect(await page.isVisible('th:has-text("last seen")')).toBe(true);
      const stranger = await (await browser.newContext({ viewport: { width: 390, height: 800 } })).newPage();
      await stranger.goto(`${url}/login`);
      const edge = await stranger.evaluate("document.querySelector('.login').getBoundingClientRect().left");
      expect(edge).toBeGreaterThan(8);
    }));

  test("a person pauses the refreshing of all pages of the window, and lets it go on", () =>
    withPerson(async (page, { lab, url }) => {
      await page.goto(`${url}/orders`);
      await page.click("#pause");
      await page.goto(`${url}/orders`);
      expect(await page.textContent("#pause")).toBe("Go on refreshing");
      const refreshes: string[] = [];
      page.on("request", (request) => refreshes.push(request.url()));
      await lab.take("bench", [csvMessage(1)]);
      await page.clock.runFor(20_000);
      expect(refreshes).toEqual([]);
      await page.click("#pause");
      await refresh(page);
      await page.waitForSelector('main a:has-text("o1")');
      await page.goto(`${url}/audit`);
      expect(await page.$("#pause")).toBeNull();
    }));
});
