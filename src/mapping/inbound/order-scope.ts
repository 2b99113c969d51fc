import { joined, type Place } from "../../core/place.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import { type FieldPath, findValue, placeOf } from "../../formats/hl7/path.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { Found, Misfit } from "../profile/value.ts";
import { candidatesOf, pathOfRepetition } from "./find-hl7.ts";

/** How deep what begins with a segment stands: a later one of the same depth, or less, ends it. */
const DEPTHS: Readonly<Partial<Record<string, number>>> = { ORC: 1, OBR: 2, SPM: 3 };
const DEPTH_OF_CONTAINER = 4;

/**
 * What the values of one order, and of each of its containers, may be read from. A segment belongs to the container, specimen,
 * OBR or ORC that it follows, whatever its name: a Z segment stands in no group of the standard.
 */
export class OrderScope {
  readonly #shared: readonly Segment[];
  readonly #containers: ReadonlySet<Segment>;
  /** What a segment stands below, from the outside in, itself included where something begins with it. */
  readonly #chainOf = new Map<Segment, readonly Segment[]>();
  /** Where specimens stand first, several orders may share a container. */
  readonly #groupsOf = new Map<Segment, OrderGroup[]>();
  /** The containers that have a segment of a path's name of their own. */
  readonly #havingByPath = new Map<FieldPath, readonly Segment[]>();
  /** The segments that stand right below one, itself included. */
  readonly #ownOf = new Map<Segment | undefined, Segment[]>();

