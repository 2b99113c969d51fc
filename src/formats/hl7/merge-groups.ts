import { Failure } from "../../core/failures.ts";
import type { Hl7Message, Segment } from "./message.ts";

/** Each merge lists the segments that all share: a bound, so that a hostile message can't make these lists endless. */
const MAX_SHARED_SEGMENTS = 1_000_000;

/**
 * The pairs of a merge message, in order: ADT_A39 repeats `{ PID, [PD1], MRG, [PV1] }` (HL7 chapter 3.3.40); the older A18
 * and A34 have one. Each is given as its own segments, followed by those that stand before the first PID and hold for all.
 * A message without PID is one group. Throws HL7_STRUCTURE where it is not certain which MRG goes with which PID.
 */
export function mergeGroups(message: Hl7Message): readonly (readonly Segment[])[] {
  if (message.first("PID") === undefined) return [message.segments];
  const shared: Segment[] = [];
  const groups: Segment[][] = [];
  for (const segment of message.segments) {
    if (segment.name === "PID") groups.push([]);
    const group = groups.at(-1);
    if (segment.name === "MRG") requireItsPlace(segment, group);
    (group ?? shared).push(segment);
  }
  if (groups.length * shared.length > MAX_SHARED_SEGMENTS) {
    throw new Failure(
      "HL7_STRUCTURE",
      "more segments stand before its merges than can be read for each of them",
    );
  }
  return groups.map((group) => [...group, ...shared]);
}

function requireItsPlace(mrg: Segment, group: readonly Segment[] | undefined): void {
  if (group?.every(({ name }) => name !== "MRG")) return;
  const rule =
    group === undefined
      ? "it stands before the PID that it belongs to"
      : "a second MRG below one PID; expected a PID and an MRG for each merge";
  throw new Failure("HL7_STRUCTURE", `segment ${mrg.index + 1} (MRG): ${rule}`);
}
