import type { Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import { joined, placeText } from "../../core/place.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import type { FieldPath } from "../../formats/hl7/path.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { type Found, placesOf, type Reading, readSeveral } from "../profile/value.ts";
import { type ContainerPlace, isCounted } from "./containers-hl7.ts";
import { candidatesOf, findSeveral, findText, pathOfOne } from "./find-hl7.ts";

/** Segments that belong to containers and orders by where they stand; their values are never read for another. */
const OWNED = new Set(["MSH", "PID", "ORC", "OBR", "SPM", "SAC"]);

/**
 * Whether a description at this path may stand in a segment of its own beside the containers, such as `OBX[3.1=VOL]-5`. An OBX
 * without a condition may be any observation.
 */
export function isBeside(
  { segment, whichSegment }: FieldPath,
  each: readonly { readonly segment: string }[],
): boolean {
  if (OWNED.has(segment) || whichSegment?.kind === "nth") return false;
  if (whichSegment?.kind === "where") return true;
  return segment !== "OBX" && each.every((kind) => kind.segment !== segment);
}

/** What stands below one OBR or specimen, with the containers there. */
interface Block {
  /** Those that stand for a container alone. */
  readonly own: Segment[];
  readonly others: Segment[];
  readonly foundByPath: Map<FieldPath, Segment | Problem | undefined>;
}

/**
 * Reads the descriptions of the containers of some groups, from their own segments first. It is given each segment that stands
 * for containers, and how many labels that has.
 */
export function describeContainers(
  groups: readonly OrderGroup[],
  profile: Hl7Profile,
): (place: ContainerPlace, labels: number) => readonly (readonly Reading[])[] {
  const { each } = profile.containers;
  const rule = profile.rules.containers.description;
  const isAnyBeside = rule.sources.some((source) => source.kind === "place" && isBeside(source.path, each));
  const blockOf = isAnyBeside ? blocksOf(groups, profile) : new Map<Segment, Block>();
  const isSingle = rule.split === undefined && rule.every !== true;
  const ofSeveral = findSeveral(rule.split);
  const findOwn = (path: FieldPath, isOnly: boolean, scope: readonly Segment[]) => {
    if (!isSingle) return ofSeveral(path, isOnly, scope);
    const found = findText(path, isOnly, scope);
    if (found === undefined || "code" in found) return found;
    return findOtherText(path, isOnly, scope, found) ?? [found];
  };
  return ({ segment: container, scope }, labels) => {
    const block = blockOf.get(container);
    const find = (path: FieldPath, isOnly: boolean): readonly Found[] | Problem | undefined => {
      if (block === undefined || !isBeside(path, each)) return findOwn(path, isOnly, scope);
      const own = findOwn(path, isOnly, [container]);
      if (own !== undefined) return own;
      const lines = isSingle && labels <= 1 ? linesBeside(path, block) : [];
      if (lines.length > 1) return [joinLines(lines)];
      const segment = findBeside(path, block, profile);
      if (segment !== undefined && "code" in segment) return segment;
      if (segment !== undefined) return findOwn(path, isOnly, [segment]);
      // What stands before the orders comes last. A note there is of the patient, and describes no container.
      return path.segment === "NTE" ? undefined : findOwn(path, isOnly, scope);
    };
    return readSeveral(rule, find, scope);
  };
}

/** The lines of one note, where it can only be of one container: a comment of several lines is several NTEs in sequence. */
function linesBeside(path: FieldPath, { own, others }: Block): readonly Found[] {
  if (path.segment !== "NTE" || path.whichSegment !== undefined || own.length > 1) return [];
  const notes = candidatesOf(path, others);
  if (notes.some(({ index }, i) => i > 0 && index !== (notes[i - 1]?.index ?? 0) + 1)) return [];
  return notes.flatMap((note) => {
    const found = findText(path, false, [note]);
    return found !== undefined && "value" in found ? [found] : [];
  });
}

function joinLines(lines: readonly Found[]): Found {
  return {
    value: lines.map(({ value }) => value.trim()).join(" "),
    place: joined([lines[0]?.place ?? {}, lines.at(-1)?.place ?? {}], "to"),
  };
}

/** Where several segments of what lies around have the text, and say different things. */
function findOtherText(
  path: FieldPath,
  isOnly: boolean,
  scope: readonly Segment[],
  found: Found,
): Problem | undefined {
  const { whichSegment, ...within } = path;
  const candidates = whichSegment?.kind === "nth" ? [] : candidatesOf(path, scope);
  for (const segment of candidates.length > 1 ? candidates : []) {
    const other = findText(within, isOnly, [segment]);
    if (other === undefined || "code" in other || other.value.trim() === found.value.trim()) continue;
    return {
      place: joined([found.place, other.place], "and"),
      code: "MAPPING_VALUES_DISAGREE",
      message: "are different descriptions, expected one",
      hint: byReload(
        `Have the sender write one of them below each OBR, or name the one that is meant as containers.description of the profile, such as \`${whichSegment === undefined ? `${path.path.slice(0, 3)}[1=1]${path.path.slice(3)}` : pathOfOne(path)}\`.`,
      ),
    };
  }
  return undefined;
}

/** The block of each container: below its OBR, or its specimen where the order has several. */
function blocksOf(groups: readonly OrderGroup[], { containers: { each } }: Hl7Profile): Map<Segment, Block> {
  const blockOf = new Map<Segment, Block>();
  for (const { segments, specimens } of groups) {
    const head = specimens.length === 0 ? "OBR" : "SPM";
    const isSplit = specimens.length !== 1;
    let block = newBlock();
    for (const segment of segments) {
      if (isSplit && segment.name === head) block = newBlock();
      if (OWNED.has(segment.name) || isCounted(segment, each)) {
        if (!blockOf.has(segment)) blockOf.set(segment, block);
        const isAlone = segment.name !== "OBR" && segment.name !== "SPM";
        if (isAlone && isCounted(segment, each)) block.own.push(segment);
      } else block.others.push(segment);
    }
  }
  return blockOf;
}

function newBlock(): Block {
  return { own: [], others: [], foundByPath: new Map() };
}

/** The one segment of a block that has the value: of several values nobody knows which is whose. */
function findBeside(path: FieldPath, block: Block, profile: Hl7Profile): Segment | Problem | undefined {
  const { foundByPath } = block;
  if (!foundByPath.has(path)) foundByPath.set(path, lookBeside(path, block, profile));
  return foundByPath.get(path);
}

function lookBeside(
  path: FieldPath,
  { own, others }: Block,
  { containerPlace, rules }: Hl7Profile,
): Segment | Problem | undefined {
  const { whichSegment: _, ...within } = path;
  const given = candidatesOf(path, others).flatMap((segment) => {
    const found = findText(within, false, [segment]);
    return found !== undefined && "value" in found && found.value.trim() !== "" ? [{ segment, found }] : [];
  });
  const [first, ...more] = given;
  if (first === undefined) return undefined;
  const other = more.find(({ found }) => found.value.trim() !== first.found.value.trim());
  const { index } = first.segment;
  const isBetween = own.some((each) => each.index < index) && own.some((each) => each.index > index);
  if (other === undefined && !isBetween) return first.segment;
  return {
    place: other === undefined ? first.found.place : joined([first.found.place, other.found.place], "and"),
    code: "MAPPING_VALUES_DISAGREE",
    message:
      other === undefined
        ? "is a description between two containers, expected one value for all containers of the order"
        : "are different descriptions beside the order's containers, expected one value for all of them",
    hint: byReload(
      `Have the sender write each container's description into the segment that stands for it (${placeText(containerPlace)}), and name that place as containers.description of the profile, which now is ${placeText(placesOf(rules.containers.description.sources))}.`,
    ),
  };
}
