import type { OrderGroup } from "../../formats/hl7/groups.ts";
import type { Segment } from "../../formats/hl7/message.ts";
import { fitsSegment } from "../../formats/hl7/path.ts";
import type { ContainerKind, Hl7Profile } from "../profile/profile.ts";

/** One container: the segment that stands for it, and those that its values may be read from. */
export interface ContainerPlace {
  readonly segment: Segment;
  readonly scope: readonly Segment[];
}

/**
 * The containers of one group. For each specimen: its SACs, or the SPM itself where it has none. An order without
 * specimens (ORM^O01): for each OBR its OBXs, or other segments, of the kind that the profile names, or the OBR itself where it
 * has none.
 * A specimen that the profile does not count is listed with nothing of its own to read from: its missing label is then
 * reported, where leaving it out would lose a sample without a word.
 *
 * @param shared what a value may be read from besides the container's own segments
 */
export function listContainers(
  group: OrderGroup,
  each: readonly ContainerKind[],
  shared: readonly Segment[],
): ContainerPlace[] {
  const { orc, specimens } = group;
  const head = orc === undefined ? shared : [orc, ...shared];
  if (specimens.length === 0) return listByObr(group, each, head);
  const obr = group.obrs[0];
  const order = obr === undefined ? head : [obr, ...head];
  const found: ContainerPlace[] = [];
  for (const { spm, containers } of specimens) {
    const around = spm === undefined ? order : [spm, ...order];
    const before = found.length;
    for (const segment of containers) {
      if (isCounted(segment, each)) found.push({ segment, scope: [segment, ...around] });
    }
    const segment = spm ?? containers[0];
    if (found.length > before || segment === undefined) continue;
    found.push({ segment, scope: isCounted(segment, each) ? around : shared });
  }
  return found;
}

/** An OBR is a container as long as no segment below it is one. */
function listByObr(
  { segments }: OrderGroup,
  each: readonly ContainerKind[],
  head: readonly Segment[],
): ContainerPlace[] {
  const found: ContainerPlace[] = [];
  let around: readonly Segment[] | undefined;
  let isOwn = false;
  for (const segment of segments) {
    if (segment.name === "OBR") {
      around = [segment, ...head];
      isOwn = isCounted(segment, each);
      if (isOwn) found.push({ segment, scope: around });
    } else if (around !== undefined && isCounted(segment, each)) {
      if (isOwn) found.pop();
      isOwn = false;
      found.push({ segment, scope: [segment, ...around] });
    }
  }
  return found;
}

/** Segments that stand before the orders of a message. */
const PATIENT_SEGMENTS = [
  "MSH",
  "SFT",
  "UAC",
  "PID",
  "PD1",
  "ARV",
  "NK1",
  "PV1",
  "PV2",
  "IN1",
  "IN2",
  "IN3",
  "GT1",
  "AL1",
];

/** A value of containers that is only looked for where none is read. */
interface UnreachedValue {
  /** `containers.label`. */
  readonly name: string;
  readonly places: string;
}

/**
 * The values of containers that a profile reads from segments alone which neither stand for a container nor around one: below an
 * order these are never read.
 */
export function findUnreached({ rules, each }: Pick<Hl7Profile, "rules" | "each">): UnreachedValue[] {
  const read = new Set([...each.map(({ segment }) => segment), "ORC", "OBR", ...PATIENT_SEGMENTS]);
  if (read.has("SAC")) read.add("SPM");
  return [rules.label, rules.description].flatMap(({ name = "", sources, places, fallback }) => {
    const isReached =
      fallback !== undefined ||
      sources.some((source) => source.kind === "constant" || read.has(source.path.segment));
    return isReached || sources.length === 0 ? [] : [{ name, places }];
  });
}

/**
 * OBXs, and other segments, of the kind that the profile names, where none is counted: before the orders, before an order's OBR, or beside
 * specimens. What they name would be left out without a word.
 */
export function strayContainers(
  groups: readonly OrderGroup[],
  shared: readonly Segment[],
  each: readonly ContainerKind[],
): readonly Segment[] {
  const strays: Segment[] = [];
  for (const segment of shared) if (isNamed(segment, each)) strays.push(segment);
  for (const { obrs, specimens, others } of groups) {
    const from = specimens.length > 0 ? undefined : obrs[0]?.index;
    for (const segment of others) {
      if ((from === undefined || segment.index < from) && isNamed(segment, each)) strays.push(segment);
    }
  }
  return strays;
}

/** Whether it is of a kind that stands for containers alone; an OBX of any kind may be an observation. */
function isNamed(segment: Segment, each: readonly ContainerKind[]): boolean {
  return each.some(({ segment: name, which }) => {
    if (name !== segment.name || name === "OBR" || name === "SPM" || name === "SAC") return false;
    return which?.kind === "where" ? fitsSegment(segment, which.conditions) : name !== "OBX";
  });
}

/** Whether a segment is of a kind that the profile counts as containers. */
export function isCounted(segment: Segment, each: readonly ContainerKind[]): boolean {
  for (const { segment: name, which } of each) {
    if (name !== segment.name) continue;
    if (which?.kind !== "where" || fitsSegment(segment, which.conditions)) return true;
  }
  return false;
}
