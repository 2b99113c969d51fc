import { isSubjectNews } from "../../core/order.ts";
import type { OutcomeOrder } from "../../core/outcome.ts";
import type { Segment } from "../../formats/hl7/message.ts";
import type { OutSegment } from "./echo.ts";
import { findMergeSegments } from "../inbound/merge-hl7.ts";
import { NO_NUMBERS, numberFields, withNumber } from "../inbound/number-place.ts";
import { observe } from "./observations.ts";
import { blank, fillerOrderNumber, type StatusContext, statusHeader } from "./result-parts.ts";
import { statusCodes } from "./status-map.ts";

/**
 * ORU^R01 or ORM^O01 about an order's change: PID, ORC and OBR with its numbers and codes, the reason in ORC-16 and
 * NTE, and OBX for the order and each container.
 */
export function orderStatus(context: StatusContext): OutSegment[] {
  const { outcome, original, profile, format, version, at, groups } = context;
  const { order } = outcome;
  const { timeZone, namespace } = profile.results;
  const { echo } = original;
  const pid = findPid(context);
  const codes = statusCodes(order.state, { ...profile.results, format });
  const group = groups[0];
  const obr = group?.obrs[0];
  const isShared = order.sharesNumber === true;
  const numbers = isShared ? NO_NUMBERS : numberFields(group, order.placerOrderNumber, echo, profile);
  const ownNumber = fillerOrderNumber(order);
  const filler = numbers.filler ?? (ownNumber === undefined ? undefined : [ownNumber, namespace]);
  const reason =
    order.reason === undefined ? undefined : [order.reason.code, order.reason.text, order.reason.code && "L"];
  const notes = [isShared ? SHARED_NUMBER : undefined, order.reason?.text].filter(
    (note) => note !== undefined,
  );
  return [
    statusHeader(context),
    pid === undefined ? ["PID", 1, undefined, order.subjectCode.reveal()] : echo.segment(pid),
    withNumber(
      [
        "ORC",
        isRefusedNews(order) ? UNABLE_TO_CHANGE : codes.orderControl,
        numbers.placer,
        filler,
        echo.field(group?.orc, 4),
        codes.orderStatus,
        ...blank(3),
        at,
        ...blank(6),
        reason,
      ],
      numbers,
    ),
    withNumber(
      [
        "OBR",
        1,
        numbers.obrPlacer,
        filler,
        echo.field(obr, 4) ?? SERVICE_BY_OPERATION[order.operation],
        ...blank(2),
        at,
        ...blank(14),
        at,
        ...blank(2),
        codes.resultStatus,
      ],
      numbers,
    ),
    ...notes.map((note, index) => ["NTE", index + 1, "L", note] as const),
    ...observe(order, { timeZone, version, at, messageControlId: outcome.message.messageControlId }),
  ];
}

/** The order's own PID: a message may merge several patients. */
function findPid({ outcome: { order }, original: { message }, profile }: StatusContext): Segment | undefined {
  if (message === undefined || order.operation !== "MERGE") return message?.first("PID");
  return findMergeSegments(message, profile, order)?.find(({ name }) => name === "PID");
}

/** Beside a result that names its order by our number alone. */
const SHARED_NUMBER =
  "Another order has this order's number; CRYO-MESSAGE names the message that brought it.";

/** ORC-1, table 0119. */
const UNABLE_TO_CHANGE = "UX";

/** Whether the service would have had to change a subject, and offers no call for that. */
function isRefusedNews({ operation, state }: OutcomeOrder): boolean {
  return isSubjectNews(operation) && state === "failed";
}

/** OBR-4 where the original has none to echo. */
const SERVICE_BY_OPERATION = {
  STORE: ["STORE", "Cryogenic storage", "L"],
  RETRIEVAL: ["RETRIEVAL", "Retrieval from cryogenic storage", "L"],
  REGISTER: ["REGISTER", "Registration of the subject", "L"],
  UPDATE: ["UPDATE", "Update of the subject", "L"],
  MERGE: ["MERGE", "Merge of the subject", "L"],
} as const;
