import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { asFailure } from "../core/failures.ts";
import type {
  BatchOutline,
  IncomingMessage,
  MessageVerdict,
  Peer,
  Received,
  Reception,
} from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import { phi } from "../core/phi.ts";
import type { Decided, ReplyTo } from "../core/reply.ts";
import { decodeHl7 } from "../formats/hl7/charset.ts";
import { splitHl7File } from "../formats/hl7/file.ts";
import { Hl7Message } from "../formats/hl7/message.ts";
import type { Arrival } from "../ledger/arrival-rows.ts";
import { insertArrivals, takeLastingMessageIds, takeMessageIds } from "../ledger/arrivals.ts";
import { commitMessages, type MessageRecord } from "../ledger/commit-messages.ts";
import { formatId } from "../ledger/ids.ts";
import { Journal, type JournalState, listJournals, removeJournal } from "../ledger/journal/journal.ts";
import type { StoredMessage } from "../ledger/views.ts";
import type { MessageAnswer } from "../mapping/answer-hl7.ts";
import { composeBatchResponse } from "../mapping/batch-hl7.ts";
import type { Mapper } from "../mapping/mapper.ts";
import { PreparedReplies } from "../mapping/prepared-reply.ts";
import type { Hl7Profile } from "../mapping/profile.ts";
import { createReplier, type ReplySettings } from "../mapping/reply-hl7.ts";
import { Arrivals } from "./arrivals.ts";
import { ANSWER_BY_VERDICT, answerControlId } from "./batch-response.ts";
import { groupCommit } from "./group-commit.ts";
import { asAnswered, logVerdicts, toRecord } from "./intake.ts";
import { KnownControlIds } from "./known-control-ids.ts";
import { MessageNumbers } from "./message-numbers.ts";

/** How a connector's messages are mapped and answered. */
export interface ReceptionSettings extends ReplySettings {
  readonly mapper: Mapper;
  readonly profile: Hl7Profile;
  readonly reusedControlId: ReplyTo["reusedControlId"];
  /** A message of the ledger as the connector handed it over. */
  readonly readAgain: (stored: StoredMessage) => IncomingMessage;
}

/** What the reception is given. */
export interface ReceptionDeps {
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Part of each answer's control id; see `findInstanceCode`. */
  readonly instanceCode: string;
  readonly settingsByConnector: ReadonlyMap<string, ReceptionSettings>;
  /**
   * Where messages are put down before the ledger has them, or were until the configuration said otherwise; without
   * use of it each is committed to the ledger itself.
   */
  readonly journals: { readonly folder: string; readonly areUsed: boolean };
  /** Called after each commit, with its verdicts. */
  readonly onCommitted: (connector: string, verdicts: readonly MessageVerdict[]) => void;
}

/** Enough to share a disk's sync among many connections, few enough that nobody waits long for the others' rows. */
const GROUP = { items: 250, bytes: 4 * 1024 * 1024 };

/** Numbers taken ahead at most: one question to the ledger for some tenths of a second of a storm. */
const NUMBERS = 4_000;

/** A reception with its work behind the counter. */
export interface RunningReception extends Reception {
  /**
   * Takes what an earlier run left in its journals into the ledger, and begins to make the orders of messages that it
   * acknowledged.
   *
   * @throws Failure JOURNAL_… or LEDGER_UNAVAILABLE
   */
  start(): Promise<void>;
  /** How the journals stand, by connector; empty before the start, and where there are none. */
  journals(): readonly JournalState[];
  /** Makes the orders of what was acknowledged; nothing may be received any more. */
  stop(): Promise<void>;
}

/** Acknowledged messages whose orders aren't made yet may take so long at the end, ms. */
const STOP_WITHIN_MS = 3_000;

/**
 * The way in for messages that come over connections: what comes at the same time is committed together. Messages that
 * are in order, as nearly all are, are committed as they are and answered, and their orders are made right after that;
 * where there is more to decide, such as about a control id that came before, the orders are made in the same commit.
 * Where there is a journal, those in order are put down there, and the ledger has them right after that, too.
 */
