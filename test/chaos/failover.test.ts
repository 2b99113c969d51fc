import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { listOrders } from "../../src/ledger/operator/views.ts";
import { createRandom, drawMs, type Spread } from "../../src/simulator/chance.ts";
import { type Cluster, withCluster } from "../cluster/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import { superviseStart } from "./run-with-workers.ts";
import { readSettings } from "./settings.ts";
import { slowService } from "./slow-service.ts";

const { seed: firstSeed, runs, orders } = readSettings(process.env);
const CASES = (["request", "external"] as const).flatMap((surface) =>
  Array.from({ length: runs }, (_, run) => ({ surface, seed: firstSeed + run })),
);
/** How often a stand-by takes over in a run. */
const TIMES = 3;
/** What comes before the stand-by is left behind, and by how much it is. */
const UNDER_WAY_MS: Spread = [200, 3_000];
const BEHIND_MS: Spread = [50, 2_500];

/** What is in the ledger and for a person to see to, since the service may have it. */
const MAY_BE_THERE = ["SUBMIT_FORGOTTEN_REQUEST", "SUBMIT_UNCERTAIN", "ORDER_CONTAINER_STORED_ALREADY"];

test.each(CASES)(
  "a stand-by that lacks the last commits takes the database's place: nothing is doubled, and what the lab sends again is not lost ($surface, seed $seed)",
  ({ surface, seed }) => {
    let current: Cluster | undefined;
    return withCluster(
      {
        workers: 2,
        simulator: slowService({ seed }),
        service: { surface, timeout: "1s", reconcile: { checks: ["200ms", "1s"], giveUpAfter: "6s" } },
        // A daemon that notices that the ledger went back ends itself; whoever supervises it starts it again.
        onEnd: (name) => {
          const ended = current?.daemons.find((each) => each.name === name);
          if (ended) void superviseStart(ended);
        },
      },
      async (cluster) => {
        const random = createRandom(seed);
        const load = planLoad(seed, orders);
        seedRetrievals(cluster.simulator, load);
        current = cluster;
        const perTime = Math.ceil(load.files.length / TIMES);
        for (let time = 0; time < TIMES; time += 1) {
          const files = load.files.slice(time * perTime, (time + 1) * perTime);
          const standby = await cluster.postgres.follow();
          for (const { connector, name, content } of files) await cluster.lab.drop(connector, name, content);
          await systemClock.sleep(drawMs(UNDER_WAY_MS, random));
          standby.cutOff();
          await systemClock.sleep(drawMs(BEHIND_MS, random));
          await standby.takeOver();
          // The lab sends again what it sent in the last while.
          for (const { connector, name, content } of files)
            await cluster.lab.drop(connector, `again-${name}`, content);
          const numbers = load.orders.slice(0, (time + 1) * perTime * 5).map(({ number }) => number);
          await eventually(() => areDecided(cluster, numbers), {
            withinMs: 120_000,
            what: "an end of all orders, or a person's turn",
          });
          expect(cluster.simulator.tally().doubled).toEqual([]);
        }
        const results = [...(await cluster.lab.read("hl7", "out")).values()];
        const controlIds = results.map((text) => /^MSH(?:\|[^|]*){8}\|([^|]*)/.exec(text)?.[1]);
        expect(new Set(controlIds).size).toBe(results.length);
        const ledger = await listOrders(cluster.pool, { limit: 100_000 });
        const counts = Map.groupBy(ledger, ({ placerOrderNumber }) => placerOrderNumber);
        const { rows } = await cluster.pool.query<{ restores: number }>("select restores from ledger");
        const parked = ledger.filter(({ state }) => state === "parked").length;
        console.log(
          `fail-over: ${surface}, seed ${seed}, noticed ${rows[0]?.restores} of ${TIMES}, ${parked} orders wait for a person`,
        );
        for (const { number, subject } of load.orders) {
          const [order, ...others] = counts.get(number) ?? [];
          expect([number, others]).toEqual([number, []]);
          const made = cluster.simulator.tally().journal.filter((each) => each.subjectCode === subject);
          if (order?.state === "parked") {
            expect(MAY_BE_THERE).toContain(order.failure?.code);
            expect([number, made.length > 0]).toEqual([number, true]);
          } else expect([number, order?.state]).toEqual([number, "completed"]);
        }
      },
    );
  },
);

async function areDecided({ pool }: Cluster, numbers: readonly string[]): Promise<boolean> {
  const ledger = await listOrders(pool, { limit: 100_000 });
  const known = new Set(ledger.map(({ placerOrderNumber }) => placerOrderNumber));
  const isOpen = ({ state }: (typeof ledger)[number]) =>
    state !== "completed" && state !== "failed" && state !== "parked";
  return numbers.every((number) => known.has(number)) && !ledger.some(isOpen);
}
