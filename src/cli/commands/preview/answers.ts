import type { ConnectorConfig } from "../../../config/config.ts";
import { Failure, type Problem } from "../../../core/failures.ts";
import type { BatchOutline, IncomingMessage } from "../../../core/intake.ts";
import type { Outcome, OutcomeMessage, OutcomeOrder } from "../../../core/outcome.ts";
import { phi } from "../../../core/phi.ts";
import { decodeHl7 } from "../../../formats/hl7/charset.ts";
import {
  ANSWER_BY_VERDICT,
  answerControlId,
  answerInBatch,
  batchFileName,
  refuseFile,
} from "../../../jobs/intake/batch-response.ts";
import type { MappedMessage } from "../../../mapping/inbound/mapper.ts";
import type { MessageAnswer } from "../../../mapping/outbound/answer-hl7.ts";
import { type BatchedAnswer, composeBatchResponse } from "../../../mapping/outbound/batch-hl7.ts";
import { createReplier } from "../../../mapping/outbound/reply-hl7.ts";
import { type CsvResultRow, csvResultRows } from "../../../mapping/outbound/result-csv.ts";
import { composeHl7 } from "../../../mapping/outbound/result-hl7.ts";
import { formatHl7Timestamp } from "../../../mapping/outbound/timestamp.ts";
import type { Hl7Profile, Profile } from "../../../mapping/profile/profile.ts";

/** What the lab would be sent at once: an HL7 message or batch, or rows of a CSV result file. */
export type Answer =
  | {
      readonly kind: "hl7";
      /** Undefined for what goes back over a connection. */
      readonly fileName: string | undefined;
      readonly text: string;
    }
  | { readonly kind: "csv"; readonly rows: readonly CsvResultRow[] };

/** As long as real ones, and plainly none. */
const SAMPLE_CONTROL_ID = "CBPREVIEW0000001";
const SAMPLE_LATER_CONTROL_ID = "CLPREVIEW0000001";

export interface AnswerParts {
  readonly fileName: string;
  readonly connector: ConnectorConfig;
  readonly profile: Profile;
  readonly now: Date;
}

/** The answer that a message would get by itself; undefined when the profile sends the lab nothing then. */
export function composeAnswer(
  message: IncomingMessage,
  mapped: MappedMessage,
  { fileName, connector, profile, now }: AnswerParts,
): Answer | undefined {
  if (connector.type === "mllp" && profile.format === "hl7") {
    const replies = composeReplies(message, mapped, profile, connector, now);
    if (replies.length === 0) return undefined;
    return { kind: "hl7", fileName: undefined, text: replies.map(readText).join("") };
  }
  if (mapped.verdict === "ignored") return undefined;
  const answered = answeredMessage(message, mapped, fileName, now);
  // The daemon has no text either of a message that it can't read, and answers it in a batch or connection only.
  const isReadable = message.content.kind !== "unreadable";
  const common = outcomeAbout(isReadable ? answered : { ...answered, text: undefined }, now);
  const outcome: Outcome =
    mapped.verdict === "refused" || mapped.verdict === "waiting"
      ? { ...common, kind: mapped.verdict, problems: mapped.problems }
      : { ...common, kind: "acknowledged", orders: mapped.orders.map(toOutcomeOrder), isDuplicate: false };
  if (profile.format === "csv") {
    const rows = csvResultRows(outcome, profile);
    return rows.length === 0 ? undefined : { kind: "csv", rows };
  }
  const file = composeHl7(outcome, profile);
  return file && { kind: "hl7", fileName: file.fileName, text: readText(file.bytes) };
}

/** Why a message's results would be parked: the character set of the results can't hold what they repeat. */
export function findUnwritable(
  message: IncomingMessage,
  mapped: MappedMessage,
  { fileName, profile, now }: AnswerParts,
): Problem | undefined {
  const common = outcomeAbout(answeredMessage(message, mapped, fileName, now), now);
  try {
    for (const order of mapped.orders.map(toOutcomeOrder)) {
      // What is reported sooner or later of every order that goes well.
      const outcome: Outcome = { ...common, kind: "changed", order: { ...order, state: "completed" } };
      if (profile.format === "csv") csvResultRows(outcome, profile);
      else composeHl7(outcome, profile);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "RESULT_NOT_ENCODABLE") throw error;
    return { code: error.code, place: message.place, message: error.message };
  }
}

/** A message or batch of ours in whatever character set it is written, which the first MSH-18 names. */
function readText(bytes: Buffer): string {
  try {
    return decodeHl7(bytes).text;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // The messages of a batch may be in several.
    return bytes.toString("latin1");
  }
}

