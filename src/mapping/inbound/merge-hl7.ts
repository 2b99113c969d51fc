import { Failure } from "../../core/failures.ts";
import type { Spot } from "../../core/place.ts";
import type { Hl7Message } from "../../formats/hl7/message.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import type { Reading } from "../profile/value.ts";
import type { Draft } from "./draft.ts";
import { readSubjectOrder } from "./order-hl7.ts";

/** One merge of a message, and the segments that it was read from. */
interface ReadMerge {
  readonly draft: Draft;
  readonly segments: readonly Segment[];
}

/**
 * Reads the merges of a message, in order: one for each PID with its MRG. MRG-1 may list several identifiers, but only one
 * of them is merged with one of PID-3, that of the same kind (HL7 chapters 3.3.40 and 3.4.9.1): the profile singles it out.
 *
 * @throws Failure HL7_STRUCTURE
 */
export function readMerges(message: Hl7Message, profile: Hl7Profile): ReadMerge[] {
  return mergeGroups(message).map((segments) => {
    const draft = readSubjectOrder(message, profile, "MERGE", segments);
    const { subject, facility, priorCode } = draft;
    const place = (reading: Reading) => withOrdinals(reading, segments);
    return {
      segments,
      draft: {
        ...draft,
        facility: place(facility),
        priorCode: priorCode && withHint(place(priorCode)),
        subject: {
          code: place(subject.code),
          firstName: place(subject.firstName),
          lastName: place(subject.lastName),
          dateOfBirth: place(subject.dateOfBirth),
        },
      },
    };
  });
}

/** Where nothing was found, the places that a profile names are those of this merge: `MRG[2]-1.1`. */
function withOrdinals(reading: Reading, segments: readonly Segment[]): Reading {
  if (reading.status !== "absent") return reading;
  const pair = segments.find(({ name }) => name === "PID")?.ordinal ?? 1;
  const counted = (spot: Spot): Spot => {
    if ("column" in spot || spot.segment === undefined) return spot;
    const { segment } = spot;
    const isCounted = !("name" in spot) && (spot.ordinal !== undefined || spot.written !== undefined);
    const own = segments.find(({ name }) => name === segment)?.ordinal;
    const ordinal = own ?? (segment === "MRG" ? pair : 1);
    if (isCounted || ordinal === 1) return spot;
    return "name" in spot
      ? { ...spot, name: `${segment}[${ordinal}]${spot.name.slice(segment.length)}` }
      : { ...spot, ordinal };
  };
  const { spots = [] } = reading.place;
  return { status: "absent", place: { ...reading.place, spots: spots.map(counted) } };
}

function withHint(reading: Reading): Reading {
  if (reading.status !== "bad" || reading.code !== "MAPPING_SUBJECT_AMBIGUOUS") return reading;
  const message = `${reading.message}; a merge has one prior identifier, so expected a PID and an MRG for each`;
  return { ...reading, message };
}

/** Each merge lists the segments that all share: a bound, so that a hostile message can't make these lists endless. */
const MAX_SHARED_SEGMENTS = 50_000;

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
