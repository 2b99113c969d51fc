import type { ContainerLocation, OutcomeContainer, OutcomeOrder } from "../../core/outcome.ts";
import { type Field, repeated, type SegmentSpec } from "../../formats/hl7/encode.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import type { Segment } from "../../formats/hl7/message.ts";
import { isVersionFrom } from "../../formats/hl7/segment.ts";
import { listContainers } from "../inbound/containers-hl7.ts";
import { findSeveral } from "../inbound/find-hl7.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { readSeveral } from "../profile/value.ts";
import { Observations } from "./observations.ts";
import type { Original } from "./original.ts";
import { blank, type StatusContext, statusCodes, statusHeader } from "./result-parts.ts";

/**
 * SSU^U03, the specimen status update (HL7 chapter 13.3.3): EQU names the storage, then for each container SAC with its
 * status (SAC-8) and place (SAC-9 to SAC-15), OBX with what SAC has no field for, and from 2.5 on the specimen's SPM as
 * the lab sent it. There is no ORC: the lab knows the container by SAC-3, and by the accession numbers (SAC-1, SAC-2) of
 * its own message; the order's number and reason stand in OBX.
 */
export function specimenStatus(context: StatusContext): SegmentSpec[] {
  const { outcome, original, profile, version, at, groups, format } = context;
  const { order } = outcome;
  const { echo } = original;
  const { timeZone, words } = profile.results;
  const codes = statusCodes(order.state, { ...profile.results, format });
  const segments: SegmentSpec[] = [statusHeader(context), ["EQU", equipmentOf(context), at]];
  for (const [i, container] of order.containers.entries()) {
    const found = findContainerSegments(container.label, groups, original, profile);
    const location = isGone(order) ? undefined : container.location;
    segments.push([
      "SAC",
      echo.field(found.sac, 1),
      echo.field(found.sac, 2),
      // As the lab wrote it, assigning authority and all, where the label stands there.
      echo.field(found.sac, 3) ?? container.label,
      echo.field(found.sac, 4),
      ...blank(3),
      containerStatus(
        codes.containerStatus,
        container,
        order,
        profile.results.statusMap?.completed?.["SAC-8"],
      ),
      ...placeFields(location, order.facilityCode),
    ]);
    const { messageControlId } = outcome.message;
    const observations = new Observations(order, { timeZone, words, version, at, messageControlId });
    observations.addOrder();
    observations.addOrderNumber();
    observations.addContainer(container, i + 1, { isPlaceInParts: false });
    segments.push(...observations.segments);
    if (found.spm && isVersionFrom(version, 2, 5)) segments.push(echo.segment(found.spm));
  }
  return segments;
}

/** Table 0370, as far as it is used here. */
const STATUS_WORDS: Readonly<Record<string, string>> = {
  I: "Identified",
  P: "In position",
  O: "In process",
  R: "Process completed",
  L: "Left equipment",
  M: "Missing",
  X: "Container unavailable",
  U: "Unknown",
};

/**
 * SAC-8. A stored container whose place is known is in position, one that was taken out has left; A (archived) would
 * say that it comes back for more, so it is never used unless the site names it.
 */
function containerStatus(
  shipped: string | undefined,
  { location }: OutcomeContainer,
  order: OutcomeOrder,
  site: string | undefined,
): string[] | undefined {
  const isDone = order.state === "completed" && site === undefined;
  const code = !isDone ? shipped : isGone(order) ? "L" : location === undefined ? shipped : "P";
  if (code === undefined || code === "") return undefined;
  const words = STATUS_WORDS[code];
  return words === undefined ? [code] : [code, words, "HL70370"];
}

/** A retrieved container is not where the service last had it. */
function isGone({ operation, state }: OutcomeOrder): boolean {
  return operation === "RETRIEVAL" && state === "completed";
}

/**
 * EQU-1, which is required: the storage of the containers by its id, else its name. Before any is known, and for
 * containers in several storages, it is Cryobridge that reports.
 */
function equipmentOf({ outcome, profile }: StatusContext): string[] {
  const { containers, facilityCode } = outcome.order;
  const names = containers.map(({ location }) => location?.storageId?.toString() ?? location?.storageName);
  const [first] = names;
  const isShared = first !== undefined && first !== "" && names.every((name) => name === first);
  return [isShared ? first : profile.results.namespace, facilityCode];
}

/**
 * SAC-9 to SAC-15: the cane is the carrier, the canister the tray. Positions in them (SAC-11, SAC-14) are arrays of
 * numbers, which the service doesn't give; its free text is the text of the innermost place in SAC-15, which repeats from
 * there outwards. SAC-16 is a height.
 */
function placeFields(location: ContainerLocation | undefined, facilityCode: string): Field[] {
  if (location === undefined) return [];
  const { cane, canister, storageName, position } = location;
  const levels: (readonly (string | undefined)[])[] = [cane, canister, storageName, facilityCode]
    .filter((level) => level !== undefined && level !== "")
    .map((level) => [level]);
  if (position !== undefined && position !== "") {
    if (cane === undefined || cane === "") levels.unshift([undefined, position]);
    else levels[0] = [cane, position];
  }
  return [
    cane ? "CANE" : undefined,
    cane || undefined,
    undefined,
    canister ? "CANISTER" : undefined,
    canister || undefined,
    undefined,
    repeated(...levels),
  ];
}

/**
 * The segments of the original that stand for the container with this label. None where the message is gone, or a
 * site's module gave the container another label than it reads: whose segments they are would be a guess.
 */
function findContainerSegments(
  label: string,
  groups: readonly OrderGroup[],
  { message }: Original,
  profile: Hl7Profile,
): { readonly sac?: Segment | undefined; readonly spm?: Segment | undefined } {
  if (message === undefined) return {};
  for (const group of groups) {
    for (const { segment, scope } of listContainers(group, profile.each, [])) {
      const { label: rule } = profile.rules;
      const read = readSeveral(rule, findSeveral(rule.split), scope).flat();
      if (!read.some((each) => each.status === "found" && each.value === label)) continue;
      const spm = scope.find(({ name }) => name === "SPM") ?? (segment.name === "SPM" ? segment : undefined);
      // What says several labels says more than this container's.
      return { sac: segment.name === "SAC" && read.length === 1 ? segment : undefined, spm };
    }
  }
  return {};
}
