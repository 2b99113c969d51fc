import type { ConnectorConfig } from "../config/config.ts";
import type { Problem } from "../core/failures.ts";
import type { BatchOutline, IncomingMessage } from "../core/intake.ts";
import { answerControlId, answerInBatch, batchFileName, refuseFile } from "../jobs/batch-response.ts";
import { type BatchedAnswer, composeBatchResponse } from "../mapping/batch-hl7.ts";
import type { MappedMessage } from "../mapping/mapper.ts";
import type { Profile } from "../mapping/profile.ts";
import { formatHl7Timestamp } from "../mapping/timestamp.ts";
import { type Answer, answeredMessage, composeReplies, readText } from "./preview-answer.ts";

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
