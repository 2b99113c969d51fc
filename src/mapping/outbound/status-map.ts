import type { ResultSettings, ToldState } from "../profile/profile.ts";
import type { Tellable } from "../profile/results-schema.ts";

/** The places in which HL7 tells how an order stands. Their tables share letters and nothing else. */
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
 * order and one that waits for a code table are on hold (OH, HD); ORC-1 of a completed order is SC, but RE in a result
 * message, since results follow it. SAC-8 of a container whose order was not done is left out: where it is and in what
 * state, nobody has said.
 */
const CODES: Readonly<
  Record<
    Tellable,
    readonly [orderControl: string, orderStatus?: string, resultStatus?: string, containerStatus?: string]
  >
> = {
  acknowledged: ["OK", "SC"],
  refused: ["UA"],
  waiting: ["OH", "HD"],
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

/** The codes for a state, by the profile's `statusMap` where it says something, else by the shipped map. */
export function statusCodes(
  state: ToldState,
  { format, statusMap }: Pick<ResultSettings, "format" | "statusMap">,
): StatusCodes {
  // States before `submitted` are never told on their own, only within an acknowledgement.
  const known = state in CODES ? (state as Tellable) : "acknowledged";
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
