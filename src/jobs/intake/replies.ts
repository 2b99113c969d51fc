import type { Accepted, BatchOutline, IncomingMessage, Peer } from "../../core/intake.ts";
import { phi } from "../../core/phi.ts";
import type { Decided, ReplyTo } from "../../core/reply.ts";
import { decodeHl7, readHeaderLine } from "../../formats/hl7/charset.ts";
import { splitHl7File } from "../../formats/hl7/file.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import { formatId } from "../../ledger/ids.ts";
import { messageAnswer } from "../../mapping/outbound/answer-hl7.ts";
import { composeBatchResponse } from "../../mapping/outbound/batch-hl7.ts";
import { createReplier } from "../../mapping/outbound/reply-hl7.ts";
import { answerControlId } from "./batch-response.ts";
import type { ConnectionReplies } from "./rules.ts";

/** A message with where and when it came. */
interface Incoming {
  readonly connector: string;
  readonly message: IncomingMessage;
  readonly peer: Peer;
  readonly receivedAt: Date;
}

/** How a message is answered once its verdict is known: composed in the commit that keeps it. */
export function replyTo(
  { connector, message, peer, receivedAt }: Incoming,
  replies: ConnectionReplies,
): ReplyTo {
  const { content, raw } = message;
  const encoding = content.kind === "hl7" ? content.encoding : undefined;
  const text = content.kind === "hl7" ? content.text : phi(readHeaderLine(raw.reveal()));
  const answered = { messageId: "", connector, receivedAt, text, encoding };
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
      const composed = openReplier().compose(answerOf(decided, messageId), controlId("CL", messageId));
      return composed.length <= 1 ? composed[0] : Buffer.concat(composed);
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
  const response = results.batchResponse ?? "all";
  if (response === "none") return undefined;
  const replies = accepted.map(({ reply }) => reply ?? Buffer.alloc(0));
  // The sender wants no answer to any of them (MSH-15 and MSH-16).
  if (accepted.length > 0 && replies.every(({ length }) => length === 0)) return [];
  const answers = accepted.map(({ verdict }, index) => ({
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
    seed: [frame, ...replies],
    settings: results,
  });
  return [bytes];
}
