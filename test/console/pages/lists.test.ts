import { expect, test } from "vitest";
import { LISTS } from "../../../src/operator/lists.ts";
import { csvMessage } from "../../cli/with-lab.ts";
import { withPages, wordsOf } from "./with-pages.ts";

test("the command of a list takes each of its filters, and its page offers each that has a name", () =>
  withPages(async ({ lab, operator }) => {
    for (const [name, { load }] of Object.entries(LISTS)) {
      const { filters } = await load();
      const help = (await lab.cli([name, "list", "--help"])).stdout;
      const form = /<form class="filter"[\s\S]*?<\/form>/.exec(await operator.open(`/${name}`))?.[0] ?? "";
      for (const [filter, { label, kind }] of Object.entries(filters)) {
        expect(help).toContain(`--${filter} <`);
        if (label !== undefined && kind !== "code")
          expect(form, `${name} ${filter}`).toContain(`<label>${label}<`);
      }
      const { status } = await lab.cli([name, "list", "--json"]);
      expect(status, name).toBe(0);
    }
  }));

test("orders, files and results are looked at within a time, as messages are", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    await lab.take("bench", [csvMessage(2)]);
    await pool.query("update orders set received_at = now() - interval '2 days' where id = 1");
    await pool.query("update files set received_at = now() - interval '2 days' where id = 1");
    for (const [path, id] of [
      ["/orders", "o"],
      ["/files", "f"],
    ] as const) {
      const ids = async (query: string) =>
        [...(await operator.open(`${path}${query}`)).matchAll(/href="\/\w+\/([of]\d)"/g)].map(
          ([, each]) => each,
        );
      expect(await ids("?since=24h")).toEqual([`${id}2`]);
      expect(await ids("?since=7d")).toEqual([`${id}2`, `${id}1`]);
      expect(await ids("?since=nonsense")).toEqual([`${id}2`, `${id}1`]);
    }
    expect(wordsOf(await operator.open("/results?since=1h"))).toContain("No results.");
  }));

test("an order that a second filter leaves out is not said not to be there, and neither is what came on an earlier page", () =>
  withPages(async ({ lab }) => {
    await lab.take("bench", [csvMessage(1)]);
    const said = async (...words: string[]) => (await lab.cli(["orders", "list", ...words])).stdout;
    expect(await said("--find", "C-9")).toContain("No order has the number, id, container or control id C-9");
    expect(await said("--find", "C-1", "--state", "failed")).toBe("No order is like that.\n");
    expect(await said("--find", "C-1", "--before", "o1")).toBe("No more.\n");
  }));

test("what was typed is said in place of an empty list without what would steer a terminal", () =>
  withPages(async ({ lab }) => {
    const { stdout } = await lab.cli(["files", "list", "--find", "\u001b[31mred"]);
    expect(stdout).toContain("No file's name begins with ");
    expect(stdout).not.toContain("\u001b");
  }));
