/** A segment of an HL7 message, or a value in it; all counted from 1. */
interface FieldSpot {
  readonly segment: string;
  /** Which of the message's segments of that name; the first unless given. */
  readonly ordinal?: number | undefined;
  readonly field?: number | undefined;
  readonly repetition?: number | undefined;
  readonly component?: number | undefined;
  readonly subcomponent?: number | undefined;
  /** As a profile writes it, where that is longer: `OBX[1]-5`. */
  readonly written?: string | undefined;
}

/** A column of a table, in one of its lines or in all. */
interface ColumnSpot {
  readonly column: string;
  readonly line?: number | undefined;
}

/** What has a name of its own: `module ./lab.ts`, or a path with a condition. */
interface NamedSpot {
  readonly name: string;
  /** The segment that such a path is about. */
  readonly segment?: string | undefined;
}

/** How a spot follows the one before it. */
type Joiner = "and" | "or" | "with" | "to";

/** One of the spots that a place has. */
export type Spot = (FieldSpot | ColumnSpot | NamedSpot) & { readonly by?: Joiner | undefined };

/** Where something stands, so that nobody has to read it out of words. It is plain JSON, as the ledger keeps it. */
export interface Place {
  /** Which message of a file or frame. */
  readonly message?: number | undefined;
  /** Counted from the beginning of a file, from 0. */
  readonly byte?: number | undefined;
  /** A file as a whole, or its headings. */
  readonly whole?: "file" | "header" | undefined;
  readonly lines?: Lines | undefined;
  /** The number of one of several orders of a message. */
  readonly order?: string | undefined;
  /** The segment that the order begins with, where another one is named. */
  readonly head?: FieldSpot | undefined;
  readonly spots?: readonly Spot[] | undefined;
  /** Which of several values in one spot. */
  readonly part?: number | undefined;
}

interface Lines {
  readonly at: readonly number[];
  /** `to`: from the first to the second; otherwise how they are listed. */
  readonly by?: "and" | "to" | "," | undefined;
  /** More than are listed. */
  readonly isMore?: boolean | undefined;
  /** They are lines of the message, since nobody knows where that stands. */
  readonly isOfMessage?: boolean | undefined;
}

export const FILE: Place = { whole: "file" };
export const HEADER: Place = { whole: "header" };

export function atLine(line: number): Place {
  return { lines: { at: [line] } };
}

/** A row, which may have several lines. */
export function atLines(from: number, to: number): Place {
  return to > from ? { lines: { at: [from, to], by: "to" } } : atLine(from);
}

/** A segment, or a field of it. */
export function atSegment(
  { name, ordinal }: { readonly name: string; readonly ordinal: number },
  within: Omit<FieldSpot, "segment" | "ordinal"> = {},
): Place {
  return { spots: [{ segment: name, ...(ordinal > 1 ? { ordinal } : {}), ...within }] };
}

/** A field of a segment that there is once. */
export function atField(segment: string, field: number, component?: number): Place {
  return { spots: [{ segment, field, ...(component === undefined ? {} : { component }) }] };
}

/** What has a name of its own. */
export function atNamed(name: string): Place {
  return { spots: [{ name }] };
}

/** A place within a message, or within whatever else. */
export function within(whole: Place, place: Place): Place {
  return { ...whole, ...place };
}

/** Several places as one. */
export function joined(places: readonly Place[], by: Joiner): Place {
  const [first, ...others] = places;
  return {
    ...first,
    spots: joinedSpots(
      [first, ...others].map((place) => place?.spots ?? []),
      by,
    ),
  };
}

/** Lists of spots as one. */
export function joinedSpots(lists: readonly (readonly Spot[])[], by: Joiner): readonly Spot[] {
  const [first = [], ...others] = lists;
  if (others.length === 0) return first;
  return [...first, ...others.flatMap((spots) => spots.map((spot, n) => (n === 0 ? { ...spot, by } : spot)))];
}

/** A place with what is named in it by others written in another way. */
export function renamed(place: Place, write: (name: string) => string): Place {
  const { spots } = place;
  if (spots === undefined) return place;
  return {
    ...place,
    spots: spots.map((spot) => {
      if ("column" in spot) return { ...spot, column: write(spot.column) };
      return "name" in spot ? { ...spot, name: write(spot.name) } : spot;
    }),
  };
}

/** The first line that a place names. */
export function lineOf({ lines, spots }: Place): number | undefined {
  if (lines !== undefined) return lines.at[0];
  const [first] = spots ?? [];
  return first !== undefined && "column" in first ? first.line : undefined;
}

/** All lines that a place names. */
export function linesOf({ lines, spots = [] }: Place): readonly number[] {
  const [from = 0, to = from] = lines?.at ?? [];
  if (lines?.by === "to") return Array.from({ length: to - from + 1 }, (_, n) => from + n);
  if (lines !== undefined) return lines.at;
  return [
    ...new Set(spots.flatMap((spot) => ("column" in spot && spot.line !== undefined ? [spot.line] : []))),
  ];
}

