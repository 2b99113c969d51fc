import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type pg from "pg";
import type { BrowserContext, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { openConsole } from "../../src/app/console.ts";
import { systemClock } from "../../src/core/clock.ts";
import { addAlert } from "../alerts/add-alert.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { machineHas } from "../support/needs.ts";
import { shared } from "../support/shared.ts";
import { sharedBrowser } from "../support/with-browser.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TOKEN = "a-token-for-the-browser";
const CONFIG = {
  console: { port: 0, users: { erika: { token: TOKEN, role: "operator" } } },
  service: { maxRequestsPerSecond: 200 },
};

interface BusyConsole {
  readonly url: string;
  readonly site: Site;
}

/** A daemon that has done some orders, with one that is parked and a message that waits for a code, and its console. */
function withBusyConsole(use: (console: BusyConsole) => Promise<void>): Promise<void> {
  return withSite({ config: CONFIG }, async (site) => {
    const daemon = await site.start();
    const console = await openConsole(daemon, { version: "0", logger: silent, clock: systemClock });
    try {
      await site.drop("hl7", "one.hl7", omlO33({ number: "A-1", labels: ["V-1"] }));
      await site.drop("csv", "day.csv", labCsv([{ number: "B-1" }, { number: "B-2", facility: "WEST" }]));
      await site.waitForOrders(2);
      await site.drop(
        "hl7",
        "two.hl7",
        omlO33({ number: "C-1", operation: "CRYO-RETRIEVE", labels: ["V-0"] }),
      );
      await site.waitForOrders(3, ["completed", "parked"]);
      await eventually(async () => (await site.results("csv")).size > 0);
      await addAlert(site.pool, "tasksOpen", "");
      await use({ url: console.url, site });
    } finally {
      await console.close();
    }
  });
}

/** Signs in, and notes what the browser asks for and complains about. */
async function signIn(context: BrowserContext, url: string, notes: string[]): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${url}/login`);
  page.on("pageerror", (error) => notes.push(error.message));
  page.on("console", (message) => message.type() === "error" && notes.push(message.text()));
  page.on("request", (request) => {
    if (!/^data:/.test(request.url()) && new URL(request.url()).origin !== url) notes.push(request.url());
  });
  await page.fill("#token", TOKEN);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${url}/`);
  return page;
}

/** The addresses of the menu. */
const menuOf = (page: Page) =>
  page.$$eval("header nav a", (links) => links.map((link) => link.getAttribute("href") ?? ""));

/** The first record of a list. */
const firstOf = (page: Page) =>
  page.$$eval("main tbody a[href]", (links) => links.map((link) => link.getAttribute("href") ?? "")[0]);

/** What axe-core finds on the page as it is. */
function findings(page: Page, tags: readonly string[], type: "tag" | "rule"): Promise<string[]> {
  const options = JSON.stringify({ runOnly: { type, values: tags } });
  return page.evaluate(
    `axe.run(${options}).then(({ violations }) => violations.map(({ id, nodes }) => id + " " + nodes[0].target))`,
  );
}

const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

