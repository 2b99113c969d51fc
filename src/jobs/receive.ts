import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { asFailure } from "../core/failures.ts";
import type { BatchOutline, IncomingMessage, MessageVerdict, Received, Reception } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import { phi } from "../core/phi.ts";
import type { Decided, ReplyTo } from "../core/reply.ts";
import { splitHl7File } from "../formats/hl7/file.ts";
import { Hl7Message } from "../formats/hl7/message.ts";
import { commitMessages, type MessageRecord } from "../ledger/commit-messages.ts";
import { formatId } from "../ledger/ids.ts";
import type { MessageAnswer } from "../mapping/answer-hl7.ts";
import { composeBatchResponse } from "../mapping/batch-hl7.ts";
import type { Mapper } from "../mapping/mapper.ts";
import type { Hl7Profile } from "../mapping/profile.ts";
import { createReplier, type ReplySettings } from "../mapping/reply-hl7.ts";
import { ANSWER_BY_VERDICT, answerControlId } from "./batch-response.ts";
import { groupCommit } from "./group-commit.ts";
import { logVerdicts, toRecord } from "./intake.ts";

/** How a connector's messages are mapped and answered. */
export interface ReceptionSettings extends ReplySettings {
  readonly mapper: Mapper;
  readonly profile: Hl7Profile;
  readonly reusedControlId: ReplyTo["reusedControlId"];
}

/** What the reception is given. */
export interface ReceptionDeps {
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Part of each answer's control id; see `findInstanceCode`. */
  readonly instanceCode: string;
  readonly settingsByConnector: ReadonlyMap<string, ReceptionSettings>;
  /** Called after each commit, with its verdicts. */
  readonly onCommitted: (connector: string, verdicts: readonly MessageVerdict[]) => void;
}

/** Enough to share a disk's sync among many connections, few enough that nobody waits long for the others' rows. */
const GROUP = { items: 250, bytes: 4 * 1024 * 1024 };

/** The way in for messages that come over connections: what comes at the same time is committed together. */
export function createReception(deps: ReceptionDeps): Reception {
  const byConnector = new Map(
    [...deps.settingsByConnector].map(([connector, settings]) => [
      connector,
      {
        settings,
        commit: groupCommit(
          (frames: readonly MessageRecord[][]) => commitFrames(connector, frames, deps),
          GROUP,
          // A database that is away is nobody's fault; anything else must not stop the messages beside it.
          (error) => asFailure(error).class !== "transient",
        ),
      },
    ]),
  );
  return {
    receive: async (connector, messages, peer) => {
      const found = byConnector.get(connector);
      if (!found) throw new RangeError(`no connector ${connector} receives over connections`);
      const receivedAt = new Date(deps.clock.now());
      const records = messages.map(
        (message): MessageRecord => ({
          ...toRecord(found.settings.mapper, message),
          replyTo: replyTo({ connector, message, peer, receivedAt }, found.settings, deps.instanceCode),
        }),
      );
      const bytes = messages.reduce((sum, message) => sum + message.raw.reveal().length, 0);
      return found.commit(records, bytes);
    },
    answerBatch: (connector, outline, frame, received) => {
      const profile = byConnector.get(connector)?.settings.profile;
      return profile && answerBatchFrame(profile, deps.instanceCode, outline, frame, received);
    },
  };
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
    messages: splitHl7File(replies[index] ?? Buffer.alloc(0)).parts.map(({ raw }) => raw.toString("utf8")),
  }));
  const last = answers.findLast(({ messages }) => messages.length > 0)?.messages[0];
  const text = composeBatchResponse({
    outline,
    answers,
    response,
    time: last === undefined ? undefined : Hl7Message.parse(last).header.dateTime,
    instanceCode,
    seed: Buffer.concat([frame, ...replies]),
    settings: results,
  });
  return [Buffer.from(text, "utf8")];
}

interface Arrival {
  readonly connector: string;
  readonly message: IncomingMessage;
  readonly peer: string;
  readonly receivedAt: Date;
}

function replyTo(
  { connector, message, peer, receivedAt }: Arrival,
  settings: ReceptionSettings,
  instanceCode: string,
): ReplyTo {
  const { content, raw } = message;
  // The header of a message whose characters can't be read is ASCII all the same.
  const text = content.kind === "hl7" ? content.text : phi(raw.reveal().toString("latin1"));
  const answered = { messageId: "", connector, receivedAt, text };
  const replier = createReplier(answered, settings.profile, settings);
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
    peer,
    reusedControlId: settings.reusedControlId,
    compose: (decided) => {
      const replies = replier.compose(answerOf(decided), controlId("CL", decided.messageId));
      return replies.length === 0 ? undefined : Buffer.concat(replies);
    },
    isWhole: ({ verdict, problems }) => replier.isWhole({ kind: ANSWER_BY_VERDICT[verdict], problems }),
  };
}
