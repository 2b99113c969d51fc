import { readFile, writeFile } from "node:fs/promises";
import { parse, stringify } from "yaml";
import { systemClock } from "../../src/core/clock.ts";
import { createRandom, drawMs, type Random, type Spread } from "../../src/simulator/chance.ts";
import { type Account, account, isAtItsEnd } from "../support/account.ts";
import { type CutWay, type Orphan, withCutWay } from "../support/cut-way.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import { mllpConnector } from "../support/mllp-site.ts";
import { sendOrders } from "../support/send-orders.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

/** Statements between two cuts, at most: of those that write, and of all others. Bounded, so that each run has cuts however few statements a group commit leaves. */
const [WRITES_BETWEEN, OTHERS_BETWEEN]: readonly [Spread, Spread] = [
  [1, 16],
  [1, 240],
];
/** How long until a backend gets what was sent to it, and then until the server notices that nobody is there. */
const ORPHANED_MS: Spread = [0, 400];
/** What a worker that claimed an order and got no answer loses is no order but the minutes until its lease is over. */
const CLAIM = "select o.id, o.claimed_at";

/** The site's own daemon, and an MLLP connector, with the database behind a way that breaks. */
async function configure({ configFile }: Site, way: CutWay, port: number): Promise<void> {
  const config = parse(await readFile(configFile, "utf8"));
  config.database = { url: way.url };
  config.connectors.push(mllpConnector("lims", port));
  await writeFile(configFile, stringify(config), { mode: 0o600 });
}

/** Breaks connections at statements that the seed chooses, until it is ended; then gives how many. */
function cutAndCarryOut(way: CutWay, seed: number): () => Promise<number> {
  const random = createRandom(seed);
  let isOver = false;
  const lives: Promise<void>[] = [];
  const pause = () => systemClock.sleep(drawMs(ORPHANED_MS, random));
  const liveOn = async (n: number) => {
    await pause();
    orphans[n]?.letGo();
    await pause();
    orphans[n]?.hangUp();
  };
  const isWritesTurn = everyFew(WRITES_BETWEEN, random);
  const isOthersTurn = everyFew(OTHERS_BETWEEN, random);
  const orphans: readonly Orphan[] = way.cutOften((statement) => {
    if (isOver || statement.includes(CLAIM)) return undefined;
    if (!(isWriting(statement) ? isWritesTurn() : isOthersTurn())) return undefined;
    lives.push(liveOn(lives.length));
    return random.happens(1 / 2) ? "server" : "nobody";
  });
  return async () => {
    isOver = true;
    await Promise.all(lives);
    return lives.length;
  };
}

/** True once in so many calls as are drawn anew after each. */
function everyFew(between: Spread, random: Random): () => boolean {
  let left = drawMs(between, random);
  return () => {
    left -= 1;
    if (left > 0) return false;
    left = drawMs(between, random);
    return true;
  };
}

const isWriting = (statement: string) =>
  statement.includes("commit\0") || /\b(insert into|update) /.test(statement);

/** Sends until each was answered, as senders do whose connections break. Gives what each was answered the last time. */
async function sendAll(port: number, numbers: readonly string[]): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  await eventually(
    async () => {
      const missing = numbers.filter((number) => !answers.has(number));
      await sendOrders(missing, { port, inFlight: 3, answers });
      return answers.size === numbers.length;
    },
    { withinMs: 90_000, what: "an answer to each message" },
  );
  return answers;
}

/** Orders come by files and by MLLP while connections to the database break for the daemon alone. */
export interface LostCommitsPlan {
  readonly seed: number;
  /** Orders in files, and those that come by MLLP. */
  readonly orders: number;
  readonly messages: number;
}

/** What came of it. */
export interface LostCommitsReport {
  readonly cuts: number;
  /** Of the orders of files. */
  readonly account: Account;
  /** Numbers of all orders of the ledger, and how many requests the service made. */
  readonly numbers: readonly string[];
  readonly requests: number;
  /** Retrievals that wait for a person: their intent was kept without an answer to the worker, so that it made no call. */
  readonly uncertain: number;
  /** Control ids of messages that were accepted, without the MSG- in front. */
  readonly accepted: readonly string[];
  /** Numbers of messages of which a repeat was answered otherwise than before. */
  readonly answeredAnew: readonly string[];
}

/** A run takes 15 to 45 s where the machine has nothing else to do. */
const END_WITHIN_MS = 180_000;

/** The numbers of the orders that come by MLLP. */
export const messageNumbers = ({ seed, messages }: LostCommitsPlan) =>
  Array.from({ length: messages }, (_, n) => `M${seed}-${n}`);

/** Brings the orders of a load, breaks connections at moments that the seed chooses until all are there, and looks at the end. */
export function runWithLostCommits(plan: LostCommitsPlan): Promise<LostCommitsReport> {
  const { seed, orders, messages } = plan;
  return withSite({}, (site) =>
    withCutWay(site, async (way) => {
      const port = await findPort();
      await configure(site, way, port);
      const load = planLoad(seed, orders);
      seedRetrievals(site.simulator, load);
      await site.start();
      const endCuts = cutAndCarryOut(way, seed);
      const sent = messageNumbers(plan);
      const sending = sendAll(port, sent);
      for (const { connector, name, content } of load.files) await site.drop(connector, name, content);
      const answers = await sending;
      await eventually(async () => (await site.orders()).length >= orders + messages, {
        withinMs: END_WITHIN_MS,
      });
      const cuts = await endCuts();
      const areAtTheirEnd = async () => (await site.orders()).every(isAtItsEnd);
      await eventually(areAtTheirEnd, { withinMs: END_WITHIN_MS, what: "the end of all orders" });
      const ledger = await site.orders();
      const look = async () => {
        const [hl7Results, csvResults] = [await site.results("hl7"), await site.results("csv")];
        const { simulator } = site;
        return account({ planned: load.orders, ledger, simulator, hl7Results, csvResults });
      };
      await eventually(async () => (await look()).unreported.length === 0).catch(() => undefined);
      const byMessages = new Set(sent.map((number) => `STORE S-${number} V-${number}`));
      const found = await look();
      const { rows } = await site.pool.query<{ number: string }>(
        `select substring(message_control_id from 5) as number from messages
          where connector = 'lims' and verdict = 'accepted'`,
      );
      const again = await sendOrders(sent, { port });
      return {
        cuts,
        account: { ...found, invented: found.invented.filter((key) => !byMessages.has(key)) },
        numbers: ledger.map(({ placerOrderNumber }) => placerOrderNumber ?? "").toSorted(),
        requests: site.simulator.tally().journal.length,
        uncertain: ledger.filter(({ state }) => state === "parked").length,
        accepted: rows.map(({ number }) => number).toSorted(),
        answeredAnew: sent.filter((number) => again.get(number) !== answers.get(number)),
      };
    }),
  );
}
