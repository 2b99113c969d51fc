import type pg from "pg";
import { systemClock } from "../../src/core/clock.ts";
import { createRandom, drawMs, type Spread } from "../../src/simulator/chance.ts";
import type { ChildDaemon } from "../support/child-daemon.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { type MllpSite, mllpConnector, withMllpSite } from "../support/mllp-site.ts";
import { type Disk, type Image, withDisk } from "../support/power-cut.ts";
import { countUp, sendOrders } from "../support/send-orders.ts";
import { endServer } from "../support/with-child-site.ts";

/** Senders bring orders by MLLP to a daemon the power of whose disk is cut. */
export interface StormPlan {
  readonly seed: number;
  /** How often the power is cut. */
  readonly cuts: number;
  /** Cuts of one storm; the next one begins with what was on the disk at the last of them. */
  readonly cutsAtOnce?: number;
}

/** What is wrong behind a cut; all empty and 0: the promise was kept. */
export interface StormFault {
  /** Numbers of acknowledged messages that aren't there. */
  readonly lost: readonly string[];
  /** Numbers of messages that were there without what they ask for. */
  readonly undone: readonly string[];
  /** Numbers that are there more than once, also after all were sent again. */
  readonly doubled: readonly string[];
  /** Numbers of messages of which a repeat was answered otherwise than the first. */
  readonly answeredAnew: readonly string[];
}

/** What came of it: what is wrong behind each cut, and how many messages were acknowledged before it. */
export interface StormReport {
  readonly faults: readonly StormFault[];
  readonly acknowledged: readonly number[];
}

/** Nothing is wrong. */
export const NO_FAULT: StormFault = { lost: [], undone: [], doubled: [], answeredAnew: [] };

/** A desk that also cancels orders. */
interface StormSite extends MllpSite {
  readonly deskPort: number;
}

const MEGABYTES = 384;
/** Messages that are on their way at once, for each of the connections. The last of them is that of the desk. */
const SENDERS = [1, 20, 20, 5];
const BETWEEN_CUTS_MS: Spread = [50, 1_200];
/** How many more were acknowledged by the next cut, also where the disk is slow. */
const LEAST_NEWS = 20;
/** How long a daemon starts, about. */
const START_MS: Spread = [300, 1_500];
/** How many of the acknowledged messages, the latest, are sent again. */
const MOST_REPEATED = 500;

/** Every third message of the desk or so cancels the order before it. */
function compose(number: string): string {
  const [prefix, n] = [number.slice(0, number.lastIndexOf("-") + 1), Number(/\d+$/.exec(number)?.[0])];
  if (!isCancellation(number)) return omlO33({ number });
  const order = `${prefix}${n - 1}`;
  return ormCancel({ number: order }).replace(`|CAN-${order}|`, `|MSG-${number}|`);
}

const DESK = "C";
const isCancellation = (number: string) => number.startsWith(DESK) && /[159]$/.test(number);

/** Cuts the power while senders send, and looks each time what a daemon finds that starts on what is left. */
export async function runStormWithCuts({ seed, cuts, cutsAtOnce = 3 }: StormPlan): Promise<StormReport> {
  const random = createRandom(seed);
  const faults: StormFault[] = [];
  const acknowledged: number[] = [];
  await withDisk(MEGABYTES, (disk) =>
    withMllpSite(
      async (mllpSite) => {
        const site: StormSite = { ...mllpSite, deskPort: await findPort() };
        await site.configure([mllpConnector("hl7", site.port), mllpConnector("desk", site.deskPort)]);
        while (faults.length < cuts) {
          const images: { image: Image; answers: ReadonlyMap<string, string> }[] = [];
          const storm = await begin(site, `${faults.length}`);
          for (let n = 0; n < Math.min(cutsAtOnce, cuts - faults.length); n++) {
            await systemClock.sleep(drawMs(BETWEEN_CUTS_MS, random));
            await eventually(() => storm.answers.size >= (n + 1) * LEAST_NEWS, {
              what: "more acknowledgements",
            });
            let answers: ReadonlyMap<string, string> = new Map();
            const before = () => {
              answers = new Map(storm.answers);
            };
            images.push({ image: await disk.cut({ before }), answers });
          }
          await storm.end();
          for (const { image, answers } of images) {
            acknowledged.push(answers.size);
            const isCutAgain = faults.length % cutsAtOnce === 1;
            const left = isCutAgain ? await cutAgain(site, disk, image, drawMs(START_MS, random)) : image;
            faults.push(await look(site, disk, left, answers));
          }
        }
      },
      { disk: disk.path },
    ),
  );
  return { faults, acknowledged };
}

