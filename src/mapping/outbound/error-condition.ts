import type { FailureCode, Problem } from "../../core/failures.ts";
import type { AckError, AcknowledgmentCode, ErrorCondition } from "../../formats/hl7/ack.ts";

/** HL7's own words (table 0357) for the problems that have some. Others are 207, application error. */
const CONDITION_BY_CODE: Readonly<Partial<Record<FailureCode, ErrorCondition>>> = {
  HL7_STRUCTURE: "100",
  HL7_SEGMENT_INVALID: "100",
  HL7_SECOND_HEADER: "100",
  MAPPING_MESSAGE_TYPE_UNSUPPORTED: "200",
  MAPPING_VERSION_UNSUPPORTED: "203",
  MAPPING_PROCESSING_ID: "202",
  MAPPING_PROCESSING_MODE: "202",
  MAPPING_NO_PATIENT: "101",
  MAPPING_SECOND_PATIENT: "100",
  MAPPING_NO_ORDER: "100",
  MAPPING_NO_CONTAINER: "101",
  MAPPING_TOO_MANY_LABELS: "102",
  MAPPING_CONTAINER_LABEL_TWICE: "205",
  HL7_CONTROL_ID_REUSED: "205",
  MAPPING_OPERATION_UNKNOWN: "103",
  MAPPING_FACILITY_UNKNOWN: "103",
  MAPPING_CODE_UNKNOWN: "103",
  MAPPING_EARLIER_WAITS: "206",
  MAPPING_ORDER_CONTROL_UNSUPPORTED: "103",
  MAPPING_VALUE_MISSING: "101",
  MAPPING_VALUE_INVALID: "102",
  MAPPING_VALUE_TOO_LONG: "102",
  MAPPING_CHARACTER_INVALID: "102",
  MAPPING_DATE_INVALID: "102",
  MAPPING_VALUES_DISAGREE: "102",
  MAPPING_SUBJECT_AMBIGUOUS: "102",
};

/** A problem as ERR tells it, under our own code in ERR-5. */
export function toAckError({ code, place, message }: Problem): AckError {
  return { condition: conditionOf(code), place, text: `${place}: ${message}`, applicationCode: code };
}

/**
 * MSA-1 of a refusal in original mode: AR where type, version or processing id is not for us (the same message may be
 * right elsewhere) or the message is but a part of one, which nobody here puts together; AE where the content is wrong
 * (HL7 chapter 2.9.2).
 */
export function refusalCode(problems: readonly Problem[]): Extract<AcknowledgmentCode, "AE" | "AR"> {
  const isForOthers = problems.some(
    ({ code }) => code === "HL7_CONTINUED" || ["200", "201", "202", "203"].includes(conditionOf(code)),
  );
  return isForOthers ? "AR" : "AE";
}

function conditionOf(code: FailureCode): ErrorCondition {
  return CONDITION_BY_CODE[code] ?? "207";
}