/** The columns that a place names, in words: `Auftrag or Nummer`. */
export function columnsIn({ spots = [] }: Place, word: PlaceWords = inEnglish): string {
  const columns = spots.filter((spot) => "column" in spot);
  return columns.map(({ column, by }, n) => `${n === 0 || !by ? "" : ` ${word(by)} `}${column}`).join("");
}

/** The segments that a place names, such as `OBX[2]`, but for those that would do instead. */
function segmentsIn({ spots = [] }: Place): readonly string[] {
  return spots.flatMap((spot, n) => {
    const segment = n === 0 || spot.by === "and" ? segmentOf(spot) : undefined;
    return segment === undefined ? [] : [segment];
  });
}

/** The segments by which its order is found, the best first: those where something stands, and the one that the order begins with. */
export function segmentsNamedIn(place: Place): readonly (readonly string[])[] {
  const begins = segmentOf(place.head);
  return [segmentsIn(place), begins === undefined ? [] : [begins]];
}

/** `OBX`, or `OBX[2]` for a later one; undefined where it is none that could be counted. */
export function segmentOf(spot: Spot | undefined): string | undefined {
  if (spot === undefined || "column" in spot || spot.segment === undefined) return undefined;
  const ordinal = "ordinal" in spot ? spot.ordinal : undefined;
  return ordinal === undefined || ordinal === 1 ? spot.segment : `${spot.segment}[${ordinal}]`;
}

/** The one value or segment that a place is, as far as it is one; of several the last. */
export function lastField({ spots = [] }: Place): FieldSpot | undefined {
  const last = spots.at(-1);
  return last !== undefined && "segment" in last && !("name" in last) ? last : undefined;
}

/** Words that stand in places. */
export type PlaceWord =
  | "message"
  | "byte"
  | "line"
  | "lines"
  | "column"
  | "part"
  | "header"
  | "file"
  | "order"
  | "ofMessage"
  | Joiner;
type PlaceWords = (word: PlaceWord) => string;

/** A word of places as we write it. */
export function inEnglish(word: PlaceWord): string {
  return word === "ofMessage" ? "of it" : word;
}

/** A place in words. What the lab named itself stands as it does there. */
export function placeText(place: Place, word: PlaceWords = inEnglish): string {
  const { message, byte, whole, lines, order, head, spots, part } = place;
  const begins = head && fieldText(head);
  return [
    ...(message === undefined ? [] : [`${word("message")} ${message}`]),
    ...(byte === undefined ? [] : [`${word("byte")} ${byte}`]),
    ...(whole === undefined ? [] : [word(whole)]),
    ...(lines === undefined ? [] : [linesText(lines, word)]),
    ...(order === undefined
      ? []
      : [`${word("order")} ${order}${begins === undefined ? "" : ` (${begins})`}`]),
    ...(order !== undefined || begins === undefined ? [] : [begins]),
    ...(spots === undefined || spots.length === 0 ? [] : [spotsText(spots, word)]),
    ...(part === undefined ? [] : [`${word("part")} ${part}`]),
  ].join(", ");
}

function linesText({ at, by = "and", isMore, isOfMessage }: Lines, word: PlaceWords): string {
  const between = by === "to" ? "-" : by === "," ? ", " : ` ${word(by)} `;
  const numbers = `${at.join(between)}${isMore ? ", …" : ""}`;
  return `${word(at.length === 1 && !isMore ? "line" : "lines")} ${numbers}${isOfMessage ? ` ${word("ofMessage")}` : ""}`;
}

function spotsText(spots: readonly Spot[], word: PlaceWords): string {
  return spots
    .map(
      (spot, n) => `${n === 0 || spot.by === undefined ? "" : ` ${word(spot.by)} `}${spotText(spot, word)}`,
    )
    .join("");
}

function spotText(spot: Spot, word: PlaceWords): string {
  if ("name" in spot) return spot.name;
  if (!("column" in spot)) return fieldText(spot);
  // The parts of one value are named once.
  if (spot.by === "with") return spot.column;
  return `${spot.line === undefined ? "" : `${word("line")} ${spot.line}, `}${word("column")} ${spot.column}`;
}

function fieldText(spot: FieldSpot): string {
  const { field, repetition, component, subcomponent, written } = spot;
  if (written !== undefined) return written;
  const part = (position: number | undefined) => (position === undefined ? "" : `.${position}`);
  return [
    segmentOf(spot),
    field === undefined ? "" : `-${field}`,
    repetition === undefined ? "" : `[${repetition}]`,
    part(component),
    part(subcomponent),
  ].join("");
}
