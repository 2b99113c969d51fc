import type { Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import { joined, type Place } from "../../core/place.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import { type FieldPath, findValue, placeOf } from "../../formats/hl7/path.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { Found } from "../profile/value.ts";
import { candidatesOf, pathOfRepetition } from "./find-hl7.ts";

/** How deep what begins with a segment stands: a later one of the same depth, or less, ends it. */
const DEPTHS: Readonly<Partial<Record<string, number>>> = { ORC: 1, OBR: 2, SPM: 3 };
const DEPTH_OF_CONTAINER = 4;

/** No segments. */
const NONE: readonly Segment[] = [];

/**
 * What the values of one order, and of each of its containers, may be read from. A segment belongs to the container, specimen,
 * OBR or ORC that it follows, whatever its name: a Z segment stands in no group of the standard.
 *
 * Segments that stand around several containers are gone through once for each path.
 */
export class OrderScope {
  readonly #groups: readonly OrderGroup[];
  readonly #shared: readonly Segment[];
  readonly #containers: ReadonlySet<Segment>;
  /** What a segment stands below, from the outside in, itself included where something begins with it. */
  readonly #chainOf = new Map<Segment, readonly Segment[]>();
  /** The first and the last group with a container: where specimens stand first, several orders in sequence may share it. */
  readonly #groupsOf = new Map<Segment, { readonly from: number; to: number }>();
  /** The segments that stand right below one, itself included. */
  readonly #ownOf = new Map<Segment | undefined, Segment[]>();
  readonly #ofOrders = new Map<string, readonly Segment[]>();
  #outside: readonly Segment[] | undefined;
  readonly #ofContainersByPath = new Map<FieldPath, OfContainers>();
  readonly #seenByPath = new Map<FieldPath, Map<readonly Segment[], Seen>>();

  /**
   * @param groups those of one order
   * @param shared what no order of the message has alone
   * @param containers the segments that stand for the order's containers
   */
  constructor(groups: readonly OrderGroup[], shared: readonly Segment[], containers: ReadonlySet<Segment>) {
    this.#groups = groups;
    this.#shared = shared;
    this.#containers = containers;
    for (const [index, group] of groups.entries()) {
      let chain: readonly Segment[] = [];
      for (const segment of group.segments) {
        if (containers.has(segment)) {
          const sharing = this.#groupsOf.get(segment);
          if (sharing === undefined) this.#groupsOf.set(segment, { from: index, to: index });
          else sharing.to = index;
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
  find(path: FieldPath, container: Segment | "unknown" | undefined): Found | Problem | undefined {
    const isKnown = container !== undefined && container !== "unknown";
    const within = (isKnown ? this.#ownOf.get(container) : undefined) ?? NONE;
    const around = this.#levelsAround(container);
    const ofContainers = this.#ofContainers(path);
    const isThere = (level: readonly Segment[]) => this.#see(path, level).isThere;
    const isOutside = around.some(isThere);
    if (ofContainers.having > 0 && ofContainers.having < this.#containers.size) {
      // Before or behind its container? As long as not each of them has one, nobody knows.
      const isNth = path.whichSegment?.kind === "nth";
      if (isOutside && !(isNth && container !== undefined)) {
        const levels = [...around, ofContainers.segments];
        return this.#findOne(path, isNth ? [levels.flat()] : levels);
      }
      if (container !== undefined) return this.#findOne(path, [within]);
    }
    if (container === "unknown" && ofContainers.having > 0) return undefined;
    const isOfContainers = container === undefined && !isOutside;
    const levels = [within, ...around, ...(isOfContainers ? [ofContainers.segments] : []), this.#shared];
    return this.#findOne(path, [levels.find(isThere) ?? NONE]);
  }

  /** The one value that a path has in some lists of segments. */
  #findOne(path: FieldPath, lists: readonly (readonly Segment[])[]): Found | Problem | undefined {
    const seen = lists.map((list) => this.#see(path, list));
    const valued = seen.flatMap(({ first }) => first ?? []);
    const [first] = valued;
    if (first === undefined) return undefined;
    const other = seen
      .flatMap((each) => [each.first, each.other])
      .find((each) => each !== undefined && isOther(each, first));
    if (other !== undefined) return severalAt(joined([first.place, other.place], "and"), path);
    // Where another one is empty the value is that one's alone, unless the path selects by a condition.
    if (path.whichSegment === undefined && seen.some(({ isEmptyIn }) => isEmptyIn))
      return severalAt(first.place, path);
    return seen.find((each) => each.first === first)?.repeated ?? first;
  }

  #see(path: FieldPath, segments: readonly Segment[]): Seen {
    let seenIn = this.#seenByPath.get(path);
    if (seenIn === undefined) {
      seenIn = new Map();
      this.#seenByPath.set(path, seenIn);
    }
    let seen = seenIn.get(segments);
    if (seen === undefined) {
      seen = seeIn(path, segments);
      seenIn.set(segments, seen);
    }
    return seen;
  }

  #ofContainers(path: FieldPath): OfContainers {
    let found = this.#ofContainersByPath.get(path);
    if (found === undefined) {
      const own = [...this.#containers].map((each) => this.#ownOf.get(each) ?? NONE);
      const having = own.filter((segments) => this.#see(path, segments).isThere);
      found = { having: having.length, segments: having.flat() };
      this.#ofContainersByPath.set(path, found);
    }
    return found;
  }

  #depthOf(segment: Segment): number | undefined {
    return DEPTHS[segment.name] ?? (this.#containers.has(segment) ? DEPTH_OF_CONTAINER : undefined);
  }

  /** What stands around a container, nearest first; around an order all that is in none of its containers. */
  #levelsAround(container: Segment | "unknown" | undefined): readonly (readonly Segment[])[] {
    if (container === undefined || container === "unknown") {
      this.#outside ??= [...this.#chainOf].flatMap(([segment, chain]) =>
        chain.some((head) => this.#containers.has(head)) ? [] : [segment],
      );
      return [this.#outside];
    }
    const heads = (this.#chainOf.get(container) ?? []).slice(0, -1).toReversed();
    const levels = heads.map((head) => this.#ownOf.get(head) ?? NONE);
    // Where specimens stand first, the order that it is of begins below it.
    const isFirst = !heads.some(({ name }) => name === "ORC" || name === "OBR");
    return isFirst ? [...levels, this.#ordersWith(container)] : levels;
  }

  /** What the orders with a container have besides specimens and containers. */
  #ordersWith(container: Segment): readonly Segment[] {
    const groups = this.#groupsOf.get(container);
    if (groups === undefined) return NONE;
    const { from, to } = groups;
    let found = this.#ofOrders.get(`${from} ${to}`);
    if (found === undefined) {
      const segments = this.#groups.slice(from, to + 1).flatMap((group) => group.segments);
      found = segments.filter((segment) => {
        const name = this.#chainOf.get(segment)?.at(-1)?.name;
        return name === "ORC" || name === "OBR";
      });
      this.#ofOrders.set(`${from} ${to}`, found);
    }
    return found;
  }
}

/** The containers that have a segment of a path's name of their own. */
interface OfContainers {
  readonly having: number;
  /** What they have. */
  readonly segments: readonly Segment[];
}

/** What some segments have for a path. */
interface Seen {
  /** Whether one has the path's name, and fits its condition. */
  readonly isThere: boolean;
  readonly first: Found | undefined;
  /** The first that is different. */
  readonly other: Found | undefined;
  /** Whether one that the path means has no value. */
  readonly isEmptyIn: boolean;
  /** What is wrong with the first where its field repeats. */
  readonly repeated: Problem | undefined;
}

function seeIn(path: FieldPath, segments: readonly Segment[]): Seen {
  const { whichSegment, ...within } = path;
  const named =
    whichSegment?.kind === "where"
      ? candidatesOf(path, segments)
      : segments.filter(({ name }) => name === path.segment);
  const meant = whichSegment?.kind === "nth" ? candidatesOf(path, named) : named;
  const found = meant.map((segment) => findValue(within, [segment]));
  const first = found.find((each) => each !== undefined);
  const segment = first && meant[found.indexOf(first)];
  return {
    isThere: named.length > 0,
    first,
    other: first && found.find((each) => each !== undefined && isOther(each, first)),
    isEmptyIn: found.includes(undefined),
    repeated: first && segment && findRepeated(path, segment, first),
  };
}

function isOther(one: Found, other: Found): boolean {
  return one.value.trim() !== other.value.trim();
}

function findRepeated(path: FieldPath, segment: Segment, first: Found): Problem | undefined {
  const { field, whichRepetition, component, subcomponent } = path;
  if (whichRepetition !== undefined) return undefined;
  const count = segment.repetitions(field);
  for (let n = 2; n <= count; n++) {
    const value = segment.get(field, n, component, subcomponent)?.trim() ?? "";
    if (value === "" || value === first.value.trim()) continue;
    return {
      place: joined([first.place, placeOf(path, segment, n)], "and"),
      code: "MAPPING_VALUES_DISAGREE",
      message: "are different values in one field, expected one",
      hint: byReload(
        `Name the repetition that is meant in the profile, such as \`{${pathOfRepetition(path)}}\`.`,
      ),
    };
  }
  return undefined;
}

function severalAt(place: Place, { path, segment, whichSegment }: FieldPath): Problem {
  const field = path.slice(whichSegment === undefined ? 3 : path.indexOf("]-") + 1);
  return {
    place,
    code: "MAPPING_VALUES_DISAGREE",
    message: "are values of several segments, expected one",
    hint: byReload(
      `Have the sender write each container's ${segment} behind the segment that stands for the container, or name the ${segment} that is meant in the profile, such as \`{${segment}[2]${field}}\` or, by its set id, \`{${segment}[1=2]${field}}\`.`,
    ),
  };
}
