import type pg from "pg";
import { encodeCrockfordNumber } from "../../core/crockford.ts";
import { Failure, type Problem } from "../../core/failures.ts";
import type { BatchOutline, FileEnd, Verdict } from "../../core/intake.ts";
import type { OutcomeMessage } from "../../core/outcome.ts";
import { phi } from "../../core/phi.ts";
import { decodeHl7, readHeaderLine } from "../../formats/hl7/charset.ts";
import { parseId } from "../../ledger/ids.ts";
import { type Closing, findOpenFile, type OpenFile, requireFileId } from "../../ledger/messages/files.ts";
import { listFileMessages, type StoredMessage } from "../../ledger/messages/views.ts";
import {
  composeAnswer,
  composePlainAnswer,
  messageAnswer,
  refusalCode,
} from "../../mapping/outbound/answer-hl7.ts";
import { type BatchedAnswer, composeBatchResponse } from "../../mapping/outbound/batch-hl7.ts";
import { safeName } from "../../mapping/outbound/file-name.ts";
import { readOriginal } from "../../mapping/outbound/original.ts";
import { writeAnswer } from "../../mapping/outbound/site-fields.ts";
import { formatHl7Timestamp } from "../../mapping/outbound/timestamp.ts";
import type { Hl7Profile } from "../../mapping/profile/profile.ts";
import type { IntakeRules } from "./rules.ts";

/** MSH-10 of an answer to a message that is composed once, whenever that is. */
export function answerControlId(prefix: "CA" | "CL", instanceCode: string, messageId: number): string {
  return `${prefix}${instanceCode}${encodeCrockfordNumber(messageId).padStart(8, "0")}`;
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
  const id = requireFileId(fileId);
  const file = await findOpenFile(pool, id);
  const settings = file && byConnector.get(file.connector)?.batches;
  if (!file || !settings) return undefined;
  const { profile, response } = settings;
  const answers: BatchedAnswer[] = [];
  let last: StoredMessage | undefined;
  for (;;) {
    const page = await listFileMessages(pool, id, last?.ordinal ?? 0, PAGE);
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

/** The name of the file that answers a file; its last part, unlike the first, never comes again. */
export function batchFileName(
  fileName: string,
  instanceCode: string,
  fileId: number,
  suffix = ".hl7",
): string {
  return `${safeName(fileName)}_CH${instanceCode}${encodeCrockfordNumber(fileId).padStart(8, "0")}${suffix}`;
}

function answerMessage(
  message: StoredMessage,
  { connector, fileName }: OpenFile,
  profile: Hl7Profile,
  instanceCode: string,
): BatchedAnswer {
  const { verdict, problems, messageId, messageControlId, receivedAt } = message;
  const read = readAgain(message);
  const answered = { messageId, connector, messageControlId, fileName, receivedAt };
  return answerInBatch(
    {
      verdict,
      problems,
      isReadable: message.format === "hl7",
      controlId: answerControlId("CA", instanceCode, parseId("m", messageId) as number),
      answered: read === undefined ? answered : { ...answered, ...read },
    },
    profile,
  );
}

/** What became of a message of a batch, and what its answer refers to. */
interface BatchedMessage {
  readonly verdict: Verdict;
  readonly problems: readonly Problem[];
  /** False for one of whose characters no text could be made. */
  readonly isReadable: boolean;
  /** MSH-10 of the answer. */
  readonly controlId: string;
  readonly answered: OutcomeMessage;
}

/** The answer to one message of a file's batch. */
export function answerInBatch(
  { verdict, problems, isReadable, controlId, answered }: BatchedMessage,
  profile: Hl7Profile,
): BatchedAnswer {
  const about = { outcomeId: "", controlId, occurredAt: answered.receivedAt, message: answered };
  const original = readOriginal(answered, profile.results);
  const isWhole = original.isAnswerable && isReadable;
  const code = verdict === "refused" ? refusalCode(problems) : "AA";
  const fact = messageAnswer({ verdict, problems }, about);
  const bytes = writeAnswer(fact, original, profile, (answer, from, own) =>
    isWhole ? composeAnswer(answer, from, own) : composePlainAnswer(answer, from, own, code),
  );
  return { verdict, messages: [bytes] };
}

/** The message as its answer echoes it; of one whose characters can't be read the header alone. */
function readAgain({
  raw,
  encoding,
  format,
}: StoredMessage): Pick<OutcomeMessage, "text" | "encoding"> | undefined {
  if (raw === undefined) return undefined;
  try {
    if (format === "hl7") {
      const decoded = decodeHl7(raw, { override: encoding });
      return { text: phi(decoded.text), encoding: decoded.encoding };
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  return { text: phi(readHeaderLine(raw)) };
}

/** What is wrong with a file as a whole where that is sent, since its messages' mistakes stand in their own answers. */
function reasonsOf({ problems }: FileEnd): readonly Problem[] {
  const ofFile = problems.filter(({ place }) => place === "file");
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
  const message = { messageId: "", connector, fileName, receivedAt };
  const about = {
    ...{ outcomeId: "", occurredAt: receivedAt, message },
    // Messages are numbered by themselves, so a file needs a prefix of its own.
    controlId: `CF${instanceCode}${encodeCrockfordNumber(fileId).padStart(8, "0")}`,
  };
  const verdict = "refused";
  const fact = messageAnswer({ verdict, problems: problems.slice(0, MOST_PROBLEMS) }, about);
  const original = readOriginal(message, profile.results);
  const bytes = writeAnswer(fact, original, profile, (answer, from, own) =>
    composePlainAnswer(answer, from, own, "AR"),
  );
  return { verdict, messages: [bytes] };
}
