import { atSegment, placeText } from "../../core/place.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import type { FieldPath } from "../../formats/hl7/path.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { type Reading, readSeveral, type ValueRule } from "../profile/value.ts";
import { type ContainerPlace, isCounted, listContainers } from "./containers-hl7.ts";
import { findSeveral, inForce, missingAt } from "./find-hl7.ts";

/** The labels of what a segment stands for, by place. */
type Labels = readonly (readonly Reading[])[];

/** A segment that stands for containers, with their labels. */
export interface LabelledPlace extends ContainerPlace {
  readonly labels: Labels;
}

/** Reads the labels of a message's containers: those of a specimen once for all orders that share it. */
export class LabelReader {
  readonly #around: readonly Segment[];
  readonly #profile: Hl7Profile;
  readonly #isOfSpecimenAlone: boolean;
  readonly #bySpecimen = new Map<OrderGroup["specimens"][number], Map<Segment, Labels>>();

  /** @param shared what stands before the orders */
  constructor(shared: readonly Segment[], profile: Hl7Profile) {
    this.#profile = profile;
    // What is observed before the orders is of the patient, and no container's.
    this.#around = shared.filter((segment) => segment.name !== "OBX" && !this.#isOwn(segment));
    this.#isOfSpecimenAlone = profile.specimenLabel.sources.every(
      (source) =>
        source.kind === "constant" ||
        [source.path, ...(source.joined?.paths ?? [])].every(({ segment }) => ofSpecimen(segment)),
    );
  }

  /** What stands for the containers of an order, which may have several groups. */
  placesOf(groups: readonly OrderGroup[]): readonly LabelledPlace[] {
    const profile = this.#profile;
    // OML^O33 may repeat an order's ORC below one specimen: its containers are the same segments, and counted once.
    const places = new Map<Segment, ContainerPlace>();
    for (const group of groups) {
      for (const place of listContainers(group, profile.containers.each, this.#around)) {
        if (!places.has(place.segment)) places.set(place.segment, place);
      }
    }
    // What is no container says nothing about where this order has its labels: an OBX may be any observation.
    const labelled = () =>
      [...groups.flatMap(({ segments }) => segments), ...this.#around].filter(
        (segment) => (segment.name !== "OBX" && !this.#isOwn(segment)) || places.has(segment),
      );
    const forSpecimens = inForce(profile.specimenLabel, labelled);
    const forOthers = inForce(profile.rules.containers.label, labelled);
    const known = this.#knownOf(groups);
    return [...places.values()].map(({ segment, scope }) => {
      let labels = known.get(segment);
      if (labels === undefined) {
        const isOfSpecimen = ofSpecimen(segment.name);
        labels = readLabels(isOfSpecimen ? forSpecimens : forOthers, segment, scope, profile);
        if (isOfSpecimen) known.set(segment, labels);
      }
      return { segment, scope, labels };
    });
  }

  #isOwn({ name }: Segment): boolean {
    const { each } = this.#profile.containers;
    return (
      name === "SAC" || (name !== "SPM" && name !== "OBR" && each.some(({ segment }) => segment === name))
    );
  }

  /** Labels that were read already. Where an order has several specimens, one says where the others have theirs. */
  #knownOf(groups: readonly OrderGroup[]): Map<Segment, Labels> {
    const [specimen, ...others] = new Set(groups.flatMap(({ specimens }) => specimens));
    if (specimen === undefined || others.length > 0 || !this.#isOfSpecimenAlone) return new Map();
    const known = this.#bySpecimen.get(specimen) ?? new Map<Segment, Labels>();
    this.#bySpecimen.set(specimen, known);
    return known;
  }
}

function ofSpecimen(name: string): boolean {
  return name === "SAC" || name === "SPM";
}

/** Where the only label is missing, the segment that lacks it is named. */
function readLabels(
  rule: ValueRule<FieldPath>,
  segment: Segment,
  scope: readonly Segment[],
  profile: Hl7Profile,
): Labels {
  const labels = readSeveral(rule, findSeveral(rule.split, true), scope);
  const all = labels.flat();
  const [only] = all;
  if (only?.status !== "absent" || all.length > 1) return labels;
  return [[missingLabel(rule, segment, scope, profile)]];
}

function missingLabel(
  rule: ValueRule<FieldPath>,
  segment: Segment,
  scope: readonly Segment[],
  { containers: { each }, containerPlace }: Hl7Profile,
): Reading {
  const place = missingAt(rule, scope);
  if (place !== undefined) return { status: "absent", place };
  if (segment.name === "OBR") return { status: "absent", place: atSegment(segment) };
  return {
    status: "bad",
    place: atSegment(segment),
    code: "MAPPING_NO_CONTAINER",
    message: `has no ${placeText(isCounted(segment, each) ? rule.places : containerPlace)} of its own, expected the container's label there`,
  };
}
