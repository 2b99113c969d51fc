import { join } from "node:path";
import type pg from "pg";
import { phi } from "../../src/core/phi.ts";
import type { Arrival } from "../../src/ledger/arrival-rows.ts";
import { takeMessageIds } from "../../src/ledger/arrivals.ts";
import { Journal, type JournalOptions } from "../../src/ledger/journal/journal.ts";
import { withFolder } from "./with-folder.ts";
import { silent, withLedger } from "./with-ledger.ts";

/** When messages come, ms since 1970. */
export const AT = Date.UTC(2026, 10, 21, 12, 34, 56, 789);
/** The same as the journal is told. */
export const TIMES = { at: 0, receivedAt: AT };
/** Bytes of a file in front of its records. */
export const HEADER_BYTES = 4_096;

/** What a test says of a message; the rest has values that are alike. */
export interface ArrivalParts {
  readonly raw?: Uint8Array | string | undefined;
  readonly reply?: Uint8Array | string | undefined;
  readonly controlId?: string | undefined;
  readonly messageType?: string | undefined;
  readonly sender?: string | undefined;
  readonly peer?: string | undefined;
  readonly encoding?: string | undefined;
  readonly isTold?: boolean | undefined;
}

/** A message in order; what is given as undefined is absent. */
export function anArrival(messageId: number, parts: ArrivalParts = {}): Arrival {
  const whole = {
    raw: `MSH|${messageId}`,
    reply: `answer to ${messageId}`,
    controlId: `C-${messageId}`,
    messageType: "OML^O33",
    sender: "LIMS^NORTH",
    peer: "10.0.0.9",
    encoding: "utf-8",
    isTold: true,
    ...parts,
  };
  const { raw, reply, peer } = whole;
  return {
    messageId,
    record: {
      message: {
        ordinal: 1,
        place: "message 1",
        raw: phi(Buffer.from(raw ?? "")),
        content: { kind: "hl7", text: phi(""), encoding: whole.encoding },
      },
      messageControlId: whole.controlId,
      messageType: whole.messageType,
      sender: whole.sender,
      verdict: "accepted",
      problems: [],
      orders: [],
      replyTo:
        peer === undefined
          ? undefined
          : { peer, reusedControlId: "take", compose: () => undefined, isWhole: () => true },
    },
    reply: reply === undefined ? undefined : Buffer.from(reply),
    isTold: whole.isTold === true,
  };
}

/** A message as the ledger has it. */
export interface LedgerMessage {
  readonly id: number;
  readonly connector: string;
  readonly message_control_id: string | null;
  readonly message_type: string | null;
  readonly sender: string | null;
  readonly peer: string | null;
  readonly encoding: string | null;
  readonly raw: Buffer;
  readonly reply: Buffer | null;
  readonly received_at: Date;
  readonly is_digest_right: boolean;
}

/** A ledger, and a folder for the journals in front of it. */
export interface Journals {
  readonly pool: pg.Pool;
  /** Where the files are. */
  readonly folder: string;
  /** Opens a journal, that of `lims` unless told otherwise; all are closed at the end of the test. */
  open(options?: Partial<JournalOptions>): Promise<Journal>;
  /** Messages that are alike, with numbers of the ledger. */
  take(count: number, parts?: ArrivalParts): Promise<Arrival[]>;
  /** Puts so many messages down as one group, which must go, and gives their ids. */
  put(journal: Journal, count: number, parts?: ArrivalParts): Promise<number[]>;
  /** A connector's messages in the ledger, by their ids. */
  messages(connector?: string): Promise<LedgerMessage[]>;
  /** The ids of a connector's messages whose orders are to be made, in the order in which they will be. */
  due(connector?: string): Promise<number[]>;
}

/** The ids of messages, on their way or in the ledger. */
export const idsOf = (messages: readonly (Pick<Arrival, "messageId"> | Pick<LedgerMessage, "id">)[]) =>
  messages.map((message) => ("id" in message ? message.id : message.messageId));

/** Gives a test such a ledger. */
export function withJournals(test: (journals: Journals) => Promise<void>): Promise<void> {
  return withFolder((dataDir) =>
    withLedger(async ({ pool }) => {
      const opened: Journal[] = [];
      const folder = join(dataDir, "journal");
      const take: Journals["take"] = async (count, parts) =>
        (await takeMessageIds(pool, count)).map((id) => anArrival(id, parts));
      try {
        await test({
          pool,
          folder,
          open: async (options) => {
            const common = { folder, connector: "lims", instanceCode: "TEST", pool, logger: silent };
            const journal = await Journal.open({ ...common, ...options });
            opened.push(journal);
            return journal;
          },
          take,
          put: async (journal, count, parts) => {
            const arrivals = await take(count, parts);
            if (!(await journal.append(arrivals, TIMES))) throw new Error("the journal took nothing");
            return idsOf(arrivals);
          },
          messages: async (connector = "lims") => {
            const { rows } = await pool.query<LedgerMessage>(
              `select id, connector, message_control_id, message_type, sender, peer, encoding, raw, reply, received_at,
                      sha256 = sha256(raw) as is_digest_right
                 from messages where connector = $1 order by id`,
              [connector],
            );
            return rows;
          },
          due: async (connector = "lims") => {
            const { rows } = await pool.query<{ message_ids: number[] }>(
              "select message_ids from arrivals where connector = $1 order by id",
              [connector],
            );
            return rows.flatMap(({ message_ids }) => message_ids);
          },
        });
      } finally {
        for (const journal of opened) await journal.close();
      }
    }),
  );
}

/** What becomes of a commit of journaled messages: it is refused, or carried out without anybody being told. */
export type LostCommit = "refused" | "unanswered";

/** A pool that loses commits of journaled messages for as long as `next` says so. */
export function losingPool(pool: pg.Pool, next: () => LostCommit | undefined): pg.Pool {
  const query = async (...words: Parameters<pg.Pool["query"]>) => {
    const [statement] = words as unknown as [{ readonly name?: string }];
    const lost = statement.name === "insert_journaled" ? next() : undefined;
    if (lost !== "refused") {
      const result = await pool.query(...words);
      if (lost === undefined) return result;
    }
    throw Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
  };
  return withQuery(pool, query);
}

/**
 * A pool that holds commits of journaled messages, before they are carried out or before anybody is told, until it lets
 * all go. `held` resolves when the first is.
 */
export function holdCommit(pool: pg.Pool, when: "asked for" | "carried out") {
  const held = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const query = async (...words: Parameters<pg.Pool["query"]>) => {
    const [statement] = words as unknown as [{ readonly name?: string }];
    if (statement.name !== "insert_journaled") return await pool.query(...words);
    const before = when === "carried out" ? await pool.query(...words) : undefined;
    held.resolve();
    await free.promise;
    return before ?? (await pool.query(...words));
  };
  return { pool: withQuery(pool, query), held: held.promise, letGo: free.resolve };
}

/** A pool that asks in another way what is asked outside of transactions. */
export function withQuery(
  pool: pg.Pool,
  query: (...words: Parameters<pg.Pool["query"]>) => Promise<unknown>,
): pg.Pool {
  return new Proxy(pool, {
    get: (target, key) => {
      if (key === "query") return query;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
