import type pg from "pg";
import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { findPort } from "../../support/find-port.ts";
import { createStorm } from "../../support/mllp-storm.ts";
import { withChildSite, withPool } from "../../support/with-child-site.ts";
import { withServerSite } from "../../support/with-server-site.ts";

/** The numbers of all orders. */
async function numbersOf(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ number: string }>("select placer_order_number as number from orders");
  return rows.map(({ number }) => number);
}

// Storms that are cut off again and again, with the power: `npm run test:chaos`.
test("a daemon that is killed in a storm of messages has an order of each acknowledged one, and no two of any", async () => {
  const port = await findPort();
  const connectors = [{ name: "hl7", type: "mllp", listen: { port }, results: { directory: "results" } }];
  await withChildSite({ config: { connectors } }, async (site) => {
    const storm = createStorm(port);
    const killed = site.start(["--role", "intake"]);
    await killed.running;
    const raging = storm.rage();
    await eventually(() => storm.acknowledged.size >= 100);
    await killed.end("SIGKILL");
    await raging;
    const daemon = site.start(["--role", "intake"]);
    await daemon.running;
    await storm.repeat();
    expect(storm.acknowledged.size).toBe(storm.sent.length);
    const numbers = await withPool(site.dataDir, numbersOf);
    expect(numbers.toSorted()).toEqual(storm.sent.toSorted());
    await daemon.end("SIGTERM");
  });
});

test("nor is one lost or made twice when the database server crashes in a storm", async () => {
  const port = await findPort();
  const connectors = [{ name: "hl7", type: "mllp", listen: { port }, results: { directory: "results" } }];
  await withServerSite({ config: { connectors } }, async (site) => {
    const storm = createStorm(port);
    await site.start();
    // While the daemon is not sure of its database, it closes connections without an answer.
    let isCrashed = false;
    const raging = (async () => {
      while (!isCrashed) await storm.rage();
    })();
    await eventually(() => storm.acknowledged.size >= 100);
    isCrashed = true;
    await site.server.crash();
    await raging;
    await site.server.start();
    await eventually(async () => {
      await storm.repeat();
      return storm.acknowledged.size === storm.sent.length;
    });
    expect((await numbersOf(site.pool)).toSorted()).toEqual(storm.sent.toSorted());
    expect(site.fatal).toEqual([]);
  });
});
