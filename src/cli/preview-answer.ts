import type { IncomingMessage } from "../core/intake.ts";
import type { Outcome, OutcomeOrder } from "../core/outcome.ts";
import { phi } from "../core/phi.ts";
import type { MappedMessage } from "../mapping/mapper.ts";
import type { Profile } from "../mapping/profile.ts";
import { type CsvResultRow, csvResultRows } from "../mapping/result-csv.ts";
import { composeHl7 } from "../mapping/result-hl7.ts";

/** What the lab would be told at once: an HL7 message, or rows of a CSV result file. */
export type Answer =
  | { readonly kind: "hl7"; readonly fileName: string; readonly text: string }
  | { readonly kind: "csv"; readonly rows: readonly CsvResultRow[] };

/** As long as a real one, and plainly none. */
const SAMPLE_CONTROL_ID = "CBPREVIEW0000001";

/** The answer that a message would get; undefined when the profile tells the lab nothing then. */
export function composeAnswer(
  message: IncomingMessage,
  mapped: MappedMessage,
  { fileName, profile, now }: { readonly fileName: string; readonly profile: Profile; readonly now: Date },
): Answer | undefined {
  if (mapped.verdict === "ignored") return undefined;
  const { content } = message;
  const common = {
    outcomeId: "t1",
    controlId: SAMPLE_CONTROL_ID,
    occurredAt: now,
    message: {
      messageId: "m1",
      connector: "",
      messageControlId: mapped.header?.messageControlId,
      fileName,
      receivedAt: now,
      text: content.kind === "hl7" ? phi(content.text.reveal()) : undefined,
    },
  };
  const outcome: Outcome =
    mapped.verdict === "refused" || mapped.verdict === "waiting"
      ? { ...common, kind: mapped.verdict, problems: mapped.problems }
      : { ...common, kind: "acknowledged", orders: mapped.orders.map(toOutcomeOrder), isDuplicate: false };
  if (profile.format === "csv") {
    const rows = csvResultRows(outcome, profile);
    return rows.length === 0 ? undefined : { kind: "csv", rows };
  }
  const file = composeHl7(outcome, profile);
  return file && { kind: "hl7", fileName: file.fileName, text: file.bytes.toString("utf8") };
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
