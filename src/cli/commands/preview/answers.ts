import type { ConnectorConfig } from "../../../config/config.ts";
import { Failure, type Problem } from "../../../core/failures.ts";
import type { BatchOutline, FileDialect, IncomingMessage } from "../../../core/intake.ts";
import { isControlOnly, type MappedMessage } from "../../../core/mapped-message.ts";
import { movesContainers } from "../../../core/order.ts";
import { type ControlRequest, decideControl, isCancelling } from "../../../core/order-control.ts";
import type {
  ControlAnswer,
  Outcome,
  OutcomeContainer,
  OutcomeMessage,
  OutcomeOrder,
} from "../../../core/outcome.ts";
import { phi } from "../../../core/phi.ts";
import type { Surface } from "../../../core/surface.ts";
import { decodeHl7 } from "../../../formats/hl7/charset.ts";
import { answerControlId, answerInBatch, batchFileName, refuseFile } from "../../../jobs/intake/replies.ts";
import { messageAnswer } from "../../../mapping/outbound/answer-hl7.ts";
import { type BatchedAnswer, composeBatchResponse } from "../../../mapping/outbound/batch-hl7.ts";
import { composeHl7, createReplier } from "../../../mapping/outbound/compose-hl7.ts";
import { csvFormOf } from "../../../mapping/outbound/csv-cells.ts";
import { type CsvResultRow, csvResultFile, csvResultRows } from "../../../mapping/outbound/result-csv.ts";
import { formatHl7Timestamp } from "../../../mapping/outbound/timestamp.ts";
import {
  batchResponseOf,
  type CsvProfile,
  type Hl7Profile,
  isReported,
  type Profile,
  type ReportedState,
} from "../../../mapping/profile/profile.ts";
import { ANSWERS } from "../../../mapping/profile/results-schema.ts";

/** What the lab would be sent: an HL7 message or batch, or a CSV file of results. */
export type Answer =
  | {
      readonly kind: "hl7";
      /** Undefined for what goes back over a connection. */
      readonly fileName: string | undefined;
      readonly text: string;
    }
  | {
      readonly kind: "csv";
      readonly fileName: string;
      readonly rows: readonly CsvResultRow[];
      readonly form: CsvText;
    };

/** How rows become lines. */
interface CsvText {
  /** All headings, whether they are written or not. */
  readonly headings: readonly string[];
  readonly hasHeader: boolean;
  readonly delimiter: string;
  readonly quote: string;
}

/** As long as real ones, and plainly none. */
const SAMPLE_CONTROL_ID = "CBPREVIEW0000001";
const SAMPLE_LATER_CONTROL_ID = "CLPREVIEW0000001";
const SAMPLE_RESULT_CONTROL_ID = "CBPREVIEW0000002";

/** Stands for the ledger's own in control ids. */
const SAMPLE_INSTANCE = "SAMPLE";

/** What the lab would be sent about the messages of a file. */
interface Answers {
  /** Each message, in their order, for the answer to batches as a whole. */
  add(message: IncomingMessage, mapped: MappedMessage): void;
  /**
   * What a message would get by itself; undefined when the profile sends nothing then, or batches are answered as a whole.
   *
   * @throws Failure RESULT_NOT_ENCODABLE where the character set of the results can't hold what it repeats; so do others
   */
  answerTo(message: IncomingMessage, mapped: MappedMessage): Answer | undefined;
  /**
   * What goes out with the results about a message that comes over a connection, behind its answer there; undefined where that
   * answer is all.
   */
  secondAnswerTo(message: IncomingMessage, mapped: MappedMessage): Answer | undefined;
  /**
   * What its requests about earlier orders would get: when all are granted, and when there are no such orders. None where the
   * profile answers none.
   */
  controlAnswers(message: IncomingMessage, mapped: MappedMessage): readonly ControlSample[];
  /**
   * What each of its orders would be reported with once it is done, with an invented end; undefined where the profile doesn't
   * send that.
   */
  resultsOf(message: IncomingMessage, mapped: MappedMessage): readonly (Answer | undefined)[];
  /** The one answer to batches; undefined where there is none, or the senders of all messages want none. */
  batchAnswer(problems: readonly Problem[]): Answer | undefined;
  /** The row about a table that is refused whole. */
  refusal(problems: readonly Problem[]): Answer | undefined;
  /** Answers and states that the lab would hear of, if `results.send` had them. */
  readonly unsent: readonly ReportedState[];
  /** Columns of results with values that their transforms don't take, so that the lab reads these as they came; grows by each answer. */
  readonly untaken: ReadonlySet<string>;
}

/** An answer to requests about earlier orders, in one case. */
export interface ControlSample {
  /** `open`: a cancellation of which the service has not decided yet, while the message asks for nothing else. */
  readonly case: "granted" | "unknown" | "open";
  readonly answer: Answer;
}