export function createReception(deps: ReceptionDeps): RunningReception {
  const counters = new Map(
    [...deps.settingsByConnector].map(([connector, settings]) => [
      connector,
      openCounter(connector, settings, deps),
    ]),
  );
  return {
    start: async () => {
      const { journals, instanceCode, pool, logger } = deps;
      const { folder, areUsed } = journals;
      const open = (connector: string) => Journal.open({ folder, connector, instanceCode, pool, logger });
      for (const connector of await listJournals(folder)) {
        if (areUsed && counters.has(connector)) continue;
        const journal = await open(connector);
        await journal.empty().finally(() => journal.close());
        await removeJournal(folder, connector);
      }
      for (const [connector, counter] of counters) {
        await counter.start(areUsed ? await open(connector) : undefined);
      }
    },
    journals: () => [...counters.values()].flatMap((counter) => counter.journalState() ?? []),
    stop: async () => {
      await Promise.all([...counters.values()].map((counter) => counter.stop()));
    },
    receive: async (connector, messages, peer) => {
      const found = counters.get(connector);
      if (!found) throw new RangeError(`no connector ${connector} receives over connections`);
      const receivedAt = new Date(deps.clock.now());
      const records = messages.map(
        (message): MessageRecord => ({
          ...toRecord(found.settings.mapper, message),
          replyTo: replyTo({ connector, message, peer, receivedAt }, found, deps.instanceCode),
        }),
      );
      const bytes = messages.reduce((sum, message) => sum + message.raw.reveal().length, 0);
      return found.commit(records, bytes, peer);
    },
    answerBatch: (connector, outline, frame, received) => {
      const profile = counters.get(connector)?.settings.profile;
      return profile && answerBatchFrame(profile, deps.instanceCode, outline, frame, received);
    },
  };
}

/** Where the messages of one connector are taken in. */
interface Counter {
  readonly settings: ReceptionSettings;
  readonly preparedReplies: PreparedReplies;
  readonly commit: (records: MessageRecord[], bytes: number, from: Peer) => Promise<Received[]>;
  readonly start: (journal: Journal | undefined) => Promise<void>;
  readonly journalState: () => JournalState | undefined;
  readonly stop: () => Promise<void>;
}

function openCounter(connector: string, settings: ReceptionSettings, deps: ReceptionDeps): Counter {
  const { pool, clock, journals } = deps;
  const take = journals.areUsed ? takeLastingMessageIds : takeMessageIds;
  const numbers = new MessageNumbers(
    (count) => take(pool, count),
    clock,
    journals.areUsed ? NUMBERS : GROUP.items,
  );
  const known = journals.areUsed ? new KnownControlIds({ ...deps, connector }) : undefined;
  const onCommitted: ReceptionDeps["onCommitted"] = (name, verdicts) => {
    if (verdicts.some(({ verdict }) => verdict === "waiting")) known?.noteWaiting();
    deps.onCommitted(name, verdicts);
  };
  const arrivals = new Arrivals({
    ...deps,
    connector,
    onCommitted,
    // It was answered before its orders are made, by the present configuration.
    mapAgain: (stored) => asAnswered(toRecord(settings.mapper, settings.readAgain(stored))),
  });
  const stopping = new AbortController();
  const commit = groupCommit(
    async (frames: readonly MessageRecord[][]) => {
      if (arePlain(frames)) {
        await arrivals.makeRoom();
        const received = await arrive(connector, frames.flat(), { pool, numbers, arrivals, known });
        if (received) return received.map((one) => [one]);
      }
      // What comes now may be about orders of what came before.
      await arrivals.settle();
      numbers.forget();
      known?.add(frames.flat().flatMap(({ messageControlId }) => messageControlId ?? []));
      return commitFrames(connector, frames, { ...deps, onCommitted });
    },
    GROUP,
    // A database that is away is nobody's fault; anything else must not stop the messages beside it.
    (error) => asFailure(error).class !== "transient",
  );
  const preparedReplies = new PreparedReplies(settings.profile, settings);
  return {
    settings,
    preparedReplies,
    commit,
    start: async (journal) => {
      await arrivals.start(journal);
      void known?.load(stopping.signal);
    },
    journalState: () => arrivals.journalState,
    stop: async () => {
      stopping.abort();
      await arrivals.stop(STOP_WITHIN_MS);
    },
  };
}

