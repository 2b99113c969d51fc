import { Failure } from "../../core/failures.ts";
import { atField, atSegment } from "../../core/place.ts";
import type { Hl7Message } from "./message.ts";
import type { Segment } from "./segment.ts";

/** A specimen and its containers; `spm` is undefined where containers stand without one (2.4, or no SPM sent). */
interface SpecimenGroup {
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

/** What is an order of its own: an ORC with all OBRs below it, or each of these. */
export type OrderSegment = "ORC" | "OBR";

/** An order message taken apart. */
export interface OrderParts {
  /** All its segments. */
  readonly segments: readonly Segment[];
  /**
   * Those before the first that belongs to an order: they belong to none alone. All others belong to one or several
   * groups.
   */
  readonly shared: readonly Segment[];
  /** Empty when the message has no order. */
  readonly groups: OrderGroup[];
}

/** More than any segment of the standard has: each is written again where a segment is echoed. */
const MAX_FIELDS = 1_000;

/**
 * More than any text has. Each is decoded wherever a value is read and written again wherever its segment is echoed, and a
 * frame has room for millions, which would stop everything else for seconds.
 */
const MAX_ESCAPES = 50_000;

/**
 * Each order lists the segments that it shares with others, and each container among them is read, stored and answered with each
 * order: ten orders may share 500 containers, which no lab needs, and these are read in a moment.
 */
const MAX_SHARED_SEGMENTS = 5_000;

/** What is read of each OBR and each container is looked for among those around it: so many looks take a moment. */
const MAX_SEGMENTS_AROUND = 50_000;

interface Draft {
  orc?: Segment;
  obrs: Segment[];
  specimens: { spm?: Segment; containers: Segment[] }[];
  segments: Segment[];
  others: Segment[];
}

/**
 * Takes an order message apart, by the structure of its type (HL7 chapter 4): OML^O33 and OML^O35 put the specimen first,
 * with the containers' orders below it; in OML^O21, ORM^O01 and all other types specimens follow their ORC and OBR.
 * Several OBR under one ORC are one group, unless `each` says that each OBR is; where there is no ORC at all, each OBR is a group.
 * Prior results (ORC-1 PR), and the patient that they name, are left out: they report what was, and order nothing.
 * Throws HL7_CONTINUED for a part of a longer message, and HL7_STRUCTURE where
 * it is not certain what belongs together: a second PID (another patient), a specimen or container without its order, or an OBR
 * before its ORC.
 */
export function orderParts(message: Hl7Message, each: OrderSegment): OrderParts {
  requireWhole(message);
  const second = secondPatient(message);
  if (second !== undefined) {
    throw structureFailure(second, "a second patient in an order message");
  }
  const segments = withoutPriorResults(message);
  const begin = beginOfOrders(segments);
  const sharing = new Sharing();
  const groups = groupsFrom(segments.slice(begin), message, sharing);
  requireOrcFirst(groups);
  const parts = {
    segments,
    shared: segments.slice(0, begin),
    groups: each === "OBR" ? groups.flatMap((group) => splitByObr(group, sharing)) : groups,
  };
  requireReadable(parts);
  return parts;
}

/** What is read of each OBR and each container is looked for among all segments around it, too. */
function requireReadable({ shared, groups }: OrderParts): void {
  let around = 0;
  for (const { obrs, others, specimens, segments } of groups) {
    around += Math.max(1, obrs.length) * (others.length + shared.length);
    let places = specimens.length > 0 ? 0 : segments.length;
    for (const { containers } of specimens) places += Math.max(1, containers.length);
    around += places * shared.length;
  }
  if (around <= MAX_SEGMENTS_AROUND) return;
  throw new Failure(
    "HL7_STRUCTURE",
    "more notes and observations stand around its orders than can be read for each of them",
  );
}

/** Read on, an OBR that stands before its ORC would be an order without a number, and the ORC one without an operation. */
function requireOrcFirst(groups: readonly OrderGroup[]): void {
  const [first] = groups;
  const late = groups.find(({ orc, obrs }) => orc !== undefined && obrs.length === 0)?.orc;
  const [obr] = first?.obrs ?? [];
  if (first?.orc !== undefined || obr === undefined || late === undefined) return;
  throw structureFailure(obr, "its ORC stands behind it; expected each ORC before its OBR");
}

/**
 * A group for each OBR: with what stands from there to the next OBR, and with what stands before the first, such as ORC, and in
 * OML^O33 and OML^O35 the specimen, which all of them share.
 */
function splitByObr(group: OrderGroup, sharing: Sharing): OrderGroup[] {
  if (group.obrs.length <= 1) return [group];
  const shared = emptyDraft();
  const groups: Draft[] = [];
  const groupOf = new Map<Segment, Draft>();
  let current = shared;
  for (const segment of group.segments) {
    if (segment.name === "OBR") {
      current = sharing.copy(shared);
      groups.push(current);
    }
    add(current, segment);
    groupOf.set(segment, current);
  }
  for (const { spm, containers } of group.specimens) {
    const segments = spm === undefined ? containers : [spm, ...containers];
    for (const [owner, own] of Map.groupBy(segments, (segment) => groupOf.get(segment))) {
      const specimen = {
        ...(own[0] === spm && spm ? { spm } : {}),
        containers: own.filter(({ name }) => name === "SAC"),
      };
      for (const each of owner === shared ? groups : [owner]) each?.specimens.push(specimen);
    }
  }
  return groups;
}

function groupsFrom(body: readonly Segment[], message: Hl7Message, sharing: Sharing): OrderGroup[] {
  const type = structureOf(message);
  if (type === "OML_O33") return specimenFirst(body, sharing);
  if (type === "OML_O35") return containerFirst(body, sharing);
  return orderFirst(body);
}

function structureOf({ header: { messageCode, triggerEvent, structure } }: Hl7Message): string {
  return structure ?? `${messageCode}_${triggerEvent}`;
}

/** The second PID, where there is one that is not that of prior results. */
export function secondPatient(message: Hl7Message): Segment | undefined {
  const [, second] = message.all("PID");
  if (second === undefined) return undefined;
  return withoutPriorResults(message).filter(({ name }) => name === "PID")[1];
}

/** What an earlier result has of its patient, before its ORC. */
const OF_PRIOR_PATIENT: readonly string[] = ["PD1", "PRT", "ARV", "PV1", "PV2", "AL1"];

/**
 * The segments without groups of prior results (HL7 chapter 4.4, PRIOR_RESULT): { [PID, PD1], [PV1, PV2], AL1, { ORC, OBR, OBX } }
 * with PR in ORC-1. They go on to the next other ORC, or where specimens stand first, to the next specimen or container. A PID
 * begins one only where its ORC says so: what is below it otherwise would be another patient's order. An OBR without a
 * result's status (OBR-25), a specimen or a container that follows a prior result without an ORC of its own may be the order's: the
 * message is refused.
 */
function withoutPriorResults(message: Hl7Message): readonly Segment[] {
  const { segments } = message;
  if (message.all("ORC").every((orc) => !isPrior(orc))) return segments;
  const isSpecimenFirst = ["OML_O33", "OML_O35"].includes(structureOf(message));
  const kept: Segment[] = [];
  /** Of those kept, how many stand last that may belong to a prior result. */
  let ofPatient = 0;
  let isWithin = false;
  let hasPriorObr = false;
  let hasBegun = false;
  for (const segment of segments) {
    const { name } = segment;
    const isSpecimen = name === "SPM" || name === "SAC";
    if (name === "ORC") {
      isWithin = isPrior(segment);
      if (isWithin && hasBegun) kept.length -= ofPatient;
      hasPriorObr = false;
    } else if (name === "PID" || (isSpecimen && isSpecimenFirst)) isWithin = false;
    const isOfOrder = name === "OBR" && hasPriorObr && (segment.get(25)?.trim() ?? "") === "";
    if (isWithin && (isSpecimen || isOfOrder)) {
      const what = isSpecimen ? "a specimen or container" : "an OBR";
      throw structureFailure(segment, `${what} behind a prior result (ORC-1 PR), without an ORC of its own`);
    }
    hasPriorObr ||= name === "OBR";
    const isOfPatient = OF_PRIOR_PATIENT.includes(name) || (name === "NTE" && ofPatient > 0);
    if (name === "PID") ofPatient = 1;
    else ofPatient = isOfPatient && !isWithin ? ofPatient + 1 : 0;
    hasBegun ||= name === "ORC" || name === "OBR" || isSpecimen;
    if (!isWithin) kept.push(segment);
  }
  return kept;
}

function isPrior(orc: Segment): boolean {
  return orc.get(1)?.trim() === "PR";
}

/**
 * Throws HL7_CONTINUED when the message is one part of several (DSC segment or MSH-14, HL7 chapter 2.10.2), or when one of
 * its segments goes on in another (ADD): what is read of it could end in the middle of a value. Throws HL7_STRUCTURE when it
 * has more escapes, or one segment more fields, than can be read in a moment.
 */
export function requireWhole(message: Hl7Message): void {
  if (hasMoreEscapes(message)) {
    throw new Failure(
      "HL7_STRUCTURE",
      `more than ${MAX_ESCAPES} escapes or control characters, expected fewer in one message`,
    );
  }
  for (const segment of message.segments) {
    if (segment.raw.length > MAX_FIELDS && hasMoreFields(segment.raw, message.delimiters.field)) {
      throw structureFailure(segment, `more than ${MAX_FIELDS} fields`);
    }
  }
  const mark = message.first("DSC") ?? message.first("ADD");
  const isContinued = (message.first("MSH")?.get(14) ?? "") !== "";
  const place = mark ? atSegment(mark) : isContinued ? atField("MSH", 14) : undefined;
  if (place !== undefined) {
    throw new Failure("HL7_CONTINUED", { message: "the message is continued elsewhere", place });
  }
}

/** Control characters other than tabs and line ends go out as escapes. */
function hasMoreEscapes(message: Hl7Message): boolean {
  const text = message.toString();
  if (text.length <= MAX_ESCAPES) return false;
  const mark = message.delimiters.escape.charCodeAt(0);
  let count = 0;
  for (let at = 0; at < text.length && count <= MAX_ESCAPES; at += 1) {
    const code = text.charCodeAt(at);
    if (code === mark || code === 0x7f) count += 1;
    else if (code < 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d) count += 1;
  }
  return count > MAX_ESCAPES;
}

function hasMoreFields(raw: string, separator: string): boolean {
  let fields = 0;
  for (let at = raw.indexOf(separator); at !== -1; at = raw.indexOf(separator, at + 1)) {
    fields += 1;
    if (fields > MAX_FIELDS) return true;
  }
  return false;
}

function beginOfOrders(segments: readonly Segment[]): number {
  let begin = 0;
  for (const { name } of segments) {
    if (name === "ORC" || name === "OBR" || name === "SPM" || name === "SAC") break;
    begin += 1;
  }
  return begin;
}

/** ORM^O01, OML^O21: { ORC, { OBR, OBX … , { SPM, { SAC } } } }. */
function orderFirst(segments: readonly Segment[]): OrderGroup[] {
  const groups: Draft[] = [];
  let group: Draft | undefined;
  for (const segment of segments) {
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
function specimenFirst(segments: readonly Segment[], sharing: Sharing): OrderGroup[] {
  const groups: Draft[] = [];
  let shared = emptyDraft();
  let group: Draft | undefined;
  for (const segment of segments) {
    if (segment.name === "SPM") {
      requireOrdered(shared, group);
      if (shared.specimens.length === 0 && groups.some(({ obrs }) => obrs.length > 0)) {
        throw structureFailure(
          segment,
          "in OML^O33 a specimen stands before its orders, and some came first",
        );
      }
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
      group = continueOrder(segment, group, shared, groups, sharing);
    }
  }
  requireOrdered(shared, group);
  return groups;
}

/** OML^O35: { SPM, { SAC, { ORC, OBR } } }: the orders below a container are that container's alone. */
function containerFirst(segments: readonly Segment[], sharing: Sharing): OrderGroup[] {
  const groups: Draft[] = [];
  let specimen = emptyDraft();
  let shared = specimen;
  let group: Draft | undefined;
  for (const segment of segments) {
    if (segment.name === "SPM") {
      requireOrdered(shared, group, lastContainer(shared));
      specimen = emptyDraft();
      specimen.specimens.push({ spm: segment, containers: [] });
      specimen.segments.push(segment);
      shared = specimen;
      group = undefined;
    } else if (segment.name === "SAC") {
      if (shared !== specimen) requireOrdered(shared, group, lastContainer(shared));
      const spm = specimen.specimens[0]?.spm;
      shared = copyDraft(specimen);
      shared.specimens = [{ ...(spm ? { spm } : {}), containers: [segment] }];
      shared.segments.push(segment);
      group = undefined;
    } else {
      group = continueOrder(segment, group, shared, groups, sharing);
    }
  }
  requireOrdered(shared, group, lastContainer(shared));
  return groups;
}

/** Takes a segment that is neither SPM nor SAC: it begins an order, or belongs to the order or specimen before it. */
function continueOrder(
  segment: Segment,
  group: Draft | undefined,
  shared: Draft,
  groups: Draft[],
  sharing: Sharing,
): Draft | undefined {
  let current = group;
  if (segment.name === "ORC" || (segment.name === "OBR" && current?.orc === undefined)) {
    current = sharing.copy(shared);
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

/** @param lacking what has no order; by default what the shared segments begin with, the specimen */
function requireOrdered(
  shared: Draft,
  group: Draft | undefined,
  lacking: Segment | undefined = shared.segments[0],
): void {
  if (lacking === undefined || group !== undefined) return;
  const rule =
    lacking.name === "SPM"
      ? "a specimen without an ORC or OBR of its own below it"
      : "a container without an ORC or OBR of its own below it";
  throw structureFailure(lacking, rule);
}

/** In OML^O35 an order is that of a container. */
function lastContainer({ segments }: Draft): Segment | undefined {
  return segments.findLast(({ name }) => name === "SAC" || name === "SPM");
}

function structureFailure(segment: Segment, rule: string): Failure {
  return new Failure("HL7_STRUCTURE", {
    message: `segment ${segment.index + 1} (${segment.name}): ${rule}`,
    place: atSegment(segment),
  });
}

/** Gives the orders of one message what they share, as long as that isn't too much. */
class Sharing {
  /** Of second and further orders. */
  #count = 0;
  #last: Draft | undefined;

  copy(shared: Draft): Draft {
    const { segments } = shared;
    const [head] = segments;
    if (shared === this.#last) this.#count += segments.length;
    this.#last = shared;
    if (head === undefined || this.#count <= MAX_SHARED_SEGMENTS) return copyDraft(shared);
    const containers = segments.filter(({ name }) => name === "SAC").length;
    const limit = `at most ${MAX_SHARED_SEGMENTS} segments may be shared so, counted with each order`;
    throw structureFailure(
      head,
      containers > 1
        ? `its ${containers} containers belong to each order below it, and ${limit}; expected one order for all of them, or OML^O35, where each container has orders of its own`
        : `${segments.length} segments from there on belong to each order below it, and ${limit}; expected the orders in several messages`,
    );
  }
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
