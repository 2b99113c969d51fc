import type { FailureCode } from "./failures.ts";

/** Who sees to what is wrong, as people read it. */
export const WHO = {
  lab: "the lab",
  it: "the lab's IT",
  facility: "the storage facility",
  service: "the service's operator",
} as const;

export type Who = keyof typeof WHO;

/** Whose record, number or label it is. */
const OF_LAB = /^(ORDER|SUBJECT|CONTAINER|SUBMIT|REQUEST|CANCEL|CONTROL|MAPPING|CSV)_/;

/** Where the hint of a failure names somebody else than its area would. */
const BY_CODE: Readonly<Partial<Record<FailureCode, Who>>> = {
  ORDER_TRIED_TOO_OFTEN: "it",
  ORDER_PLACE_UNKNOWN: "facility",
  SUBJECT_UPDATE_NOT_OFFERED: "facility",
  SUBJECT_MERGE_NOT_OFFERED: "facility",
  SUBJECT_NOT_REGISTERED: "facility",
  CONTAINER_LABEL_AMBIGUOUS: "facility",
  SUBMIT_SEVERAL_MATCHES: "facility",
  CANCEL_NOT_OFFERED: "facility",
  CANCEL_REFUSED: "facility",
  CANCEL_WITHOUT_EFFECT: "facility",
  REQUEST_MISMATCH: "facility",
  REQUEST_REJECTED: "facility",
  REQUEST_GONE: "service",
  PROCEDURE_CANCELLED: "facility",
  PROCEDURE_FAILED: "facility",
  SERVICE_SUBJECT_AMBIGUOUS: "facility",
  SERVICE_REFUSED: "lab",
  SERVICE_UNREACHABLE: "it",
  SERVICE_NOT_FOUND: "it",
  SERVICE_PATH_NONE: "it",
  SERVICE_CREDENTIALS_REFUSED: "it",
  SERVICE_TOKEN_UNAVAILABLE: "it",
  SERVICE_SHAPE_UNKNOWN: "it",
};

/** Who sees to a failure, which may be one that this release doesn't know. */
export function whoSeesTo(code: string): Who {
  const named = BY_CODE[code as FailureCode];
  if (named !== undefined) return named;
  if (OF_LAB.test(code)) return "lab";
  return code.startsWith("SERVICE_") ? "service" : "it";
}
