import type pg from "pg";
import { encodeCrockfordNumber } from "../../core/crockford.ts";
import type { Problem } from "../../core/failures.ts";
import type { Accepted, BatchOutline, FileEnd, Peer, Verdict } from "../../core/intake.ts";
import type { Decided, MappedMessage, ReplyTo } from "../../core/mapped-message.ts";
import type { OutcomeMessage } from "../../core/outcome.ts";
import { decodeHl7 } from "../../formats/hl7/charset.ts";
import { joinMessages, splitJoined } from "../../formats/hl7/joined.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import { formatId, numberOfId } from "../../ledger/ids.ts";
import { type Closing, findOpenFile, type OpenFile } from "../../ledger/messages/files.ts";
import { type AnsweredMessage, listAnsweredMessages } from "../../ledger/messages/views.ts";
import type { Mapper } from "../../mapping/inbound/mapper.ts";
import { messageAnswer } from "../../mapping/outbound/answer-hl7.ts";
import { type BatchedAnswer, composeBatchResponse } from "../../mapping/outbound/batch-hl7.ts";
import { createReplier, type ReplySettings, writeAnswer } from "../../mapping/outbound/compose-hl7.ts";
import { safeName } from "../../mapping/outbound/file-name.ts";
import { Original } from "../../mapping/outbound/original.ts";
import { formatHl7Timestamp } from "../../mapping/outbound/timestamp.ts";
import { type BatchResponse, batchResponseOf, type Hl7Profile } from "../../mapping/profile/profile.ts";
import { hl7Results } from "../../mapping/profile/results.ts";
import { defaultsOf } from "../../mapping/profile/settings.ts";

/** A message with where and when it came. */
interface Incoming extends Pick<MappedMessage, "echo"> {
  readonly connector: string;
  readonly peer: Peer;
  readonly receivedAt: Date;
}

/** How a message is answered once its verdict is known: composed in the commit that keeps it. */
export function replyTo(
  { connector, echo, peer, receivedAt }: Incoming,
  replies: ConnectionReplies,
): ReplyTo {
  const answered = { messageId: "", connector, receivedAt, echo };
  const openReplier = () => createReplier(answered, replies.profile, replies);
  const controlId = (prefix: "CA" | "CL", messageId: number) =>
    answerControlId(prefix, replies.instanceCode, messageId);
  const answerOf = ({ verdict, problems }: Pick<Decided, "verdict" | "problems">, messageId: number) =>
    messageAnswer(
      { verdict, problems },
      {
        ...{ outcomeId: "", controlId: controlId("CA", messageId), occurredAt: receivedAt },
        message: { ...answered, messageId: formatId("m", messageId) },
      },
    );
  return {
    peer: peer.address,
    reusedControlId: replies.reusedControlId,
    compose: (decided) => {
      const { messageId } = decided;
      return joinMessages(openReplier().compose(answerOf(decided, messageId), controlId("CL", messageId)));
    },
    // The same whatever number it has.
    isWhole: (decided) => openReplier().isWhole(answerOf(decided, 0)),
  };
}

/** One frame for a batch. What each message is answered with is in the ledger, so the whole comes out the same again. */
export function answerBatchFrame(
  { profile: { results }, instanceCode }: Pick<ConnectionReplies, "profile" | "instanceCode">,
  outline: BatchOutline,
  frame: Buffer,
  accepted: readonly Accepted[],
): readonly Buffer[] | undefined {
  const response = batchResponseOf(results, "mllp");
  if (response === "none") return undefined;
  const replies = accepted.map(({ reply }) => reply ?? Buffer.alloc(0));
  // The sender wants no answer to any of them (MSH-15 and MSH-16).
  if (accepted.length > 0 && replies.every(({ length }) => length === 0)) return [];
  const answers = accepted.map(({ verdict }, index) => ({
    verdict,
    messages: splitJoined(replies[index]),
  }));
  const last = answers.findLast(({ messages }) => messages.length > 0)?.messages[0];
  const bytes = composeBatchResponse({
    outline,
    answers,
    response,
    time:
      last === undefined
        ? undefined
        : Hl7Message.parse(decodeHl7(last).text, { isComposed: true }).header.dateTime,
    instanceCode,
    seed: [frame, ...replies],
    settings: results,
  });
  return [bytes];
}

/** How messages are read and answered. */
export interface IntakeRules {
  /** Part of each answer's control id; see `findInstanceCode`. */
  readonly instanceCode: string;
  readonly byConnector: ReadonlyMap<string, ConnectorRules>;
}

/** How the messages of one connector are read and answered. */
export interface ConnectorRules {
  readonly mapper: Mapper;
  /** How the batches of its files are answered as a whole; undefined where each message has an answer of its own. */
  readonly batches?: BatchRules | undefined;
  /** Whether a file that comes again gets its answers again. */
  readonly answersRepeats?: boolean | undefined;
  /** How messages that come over its connections are answered; undefined for a folder. */
  readonly replies?: ConnectionReplies | undefined;
}

/** How batches of files are answered. */
interface BatchRules {
  readonly profile: Hl7Profile;
  readonly response: Exclude<BatchResponse, "none">;
}

