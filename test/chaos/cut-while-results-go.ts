import { systemClock } from "../../src/core/clock.ts";
import { listOrders } from "../../src/ledger/operator/views.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { createRandom, drawMs, type Spread } from "../../src/simulator/chance.ts";
import { type Account, account, isAtItsEnd } from "../support/account.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import type { PlannedOrder } from "../support/lab-load.ts";
import { withDisk } from "../support/power-cut.ts";
import { type ResultLab, withResultLab } from "../support/result-lab.ts";
import { sendOrders } from "../support/send-orders.ts";
import { type ChildSite, withChildSite, withPool } from "../support/with-child-site.ts";
import { cutAndKill } from "./cut-and-kill.ts";

/** Results go to a lab by MLLP while the power is cut again and again; the lab's own power stays. */
export interface ResultsPlan {
  readonly seed: number;
  readonly orders: number;
  readonly cuts: number;
  /** How long all may take after the last restart, ms. */
  readonly endWithinMs: number;
}

/** What came of it. */
export interface ResultsReport {
  readonly account: Account;
  /** What the lab and the ledger don't agree on. */
  readonly faults: readonly string[];
  /** Results that the lab acknowledged, and how many of them were sent again. */
  readonly sent: number;
  readonly sentAgain: number;
}

const MEGABYTES = 384;
const LAB_PAUSE_MS: Spread = [0, 100];
/** All that an order goes through. */
const SENT = [
  "submitted",
  "accepted",
  "in_progress",
  "completed",
  "rejected",
  "failed",
  "cancelled",
  "parked",
];
/** A third of the cuts hit the start-up, in which what the lab may have is sent again. */
const SINCE_START_MS: Spread = [300, 2_500];
/** The others come right after the lab has acknowledged some results. */
const SINCE_NEWS_MS: Spread = [0, 80];
const MOST_NEWS = 6;
/** When nothing new comes, the cut hits what else is under way. */
const NEWS_WITHIN_MS = 6_000;

/**
 * Sends orders in parts, cuts the power at moments that the seed chooses, starts the daemon on what is left each time, and
 * lets it end its work. What was not acknowledged is sent again.
 */
export async function runResultsWithCuts(plan: ResultsPlan): Promise<ResultsReport> {
  const random = createRandom(plan.seed);
  const simulator = {
    seed: plan.seed,
    staff: { reviewAfterMs: [50, 1_500] },
    device: { startAfterMs: [50, 500], runMs: [50, 1_000] },
  } as const;
  const numbers = Array.from({ length: plan.orders }, (_, n) => `R${plan.seed}-${n + 1}`);
  const port = await findPort();
  return await withResultLab(
    () => drawMs(LAB_PAUSE_MS, random),
    (lab) =>
      withDisk(MEGABYTES, (disk) => {
        const results = { host: "127.0.0.1", port: lab.port };
        const config = {
          connectors: [{ name: "hl7", type: "mllp", listen: { port }, results, profile: "chatty" }],
          profiles: { chatty: { extends: "builtin/hl7-orders", results: { send: SENT } } },
        };
        const service = { maxRequestsPerSecond: 60 };
        return withChildSite({ simulator, service, disk: disk.path, config }, async (site) => {
          const answers = new Map<string, string>();
          const send = (upTo: number) =>
            sendOrders(
              numbers.slice(0, upTo).filter((number) => !answers.has(number)),
              { port, inFlight: 5, answers },
            );
          for (let round = 1; round <= plan.cuts; round++) {
            const daemon = site.start();
            const isAtStart = round > 1 && random.happens(1 / 3);
            if (!isAtStart) await daemon.running;
            const sending = isAtStart ? undefined : send(Math.ceil((plan.orders * round) / plan.cuts));
            if (isAtStart) await systemClock.sleep(drawMs(SINCE_START_MS, random));
            else await news(lab, 1 + Math.floor(random.next() * MOST_NEWS));
            await systemClock.sleep(drawMs(SINCE_NEWS_MS, random));
            const image = await cutAndKill(disk, site, daemon);
            await sending;
            await disk.powerUp(image);
            await disk.forget(image);
          }
          await site.start().running;
          await eventually(() => send(plan.orders).then(() => answers.size === numbers.length), {
            what: "an answer to each order",
          });
          const ledger = await waitForEnd(site, plan);
          return {
            account: account({
              planned: numbers.map(toPlanned),
              ledger,
              simulator: site.simulator,
              hl7Results: resultsByName(lab),
              csvResults: new Map(),
            }),
            faults: await compare(site, lab),
            sent: lab.count,
            sentAgain: lab.count - lab.heard.size,
          };
        });
      }),
  );
}

const toPlanned = (number: string): PlannedOrder => ({
  number,
  connector: "hl7",
  operation: "STORE",
  subject: `S-${number}`,
  labels: [`V-${number}`],
});

/** Waits until the lab has acknowledged so many results more. */
async function news(lab: ResultLab, more: number): Promise<void> {
  const before = lab.count;
  await eventually(() => lab.count >= before + more, { withinMs: NEWS_WITHIN_MS }).catch(() => undefined);
}

/** The orders, when all are at their end and nothing is left to send, or when the time is over. */
function waitForEnd(site: ChildSite, plan: ResultsPlan): Promise<readonly LedgerOrder[]> {
  return withPool(site.dataDir, async (pool) => {
    const list = () => listOrders(pool, { limit: 100_000 });
    const isOver = async () => {
      const orders = await list();
      if (orders.length < plan.orders || !orders.every(isAtItsEnd)) return false;
      const { rows } = await pool.query(
        `select 1 from outcomes where not is_composed union all select 1 from deliveries where state = 'pending'`,
      );
      return rows.length === 0;
    };
    await eventually(isOver, { withinMs: plan.endWithinMs }).catch(() => undefined);
    return await list();
  });
}

/** As the account wants them: by the order's number (ORC-2) and the control id. */
function resultsByName(lab: ResultLab): Map<string, string> {
  return new Map(
    [...lab.heard].flatMap(([controlId, texts]) =>
      texts.slice(0, 1).map((text) => [`${numberIn(text)}_${controlId}`, text] as const),
    ),
  );
}

const numberIn = (text: string) => /\rORC\|[^|]*\|([^|^]*)/.exec(text)?.[1] ?? "";

/** What was sent to the lab against what the ledger has of it. */
async function compare(site: ChildSite, lab: ResultLab): Promise<string[]> {
  const faults: string[] = [];
  const { rows } = await withPool(site.dataDir, (pool) =>
    pool.query<{ bytes: Buffer; state: string }>("select bytes, state from deliveries order by id"),
  );
  const known = new Set(rows.map(({ bytes }) => bytes.toString()));
  for (const [controlId, [first = "", ...repeats]] of lab.heard) {
    if (repeats.some((text) => text !== first)) faults.push(`${controlId} was sent in different words`);
    if (!known.has(first)) faults.push(`${controlId} is not what the ledger has of it`);
  }
  const heard = new Set([...lab.heard.values()].flat());
  for (const { bytes, state } of rows) {
    if (state !== "delivered" || !heard.has(bytes.toString()))
      faults.push(`a result is ${state} and was not sent`);
  }
  for (const [number, ids] of Map.groupBy(resultsByName(lab).keys(), (name) => name.split("_")[0])) {
    if (ids.toSorted().join() !== ids.join()) faults.push(`what came of ${number} was sent in another order`);
  }
  return faults;
}
