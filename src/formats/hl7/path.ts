import { Failure } from "../../core/failures.ts";
import { atSegment, type Place, type Spot } from "../../core/place.ts";
import { isSegmentName, type Segment } from "./segment.ts";

/** How a condition compares: equal, not equal, begins with. */
const OPERATORS = ["=", "!=", "^="] as const;
type Operator = (typeof OPERATORS)[number];

/** One test inside brackets: `5=MR`, `4.2!=1.2.3` or `3^=LABEL`. */
interface PathCondition {
  /** Positions below the bracketed thing: component and subcomponent of a field, or field, component, subcomponent of a segment. */
  readonly at: readonly number[];
  readonly operator: Operator;
  readonly value: string;
}

/** Which of several: the nth (1-based), or those for which every condition holds. */
export type PathSelector =
  | { readonly kind: "nth"; readonly n: number }
  | { readonly kind: "where"; readonly conditions: readonly PathCondition[] };

/** A place in a message, as a profile writes it. */
export interface FieldPath {
  /** As it was written. */
  readonly path: string;
  readonly segment: string;
  readonly whichSegment?: PathSelector;
  readonly field: number;
  readonly whichRepetition?: PathSelector;
  readonly component?: number;
  readonly subcomponent?: number;
  /** Where its value stands in the first segment and repetition: made once, since most stand there. */
  readonly firstPlace: Place;
}

/** More than any standard field, and small enough that nobody mistypes their way into a loop. */
const MAX_POSITION = 9_999;

/**
 * Reads a path such as `MSH-4.1`, `PID-5.1.1`, `PID-3[2].1`, `PID-3[5=MR].1`, `PID-3[4.2=1.2.3&5=MR].1`, `SAC[2]-3.1`
 * or `OBX[3.1=LABEL]-5`. In brackets stands a number (the nth) or conditions joined by `&`: position, `=`, `!=` or
 * `^=` (begins with), value; a value with `&` or `]` in it is put in double quotes. Throws CONFIG_INVALID, naming what is wrong: only profiles write paths.
 */
export function parsePath(text: string): FieldPath {
  const reader = new PathReader(text);
  if (!isSegmentName(text)) reader.fail("expected a segment name of three characters, such as PID");
  reader.at = 3;
  const whichSegment = reader.selector(3, "field");
  reader.expect("-", "a segment name is followed by - and a field number");
  const field = reader.position("field number");
  const whichRepetition = reader.selector(2, "component");
  const component = reader.skip(".") ? reader.position("component number") : undefined;
  const subcomponent =
    component !== undefined && reader.skip(".") ? reader.position("subcomponent number") : undefined;
  if (reader.at < text.length) reader.fail("expected the end of the path");
  const path = {
    path: text,
    segment: text.slice(0, 3),
    ...(whichSegment ? { whichSegment } : {}),
    field,
    ...(whichRepetition ? { whichRepetition } : {}),
    ...(component === undefined ? {} : { component }),
    ...(subcomponent === undefined ? {} : { subcomponent }),
  };
  return { ...path, firstPlace: placeIn(path, 1, 1) };
}

class PathReader {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  fail(rule: string): never {
    throw new Failure("CONFIG_INVALID", `path "${this.#text}", character ${this.at + 1}: ${rule}`);
  }