describe.runIf(machineHas("chromium"))("the console in a browser", () => {
  const withBrowser = sharedBrowser();
  const busy = shared(withBusyConsole);

  test("every page of the menu and the first record of each list can be read by everybody, in light and dark and on a phone", () =>
    withBrowser(async (browser) => {
      const { url } = busy();
      const notes: string[] = [];
      // axe-core is put into the page, which its policy would refuse.
      const context = await browser.newContext({
        ...{ bypassCSP: true, colorScheme: "light" },
        // A colour that is on its way to another one is measured as it is.
        reducedMotion: "reduce",
      });
      const page = await signIn(context, url, notes);
      const found: string[] = [];
      const look = async (path: string) => {
        const answer = await page.goto(url + path);
        if (answer?.status() !== 200) found.push(`${path}: status ${answer?.status()}`);
        await page.$$eval("main details", (all) => {
          for (const each of all) each.setAttribute("open", "");
        });
        await page.evaluate(AXE);
        const add = (what: readonly string[]) => found.push(...what.map((each) => `${path}: ${each}`));
        add(await findings(page, WCAG, "tag"));
        await page.emulateMedia({ colorScheme: "dark" });
        add(await findings(page, ["color-contrast"], "rule"));
        for (const width of [375, 768, 1024]) {
          await page.setViewportSize({ width, height: 800 });
          const beyond = await page.evaluate(
            "[document.documentElement, ...document.querySelectorAll('.table')].map((part) => part.scrollWidth - part.clientWidth)",
          );
          if (Math.max(...(beyond as number[])) > 0) add([`needs moving sideways at ${width}`]);
        }
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.emulateMedia({ colorScheme: "light" });
      };
      const records = new Set<string>();
      for (const path of await menuOf(page)) {
        await look(path);
        const first = await firstOf(page);
        if (path !== "/" && first !== undefined) records.add(first);
      }
      for (const path of records) await look(path);
      expect(found).toEqual([]);
      expect(notes).toEqual([]);
      expect([...records].map((path) => path.split("/")[1]).sort()).toEqual(
        expect.arrayContaining(["alerts", "files", "messages", "orders", "results"]),
      );
    }));

  test("the menu and a page's forms are reached and used by the keyboard alone", () =>
    withBrowser(async (browser) => {
      const { url } = busy();
      const page = await signIn(await browser.newContext(), url, []);
      await page.goto(`${url}/orders`);
      const reached = new Set<string>();
      for (let presses = 0; presses < 40; presses += 1) {
        await page.keyboard.press("Tab");
        reached.add(
          await page.evaluate(
            "(document.activeElement.getAttribute('href') ?? document.activeElement.name ?? '') || document.activeElement.textContent",
          ),
        );
      }
      const menu = await menuOf(page);
      expect([...reached]).toEqual(expect.arrayContaining([...menu, "#page", "find", "state", "connector"]));
      await page.focus('main select[name="connector"]');
      await page.keyboard.press("ArrowDown");
      // What is chosen changes nothing by itself.
      await page.keyboard.press("Tab");
      expect(page.url()).toBe(`${url}/orders`);
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.waitForURL(/connector=hl7/);
      expect(await page.$$eval("main tbody tr", (rows) => rows.length)).toBe(2);
    }));

  test("the search of every page is three steps of the Tab key away, and opens the order", () =>
    withBrowser(async (browser) => {
      const { url } = busy();
      const page = await signIn(await browser.newContext(), url, []);
      const focused = () => page.evaluate("document.activeElement.id");
      await page.goto(`${url}/workers`);
      for (let tab = 0; tab < 3; tab += 1) await page.keyboard.press("Tab");
      expect(await focused()).toBe("find");
      await page.keyboard.type("V-1");
      await page.keyboard.press("Enter");
      await page.waitForSelector('h1:has-text("(A-1")');
    }));

  // The last one, since it asks the daemon to stop.
  test("a person acts, and the audit names them", () =>
    withBrowser(async (browser) => {
      const {
        url,
        site: { pool, folder, results },
      } = busy();
      const notes: string[] = [];
      const page = await signIn(await browser.newContext(), url, notes);
      await page.click('main a:has-text("To the order")');
      await page.click('summary:has-text("Try now")');
      await page.fill('details[open] input[name="reason"]', "the label was corrected");
      await page.click('details[open] button:has-text("Try now")');
      await page.waitForSelector('.banner:has-text("will be tried again")');

      await page.goto(`${url}/messages`);
      await page.click('button:has-text("Release")');
      await page.waitForSelector('h1:has-text("Release 1 message through csv?")');
      await page.click('main button:has-text("Release 1 message")');
      await page.waitForSelector('.banner[role="status"]');

      // The lab has taken them.
      for (const connector of ["hl7", "csv"] as const) {
        const names = (await results(connector)).keys();
        await Promise.all([...names].map((name) => rm(join(folder, connector, "out", name))));
      }
      await page.goto(`${url}/results?state=delivered`);
      await page.click("main tbody a >> nth=0");
      await page.click('summary:has-text("Send it again")');
      await page.click('details[open] button:has-text("Send it again")');
      await page.waitForSelector('.banner:has-text("is sent again")');

      await page.goto(`${url}/workers`);
      await page.click('summary:has-text("Reload the configuration")');
      await page.click('button:has-text("Reload the configuration")');
      await page.waitForSelector('.banner:has-text("is up to date; nothing had changed")');
      await page.click('summary:has-text("Stop ")');
      await page.fill('details[open] input[name="reason"]', "upgrade");
      await page.click("details[open] button");
      await page.waitForSelector('.banner:has-text("finishes what it has in hand")');

      expect(await audited(pool)).toEqual(["retry", "release", "resend", "reload", "drain-worker"]);
      const { rows } = await pool.query("select drain_at is not null as is_asked from workers");
      expect(rows).toEqual([{ is_asked: true }]);
      expect(notes).toEqual([]);
    }));
});

/** What erika did, in her order. */
async function audited(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query("select action from audit where actor = 'erika (console)' order by id");
  return rows.map(({ action }) => action);
}
