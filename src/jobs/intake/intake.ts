import type pg from "pg";
import type { Clock } from "../../core/clock.ts";
import { asFailure } from "../../core/failures.ts";
import { groupCommit } from "../../core/group-commit.ts";
import type {
  Accepted,
  IncomingFile,
  IncomingMessage,
  Intake,
  MessageVerdict,
  Peer,
} from "../../core/intake.ts";
import type { Logger } from "../../core/logger.ts";
import { formatId, numberOfId } from "../../ledger/ids.ts";
import { commitMessages } from "../../ledger/messages/commit.ts";
import type { Claimed, Owner } from "../../ledger/messages/dropped-files.ts";
import { goOnWithFile, openFile, settleFile } from "../../ledger/messages/files.ts";
import type { MessageRecord } from "../../ledger/messages/record.ts";
import { resendAnswers } from "../../ledger/results/resend.ts";
import {
  answerBatchFrame,
  batchFileName,
  type ConnectorRules,
  composeFileResponse,
  type IntakeRules,
  replyTo,
} from "./replies.ts";

/** What the intake is given. */
export interface IntakeDeps {
  readonly pool: pg.Pool;
  /** Whose the dropped files are. */
  readonly worker: Owner;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How messages are read and answered right now. */
  readonly rules: () => IntakeRules;
  /** Keeps the rules as they are; see {@link Intake.hold}. */
  readonly hold?: Intake["hold"];
  /** Called when messages that were read by former rules wait for a code: the present ones may know it. */
  readonly onStale?: (() => void) | undefined;
  /** Called after each commit, with its verdicts. */
  readonly onCommitted: (connector: string, verdicts: readonly MessageVerdict[]) => void;
  /** Called when the messages of a frame, or some of a file, have been taken together: mapped and committed. */
  readonly onTaken?: ((taken: TakenMessages) => void) | undefined;
}

/** Messages that came together and are in the ledger. */
export interface TakenMessages {
  readonly connector: string;
  readonly verdicts: readonly MessageVerdict[];
  /** From the moment when the connector handed them over. */
  readonly ms: number;
}

/** Enough to share a disk's sync among many connections, few enough that nobody waits long for the others' rows. */
const GROUP = { items: 250, bytes: 4 * 1024 * 1024 };

