import { Fault } from "../target.ts";

/**
 * Reads single values of an HL7 message by their places, and shares nothing with the product's reading: what an order says of where
 * a value came from is held to it.
 */
export class Hl7Reader {
  readonly #segments: readonly string[];
  readonly #field: string;
  readonly #component: string;
  readonly #repetition: string;
  readonly #escape: string;
  readonly #subcomponent: string;

  constructor(text: string) {
    const lines = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/);
    this.#segments = lines.filter((line) => line !== "");
    const header = this.#segments[0] ?? "";
    this.#field = header.charAt(3);
    const [marks = ""] = header.slice(4).split(this.#field);
    // That lost its backslash on the way, and has no escapes.
    const [component = "", repetition = "", mark = "", subcomponent = ""] =
      marks === "^~&" ? ["^", "~", "", "&"] : [...marks];
    this.#component = component;
    this.#repetition = repetition;
    this.#escape = mark;
    this.#subcomponent = subcomponent;
  }

  /** How many segments have a name. */
  count(name: string): number {
    return this.#segments.filter((each) => each.slice(0, 3) === name).length;
  }

  /**
   * The whole value at a place such as `PID-3[2].1`; a level that the place does not name is its first.
   *
   * @returns undefined where it holds what only the product knows a meaning of (formatting, characters by number)
   * @throws Fault for what is no place
   */
  valueAt(place: string): string | undefined {
    const { repetition, component = 1, subcomponent = 1 } = this.#find(place);
    return this.#unescape(
      part(part(repetition, this.#component, Number(component)), this.#subcomponent, Number(subcomponent)),
    );
  }

  /** The same of free text, which keeps the delimiters that stand in the least part of its place that is named. */
  textAt(place: string): string | undefined {
    const { text, repetition, component, subcomponent } = this.#find(place);
    if (subcomponent !== undefined) return this.valueAt(place);
    return this.#unescape(
      component === undefined ? text : part(repetition, this.#component, Number(component)),
    );
  }

  #find(place: string) {
    const found = PLACE.exec(place);
    if (found === null) throw new Fault("a source that is no place of a message");
    const [, name = "", segment = 1, field = 1, nth = 1, component, subcomponent] = found;
    const named = this.#segments.filter((each) => each.slice(0, 3) === name);
    const fields = (named[Number(segment) - 1] ?? "").split(this.#field);
    const text = fields[Number(field) - (name === "MSH" ? 1 : 0)] ?? "";
    return { text, repetition: part(text, this.#repetition, Number(nth)), component, subcomponent };
  }

  #unescape(text: string): string | undefined {
    const mark = this.#escape;
    if (mark === "" || !text.includes(mark)) return text;
    const parts = text.split(mark);
    let value = parts[0] ?? "";
    for (let n = 1; n < parts.length; n += 2) {
      const name = parts[n] ?? "";
      // Without a partner it is a character like any other.
      if (n + 1 === parts.length) return value + mark + name;
      const meant = {
        F: this.#field,
        S: this.#component,
        T: this.#subcomponent,
        R: this.#repetition,
        E: mark,
      }[name];
      if (meant === undefined || meant === "") return undefined;
      value += meant + parts[n + 1];
    }
    return value;
  }
}

const PLACE = /^([A-Z][A-Z0-9]{2})(?:\[(\d+)\])?-(\d+)(?:\[(\d+)\])?(?:\.(\d+))?(?:\.(\d+))?$/;

function part(text: string, delimiter: string, n: number): string {
  return delimiter === "" ? (n === 1 ? text : "") : (text.split(delimiter)[n - 1] ?? "");
}
