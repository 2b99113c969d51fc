import type { OrderGroup } from "../formats/hl7/groups.ts";
import type { Segment } from "../formats/hl7/message.ts";
import { fitsSegment } from "../formats/hl7/path.ts";
import type { ContainerKind } from "./profile.ts";

/** One container: the segment that stands for it, and those that its values may be read from. */
export interface ContainerPlace {
  readonly segment: Segment;
  readonly scope: readonly Segment[];
}

/**
 * The containers of one group. For each specimen: its SACs, or the SPM itself where it has none. An order without
 * specimens (ORM^O01): for each OBR its OBXs of the kind that the profile names, or the OBR itself where it has none.
 * A specimen that the profile does not count is listed with nothing to read from: its missing label is then told,
 * where leaving it out would lose a sample without a word.
 */
export function listContainers(group: OrderGroup, each: readonly ContainerKind[]): ContainerPlace[] {
  const found: ContainerPlace[] = [];
  const head = group.orc ? [group.orc] : [];
  const obr = group.obrs.slice(0, 1);
  for (const { spm, containers } of group.specimens) {
    const around = [...(spm ? [spm] : []), ...obr, ...head];
    if (addCounted(containers, around, each, found)) continue;
    const segment = spm ?? containers[0];
    if (segment) found.push({ segment, scope: isCounted(segment, each) ? around : [] });
  }
  if (group.specimens.length > 0) return found;
  for (const { obr: own, observations } of listByObr(group)) {
    const around = [own, ...head];
    if (addCounted(observations, around, each, found)) continue;
    if (isCounted(own, each)) found.push({ segment: own, scope: around });
  }
  return found;
}

/** Adds the segments that stand for a container; false where there is none. */
function addCounted(
  segments: readonly Segment[],
  around: readonly Segment[],
  each: readonly ContainerKind[],
  found: ContainerPlace[],
): boolean {
  const before = found.length;
  for (const segment of segments) {
    if (isCounted(segment, each)) found.push({ segment, scope: [segment, ...around] });
  }
  return found.length > before;
}

/** Each OBR with the OBXs that follow it. */
function listByObr(group: OrderGroup): { obr: Segment; observations: Segment[] }[] {
  const found: { obr: Segment; observations: Segment[] }[] = [];
  for (const segment of group.segments) {
    if (segment.name === "OBR") found.push({ obr: segment, observations: [] });
    if (segment.name === "OBX") found.at(-1)?.observations.push(segment);
  }
  return found;
}

function isCounted(segment: Segment, each: readonly ContainerKind[]): boolean {
  for (const { segment: name, which } of each) {
    if (name !== segment.name) continue;
    if (which?.kind !== "where" || fitsSegment(segment, which.conditions)) return true;
  }
  return false;
}