/** Whether all frames of a group are plain, each with a control id of its own. */
function arePlain(frames: readonly MessageRecord[][]): boolean {
  const controlIds = new Set(frames.map(([record]) => record?.messageControlId));
  return controlIds.size === frames.length && frames.every(isPlainFrame);
}

/**
 * Whether a frame holds one message, in order, that brings nothing but orders with numbers: all that is to be decided
 * about it is whether its control id came before.
 */
function isPlainFrame([record, ...others]: readonly MessageRecord[]): boolean {
  if (!record || others.length > 0) return false;
  const { verdict, problems, messageControlId, orders, wishes = [] } = record;
  return (
    verdict === "accepted" &&
    problems.length === 0 &&
    messageControlId !== undefined &&
    wishes.length === 0 &&
    orders.length > 0 &&
    orders.every(({ placerOrderNumber }) => placerOrderNumber !== undefined)
  );
}

/** What the way in of plain messages takes. */
interface ArriveDeps {
  readonly pool: pg.Pool;
  readonly numbers: MessageNumbers;
  readonly arrivals: Arrivals;
  /** Undefined where there is no journal. */
  readonly known: KnownControlIds | undefined;
}

/** Commits plain messages and leaves their orders to be made; undefined, with nothing done, when one of them isn't as plain. */
async function arrive(
  connector: string,
  records: readonly MessageRecord[],
  { pool, numbers, arrivals, known }: ArriveDeps,
): Promise<Received[] | undefined> {
  const messageIds = await numbers.next(records.length);
  const arriving = records.map((record, index): Arrival => {
    const messageId = messageIds[index] as number;
    const { verdict, problems, replyTo } = record;
    const reply = replyTo?.compose({ verdict, problems, messageId });
    return { messageId, record, reply, isTold: replyTo?.isWhole(record) === true };
  });
  const controlIds = records.flatMap(({ messageControlId }) => messageControlId ?? []);
  if (!arrivals.isJournalFilled) known?.noteInLedger();
  const isNew = (await known?.areNew(controlIds)) === true;
  known?.add(controlIds);
  const isPutDown = isNew && (await arrivals.putDown(arriving));
  if (!isPutDown && !(await commitArrivals(connector, arriving, { pool, arrivals }))) return undefined;
  return arriving.map(({ record, reply }) => ({
    ordinal: 1,
    place: record.message.place,
    verdict: record.verdict,
    messageControlId: record.messageControlId,
    problems: record.problems,
    orders: [],
    reply,
  }));
}

/** False, with nothing done, when one of them isn't as plain as it seemed. */
async function commitArrivals(
  connector: string,
  arriving: readonly Arrival[],
  { pool, arrivals }: Pick<ArriveDeps, "pool" | "arrivals">,
): Promise<boolean> {
  // What stands in the journal came before them.
  await arrivals.emptyJournal();
  let hasArrived = false;
  const commit = async (): Promise<readonly Arrival[]> => {
    hasArrived = await insertArrivals(pool, connector, arriving);
    return hasArrived ? arriving : [];
  };
  await arrivals.add(commit());
  return hasArrived;
}