/** What would go back over the connection that a message comes by; empty where its sender wants nothing there. */
function composeReplies(
  message: IncomingMessage,
  mapped: MappedMessage,
  profile: Hl7Profile,
  { applicationAck, answers: form }: Extract<ConnectorConfig, { type: "mllp" }>,
  now: Date,
): readonly Buffer[] {
  const { verdict, problems } = mapped;
  const answered = answeredMessage(message, mapped, undefined, now);
  const common = outcomeAbout(answered, now);
  const kind = ANSWER_BY_VERDICT[verdict];
  const answer: MessageAnswer =
    kind === "acknowledged"
      ? { ...common, kind, orders: [], isDuplicate: false }
      : { ...common, kind, problems };
  return createReplier(answered, profile, { form, applicationAck }).compose(answer, SAMPLE_LATER_CONTROL_ID);
}

/** The message as an answer refers to it. The header of one whose characters can't be read is ASCII all the same. */
function answeredMessage(
  { content, raw }: IncomingMessage,
  { header }: MappedMessage,
  fileName: string | undefined,
  now: Date,
): OutcomeMessage {
  const text = content.kind === "hl7" ? content.text.reveal() : raw.reveal().toString("latin1");
  return {
    messageId: "m1",
    connector: "",
    messageControlId: header?.messageControlId,
    fileName,
    receivedAt: now,
    text: content.kind === "csv" ? undefined : phi(text),
    encoding: content.kind === "hl7" ? content.encoding : undefined,
  };
}

/** What every outcome of a preview has. */
function outcomeAbout(message: OutcomeMessage, now: Date) {
  return { outcomeId: "t1", controlId: SAMPLE_CONTROL_ID, occurredAt: now, message };
}

function toOutcomeOrder(order: MappedMessage["orders"][number], index: number): OutcomeOrder {
  const { operation, placerOrderNumber, facilityCode, subject, containers } = order;
  return {
    orderId: `o${index + 1}`,
    operation,
    placerOrderNumber,
    facilityCode,
    subjectCode: subject.code,
    state: "received",
    containers,
  };
}

/** Stands for the ledger's own in control ids. */
const SAMPLE_INSTANCE = "SAMPLE";

/** What a file with batches is answered with, gathered as its messages are looked at. */
export interface BatchPreview {
  add(message: IncomingMessage, mapped: MappedMessage): void;
  /** The one answer; undefined where the senders of all messages want none. */
  answer(problems: readonly Problem[]): Answer | undefined;
}

/** Undefined where each message is answered by itself: no batches, or the profile wants it so. */
export function createBatchPreview(
  connector: ConnectorConfig,
  profile: Profile,
  { fileName, now, outline }: { fileName: string; now: Date; outline: BatchOutline | undefined },
): BatchPreview | undefined {
  const isConnection = connector.type === "mllp";
  if (profile.format !== "hl7" || outline === undefined) return undefined;
  const response = profile.results.batchResponse ?? (isConnection ? "all" : "none");
  if (response === "none") return undefined;
  const answers: BatchedAnswer[] = [];
  return {
    add: (message, mapped) => {
      const { verdict, problems } = mapped;
      if (connector.type === "mllp") {
        const replies = composeReplies(message, mapped, profile, connector, now);
        answers.push({ verdict, messages: replies });
        return;
      }
      const controlId = answerControlId("CA", SAMPLE_INSTANCE, message.ordinal);
      const isReadable = message.content.kind === "hl7";
      const answered = answeredMessage(message, mapped, fileName, now);
      answers.push(answerInBatch({ verdict, problems, isReadable, controlId, answered }, profile));
    },
    answer: (problems) => {
      if (answers.length === 0 && problems.length > 0) {
        const file = { connector: connector.name, fileName, receivedAt: now };
        answers.push(refuseFile(file, { problems }, profile, 1, { instanceCode: SAMPLE_INSTANCE }));
      }
      if (isConnection && answers.length > 0 && answers.every(({ messages }) => messages.length === 0))
        return undefined;
      const bytes = composeBatchResponse({
        outline,
        answers,
        response,
        time: formatHl7Timestamp(now, profile.results.timeZone),
        instanceCode: SAMPLE_INSTANCE,
        seed: [fileName],
        settings: profile.results,
      });
      return {
        kind: "hl7",
        fileName: isConnection ? undefined : batchFileName(fileName, SAMPLE_INSTANCE, 1),
        text: readText(bytes),
      };
    },
  };
}