async function begin(site: StormSite, prefix: string) {
  const daemon = await site.run();
  const answers = new Map<string, string>();
  const sending = SENDERS.map((inFlight, n) => {
    const isDesk = n === SENDERS.length - 1;
    const numbers = countUp(`${isDesk ? DESK : "K"}${prefix}.${n}`, []);
    return sendOrders(numbers, { port: isDesk ? site.deskPort : site.port, inFlight, compose, answers });
  });
  await eventually(() => answers.size > 0, { what: "a first acknowledgement" });
  const end = async () => {
    await endAll(site, daemon);
    await Promise.all(sending);
  };
  return { answers, end };
}

async function endAll(site: StormSite, daemon: ChildDaemon): Promise<void> {
  await daemon.end("SIGKILL");
  await endServer(site.dataDir);
}

/** Cuts the power once more while a daemon starts on what the first cut has left. */
async function cutAgain(site: StormSite, disk: Disk, image: Image, afterMs: number): Promise<Image> {
  await disk.powerUp(image);
  await disk.forget(image);
  const daemon = site.start(["--role", "intake"]);
  await systemClock.sleep(afterMs);
  const left = await disk.cut();
  await endAll(site, daemon);
  return left;
}

async function look(
  site: StormSite,
  disk: Disk,
  image: Image,
  answers: ReadonlyMap<string, string>,
): Promise<StormFault> {
  await disk.powerUp(image);
  await disk.forget(image);
  const daemon = await site.run();
  try {
    return await site.look(async (pool) => {
      const before = await findNumbers(pool);
      const latest = [...answers.keys()].slice(-MOST_REPEATED);
      const again = await sendAgain(site, latest);
      const after = await findNumbers(pool);
      const doubled = [...after.messages, ...after.orders].filter(([, count]) => count > 1);
      return {
        lost: [...answers.keys()].filter((number) => !before.messages.has(number)),
        undone: [...before.messages.keys()].filter((number) => {
          const made = before.orders.has(number);
          return isCancellation(number)
            ? before.open.has(number.replace(/\d+$/, (n) => `${Number(n) - 1}`))
            : !made;
        }),
        doubled: doubled.map(([number]) => number),
        answeredAnew: latest.filter((number) => again.get(number) !== answers.get(number)),
      };
    });
  } finally {
    await endAll(site, daemon);
  }
}

async function sendAgain(site: StormSite, numbers: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  const { desk = [], others = [] } = Object.groupBy(numbers, (number) =>
    number.startsWith(DESK) ? "desk" : "others",
  );
  await sendOrders(desk, { port: site.deskPort, compose, answers });
  await sendOrders(others, { port: site.port, compose, answers });
  return answers;
}

/** How often each number is there. */
async function findNumbers(pool: pg.Pool) {
  const count = async (sql: string) => {
    const { rows } = await pool.query<{ number: string; count: number }>(sql);
    return new Map(rows.map(({ number, count }) => [number, count]));
  };
  return {
    messages: await count(
      "select substring(message_control_id from 5) as number, count(*)::int from messages where duplicate_of is null group by 1",
    ),
    orders: await count("select placer_order_number as number, count(*)::int from orders group by 1"),
    open: await count(
      "select placer_order_number as number, count(*)::int from orders where state <> 'cancelled' group by 1",
    ),
  };
}