export function createAnswers(
  connector: ConnectorConfig,
  profile: Profile,
  {
    fileName,
    now,
    outline,
    dialect,
    surfaceOf,
  }: {
    fileName: string;
    now: Date;
    outline: BatchOutline | undefined;
    dialect: FileDialect | undefined;
    surfaceOf: (facilityId: number) => Surface;
  },
): Answers {
  const mllp = connector.type === "mllp" ? connector : undefined;
  const response =
    profile.format === "hl7" && outline ? batchResponseOf(profile.results, connector.type) : "none";
  const batched: BatchedAnswer[] = [];
  const untaken = new Set<string>();
  const about = (message: OutcomeMessage, controlId = SAMPLE_CONTROL_ID) => ({
    ...{ outcomeId: "t1", controlId, occurredAt: now, message },
  });
  const isAnsweredAtOnce = mllp !== undefined || response !== "none";

  /** The message as an answer refers to it. */
  function answered({ place }: IncomingMessage, { messageControlId, echo }: MappedMessage): OutcomeMessage {
    return {
      messageId: "m1",
      connector: "",
      messageControlId,
      fileName: mllp ? undefined : fileName,
      place,
      dialect,
      receivedAt: now,
      echo,
    };
  }

  /** What goes out for an outcome: rows, or a message. */
  function compose(outcome: Outcome): Answer | undefined {
    if (profile.format === "csv") {
      const rows = csvResultRows(outcome, profile, (heading) => untaken.add(heading));
      return rows.length === 0 ? undefined : toTable(rows, profile, outcome.kind === "changed" ? 2 : 1);
    }
    const file = composeHl7(outcome, profile);
    const fileName = mllp && !("directory" in mllp.results) ? undefined : file?.fileName;
    return file && { kind: "hl7", fileName, text: readText(file.bytes) };
  }

  /** Rows as they would stand in a file: answers in the first about this input, results in a later one. */
  function toTable(rows: readonly CsvResultRow[], { results }: CsvProfile, number: number): Answer {
    const target = { inputName: fileName, dialect, connector: connector.name, at: now };
    const { delimiter } = csvFormOf(results, dialect);
    const { columns, header: hasHeader, quote } = results;
    const headings = columns.map(({ header }) => header);
    return {
      kind: "csv",
      fileName: csvResultFile(target, number, rows, results).fileName,
      rows,
      form: { headings, hasHeader, delimiter, quote },
    };
  }

  /** What would go back over the connection that a message comes by; empty where its sender wants nothing there. */
  function composeReplies(
    message: OutcomeMessage,
    mapped: MappedMessage,
    profile: Hl7Profile,
    { applicationAck, answers: form }: Extract<ConnectorConfig, { type: "mllp" }>,
  ): readonly Buffer[] {
    const replier = createReplier(message, profile, { form, applicationAck });
    return replier.compose(messageAnswer(mapped, about(message)), SAMPLE_LATER_CONTROL_ID);
  }

  /** What is sent about a message as a whole. */
  function composeOutcome(message: OutcomeMessage, mapped: MappedMessage): Answer | undefined {
    const { placerOrderNumber, asRead, orders } = mapped;
    const answer = messageAnswer(mapped, about(message));
    return compose(
      answer.kind === "acknowledged"
        ? { ...answer, orders: orders.map(toOutcomeOrder) }
        : { ...answer, placerOrderNumber, asRead },
    );
  }

  function controlSamples(message: IncomingMessage, mapped: MappedMessage): ControlSample[] {
    const { controlRequests = [] } = mapped;
    if (controlRequests.length === 0) return [];
    const common = about({ ...answered(message, mapped), fileName });
    const decided = CASES.flatMap((each) => {
      const answers = controlRequests.map((request) => sampleAnswer(request, each));
      const answer = compose({ ...common, kind: "control", answers });
      return answer === undefined ? [] : [{ case: each, answer }];
    });
    const mayStayOpen =
      isControlOnly(mapped) && controlRequests.every(({ control }) => isCancelling(control));
    if (isAnsweredAtOnce || !mayStayOpen) return decided;
    const answer = composeOutcome(answered(message, mapped), mapped);
    return answer === undefined ? decided : [...decided, { case: "open", answer }];
  }

  return {
    add: (message, mapped) => {
      if (profile.format !== "hl7" || response === "none") return;
      const { verdict, problems } = mapped;
      if (mllp) {
        const messages = composeReplies(answered(message, mapped), mapped, profile, mllp);
        batched.push({ verdict, messages });
        return;
      }
      const controlId = answerControlId("CA", SAMPLE_INSTANCE, message.ordinal);
      const judged = { verdict, problems, controlId, answered: answered(message, mapped) };
      batched.push(answerInBatch(judged, profile));
    },
    answerTo: (message, mapped) => {
      if (response !== "none") return undefined;
      const original = answered(message, mapped);
      if (mllp && profile.format === "hl7") {
        const replies = composeReplies(original, mapped, profile, mllp);
        if (replies.length === 0) return undefined;
        return { kind: "hl7", fileName: undefined, text: replies.map(readText).join("") };
      }
      // What it asks for is answered instead, with what was decided.
      if (isControlOnly(mapped) || mapped.verdict === "ignored") return undefined;
      return composeOutcome(original, mapped);
    },
    secondAnswerTo: (message, mapped) => {
      if (!mllp || profile.format !== "hl7") return undefined;
      // Requests about earlier orders are answered each for itself.
      if (isControlOnly(mapped)) return undefined;
      const original = answered(message, mapped);
      const { applicationAck, answers: form } = mllp;
      const replier = createReplier(original, profile, { form, applicationAck });
      return replier.isWhole(messageAnswer(mapped, about(original)))
        ? undefined
        : composeOutcome(original, mapped);
    },
    controlAnswers: controlSamples,
    resultsOf: (message, mapped) => {
      const common = about({ ...answered(message, mapped), fileName }, SAMPLE_RESULT_CONTROL_ID);
      return mapped.orders.map((order, index) => {
        const example = exampleEnd(order, toOutcomeOrder(order, index), surfaceOf(order.facilityId), now);
        return compose({ ...common, kind: "changed", order: example });
      });
    },
    batchAnswer: (problems) => {
      if (profile.format !== "hl7" || !outline || response === "none") return undefined;
      if (batched.length === 0 && problems.length > 0) {
        const file = { connector: connector.name, fileName, receivedAt: now };
        batched.push(refuseFile(file, { problems }, profile, 1, SAMPLE_INSTANCE));
      }
      if (mllp && batched.length > 0 && batched.every(({ messages }) => messages.length === 0))
        return undefined;
      const bytes = composeBatchResponse({
        outline,
        answers: batched,
        response,
        time: formatHl7Timestamp(now, profile.results.timeZone),
        instanceCode: SAMPLE_INSTANCE,
        seed: [fileName],
        settings: profile.results,
      });
      const name = mllp ? undefined : batchFileName(fileName, SAMPLE_INSTANCE, 1, profile.results.suffix);
      return { kind: "hl7", fileName: name, text: readText(bytes) };
    },
    refusal: (problems) => {
      if (profile.format !== "csv") return undefined;
      const file = { messageId: "", connector: connector.name, fileName, dialect, receivedAt: now };
      return compose({ ...about(file), kind: "refused", isFile: true, problems });
    },
    untaken,
    unsent: ([...(isAnsweredAtOnce ? [] : ANSWERS), "completed"] as const).filter(
      (state) => !isReported(profile, state),
    ),
  };
}

