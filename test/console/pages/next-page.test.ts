import type pg from "pg";
import { expect, test } from "vitest";
import { csvMessage } from "../../cli/with-lab.ts";
import { type Browser, withPages, wordsOf } from "./with-pages.ts";

/** The last of a page, and the first of the next. */
const ROWS = 51;

/** The pages of a list, from the first on. */
async function readPages(browser: Browser, path: string): Promise<string[]> {
  const pages: string[] = [];
  for (let next: string | undefined = path; next !== undefined && pages.length < 9; ) {
    const page = await browser.open(next);
    pages.push(wordsOf(page));
    next = /<p class="more"><a href="([^"]+)">(?:Older|Newer) ones</
      .exec(page)?.[1]
      ?.replaceAll("&#38;", "&");
  }
  return pages;
}

/** Which of the rows named `row-1` and on each page has. */
const rowsOf = (page: string) => [...page.matchAll(/row-(\d+)\b/g)].map(([, n]) => Number(n));

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test.each<readonly [path: string, rows: string, insert: (pool: pg.Pool) => Promise<unknown>]>([
  [
    "/tasks",
    "the oldest first",
    (pool) =>
      pool.query(
        `insert into tasks (order_id, kind, text)
         select o.id, 'cancel', 'row-' || o.id from orders o order by o.id`,
      ),
  ],
  [
    "/refills",
    "the latest change first",
    // All in one transaction: they have one time.
    (pool) =>
      pool.query(
        `insert into refills (facility_id, facility_code, surface, procedure_id, code, status, reached, remote_status)
         select 12, 'NORTH', 'request', n, 'row-' || ${ROWS} + 1 - n, 'COMPLETED', 3, 'COMPLETED'
           from generate_series(1, ${ROWS}) n order by n`,
      ),
  ],
  [
    "/alerts",
    "those that hold first",
    (pool) =>
      pool.query(
        `insert into alerts (kind, about, level, text, since, started_at, over_at)
         select 'noTraffic', n, 'act', 'row-' || ${ROWS} + 1 - n, now(), now(), case when n <= 2 then now() end
           from generate_series(1, ${ROWS}) n order by n`,
      ),
  ],
])("the list %s is read to its end, %s", (path, _order, insert) =>
  withPages(async ({ lab, operator, pool }) => {
    const messages = upTo(ROWS).map((n) => csvMessage(n, { subject_code: `S-${n}` }));
    if (path === "/tasks") await lab.take("bench", messages);
    await insert(pool);
    const [first = "", second = "", ...others] = await readPages(operator, path);
    expect(rowsOf(first)).toEqual(upTo(ROWS - 1));
    expect(rowsOf(second)).toEqual([ROWS]);
    expect(others).toEqual([]);
  }),
);

test("the queue's page leads from what it cuts to the lists of all that waits", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take(
      "bench",
      upTo(ROWS).map((n) => csvMessage(n, { subject_code: `S-${n}` })),
    );
    await pool.query(
      `insert into deliveries (connector, file_name, bytes) select 'bench', 'row-' || n, 'x' from generate_series(1, ${ROWS}) n`,
    );
    const page = await operator.open("/queue");
    const all = /<a href="([^"]+)">All orders that wait</.exec(page)?.[1] ?? "";
    const found = (await readPages(operator, all)).flatMap((text) => [...text.matchAll(/\bC-(\d+)\b/g)]);
    expect(new Set(found.map(([, n]) => Number(n)))).toEqual(new Set(upTo(ROWS)));
    const results = /<a href="([^"]+)">All results to send</.exec(page)?.[1] ?? "";
    expect((await readPages(operator, results)).flatMap(rowsOf)).toEqual(upTo(ROWS).reverse());
  }));