/** How a connector's messages are answered over the connections that they come by. */
export interface ConnectionReplies extends ReplySettings {
  readonly profile: Hl7Profile;
  readonly reusedControlId: ReplyTo["reusedControlId"];
  /** Part of each answer's control id; see `findInstanceCode`. */
  readonly instanceCode: string;
}

/** MSH-10 of an answer to a message (CA, CL) or to a file (CF, CH), which are numbered by themselves. */
export function answerControlId(prefix: "CA" | "CL" | "CF" | "CH", instanceCode: string, id: number): string {
  return `${prefix}${instanceCode}${encodeCrockfordNumber(id).padStart(8, "0")}`;
}

/** Composed at a time; between them others get their turn. */
const PAGE = 200;
/** ERR segments of an answer to a file that was refused as a whole. */
const MOST_PROBLEMS = 50;

/** The response to the batches of a file that ends so; undefined where its connector gives none, and once the file is closed. */
export async function composeFileResponse(
  pool: pg.Pool,
  fileId: string,
  end: FileEnd,
  outline: BatchOutline,
  { instanceCode, byConnector }: IntakeRules,
): Promise<Closing["answer"]> {
  const id = numberOfId("f", fileId);
  const file = await findOpenFile(pool, id);
  const settings = file && byConnector.get(file.connector)?.batches;
  if (!file || !settings) return undefined;
  const { profile, response } = settings;
  const answers: BatchedAnswer[] = [];
  let last: AnsweredMessage | undefined;
  for (;;) {
    const page = await listAnsweredMessages(pool, id, last?.ordinal ?? 0, PAGE);
    answers.push(...page.map((message) => answerMessage(message, file, profile, instanceCode)));
    last = page.at(-1) ?? last;
    if (page.length < PAGE) break;
  }
  const expected = outline.batches.reduce((sum, { messages }) => sum + messages, 0);
  // A rest that was not taken has no answers of its own, and a response without any says that all went well.
  const isCut = answers.length === 0 || answers.length < expected;
  if (isCut && end.problems.length > 0)
    answers.push(refuseFile(file, { problems: reasonsOf(end) }, profile, id, instanceCode));
  const { timeZone } = profile.results;
  const bytes = composeBatchResponse({
    outline,
    answers,
    response,
    time: formatHl7Timestamp(last?.receivedAt ?? file.receivedAt, timeZone),
    instanceCode,
    seed: [fileId],
    settings: profile.results,
  });
  return {
    connector: file.connector,
    fileName: batchFileName(file.fileName, instanceCode, id, profile.results.suffix),
    bytes,
  };
}

const { suffix: SUFFIX } = defaultsOf(hl7Results, ["suffix"]);

/** The name of the file that answers a file; its last part, unlike the first, never comes again. */
export function batchFileName(
  fileName: string,
  instanceCode: string,
  fileId: number,
  suffix = SUFFIX,
): string {
  return `${safeName(fileName)}_${answerControlId("CH", instanceCode, fileId)}${suffix}`;
}

function answerMessage(
  { verdict, problems, messageId, messageControlId, receivedAt, echo }: AnsweredMessage,
  { connector, fileName }: OpenFile,
  profile: Hl7Profile,
  instanceCode: string,
): BatchedAnswer {
  const controlId = answerControlId("CA", instanceCode, numberOfId("m", messageId));
  const answered = { messageId, connector, messageControlId, fileName, receivedAt, echo };
  return answerInBatch({ verdict, problems, controlId, answered }, profile);
}

/** What became of a message of a batch, and what its answer refers to. */
interface BatchedMessage {
  readonly verdict: Verdict;
  readonly problems: readonly Problem[];
  /** MSH-10 of the answer. */
  readonly controlId: string;
  readonly answered: OutcomeMessage;
}

/** The answer to one message of a file's batch. */
export function answerInBatch(
  { verdict, problems, controlId, answered }: BatchedMessage,
  profile: Hl7Profile,
): BatchedAnswer {
  const about = { outcomeId: "", controlId, occurredAt: answered.receivedAt, message: answered };
  const answer = messageAnswer({ verdict, problems }, about);
  return { verdict, messages: [writeAnswer(answer, new Original(answered, profile), profile)] };
}

/** What is wrong with a file as a whole where that is sent, since its messages' mistakes stand in their own answers. */
function reasonsOf({ problems }: FileEnd): readonly Problem[] {
  const ofFile = problems.filter(({ place }) => place.whole === "file");
  return ofFile.length > 0 ? ofFile : problems;
}

/** A file has no messages to answer of which nothing was taken, nor beyond what was: one answer says why. */
export function refuseFile(
  { connector, fileName, receivedAt }: OpenFile,
  { problems }: Pick<FileEnd, "problems">,
  profile: Hl7Profile,
  fileId: number,
  instanceCode: string,
): BatchedAnswer {
  return answerInBatch(
    {
      verdict: "refused",
      problems: problems.slice(0, MOST_PROBLEMS),
      controlId: answerControlId("CF", instanceCode, fileId),
      answered: { messageId: "", connector, fileName, receivedAt },
    },
    profile,
  );
}
