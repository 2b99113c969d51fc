import type { OrderGroup } from "../formats/hl7/groups.ts";
import type { Segment } from "../formats/hl7/message.ts";
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
  const head = group.orc ? [group.orc] : [];
  const obr = group.obrs.slice(0, 1);
  if (group.specimens.length > 0) {
    return group.specimens.flatMap(({ spm, containers }): ContainerPlace[] => {
      const around = [...(spm ? [spm] : []), ...obr, ...head];
      const kept = containers.filter((segment) => isCounted(segment, each));
      if (kept.length > 0) return kept.map((segment) => ({ segment, scope: [segment, ...around] }));
      const segment = spm ?? containers[0];
      return segment === undefined ? [] : [{ segment, scope: isCounted(segment, each) ? around : [] }];
    });
  }
  return listByObr(group).flatMap(({ obr: own, observations }): ContainerPlace[] => {
    const around = [own, ...head];
    const kept = observations.filter((segment) => isCounted(segment, each));
    if (kept.length > 0) return kept.map((segment) => ({ segment, scope: [segment, ...around] }));
    return isCounted(own, each) ? [{ segment: own, scope: around }] : [];
  });
}

/** What stands for a container, for people. */
export function describeEach(each: readonly ContainerKind[]): string {
  return each.map(({ segment }) => segment).join(" or ");
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
  return each.some(({ segment: name, which }) => {
    if (name !== segment.name) return false;
    if (which?.kind !== "where") return true;
    return which.conditions.every(({ at: [field = 1, component, subcomponent], isEqual, value }) => {
      return (segment.get(field, 1, component, subcomponent) === value) === isEqual;
    });
  });
}
