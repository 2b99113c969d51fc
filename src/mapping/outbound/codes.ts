import type { FailureCode, Problem } from "../../core/failures.ts";
import { asItIs, type LabText } from "../../core/lab-text.ts";
import { movesContainers } from "../../core/order.ts";
import type { OrderState } from "../../core/order-state.ts";
import type { OutcomeOrder } from "../../core/outcome.ts";
import type { ErrorCondition, Observation } from "../../formats/hl7/sent-segments.ts";
import type { ResultFormat, ResultState, ResultWords, StatusMap } from "../profile/results-schema.ts";

/** The lab's word for a status; undefined where it has none. */
export function statusWord(
  { status: table = {} }: ResultWords,
  status: string,
  operation: string | undefined,
): string | undefined {
  const word = wordIn<string | Readonly<Partial<Record<string, string>>>>(table, status);
  if (typeof word !== "object") return word;
  return (operation === undefined ? undefined : wordIn(word, operation)) ?? wordIn(word, "*");
}

const DONE = {
  STORE: "Stored",
  RETRIEVAL: "Retrieved",
  REGISTER: "The subject is registered",
  UPDATE: "Nothing is to be changed at the storage service",
  MERGE: "Nothing is to be merged at the storage service",
} as const;

/** A status in our words, where the lab has none. */
const ENGLISH: Readonly<
  Record<Exclude<OrderState, "completed" | "submitting"> | "refused" | "waiting", string>
> = {
  received: "Received",
  submitted: "Submitted; waits for the storage staff",
  accepted: "Accepted by the storage staff; waits for the device",
  in_progress: "In progress",
  rejected: "Rejected by the storage staff; nothing was done",
  cancelled: "Cancelled",
  failed: "Failed",
  parked: "On hold; a person looks into it",
  discarded: "Discarded by an operator; it will not be done",
  refused: "Refused; nothing was done",
  waiting: "On hold, nothing was done yet",
};

/** What became of a message, in the lab's words, else in English. */
export function answerInWords(words: ResultWords, kind: "acknowledged" | "refused" | "waiting"): LabText {
  const status = kind === "acknowledged" ? "received" : kind;
  return asItIs(statusWord(words, status, undefined) ?? ENGLISH[status]);
}

/** How an order stands, in the lab's words, else in English. */
export function orderInWords(words: ResultWords, { state, operation, containers }: OutcomeOrder): LabText {
  const status = state === "submitting" ? "received" : state;
  const word = statusWord(words, status, operation);
  if (word !== undefined || status !== "completed")
    return asItIs(word ?? ENGLISH[status as keyof typeof ENGLISH]);
  const count = containers.length === 1 ? "1 container" : `${containers.length} containers`;
  return asItIs(movesContainers(operation) ? `${DONE[operation]}: ${count}` : DONE[operation]);
}

