import type pg from "pg";
import type { IncomingMessage, Intake, MessageVerdict } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import { commitMessages, type MessageRecord } from "../ledger/commit-messages.ts";
import { closeFile, openFile, requireFileId } from "../ledger/files.ts";
import { formatId } from "../ledger/ids.ts";
import type { Mapper, MessageName } from "../mapping/mapper.ts";
import { type BatchFileDeps, closeBatchFile } from "./batch-response.ts";

/** What the intake is given. */
export interface IntakeDeps {
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly mapperByConnector: ReadonlyMap<string, Mapper>;
  /** How batches of files are answered; by single answers when absent. */
  readonly batches?: BatchFileDeps | undefined;
  /** Called after each commit, with its verdicts. */
  readonly onCommitted: (connector: string, verdicts: readonly MessageVerdict[]) => void;
}

/** The way in: maps messages and commits them with their orders before anybody is told yes. */
export function createIntake(deps: IntakeDeps): Intake {
  const toRecords = (connector: string, messages: readonly IncomingMessage[]): MessageRecord[] => {
    const mapper = deps.mapperByConnector.get(connector);
    if (!mapper) throw new RangeError(`no connector ${connector}`);
    const answersBatches = deps.batches?.settingsByConnector.has(connector) === true;
    return messages.map((message) => ({
      ...toRecord(mapper, message),
      isAnsweredInBatch: answersBatches && message.isInBatch === true,
    }));
  };
  return {
    openFile: (file) => openFile(deps.pool, file),
    accept: async (fileId, connector, messages) => {
      const records = toRecords(connector, messages);
      const verdicts = await commitMessages(deps.pool, { fileId: requireFileId(fileId), connector, records });
      logVerdicts(deps.logger, connector, verdicts);
      deps.onCommitted(connector, verdicts);
      return verdicts;
    },
    inspect: (connector, messages) =>
      toRecords(connector, messages).map(({ message, verdict, messageControlId, problems, orders }) => ({
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
    closeFile: (fileId, end, batch) =>
      batch && deps.batches
        ? closeBatchFile(deps.pool, fileId, end, batch, deps.batches)
        : closeFile(deps.pool, fileId, end),
  };
}

/** What mapping makes of a message, in the shape in which the ledger keeps it. */
export function toRecord(mapper: Mapper, message: IncomingMessage): MessageRecord {
  const mapped = mapper.map(message);
  const header = mapped.header;
  return {
    message,
    messageControlId: header?.messageControlId,
    sender: header && senderOf(header),
    messageType: header && messageTypeOf(header),
    placerOrderNumber: mapped.placerOrderNumber,
    verdict: mapped.verdict,
    problems: mapped.problems,
    orders: mapped.orders,
    wishes: mapped.wishes,
    subjectCodes: mapped.subjectCodes,
    orderNumbers: mapped.orderNumbers,
  };
}

function senderOf({ sendingApplication = "", sendingFacility = "" }: MessageName): string | undefined {
  const sender = `${sendingApplication}^${sendingFacility}`;
  return sender === "^" ? undefined : sender;
}

function messageTypeOf({ messageCode = "", triggerEvent = "" }: MessageName): string {
  return messageCode === "" || triggerEvent === ""
    ? messageCode + triggerEvent
    : `${messageCode}^${triggerEvent}`;
}

/**
 * The record of a message that was answered as taken: its sender has to hear the end of it, also when the profile
 * leaves its type alone now.
 */
export function asAnswered(record: MessageRecord): MessageRecord {
  if (record.verdict !== "ignored") return record;
  const { place } = record.message;
  const message = "the profile leaves messages of this type alone now";
  const problem = { code: "MAPPING_MESSAGE_TYPE_UNSUPPORTED", place, message } as const;
  return { ...record, verdict: "refused", problems: [problem] };
}

/** Says what became of messages, without a word of what is in them. */
export function logVerdicts(logger: Logger, connector: string, verdicts: readonly MessageVerdict[]): void {
  const counts = { accepted: 0, duplicate: 0, refused: 0, ignored: 0, waiting: 0 };
  for (const { verdict } of verdicts) counts[verdict] += 1;
  logger.info({ connector, ...counts }, "messages taken into the ledger");
}