  /**
   * @param groups those of one order
   * @param shared what no order of the message has alone
   * @param containers the segments that stand for the order's containers
   */
  constructor(groups: readonly OrderGroup[], shared: readonly Segment[], containers: ReadonlySet<Segment>) {
    this.#shared = shared;
    this.#containers = containers;
    for (const group of groups) {
      let chain: readonly Segment[] = [];
      for (const segment of group.segments) {
        if (containers.has(segment)) {
          const sharing = this.#groupsOf.get(segment);
          if (sharing === undefined) this.#groupsOf.set(segment, [group]);
          else sharing.push(group);
        }
        const depth = this.#depthOf(segment);
        if (depth !== undefined)
          chain = [...chain.filter((head) => (this.#depthOf(head) ?? 0) < depth), segment];
        // Orders below one specimen share it.
        if (this.#chainOf.has(segment)) continue;
        this.#chainOf.set(segment, chain);
        const own = this.#ownOf.get(chain.at(-1));
        if (own === undefined) this.#ownOf.set(chain.at(-1), [segment]);
        else own.push(segment);
      }
    }
  }

  /**
   * The value of a path for one container, or for the order: from the nearest segments that have one of its name. Of several
   * that differ none is chosen, unless the path says which.
   *
   * @param container the segment that stands for it, `unknown` for one of which nobody knows where it stands, undefined for
   * the order
   */
  find(path: FieldPath, container: Segment | "unknown" | undefined): Found | Misfit | undefined {
    const within = container === undefined || container === "unknown" ? [] : this.#ownOf.get(container);
    const { whichSegment } = path;
    const named = (segments: readonly Segment[] = []) =>
      whichSegment?.kind === "where"
        ? candidatesOf(path, segments)
        : segments.filter(({ name }) => name === path.segment);
    let having = this.#havingByPath.get(path);
    if (having === undefined) {
      having = [...this.#containers].filter((each) => named(this.#ownOf.get(each)).length > 0);
      this.#havingByPath.set(path, having);
    }
    const ofContainers = () => having.flatMap((each) => named(this.#ownOf.get(each)));
    const outer = named(this.#outer(container));
    if (having.length > 0 && having.length < this.#containers.size) {
      // Before or behind its container? As long as not each of them has one, nobody knows.
      const isNth = whichSegment?.kind === "nth" && container !== undefined;
      if (outer.length > 0 && !isNth) return findOne(path, [...outer, ...ofContainers()]);
      if (container !== undefined) return findOne(path, named(within));
    }
    if (container === "unknown" && having.length > 0) return undefined;
    const isOfContainers = container === undefined && outer.length === 0;
    const levels = [
      named(within),
      ...this.#levelsAround(container),
      ...(isOfContainers ? [ofContainers()] : []),
      this.#shared,
    ].map(named);
    return findOne(path, levels.find((level) => level.length > 0) ?? []);
  }

  #depthOf(segment: Segment): number | undefined {
    return DEPTHS[segment.name] ?? (this.#containers.has(segment) ? DEPTH_OF_CONTAINER : undefined);
  }

  /** What stands around a container, nearest first; around an order all that is in none of its containers. */
  #levelsAround(container: Segment | "unknown" | undefined): (readonly Segment[])[] {
    const outside = () =>
      [...this.#chainOf].flatMap(([segment, chain]) =>
        chain.some((head) => this.#containers.has(head)) ? [] : [segment],
      );
    if (container === undefined || container === "unknown") return [outside()];
    const heads = (this.#chainOf.get(container) ?? []).slice(0, -1).toReversed();
    const levels = heads.map((head) => this.#ownOf.get(head) ?? []);
    // Where specimens stand first, the order that it is of begins below it.
    const isFirst = !heads.some(({ name }) => name === "ORC" || name === "OBR");
    const isOfOrder = (segment: Segment) => {
      const name = this.#chainOf.get(segment)?.at(-1)?.name;
      return name === "ORC" || name === "OBR";
    };
    if (!isFirst) return levels;
    const ofOrders = (this.#groupsOf.get(container) ?? []).flatMap(({ segments }) => segments);
    return [...levels, ofOrders.filter(isOfOrder)];
  }

  #outer(container: Segment | "unknown" | undefined): readonly Segment[] {
    return this.#levelsAround(container).flat();
  }
}

/** The one value that a path has in segments of its name. */
function findOne(path: FieldPath, named: readonly Segment[]): Found | Misfit | undefined {
  const { whichSegment, ...within } = path;
  const candidates = candidatesOf(path, named);
  const found = candidates.map((segment) => findValue(within, [segment]));
  const valued = found.filter((each) => each !== undefined);
  const [first] = valued;
  if (first === undefined) return undefined;
  const other = valued.find(({ value }) => value.trim() !== first.value.trim());
  if (other !== undefined) return severalAt(joined([first.place, other.place], "and"), path);
  // Where another one is empty the value is that one's alone, unless the path selects by a condition.
  if (whichSegment === undefined && valued.length < candidates.length) return severalAt(first.place, path);
  const segment = candidates[found.indexOf(first)];
  return (segment && findRepeated(path, segment, first)) ?? first;
}

function findRepeated(path: FieldPath, segment: Segment, first: Found): Misfit | undefined {
  const { field, whichRepetition, component, subcomponent } = path;
  if (whichRepetition !== undefined) return undefined;
  const count = segment.repetitions(field);
  for (let n = 2; n <= count; n++) {
    const value = segment.get(field, n, component, subcomponent)?.trim() ?? "";
    if (value === "" || value === first.value.trim()) continue;
    return {
      place: joined([first.place, placeOf(path, segment, n)], "and"),
      code: "MAPPING_VALUES_DISAGREE",
      trouble: "are different values in one field, expected one",
      hint: `Name the repetition that is meant in the profile, such as \`{${pathOfRepetition(path)}}\`.`,
    };
  }
  return undefined;
}

function severalAt(place: Place, { path, segment, whichSegment }: FieldPath): Misfit {
  const field = path.slice(whichSegment === undefined ? 3 : path.indexOf("]-") + 1);
  return {
    place,
    code: "MAPPING_VALUES_DISAGREE",
    trouble: "are values of several segments, expected one",
    hint: `Have the sender write each container's ${segment} behind the segment that stands for the container, or name the ${segment} that is meant in the profile, such as \`{${segment}[2]${field}}\` or, by its set id, \`{${segment}[1=2]${field}}\`.`,
  };
}
