import { Failure } from "../../core/failures.ts";
import type { Hl7Message, Segment } from "./message.ts";

/** A specimen and its containers; `spm` is undefined where containers stand without one (2.4, or no SPM sent). */
export interface SpecimenGroup {
  readonly spm?: Segment;
  readonly containers: readonly Segment[];
}

/** What belongs to one order of a message. */
export interface OrderGroup {
  readonly orc?: Segment;
  readonly obrs: readonly Segment[];
  readonly specimens: readonly SpecimenGroup[];
  /** All segments of the order in the order they stand, among them those of a specimen it shares; no PID, no MSH. */
  readonly segments: readonly Segment[];
  /** Those that are neither ORC, OBR, SPM nor SAC: OBX, NTE, TQ1 … */
  readonly others: readonly Segment[];
}

/** Each order lists the segments that it shares: a bound, so that a hostile message can't make that list endless. */
const MAX_SHARED_SEGMENTS = 1_000_000;

interface Draft {
  orc?: Segment;
  obrs: Segment[];
  specimens: { spm?: Segment; containers: Segment[] }[];
  segments: Segment[];
  others: Segment[];
}

/**
 * The orders of a message, by the structure of its type (HL7 chapter 4): OML^O33 and OML^O35 put the specimen first,
 * with the containers' orders below it; in OML^O21, ORM^O01 and all other types specimens follow their ORC and OBR.
 * Several OBR under one ORC are one group; where there is no ORC at all, each OBR is a group.
 * Empty when the message has no order. Throws HL7_CONTINUED for a part of a longer message, and HL7_STRUCTURE where
 * it is not certain what belongs together: a second PID (another patient, or prior results), or a specimen or
 * container without its order.
 */
export function orderGroups(message: Hl7Message): OrderGroup[] {
  requireWhole(message);
  const segments = bodyOf(message);
  const { messageCode, triggerEvent, structure } = message.codes;
  const type = structure ?? `${messageCode}_${triggerEvent}`;
  if (type === "OML_O33") return specimenFirst(segments);
  if (type === "OML_O35") return containerFirst(segments);
  return orderFirst(segments);
}

/** Throws HL7_CONTINUED when the message is one part of several (DSC segment or MSH-14, HL7 chapter 2.10.2). */
export function requireWhole(message: Hl7Message): void {
  const place = message.first("DSC") ? "DSC" : message.first("MSH")?.get(14) ? "MSH-14" : undefined;
  if (place !== undefined) {
    throw new Failure("HL7_CONTINUED", { message: "the message is continued elsewhere", place });
  }
}

/** The segments from the first that belongs to an order. */
function bodyOf(message: Hl7Message): readonly Segment[] {
  const secondPatient = message.all("PID")[1];
  if (secondPatient) {
    throw structureFailure(secondPatient, "a second patient, or prior results, in an order message");
  }
  return message.segments.slice(beginOfOrders(message));
}

/**
 * The segments before those of the first order: they belong to no order alone. All others belong to one or several, or
 * {@link orderGroups} throws.
 */
export function sharedSegments(message: Hl7Message): readonly Segment[] {
  return message.segments.slice(0, beginOfOrders(message));
}

const FIRST_OF_ORDER: ReadonlySet<string> = new Set(["ORC", "OBR", "SPM", "SAC"]);

function beginOfOrders({ segments }: Hl7Message): number {
  let begin = 0;
  for (const { name } of segments) {
    if (FIRST_OF_ORDER.has(name)) break;
    begin += 1;
  }
  return begin;
}

/** ORM^O01, OML^O21: { ORC, { OBR, OBX … , { SPM, { SAC } } } }. */
function orderFirst(segments: readonly Segment[]): OrderGroup[] {
  const groups: Draft[] = [];
  for (const segment of segments) {
    let group = groups.at(-1);
    if (segment.name === "ORC" || (segment.name === "OBR" && group?.orc === undefined)) {
      group = emptyDraft();
      groups.push(group);
    }
    if (group === undefined)
      throw structureFailure(segment, "it stands before the ORC or OBR that it belongs to");
    add(group, segment);
    if (segment.name === "SPM") group.specimens.push({ spm: segment, containers: [] });
    if (segment.name === "SAC") {
      if (group.specimens.length === 0) group.specimens.push({ containers: [] });
      group.specimens.at(-1)?.containers.push(segment);
    }
  }
  return groups;
}

