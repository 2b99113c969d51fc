import { type Place, placeText, type Spot } from "../../src/core/place.ts";

const FIELD = /^([A-Z][A-Z0-9]{2})(?:\[(\d+)\])?(?:-(\d+)(?:\[(\d+)\])?(?:\.(\d+)(?:\.(\d+))?)?)?$/;

/** A place by its words, such as `message 1, PID-7` or `line 3, column label`: tests are read more easily so. */
export function at(words: string): Place {
  const [, message] = /^message (\d+)(?:, |$)/.exec(words) ?? [];
  const rest = message === undefined ? words : words.slice(`message ${message}, `.length);
  const place = { ...(message === undefined ? {} : { message: Number(message) }), ...placeIn(rest) };
  if (placeText(place) !== words) throw new TypeError(`${words} is read as ${placeText(place)}`);
  return place;
}

function placeIn(words: string): Place {
  if (words === "") return {};
  if (words === "file" || words === "header") return { whole: words };
  const [, part] = /, part (\d+)$/.exec(words) ?? [];
  if (part !== undefined) return { ...placeIn(words.slice(0, -`, part ${part}`.length)), part: Number(part) };
  const [, order, head, within] = /^order (.*?)(?: \((.*?)\))?, (.*)$/.exec(words) ?? [];
  if (within !== undefined)
    return { order, ...(head === undefined ? {} : { head: fieldOf(head) }), ...placeIn(within) };
  const [, lines = "", after] = /^(lines? [^,]*(?:, \d+)*(?:, …)?)(?:, (.*))?$/.exec(words) ?? [];
  if (lines !== "" && after === undefined) return { lines: linesOf(lines) };
  if (lines.startsWith("lines") && after !== undefined) return { lines: linesOf(lines), ...placeIn(after) };
  const spots: Spot[] = [];
  for (const [n, piece] of words.split(/ (and|or|to) /).entries()) {
    if (n % 2 === 1) continue;
    const by = n === 0 ? {} : { by: words.split(/ (and|or|to) /)[n - 1] as "and" | "or" | "to" };
    const [, line, column] = /^(?:line (\d+), )?column (.*)$/s.exec(piece) ?? [];
    const field = FIELD.test(piece) ? fieldOf(piece) : { name: piece };
    const cell =
      column === undefined ? field : { column, ...(line === undefined ? {} : { line: Number(line) }) };
    spots.push({ ...cell, ...by });
  }
  return { spots };
}

function linesOf(words: string): NonNullable<Place["lines"]> {
  const isMore = words.endsWith(", …");
  const isOfMessage = words.endsWith(" of it");
  const numbers = (words.match(/\d+/g) ?? []).map(Number);
  const by = words.includes("-") ? "to" : words.includes(" and ") ? "and" : ",";
  return {
    at: numbers,
    ...(numbers.length > 1 ? { by } : {}),
    ...(isMore ? { isMore } : {}),
    ...(isOfMessage ? { isOfMessage } : {}),
  };
}

function fieldOf(words: string) {
  const [, segment = "", ...numbers] = FIELD.exec(words) ?? [];
  const [ordinal, field, repetition, component, subcomponent] = numbers.map((each) =>
    each === undefined ? undefined : Number(each),
  );
  return { segment, ordinal, field, repetition, component, subcomponent };
}

/** Any place whose words have these among them. */
export function placeWith(words: string) {
  return {
    asymmetricMatch: (place: Place) => placeText(place).includes(words),
    toString: () => `a place with ${words}`,
  };
}
