import type { OrderGroup } from "../../formats/hl7/groups.ts";
import type { Segment } from "../../formats/hl7/message.ts";
import { listContainers } from "../inbound/containers-hl7.ts";
import { findIn } from "../inbound/find-hl7.ts";
import type { Original } from "./original.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { readValue } from "../profile/value.ts";

/**
 * The segments of the original that stand for the container with this label. None where the message is gone, or a
 * site's module gave the container another label than it reads: whose segments they are would be a guess.
 */
export function findContainerSegments(
  label: string,
  groups: readonly OrderGroup[],
  { message }: Original,
  profile: Hl7Profile,
): { readonly sac?: Segment | undefined; readonly spm?: Segment | undefined } {
  if (message === undefined) return {};
  for (const group of groups) {
    for (const { segment, scope } of listContainers(group, profile.each, [])) {
      const read = readValue(profile.rules.label, findIn, scope);
      if (read.status !== "found" || read.value !== label) continue;
      const spm = scope.find(({ name }) => name === "SPM") ?? (segment.name === "SPM" ? segment : undefined);
      return { sac: segment.name === "SAC" ? segment : undefined, spm };
    }
  }
  return {};
}
