import type { Operation } from "../../core/order.ts";

/** What a table or constant of `operation` may give; news about a subject come by the type of their message. */
export const TABLE_OPERATIONS = ["STORE", "RETRIEVAL", "REGISTER"] as const satisfies readonly Operation[];

/** Whether a table or constant of `operation` may give it. */
export function isOperation(value: string): value is (typeof TABLE_OPERATIONS)[number] {
  return (TABLE_OPERATIONS as readonly string[]).includes(value);
}

/** What the operation of a CSV row says that wants something of an earlier order; HL7 has order control codes for these. */
export const CONTROL_OPERATIONS = ["CANCEL", "HOLD", "RELEASE", "STATUS"] as const;
export type ControlOperation = (typeof CONTROL_OPERATIONS)[number];

/** All that a CSV row can ask for. */
export const ROW_OPERATIONS = [...TABLE_OPERATIONS, ...CONTROL_OPERATIONS] as const;
export type RowOperation = (typeof ROW_OPERATIONS)[number];
