import { expect, test } from "vitest";
import { csvMessage, PATIENT } from "../../cli/with-lab.ts";
import { type Browser, withPages, wordsOf } from "./with-pages.ts";

/** The first heading of what a search leads to. */
async function headOf(browser: Browser, word: string): Promise<string | undefined> {
  await browser.open("/audit");
  return /<h1>(.*?)<\/h1>/.exec(await browser.send("/orders/find", { find: word }))?.[1];
}

test("the search opens the only order that a word means, and lists several", () =>
  withPages(async ({ lab, operator, viewer }) => {
    await lab.take("bench", [csvMessage(1), csvMessage(2, { subject_code: "OTHER" })]);
    for (const browser of [operator, viewer]) {
      expect(await headOf(browser, "C-2")).toBe("Order o2 (C-2)");
      expect(await headOf(browser, "V-1")).toBe("Order o1 (C-1)");
      expect(await headOf(browser, "file-1")).toBe("Orders");
      expect(await headOf(browser, "")).toBe("Orders");
    }
  }));

test("the search finds an order by our number, as results for the lab have it, and by the service's own", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take("bench", [csvMessage(1), csvMessage(2, { subject_code: "OTHER" })]);
    await pool.query(
      "update orders set request_id = 1000 + id, procedure_id = 2000 + id, state = 'submitted'",
    );
    for (const word of ["R1002", "P2002", "1002", "2002"])
      expect(await headOf(operator, word)).toBe("Order o2 (C-2)");
    expect(await headOf(operator, "R2002")).toBe("Search");
    expect(await headOf(operator, "9".repeat(30))).toBe("Search");
  }));

test("it shows the messages and files that a word means when no order does, also by number and container", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take("bench", [csvMessage(1, { order_number: "C-7", facility: "EAST" })]);
    await operator.open("/");
    const page = await operator.send("/orders/find", { find: "file-1" });
    expect(wordsOf(page)).toContain("Messages with that id, control id or file");
    expect(page).toContain('href="/messages/m1"');
    for (const word of ["C-7", "V-1"]) {
      const found = await operator.send("/orders/find", { find: word });
      expect(found).toContain('href="/messages/m1"');
      expect(wordsOf(found)).toContain('"EAST"');
    }
    // No subject was looked for in vain: the word meant a message.
    expect((await pool.query("select from audit")).rowCount).toBe(0);
    expect(page).toContain('href="/files/f1"');
    expect(wordsOf(await operator.send("/orders/find", { find: "nobody" }))).toContain(
      "Nothing has the number",
    );
    // Orders are not searched for by the id of their message: it may have become one.
    await lab.take("bench", [csvMessage(2)]);
    expect(wordsOf(await operator.send("/orders/find", { find: "m2" }))).toMatch(
      /Messages with that id.* m2 /,
    );
  }));

test("it searches for a subject's code first for who may see patients' data, without an address, and records each such search", () =>
  withPages(async ({ lab, operator, viewer, pool }) => {
    await lab.take("bench", [
      csvMessage(1),
      csvMessage(2, { subject_code: "OTHER" }),
      csvMessage(3, { subject_code: "OTHER", order_number: PATIENT.code }),
    ]);
    await operator.open("/orders");
    const page = await operator.send("/orders/find", { find: PATIENT.code });
    expect(wordsOf(page)).toContain("Orders of the subject with that code");
    expect(page).toContain('href="/orders/o1"');
    expect(page).not.toContain('href="/orders/o2"');
    // A number that is somebody's code opens no order by itself.
    expect(wordsOf(page)).toMatch(/Orders with that number.* o3 /);
    expect(wordsOf(await operator.send("/orders/find", { find: "NOBODY" }))).toContain("subject code");
    await viewer.open("/orders");
    await viewer.send("/orders/find", { find: PATIENT.code });
    expect(viewer.at()).toBe("/orders/o3");
    expect(wordsOf(await viewer.send("/orders/find", { find: "OTHER" }))).toContain("Nothing has");
    const { rows } = await pool.query("select actor, action, target, detail from audit order by id");
    const by = { actor: "erika (console)", action: "show-phi", detail: { search: "subject code" } };
    expect(rows).toEqual([
      { ...by, target: "o1" },
      { ...by, target: "no order" },
    ]);
  }));

test("what was searched for stands in no address: a key does, which is the session's own", () =>
  withPages(async ({ lab, operator, viewer }) => {
    await lab.take("bench", [csvMessage(1), csvMessage(2)]);
    await operator.open("/");
    const found = await operator.send("/orders/find", { find: "file-1" });
    const address = operator.at();
    expect(address).toMatch(/^\/orders\?find=k\.[\w-]{12}$/);
    expect(found).toContain('value="file-1"');
    expect(found).toContain(`hx-get="${address}"`);
    for (const part of found.matchAll(/(?:href|action|hx-get|name="filter" value)="([^"]*)"/g))
      expect(part[1]).not.toContain("file-1");
    const filter = address.split("?")[1] ?? "";
    const asked = await operator.send("/orders/choose", { act: "discard", all: "yes", filter });
    expect(wordsOf(asked)).toContain("Discard 2 orders?");
    for (const list of ["orders", "messages", "files", "results", "audit"]) {
      const page = await operator.send(`/${list}/filter`, { find: "o1", actor: "" });
      expect(operator.at()).toMatch(new RegExp(`^/${list}\\?find=k\\.[\\w-]{12}$`));
      expect(page).toContain('value="o1"');
      expect(wordsOf(await viewer.open(operator.at()))).toContain("search again");
      expect(wordsOf(await operator.open(`/${list}?find=o1`))).toContain("search again");
    }
  }));

test("it refuses a form of another session", () =>
  withPages(async ({ operator }) => {
    await operator.open("/");
    expect(wordsOf(await operator.send("/orders/find", { find: "C-1" }, "forged"))).toContain(
      "The form is old",
    );
  }));