/** The way in: maps messages and commits them with their orders and answers before anybody is answered yes. */
export function createIntake(deps: IntakeDeps): Intake {
  const { pool, clock, rules } = deps;
  const toFileRecord = (connector: string) => {
    const { mapper, batches } = requireRules(rules(), connector);
    return (message: IncomingMessage): MessageRecord => ({
      ...mapper.map(message),
      message,
      isAnsweredInBatch: batches !== undefined && message.isInBatch === true,
    });
  };
  const noteCommit = (connector: string, verdicts: readonly MessageVerdict[]) => {
    logVerdicts(deps.logger, connector, verdicts);
    deps.onCommitted(connector, verdicts);
  };
  const acceptFromPeerByConnector = new Map(
    [...rules().byConnector].flatMap(([name, { replies }]) =>
      replies ? [[name, connectionIntake(name, { pool, clock, noteCommit })] as const] : [],
    ),
  );
  /** By which rules a frame's messages were read, so that they are answered by the same. */
  const rulesByAccepted = new WeakMap<readonly Accepted[], IntakeRules>();
  const acceptFrame = async (connector: string, peer: Peer, messages: readonly IncomingMessage[]) => {
    const acceptFromPeer = acceptFromPeerByConnector.get(connector);
    if (!acceptFromPeer) throw new RangeError(`no connector ${connector} takes messages over connections`);
    const current = rules();
    const accepted = await acceptFromPeer(peer, messages, requireRules(current, connector));
    rulesByAccepted.set(accepted, current);
    // It was not committed when those that wait were looked through.
    if (rules() !== current && accepted.some(({ verdict }) => verdict === "waiting")) deps.onStale?.();
    return accepted;
  };
  const mapOfFile = async (connector: string, messages: readonly IncomingMessage[]) => {
    const records: MessageRecord[] = [];
    await mapInTurns(messages, toFileRecord(connector), (piece) => void records.push(...piece.records));
    return records;
  };
  const claimed = (id: string): Claimed => ({ id, worker: deps.worker.id });
  const noteTaken = (connector: string, verdicts: readonly MessageVerdict[], startedAt: number) =>
    deps.onTaken?.({ connector, verdicts, ms: clock.monotonic() - startedAt });
  const noteOfFile = (connector: string, all: readonly Accepted[], startedAt: number) => {
    const verdicts = all.filter(({ isEarlier }) => !isEarlier);
    if (verdicts.length === 0) return;
    noteCommit(connector, verdicts);
    noteTaken(connector, verdicts, startedAt);
  };
  return {
    openFile: async (file, claimId, first) => {
      const startedAt = clock.monotonic();
      const records = await mapOfFile(file.connector, first);
      const opening = await openFile(pool, file, claimed(claimId), records);
      if (opening.status === "duplicate") await answerRepeat(opening.fileId, file, deps, rules());
      else noteOfFile(file.connector, opening.verdicts, startedAt);
      return opening;
    },
    accept: async (source, messages) => {
      const startedAt = clock.monotonic();
      const { connector } = source;
      if ("peer" in source) {
        const accepted = await acceptFrame(connector, source.peer, messages);
        noteTaken(connector, accepted, startedAt);
        return accepted;
      }
      const records = await mapOfFile(connector, messages);
      const verdicts = await goOnWithFile(pool, source, claimed(source.claimId), records);
      noteOfFile(connector, verdicts, startedAt);
      return verdicts;
    },
    inspect: (connector, messages) =>
      messages
        .map(toFileRecord(connector))
        .map(({ message, verdict, messageControlId, problems, orders }) => ({
          ordinal: message.ordinal,
          place: message.place,
          verdict,
          messageControlId,
          problems,
          orders: orders.map(({ operation, placerOrderNumber }, index) => ({
            orderId: formatId("o", index + 1),
            operation,
            placerOrderNumber,
          })),
        })),
    settleFile: async (settlement) => {
      const { fileId, close } = settlement;
      const answer =
        close?.batch && (await composeFileResponse(pool, fileId, close.end, close.batch, rules()));
      return settleFile(pool, deps.worker, settlement, close && { ...close, answer });
    },
    hold: deps.hold,
    answerBatch: (connector, outline, frame, accepted) => {
      const { replies } = requireRules(rulesByAccepted.get(accepted) ?? rules(), connector);
      return replies && answerBatchFrame(replies, outline, frame, accepted);
    },
  };
}

/** @throws RangeError for a connector that there is not */
function requireRules({ byConnector }: IntakeRules, connector: string): ConnectorRules {
  const rules = byConnector.get(connector);
  if (!rules) throw new RangeError(`no connector ${connector}`);
  return rules;
}

/** Has the answers to a file sent again, where the site wants that, now that its bytes came once more. */
async function answerRepeat(
  fileId: string,
  { connector }: IncomingFile,
  { pool, logger }: IntakeDeps,
  { instanceCode, byConnector }: IntakeRules,
): Promise<void> {
  const { answersRepeats, batches } = byConnector.get(connector) ?? {};
  if (!answersRepeats) return;
  const suffix = batches?.profile.results.suffix;
  const answers = await resendAnswers(pool, numberOfId("f", fileId), connector, (name, id) =>
    batchFileName(name, instanceCode, id, suffix),
  );
  logger.info({ connector, file: fileId, answers }, "file came again; its answers are sent again");
}

