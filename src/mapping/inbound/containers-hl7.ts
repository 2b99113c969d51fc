import type { OrderGroup } from "../../formats/hl7/groups.ts";
import { fitsSegment } from "../../formats/hl7/path.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { ContainerKind } from "../profile/schema.ts";

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