/**
 * A place as the service gives it, of which each container has another: the lab's patterns and tables for places are tried on
 * it, so that nothing stands there which no place has.
 */
function examplePlace(label: string, index: number, surface: Surface): OutcomeContainer["location"] {
  const n = [...label].reduce((sum, character) => sum + (character.codePointAt(0) ?? 0), index);
  const [canister, cane, slot] = [String(1 + (n % 6)), "ABCDEFGH".charAt(n % 8), 1 + (n % 10)];
  return surface === "external"
    ? { canister, cane }
    : { position: `Canister ${canister}, Cane ${cane}, Slot ${slot}` };
}

/** An order as it might end: what only the service says is invented; the storage and the procedure say so. */
function exampleEnd(
  { operation }: MappedMessage["orders"][number],
  order: OutcomeOrder,
  surface: Surface,
  now: Date,
): OutcomeOrder {
  if (!movesContainers(operation)) return { ...order, state: "completed" };
  const location = { storageId: 900_004, storageName: "EXAMPLE TANK", storedAt: now.toISOString() };
  return {
    ...order,
    state: "completed",
    requestId: surface === "request" ? 900_001 : undefined,
    procedureId: 900_002,
    procedureCode: "EXAMPLE",
    containers: order.containers.map((container, index) => ({
      ...container,
      containerId: 900_101 + index,
      location:
        operation === "STORE" ? { ...location, ...examplePlace(container.label, index, surface) } : undefined,
    })),
  };
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

const CASES = ["granted", "unknown"] as const;

/** An answer as there would be to an order of which nothing was sent yet, or to one that there is not. */
function sampleAnswer(request: ControlRequest, sample: (typeof CASES)[number]): ControlAnswer {
  const { control, placerOrderNumber, fillerNumber, subjectCode, content } = request;
  const named = { control, placerOrderNumber, fillerNumber };
  if (sample === "unknown") {
    const decision = decideControl(control, undefined, false);
    return decision.kind === "unable" ? { ...named, refusal: decision.refusal } : named;
  }
  const order: OutcomeOrder = content
    ? toOutcomeOrder(content, 0)
    : {
        ...{ orderId: "o1", operation: "STORE", placerOrderNumber, facilityCode: "", containers: [] },
        subjectCode: subjectCode ?? phi(""),
        state: isCancelling(control) ? "cancelled" : "received",
        isHeld: control === "hold",
      };
  return { ...named, order };
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