function wordIn<T>(table: Readonly<Partial<Record<string, T>>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The places in which HL7 says how an order stands. Their tables share letters and nothing else. */
export interface StatusCodes {
  /** ORC-1, table 0119. */
  readonly orderControl: string;
  /** ORC-5, table 0038. */
  readonly orderStatus: string | undefined;
  /** OBR-25, table 0123. */
  readonly resultStatus: string | undefined;
  /** SAC-8, table 0370. */
  readonly containerStatus: string | undefined;
}

/**
 * The shipped map. Choices worth knowing: FAILED is DC, since ER of table 0038 means "order not found"; a parked
 * order and one that waits for a code are on hold (OH, HD); ORC-1 of a completed order is SC, but RE in a result
 * message, since results follow it. SAC-8 of a container whose order was not done is left out: where it is and in what
 * state, nobody has said.
 */
const CODES: Readonly<
  Record<
    ResultState,
    readonly [
      orderControl: string,
      orderStatus?: string | undefined,
      resultStatus?: string,
      containerStatus?: string,
    ]
  >
> = {
  acknowledged: ["OK", "SC", "O"],
  refused: ["UA", undefined, "X"],
  waiting: ["OH", "HD", "O"],
  submitted: ["SC", "SC", "O", "I"],
  accepted: ["SC", "SC", "S", "I"],
  in_progress: ["SC", "IP", "I", "O"],
  completed: ["SC", "CM", "F", "R"],
  rejected: ["OC", "CA", "X"],
  cancelled: ["OC", "CA", "X"],
  failed: ["OD", "DC", "X", "U"],
  parked: ["OH", "HD", "O"],
  discarded: ["OC", "CA", "X"],
};

/**
 * The codes for an answer or a state, by the profile's `statusMap` where it says something, else by the shipped map.
 *
 * @param format of the message, where it reports a state
 */
export function statusCodes(
  state: string,
  statusMap: StatusMap | undefined,
  format?: ResultFormat,
): StatusCodes {
  // States before `submitted` are never sent on their own, only within an acknowledgement.
  const known = state in CODES ? (state as ResultState) : "acknowledged";
  const [orderControl, orderStatus, resultStatus, containerStatus] = CODES[known];
  const site = statusMap?.[known];
  const isResult = known === "completed" && format === "oru";
  return {
    orderControl: site?.["ORC-1"] ?? (isResult ? "RE" : orderControl),
    orderStatus: site?.["ORC-5"] ?? orderStatus,
    resultStatus: site?.["OBR-25"] ?? resultStatus,
    containerStatus: site?.["SAC-8"] ?? containerStatus,
  };
}

/** OBX-3 of what is about an order as a whole. */
export const OF_ORDER = {
  status: ["CRYO-STATUS", "Order status", "L"],
  priorId: ["CRYO-PRIOR-ID", "Prior subject identifier", "L"],
  procedure: ["CRYO-PROCEDURE", "Procedure", "L"],
  message: ["CRYO-MESSAGE", "Control id of the order's message", "L"],
  number: ["CRYO-ORDER", "Order number", "L"],
  reason: ["CRYO-REASON", "Reason", "L"],
  request: ["CRYO-REQUEST", "Decision on the request", "L"],
} as const satisfies Record<string, Observation["code"]>;

/** OBX-3 of what is about one container. */
export const OF_CONTAINER = {
  label: ["CRYO-CONTAINER", "Container label", "L"],
  id: ["CRYO-CONTAINER-ID", "Container id at the storage service", "L"],
  storage: ["CRYO-STORAGE", "Storage", "L"],
  canister: ["CRYO-CANISTER", "Canister", "L"],
  cane: ["CRYO-CANE", "Cane", "L"],
  position: ["CRYO-POSITION", "Position", "L"],
  storedAt: ["CRYO-STORED-AT", "Stored at", "L"],
  words: ["CRYO-TEXT", "Container in words", "L"],
} as const satisfies Record<string, Observation["code"]>;

/**
 * HL7's own words (table 0357) by failure code. Any other failure is 207, application internal error: it says nothing of the
 * message.
 */
const CONDITION_BY_CODE: Readonly<Partial<Record<FailureCode, ErrorCondition>>> = {
  HL7_NO_MSH: "100",
  HL7_SEGMENT_INVALID: "100",
  HL7_SECOND_HEADER: "100",
  HL7_STRUCTURE: "100",
  HL7_UNTERMINATED: "100",
  HL7_LINE_ENDS_MIXED: "100",
  MLLP_FRAME_UNENDED: "100",
  HL7_FILE_EMPTY: "100",
  HL7_FILE_TEXT_OUTSIDE: "100",
  HL7_BATCH_INCOMPLETE: "100",
  MAPPING_NO_ORDER: "100",
  MAPPING_SECOND_PATIENT: "100",
  MAPPING_CONTAINER_UNEXPECTED: "100",
  MAPPING_NO_PATIENT: "101",
  MAPPING_NO_CONTAINER: "101",
  MAPPING_VALUE_MISSING: "101",
  HL7_DELIMITERS: "102",
  HL7_CHARSET_UTF8: "102",
  HL7_CHARSET_BYTES: "102",
  HL7_FILE_BINARY: "102",
  HL7_BATCH_COUNT: "102",
  HL7_TOO_MANY_MESSAGES: "102",
  LEDGER_VALUE_UNSTORABLE: "102",
  MAPPING_TOO_MANY_LABELS: "102",
  MAPPING_VALUE_INVALID: "102",
  MAPPING_VALUE_TOO_LONG: "102",
  MAPPING_CHARACTER_INVALID: "102",
  MAPPING_DATE_INVALID: "102",
  MAPPING_VALUES_DISAGREE: "102",
  MAPPING_SUBJECT_AMBIGUOUS: "102",
  HL7_CHARSET_UNKNOWN: "103",
  MAPPING_OPERATION_UNKNOWN: "103",
  MAPPING_FACILITY_UNKNOWN: "103",
  MAPPING_CODE_UNKNOWN: "103",
  MAPPING_ORDER_CONTROL_UNSUPPORTED: "103",
  MAPPING_MESSAGE_TYPE_UNSUPPORTED: "200",
  MAPPING_PROCESSING_ID: "202",
  MAPPING_PROCESSING_MODE: "202",
  MAPPING_VERSION_UNSUPPORTED: "203",
  CANCEL_ORDER_UNKNOWN: "204",
  CANCEL_ORDER_AMBIGUOUS: "204",
  CANCEL_ORDER_DIFFERS: "204",
  CONTROL_ORDER_UNKNOWN: "204",
  CONTROL_ORDER_AMBIGUOUS: "204",
  CONTROL_ORDER_DIFFERS: "204",
  HL7_CONTROL_ID_REUSED: "205",
  MAPPING_CONTAINER_LABEL_TWICE: "205",
  ORDER_NUMBER_REUSED: "205",
  ORDER_NUMBER_OTHER_AUTHORITY: "205",
  MAPPING_EARLIER_WAITS: "206",
  CONTROL_UNDER_WAY: "206",
};

/**
 * MSA-1 of a refusal in original mode: AR where type, version or processing id is not for us (the same message may be
 * right elsewhere) or the message is but a part of one, which nobody here puts together; AE where the content is wrong
 * (HL7 chapter 2.9.2).
 */
export function refusalCode(problems: readonly Problem[]): "AE" | "AR" {
  const isForOthers = problems.some(
    ({ code }) => code === "HL7_CONTINUED" || ["200", "201", "202", "203"].includes(conditionOf(code)),
  );
  return isForOthers ? "AR" : "AE";
}

/** What ERR-3 says of a failure. */
export function conditionOf(code: FailureCode): ErrorCondition {
  return CONDITION_BY_CODE[code] ?? "207";
}