/** Takes what comes over the connections of one connector: their messages share commits, in their order. */
function connectionIntake(
  connector: string,
  {
    pool,
    clock,
    noteCommit,
  }: Pick<IntakeDeps, "pool" | "clock"> & {
    readonly noteCommit: (connector: string, verdicts: readonly MessageVerdict[]) => void;
  },
): (peer: Peer, messages: readonly IncomingMessage[], rules: ConnectorRules) => Promise<Accepted[]> {
  const commit = groupCommit(
    async (pieces: readonly (readonly MessageRecord[])[]) => {
      const accepted = await commitMessages(pool, { fileId: null, connector, records: pieces.flat() });
      noteCommit(connector, accepted);
      let from = 0;
      return pieces.map(({ length }) => {
        from += length;
        return accepted.slice(from - length, from);
      });
    },
    GROUP,
    // A database that is away is nobody's fault; anything else must not stop the messages beside it.
    (error) => asFailure(error).class !== "transient",
  );
  /** The peers of whom a frame is being mapped; resolves once that is over. */
  const mappingByPeer = new WeakMap<Peer, Promise<void>>();
  return async (peer, messages, { mapper, replies }) => {
    const receivedAt = new Date(clock.now());
    if (!replies) throw new RangeError(`no connector ${connector} takes messages over connections`);
    const map = (message: IncomingMessage): MessageRecord => {
      const mapped = mapper.map(message);
      const { echo } = mapped;
      return { ...mapped, message, replyTo: replyTo({ connector, echo, peer, receivedAt }, replies) };
    };
    const commits: Promise<readonly Accepted[]>[] = [];
    const hand = ({ records, bytes }: Piece) => {
      const committing = commit(records, bytes, peer);
      // Waited for below, once all of the frame is mapped.
      committing.catch(() => undefined);
      commits.push(committing);
    };
    const before = mappingByPeer.get(peer);
    const mapping = before
      ? before.then(() => mapInTurns(messages, map, hand))
      : mapInTurns(messages, map, hand);
    if (mapping) {
      // The next frame of this peer is mapped after this one, whether that comes out or not.
      const over = mapping.catch(() => undefined);
      mappingByPeer.set(peer, over);
      await mapping;
      if (mappingByPeer.get(peer) === over) mappingByPeer.delete(peer);
    }
    return (await Promise.all(commits)).flat();
  };
}

/** Says what became of messages, without a word of what is in them. */
function logVerdicts(logger: Logger, connector: string, verdicts: readonly MessageVerdict[]): void {
  const counts = { accepted: 0, duplicate: 0, refused: 0, ignored: 0, waiting: 0 };
  for (const { verdict } of verdicts) counts[verdict] += 1;
  logger.info({ connector, ...counts }, "messages taken into the ledger");
}

/** Messages that were mapped without a break. */
interface Piece {
  readonly records: readonly MessageRecord[];
  /** Of the messages as they came. */
  readonly bytes: number;
}

/** Where a piece ends: whichever comes first. One message is never cut. */
const PIECE = { ms: 20, messages: 250, bytes: 1024 * 1024 };

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Maps messages piece by piece, with a turn of the event loop between two pieces, so that a file or a frame with many
 * messages keeps nobody else waiting. `hand` gets the pieces in the order of the messages.
 *
 * @returns undefined where one piece was enough: all of it is done then
 */
export function mapInTurns(
  messages: readonly IncomingMessage[],
  map: (message: IncomingMessage) => MessageRecord,
  hand: (piece: Piece) => void,
): Promise<void> | undefined {
  let next = 0;
  const mapPiece = (): boolean => {
    const records: MessageRecord[] = [];
    const until = performance.now() + PIECE.ms;
    let bytes = 0;
    for (let message = messages[next]; message !== undefined; message = messages[next]) {
      records.push(map(message));
      bytes += message.raw.reveal().length;
      next += 1;
      if (records.length >= PIECE.messages || bytes >= PIECE.bytes || performance.now() >= until) break;
    }
    hand({ records, bytes });
    return next < messages.length;
  };
  const goOn = async (): Promise<void> => {
    do await nextTurn();
    while (mapPiece());
  };
  return mapPiece() ? goOn() : undefined;
}
