import type { Outcome } from "../core/outcome.ts";
import { buildAck } from "../formats/hl7/ack.ts";
import { type OrderGroup, orderGroups } from "../formats/hl7/groups.ts";
import type { Hl7Message, Segment } from "../formats/hl7/message.ts";
import { assemble, type OutSegment } from "./echo.ts";
import { refusalCode, toAckError } from "./error-condition.ts";
import type { Original } from "./original.ts";
import type { Hl7Profile } from "./profile.ts";
import { type StatusCodes, statusCodes } from "./status-map.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

/** The application acknowledgement that fits what came in (HL7 chapter 4); any other type is answered by a plain ACK. */
const ANSWER_BY_TYPE: Readonly<Record<string, readonly [messageCode: string, triggerEvent: string]>> = {
  "ORM^O01": ["ORR", "O02"],
  "OML^O21": ["ORL", "O22"],
  "OML^O33": ["ORL", "O34"],
  "OML^O35": ["ORL", "O36"],
};

/** MSH-7 among the fields of a segment specification of MSH, which begin with MSH-3. */
const MSH_7 = 4;

/** The text of the answer to a message: taken (`acknowledged`) or refused with every reason. */
export function composeAnswer(
  outcome: Extract<Outcome, { kind: "acknowledged" | "refused" }>,
  original: Original,
  profile: Hl7Profile,
): string {
  const { header, message, echo } = original;
  const answer = ANSWER_BY_TYPE[`${header.messageCode}^${header.triggerEvent}`];
  const problems = outcome.kind === "refused" ? outcome.problems : [];
  const [msh, ...rest] = buildAck({
    to: header,
    code: outcome.kind === "refused" ? refusalCode(problems) : "AA",
    controlId: outcome.controlId,
    dateTime: outcome.occurredAt,
    errors: problems.map(toAckError),
    // Before 2.5 ERR holds codes alone, and MSA-3 is the one place for words.
    text: problems.map((problem) => toAckError(problem).text).join("; "),
    characterSet: "UNICODE UTF-8",
    ...(answer === undefined
      ? {}
      : { type: { messageCode: answer[0], triggerEvent: answer[1], structure: answer.join("_") } }),
  });
  const [name, ...fields] = msh ?? ["MSH"];
  fields[MSH_7] = formatHl7Timestamp(outcome.occurredAt, profile.results.timeZone);
  const segments: OutSegment[] = [[name, ...fields], ...rest];
  if (answer !== undefined) {
    if (outcome.kind === "acknowledged" && outcome.isDuplicate) {
      segments.push(["NTE", 1, "L", "This message was received before; nothing was started anew."]);
    }
    const codes = statusCodes(outcome.kind, profile.results);
    if (message !== undefined) segments.push(...echoOrders(message, original, codes));
  }
  return assemble(segments, echo.delimiters);
}

/** PID and, for each order, ORC with our answer, its specimens where the structure puts them, and its OBR. */
function echoOrders(message: Hl7Message, { header, echo }: Original, codes: StatusCodes): OutSegment[] {
  const pid = message.first("PID");
  const seen = new Set<Segment>();
  const isSpecimenFirst = header.triggerEvent === "O33" || header.triggerEvent === "O35";
  const body = tryGroups(message).flatMap((group): OutSegment[] => {
    const specimens = !isSpecimenFirst
      ? []
      : group.specimens
          .flatMap(({ spm, containers }) => [...(spm ? [spm] : []), ...containers])
          .filter((segment) => !seen.has(segment) && seen.add(segment));
    const [obr] = group.obrs;
    const placer = echo.field(group.orc, 2) ?? echo.field(obr, 2);
    return [
      ...specimens.map(echo.segment),
      ["ORC", codes.orderControl, placer, undefined, echo.field(group.orc, 4), codes.orderStatus],
      ...group.obrs.map(echo.segment),
    ];
  });
  return pid === undefined || body.length === 0 ? body : [echo.segment(pid), ...body];
}

/** A message that was refused for its structure has no orders to echo; ERR says why. */
function tryGroups(message: Hl7Message): OrderGroup[] {
  try {
    return orderGroups(message);
  } catch {
    return [];
  }
}
