import type { ResultState, ResultsDefinition, ResultWords } from "../profile/results-schema.ts";

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
  statusMap: ResultsDefinition["statusMap"],
  format?: "oru" | "orm" | "ssu",
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