async function commitFrames(
  connector: string,
  frames: readonly MessageRecord[][],
  deps: ReceptionDeps,
): Promise<Received[][]> {
  // Messages of a commit are told apart by their ordinals.
  let ordinal = 0;
  const numbered = frames.map((records) =>
    records.map((record) => {
      ordinal += 1;
      return { ...record, message: { ...record.message, ordinal } };
    }),
  );
  const verdicts = await commitMessages(deps.pool, { fileId: null, connector, records: numbered.flat() });
  logVerdicts(deps.logger, connector, verdicts);
  deps.onCommitted(connector, verdicts);
  const byOrdinal = new Map(verdicts.map((verdict) => [verdict.ordinal, verdict]));
  return numbered.map((records) => records.flatMap(({ message }) => byOrdinal.get(message.ordinal) ?? []));
}

/** One frame for a batch. What each message is answered with is in the ledger, so the whole comes out the same again. */
function answerBatchFrame(
  { results }: Hl7Profile,
  instanceCode: string,
  outline: BatchOutline,
  frame: Buffer,
  received: readonly Received[],
): readonly Buffer[] | undefined {
  const response = results.batchResponse ?? "all";
  if (response === "none") return undefined;
  const replies = received.map(({ reply }) => reply ?? Buffer.alloc(0));
  // The sender wants no answer to any of them (MSH-15 and MSH-16).
  if (received.length > 0 && replies.every(({ length }) => length === 0)) return [];
  const answers = received.map(({ verdict }, index) => ({
    verdict,
    messages: splitHl7File(replies[index] ?? Buffer.alloc(0)).parts.map(({ raw }) => raw),
  }));
  const last = answers.findLast(({ messages }) => messages.length > 0)?.messages[0];
  const bytes = composeBatchResponse({
    outline,
    answers,
    response,
    time: last === undefined ? undefined : Hl7Message.parse(decodeHl7(last).text).header.dateTime,
    instanceCode,
    seed: Buffer.concat([frame, ...replies]),
    settings: results,
  });
  return [bytes];
}

interface Incoming {
  readonly connector: string;
  readonly message: IncomingMessage;
  readonly peer: Peer;
  readonly receivedAt: Date;
}

function replyTo(
  { connector, message, peer, receivedAt }: Incoming,
  { settings, preparedReplies }: Pick<Counter, "settings" | "preparedReplies">,
  instanceCode: string,
): ReplyTo {
  const { content, raw } = message;
  const encoding = content.kind === "hl7" ? content.encoding : undefined;
  const prepared =
    content.kind === "hl7" ? preparedReplies.find(content.text.reveal(), content.encoding) : undefined;
  // The header of a message whose characters can't be read is ASCII all the same.
  const text = content.kind === "hl7" ? content.text : phi(raw.reveal().toString("latin1"));
  const answered = { messageId: "", connector, receivedAt, text, encoding };
  const openReplier = () => createReplier(answered, settings.profile, settings);
  const controlId = (prefix: "CA" | "CL", messageId: number) =>
    answerControlId(prefix, instanceCode, messageId);
  const answerOf = ({ verdict, problems, messageId }: Decided): MessageAnswer => {
    const common = {
      outcomeId: "",
      controlId: controlId("CA", messageId),
      occurredAt: receivedAt,
      message: { ...answered, messageId: formatId("m", messageId) },
    };
    const kind = ANSWER_BY_VERDICT[verdict];
    return kind === "acknowledged"
      ? { ...common, kind, orders: [], isDuplicate: verdict === "duplicate" }
      : { ...common, kind, problems };
  };
  return {
    peer: peer.address,
    reusedControlId: settings.reusedControlId,
    compose: (decided) => {
      const { verdict, messageId } = decided;
      const laterControlId = () => controlId("CL", messageId);
      if (prepared && verdict === "accepted") {
        return prepared.compose({
          occurredAt: receivedAt,
          controlId: controlId("CA", messageId),
          laterControlId,
        });
      }
      const replies = openReplier().compose(answerOf(decided), laterControlId());
      return replies.length <= 1 ? replies[0] : Buffer.concat(replies);
    },
    isWhole: ({ verdict, problems }) =>
      prepared && verdict === "accepted"
        ? prepared.isWhole
        : openReplier().isWhole({ kind: ANSWER_BY_VERDICT[verdict], problems }),
  };
}
