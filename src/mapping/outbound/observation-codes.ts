/** OBX-3 with its text; `L` is HL7's word for a local code (table 0396). */
export type Code = readonly [code: string, text: string, system: "L"];
export const STATUS: Code = ["CRYO-STATUS", "Order status", "L"];
export const PROCEDURE: Code = ["CRYO-PROCEDURE", "Procedure", "L"];
export const PRIOR_ID: Code = ["CRYO-PRIOR-ID", "Prior subject identifier", "L"];
export const ORDER: Code = ["CRYO-ORDER", "Order number", "L"];
export const MESSAGE: Code = ["CRYO-MESSAGE", "Control id of the order's message", "L"];
export const REASON: Code = ["CRYO-REASON", "Reason", "L"];

/** OBX-3 of what is about an order as a whole. */
export const ORDER_CODES: readonly string[] = [STATUS, PROCEDURE, PRIOR_ID, ORDER, MESSAGE, REASON].map(
  ([code]) => code,
);

/** OBX-3 of what is about one container. */
export const CONTAINER_CODES: readonly string[] = [
  ...["CRYO-CONTAINER", "CRYO-CONTAINER-ID", "CRYO-STORAGE", "CRYO-CANISTER", "CRYO-CANE"],
  ...["CRYO-POSITION", "CRYO-STORED-AT", "CRYO-TEXT"],
];