/** OML^O33: { SPM, { SAC }, { ORC, OBR } }: the orders below a specimen share it. */
function specimenFirst(segments: readonly Segment[]): OrderGroup[] {
  const groups: Draft[] = [];
  let shared = emptyDraft();
  let group: Draft | undefined;
  for (const segment of segments) {
    if (segment.name === "SPM") {
      requireOrdered(shared, group);
      shared = emptyDraft();
      shared.specimens.push({ spm: segment, containers: [] });
      shared.segments.push(segment);
      group = undefined;
    } else if (segment.name === "SAC") {
      if (group) throw structureFailure(segment, "in OML^O33 containers stand between their SPM and the ORC");
      if (shared.specimens.length === 0) shared.specimens.push({ containers: [] });
      shared.specimens.at(-1)?.containers.push(segment);
      shared.segments.push(segment);
    } else {
      group = continueOrder(segment, group, shared, groups);
    }
  }
  requireOrdered(shared, group);
  return groups;
}

/** OML^O35: { SPM, { SAC, { ORC, OBR } } }: the orders below a container are that container's alone. */
function containerFirst(segments: readonly Segment[]): OrderGroup[] {
  const groups: Draft[] = [];
  let specimen = emptyDraft();
  let shared = specimen;
  let group: Draft | undefined;
  for (const segment of segments) {
    if (segment.name === "SPM") {
      requireOrdered(shared, group);
      specimen = emptyDraft();
      specimen.specimens.push({ spm: segment, containers: [] });
      specimen.segments.push(segment);
      shared = specimen;
      group = undefined;
    } else if (segment.name === "SAC") {
      if (shared !== specimen) requireOrdered(shared, group);
      const spm = specimen.specimens[0]?.spm;
      shared = copyDraft(specimen);
      shared.specimens = [{ ...(spm ? { spm } : {}), containers: [segment] }];
      shared.segments.push(segment);
      group = undefined;
    } else {
      group = continueOrder(segment, group, shared, groups);
    }
  }
  requireOrdered(shared, group);
  return groups;
}

/** Takes a segment that is neither SPM nor SAC: it begins an order, or belongs to the order or specimen before it. */
function continueOrder(
  segment: Segment,
  group: Draft | undefined,
  shared: Draft,
  groups: Draft[],
): Draft | undefined {
  let current = group;
  if (segment.name === "ORC" || (segment.name === "OBR" && current?.orc === undefined)) {
    if (groups.length * shared.segments.length > MAX_SHARED_SEGMENTS) {
      throw structureFailure(segment, "more orders share a specimen than can be read");
    }
    current = copyDraft(shared);
    groups.push(current);
  }
  add(current ?? shared, segment);
  return current;
}

function add(group: Draft, segment: Segment): void {
  group.segments.push(segment);
  if (segment.name === "ORC") group.orc = segment;
  else if (segment.name === "OBR") group.obrs.push(segment);
  else if (segment.name !== "SPM" && segment.name !== "SAC") group.others.push(segment);
}

function requireOrdered(shared: Draft, group: Draft | undefined): void {
  const first = shared.segments[0];
  if (first && group === undefined) {
    throw structureFailure(
      shared.segments.at(-1) ?? first,
      "a specimen or container without an ORC or OBR below it",
    );
  }
}

function structureFailure(segment: Segment, rule: string): Failure {
  const place = segment.ordinal > 1 ? `${segment.name}[${segment.ordinal}]` : segment.name;
  return new Failure("HL7_STRUCTURE", {
    message: `segment ${segment.index + 1} (${segment.name}): ${rule}`,
    place,
  });
}

function emptyDraft(): Draft {
  return { obrs: [], specimens: [], segments: [], others: [] };
}

function copyDraft(draft: Draft): Draft {
  return {
    ...draft,
    obrs: [...draft.obrs],
    specimens: [...draft.specimens],
    segments: [...draft.segments],
    others: [...draft.others],
  };
}