  skip(character: string): boolean {
    if (this.#text.charAt(this.at) !== character) return false;
    this.at++;
    return true;
  }

  expect(character: string, rule: string): void {
    if (!this.skip(character)) this.fail(rule);
  }

  position(what: string): number {
    const from = this.at;
    while (isDigit(this.#text.charCodeAt(this.at))) this.at++;
    const value = Number(this.#text.slice(from, this.at));
    if (this.at === from || value < 1 || value > MAX_POSITION) {
      this.at = from;
      this.fail(`expected a ${what} from 1`);
    }
    return value;
  }

  /** What stands in brackets here, if anything; conditions go `depth` levels deep, the first being `level`. */
  selector(depth: number, level: string): PathSelector | undefined {
    if (!this.skip("[")) return undefined;
    const conditions: PathCondition[] = [];
    do {
      const at = [this.position(conditions.length === 0 ? `number or ${level} number` : `${level} number`)];
      if (conditions.length === 0 && this.skip("]")) return { kind: "nth", n: at[0] ?? 1 };
      while (at.length < depth && this.skip(".")) at.push(this.position("number"));
      const operator = this.#operator();
      const value = this.#value();
      // Every value begins with nothing, so that the condition would select whatever is filled.
      if (operator === "^=" && value.trim() === "") this.fail("expected a beginning that is not empty");
      conditions.push({ at, operator, value });
    } while (this.skip("&"));
    this.expect("]", "expected ] at the end of the condition");
    return { kind: "where", conditions };
  }

  #operator(): Operator {
    const operator = OPERATORS.find((known) => this.#text.startsWith(known, this.at));
    if (operator === undefined) this.fail("expected =, != or ^= and a value");
    this.at += operator.length;
    return operator;
  }

  #value(): string {
    if (this.skip('"')) {
      const close = this.#text.indexOf('"', this.at);
      if (close === -1) this.fail("the quoted value is never closed");
      const value = this.#text.slice(this.at, close);
      this.at = close + 1;
      return value;
    }
    const from = this.at;
    while (this.at < this.#text.length && !"&]".includes(this.#text.charAt(this.at))) this.at++;
    if (this.at === from) this.fail("expected a value");
    return this.#text.slice(from, this.at);
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** A value, and the segment and repetition that hold it. */
export interface Located {
  readonly value: string;
  readonly place: Place;
  readonly segment: Segment;
  readonly repetition: number;
}

/**
 * The value at a path among those segments that have the path's name, and where it stands.
 * Without a segment selector it is the first one's; with conditions, the first that holds a value among what they select.
 */
export function findValue(path: FieldPath, segments: readonly Segment[]): Located | undefined {
  if (path.whichSegment === undefined) {
    for (const segment of segments) if (segment.name === path.segment) return findWithin(segment, path);
    return undefined;
  }
  const named = segments.filter(({ name }) => name === path.segment);
  for (const segment of selectSegments(path.whichSegment, named)) {
    const found = findWithin(segment, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findWithin(segment: Segment, path: FieldPath): Located | undefined {
  const { field, whichRepetition, component, subcomponent } = path;
  const found = (repetition: number): Located | undefined => {
    const value = segment.get(field, repetition, component, subcomponent);
    if (value === undefined) return undefined;
    return { value, place: placeOf(path, segment, repetition), segment, repetition };
  };
  if (whichRepetition?.kind !== "where") return found(whichRepetition?.n ?? 1);
  const count = segment.repetitions(field);
  for (let repetition = 1; repetition <= count; repetition++) {
    if (!fitsRepetition(segment, field, repetition, whichRepetition.conditions)) continue;
    const located = found(repetition);
    if (located !== undefined) return located;
  }
  return undefined;
}

/** Where the value of a path stands, such as `OBX[2]-5[3].1`. */
export function placeOf(path: FieldPath, { ordinal }: Segment, repetition: number): Place {
  return ordinal === 1 && repetition === 1 ? path.firstPlace : placeIn(path, ordinal, repetition);
}

/** The segments that a selector means; the first unless it says something. */
export function selectSegments(
  selector: PathSelector | undefined,
  segments: readonly Segment[],
): readonly Segment[] {
  if (selector?.kind === "where") {
    return segments.filter((segment) => fitsSegment(segment, selector.conditions));
  }
  const chosen = segments[(selector?.n ?? 1) - 1];
  return chosen === undefined ? [] : [chosen];
}

/**
 * Whether a segment fulfils every condition on its fields; blanks around a value don't count. Of a field that repeats any
 * repetition may: a segment that is passed over by its first one could hold what is looked for in another.
 */
export function fitsSegment(segment: Segment, conditions: readonly PathCondition[]): boolean {
  for (const condition of conditions) {
    const [field = 1, component, subcomponent] = condition.at;
    let repetition = Math.max(1, segment.repetitions(field));
    while (repetition > 0 && !fits(segment.get(field, repetition, component, subcomponent), condition)) {
      repetition -= 1;
    }
    if (repetition === 0) return false;
  }
  return true;
}

/** Whether a repetition of a field fulfils every condition on its components; blanks around a value don't count. */
export function fitsRepetition(
  segment: Segment,
  field: number,
  repetition: number,
  conditions: readonly PathCondition[],
): boolean {
  for (const condition of conditions) {
    const { at } = condition;
    if (!fits(segment.get(field, repetition, at[0], at[1]), condition)) return false;
  }
  return true;
}

function fits(found: string | undefined, { operator, value }: PathCondition): boolean {
  const given = found?.trim();
  if (operator === "^=") return given?.startsWith(value) ?? false;
  return (given === value) === (operator === "=");
}

function placeIn(path: Omit<FieldPath, "firstPlace">, ordinal: number, repetition: number): Place {
  const { segment: name, field, component, subcomponent } = path;
  return atSegment(
    { name, ordinal },
    {
      field,
      ...(path.whichRepetition || repetition > 1 ? { repetition } : {}),
      ...(component === undefined ? {} : { component }),
      ...(subcomponent === undefined ? {} : { subcomponent }),
    },
  );
}

/** A path as a place where nothing was found. Where it selects by a condition, that says no more than which segment is meant. */
export function spotOfPath(path: FieldPath): Spot {
  const { path: written, segment, whichSegment, field, whichRepetition, component, subcomponent } = path;
  if (whichSegment?.kind === "where") return { name: written };
  if (whichRepetition?.kind === "where" && whichSegment === undefined) return { name: written, segment };
  if (whichRepetition?.kind === "where") return { name: written };
  return {
    ...{ segment, ordinal: whichSegment?.n, field, repetition: whichRepetition?.n, component, subcomponent },
    ...(whichSegment?.n === 1 ? { written } : {}),
  };
}
