import { Failure, problemSentence } from "../../../core/failures.ts";
import { planAcks } from "../../../formats/hl7/ack.ts";
import { charsetOf } from "../../../formats/hl7/charset.ts";
import { createEcho } from "../../../formats/hl7/echo.ts";
import { buildMessage, encodeHl7 } from "../../../formats/hl7/encode.ts";
import { type Hl7FilePart, splitHl7File } from "../../../formats/hl7/file.ts";
import type { Hl7Message } from "../../../formats/hl7/message.ts";
import { acknowledgmentSegments } from "../../../formats/hl7/sent-segments.ts";
import { composeBatchResponse } from "../../../mapping/outbound/batch-hl7.ts";
import { formatHl7Timestamp } from "../../../mapping/outbound/timestamp.ts";
import { readMessage, typeOf } from "./messages.ts";

/** How a listener that only tries a sender out answers: everything in the same way. */
export interface AnswerSettings {
  readonly answer: "AA" | "AE" | "AR";
  /** Number of the frame's first message, from 1; makes control ids differ. */
  readonly ordinal: number;
  readonly now: Date;
}

interface HeardMessage {
  /** Its type, or why it can't be read. */
  readonly what: string;
  /** What it is acknowledged with; empty for nothing. */
  readonly codes: readonly string[];
  readonly raw: Buffer;
}

/** What a frame brought and what goes back. */
export interface HeardFrame {
  readonly messages: readonly HeardMessage[];
  /** Whether the messages came in a batch (FHS, BHS), and are answered by one. */
  readonly isBatch: boolean;
  /** Each to be sent in a frame of its own. */
  readonly replies: readonly Buffer[];
}

const OUTCOME_BY_ANSWER = { AA: "taken", AE: "content", AR: "foreign" } as const;
/** Stands where a ledger's own code stands in control ids of ours. */
const INSTANCE_CODE = "LISTEN";

/**
 * Answers a frame as the daemon does: each message as its MSH-15 and MSH-16 want it, a batch by one batch in one frame,
 * since a sender by MLLP waits for one frame for each of its own. What can't be taken apart gets no answer.
 */
export function answerFrame(frame: Buffer, settings: AnswerSettings): HeardFrame {
  const { parts, problems, outline } = splitHl7File(frame);
  const [problem] = problems;
  if (problem) {
    const what = `${problemSentence(problem)} (${problem.code})`;
    return { messages: [{ what, codes: [], raw: frame }], isBatch: outline !== undefined, replies: [] };
  }
  const answered = parts.map((part, n) =>
    answerMessage(part, { ...settings, ordinal: settings.ordinal + n }),
  );
  const messages = answered.map(({ message }) => message);
  if (outline === undefined) {
    return { messages, isBatch: false, replies: answered.flatMap(({ acks }) => acks) };
  }
  const isUnasked = answered.length > 0 && answered.every(({ acks }) => acks.length === 0);
  if (isUnasked) return { messages, isBatch: true, replies: [] };
  const batch = composeBatchResponse({
    outline,
    answers: answered.map(({ acks }) => ({ verdict: "accepted", messages: acks })),
    response: "all",
    time: formatHl7Timestamp(settings.now, "UTC"),
    instanceCode: INSTANCE_CODE,
    seed: [`${settings.now.getTime()} ${settings.ordinal}`],
    settings: { sender: undefined, receiver: undefined },
  });
  return { messages, isBatch: true, replies: [batch] };
}

/** Message types (MSH-9.1) that are nothing but acknowledgements; one without a type can be nothing else. */
const ACKNOWLEDGEMENTS: readonly (string | undefined)[] = ["ACK", "MCF", undefined];

/**
 * Whether a message is not acknowledged, or two systems would answer each other for ever. An order response (ORR, ORL) has
 * MSA as well, but comes as a message of its own, and its sender waits for an answer.
 */
function isAcknowledgement(message: Hl7Message): boolean {
  return message.first("MSA") !== undefined && ACKNOWLEDGEMENTS.includes(message.header.messageCode);
}

function answerMessage(
  part: Hl7FilePart,
  { answer, ordinal, now }: AnswerSettings,
): { readonly message: HeardMessage; readonly acks: readonly Buffer[] } {
  const { message, encoding, raw } = readMessage(part);
  if (message instanceof Failure)
    return { message: { what: `${message.message} (${message.code})`, codes: [], raw }, acks: [] };
  const { header } = message;
  const plan = isAcknowledgement(message) ? undefined : planAcks(header, OUTCOME_BY_ANSWER[answer]);
  // Trying out a sender, the application acknowledgement comes on the same connection.
  const codes = [plan?.immediate, plan?.deferred].filter((code) => code !== undefined);
  const { delimiters } = createEcho(message);
  // In the sender's own character set, and with nothing in MSH-18 where the sender has nothing there.
  const charset = charsetOf("as-received", encoding, header.characterSet);
  const characterSet = header.characterSet && charset.name;
  const acks = codes.map((code, n) => {
    const controlId = `L${now.getTime()}${n}${ordinal}`.slice(0, 20);
    const dateTime = formatHl7Timestamp(now, "UTC");
    const ack = acknowledgmentSegments({ to: header, code, controlId, dateTime, characterSet });
    return encodeHl7(buildMessage(ack, { delimiters }), charset.encoding);
  });
  return { message: { what: typeOf(message), codes, raw }, acks };
}
