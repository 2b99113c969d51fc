import type { Delimiters } from "../../formats/hl7/delimiters.ts";
import type { Hl7Message } from "../../formats/hl7/message.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import { namesContainer } from "./headings.ts";
import { orderSegments, valuesIn } from "./hl7-sample.ts";

/** A setting that may fit where the built-in one doesn't. */
export interface Option {
  /** As `--place` takes it. */
  readonly place: string;
  readonly settings: ProfileDefinition;
  /** The least is the likeliest; a person chooses among equals. */
  readonly rank: number;
}

/** Where a container's label may stand. */
export function containerOptions(messages: readonly Hl7Message[]): Option[] {
  const segments = messages.flatMap(orderSegments);
  return [
    ...obxOptions(segments.filter(({ name }) => name === "OBX")),
    ...nteOptions(segments.filter(({ name }) => name === "NTE")),
    ...fieldOptions(segments, "SAC", { field: 4, component: 1 }, 1),
    ...siteOptions(messages),
    ...[15, 18, 19, 20, 21].flatMap((field) => fieldOptions(segments, "OBR", { field, component: 1 }, 3)),
  ];
}

/** An OBX for each container, distinguished by its code. */
function obxOptions(all: readonly Segment[]): Option[] {
  const codes = new Set(all.map((obx) => obx.get(3) ?? "").filter(isPlain));
  return [...codes].flatMap((code) => {
    const own = all.filter((obx) => obx.get(3) === code);
    const isNamed = own.some((obx) => namesContainer(code) || namesContainer(obx.get(3, 1, 2) ?? ""));
    if (!isNamed && !own.every((obx) => isCode(obx.get(5)))) return [];
    const label = labelAt("OBX-5.1", 5, own);
    const place = `OBX[3.1=${code}]`;
    return [{ place, settings: { containers: { each: place, label } }, rank: isNamed ? 0 : 2 }];
  });
}

/** `LABEL=AB-1001` among comments, or nothing but labels. */
function nteOptions(all: readonly Segment[]): Option[] {
  const prefixes = new Set(
    all.flatMap((nte) => {
      const [, word = "", prefix = ""] =
        /^((\p{L}[\p{L}\d .-]{0,30}?)\s*[=:#])\s*\S+$/u.exec(nte.get(3) ?? "") ?? [];
      return prefix !== "" && namesContainer(prefix) && isPlain(word) ? [word] : [];
    }),
  );
  const begun = [...prefixes].map((prefix): Option => {
    const place = `NTE[3^=${prefix}]`;
    const match = `^${prefix.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")} *(.+)$`;
    const label = { from: "NTE-3", as: ["trim" as const, { regex: { match, replace: "$1" } }] };
    return { place, settings: { containers: { each: place, label } }, rank: 0 };
  });
  const isBare = all.length > 0 && all.every((nte) => isCode(nte.get(3)));
  const bare: Option = { place: "NTE", settings: { containers: { each: "NTE", label: "NTE-3" } }, rank: 1 };
  return isBare ? [...begun, bare] : begun;
}

/** A segment of the sender's own for each container; its label may be any part of any field. */
function siteOptions(messages: readonly Hl7Message[]): Option[] {
  const found = messages.flatMap((message) =>
    orderSegments(message)
      .filter(({ name }) => name.startsWith("Z"))
      .flatMap((segment) => partsOf(segment, message.delimiters)),
  );
  const segments = messages.flatMap(orderSegments);
  const places = new Map(found.map((part) => [placeIn(part), part]));
  return [...places.values()].flatMap(({ name, ...part }) =>
    fieldOptions(segments, name, part, isFirst(part) ? 1 : 2),
  );
}

/**
 * Filled parts of the sender's own segments (Z…) that nothing is read of, by their places: a field by itself where it has no further
 * parts. What only numbers the segments is none.
 */
export function unusedParts(messages: readonly Hl7Message[], definition: ProfileDefinition): string[] {
  const used = JSON.stringify(definition).match(/\bZ[A-Z0-9]{2}(?:\[[^\]]*\])?-\d+(?:\.\d+)*/g) ?? [];
  const paths = used.map((path) => path.replace(/\[[^\]]*\]/, ""));
  const isUsed = (place: string) =>
    paths.some((path) => `${place}.`.startsWith(`${path}.`) || `${path}.`.startsWith(`${place}.`));
  const filled = messages.flatMap(({ segments, delimiters }) =>
    segments
      .filter(({ name }) => name.startsWith("Z"))
      .flatMap((segment) => partsOf(segment, delimiters).filter((part) => isFilled(segment, part))),
  );
  const places = new Set(filled.filter((part) => !isUsed(placeIn(part))).map(placeIn));
  const fieldOf = (place: string) => place.replace(/\.1$/, "");
  const isSole = (place: string) =>
    !filled.some((part) => placeIn(part) !== place && placeIn(part).startsWith(`${fieldOf(place)}.`));
  return [...places].map((place) => (isSole(place) ? fieldOf(place) : place));
}

function isFilled(segment: Segment, { field, component, subcomponent }: Part): boolean {
  const values = Array.from({ length: segment.repetitions(field) }, (_, n) =>
    segment.get(field, n + 1, component, subcomponent)?.trim(),
  ).filter((value) => value);
  return values.length > 0 && !(field === 1 && values.every((value) => /^\d{1,3}$/.test(value ?? "")));
}

/** A component of a field, or a subcomponent where a sender's component has several. */
interface Part {
  readonly field: number;
  readonly component: number;
  readonly subcomponent?: number | undefined;
}

function isFirst({ component, subcomponent = 1 }: Part): boolean {
  return component === 1 && subcomponent === 1;
}

function placeIn({ name, field, component, subcomponent }: Part & { readonly name: string }): string {
  return `${name}-${field}.${component}${subcomponent === undefined ? "" : `.${subcomponent}`}`;
}

function partsOf({ name, raw }: Segment, delimiters: Delimiters): (Part & { readonly name: string })[] {
  const numbered = (text: string, between: string) =>
    text.split(between).map((part, n) => [part, n + 1] as const);
  const [, ...fields] = numbered(raw, delimiters.field);
  return fields.flatMap(([text, position]) =>
    text.split(delimiters.repetition).flatMap((repetition) =>
      numbered(repetition, delimiters.component).flatMap(([value, component]) => {
        const place = { name, field: position - 1, component };
        const parts = numbered(value, delimiters.subcomponent);
        return parts.length === 1 ? [place] : parts.map(([, subcomponent]) => ({ ...place, subcomponent }));
      }),
    ),
  );
}

function fieldOptions(segments: readonly Segment[], name: string, part: Part, rank: number): Option[] {
  const { field, component, subcomponent } = part;
  const own = segments.filter((segment) => segment.name === name);
  const isLabel = (segment: Segment) =>
    Array.from({ length: segment.repetitions(field) }, (_, n) =>
      segment.get(field, n + 1, component, subcomponent),
    ).every(isCode);
  if (own.length === 0 || !own.every((segment) => segment.repetitions(field) > 0 && isLabel(segment)))
    return [];
  const place = placeIn({ name, ...part });
  return [{ place, settings: { containers: { each: name, label: labelAt(place, field, own) } }, rank }];
}

/** A place that may be repeated, each time with another label. */
function labelAt(place: string, field: number, own: readonly Segment[]) {
  return own.some((segment) => segment.repetitions(field) > 1)
    ? { from: place, split: "repetitions" as const }
    : place;
}

/** Where the number of an order may stand. */
export function numberOptions(messages: readonly Hl7Message[]): Option[] {
  const lines = valuesIn(messages, "OBR", 2);
  const option = (place: string, from: string | string[], rank: number): Option => ({
    place,
    settings: { placerOrderNumber: { from, agree: false } },
    rank,
  });
  if (valuesIn(messages, "ORC", 2).length + lines.length > 0) {
    // Where OBR-2 only counts the lines, ORC-2 is the number; else a person says which of them is.
    const isCount = lines.length > 0 && lines.every((value) => /^\d{1,2}$/.test(value));
    if (isCount) return [option("ORC-2.1", "ORC-2.1", 0)];
    const each: Option = { place: "each OBR", settings: { orders: { each: "OBR" } }, rank: 0 };
    return [option("ORC-2.1", "ORC-2.1", 0), option("OBR-2.1", "OBR-2.1", 0), each];
  }
  // ORC-4 is the number of a group: several orders may have it.
  const isFiller = valuesIn(messages, "ORC", 3).length > 0;
  return [
    isFiller ? option("ORC-3.1", ["ORC-3.1", "OBR-3.1"], 0) : option("OBR-3.1", "OBR-3.1", 0),
    option("OBR-18.1", "OBR-18.1", 1),
    option("OBR-19.1", "OBR-19.1", 1),
  ];
}

/** Where the subject's code may stand. */
export function subjectOptions(messages: readonly Hl7Message[]): Option[] {
  const option = (place: string, rank: number): Option => ({
    place,
    settings: { subject: { code: place } },
    rank,
  });
  const pids = messages.flatMap((message) => message.all("PID"));
  const selectors = new Set(
    pids.flatMap((pid) =>
      Array.from({ length: pid.repetitions(3) }, (_, n) => {
        const [authority = "", type = ""] = [pid.get(3, n + 1, 4), pid.get(3, n + 1, 5)];
        if (!isPlain(type) && !isPlain(authority)) return "";
        return isPlain(type) ? `PID-3[5=${type}].1` : `PID-3[4.1=${authority}].1`;
      }),
    ),
  );
  const chosen = [...selectors].filter((place) => place !== "").map((place) => option(place, 0));
  return valuesIn(messages, "PID", 3).length > 0 ? chosen : [option("PID-2.1", 0), option("PID-4.1", 1)];
}

/** What can stand in a condition as it is. */
function isPlain(text: string): boolean {
  return /^[^&\]["]{1,40}$/.test(text);
}

/** Whether a value looks like a label: one word with a digit that is no date, and of two signs only if one is a letter. */
function isCode(value: string | undefined): boolean {
  return (
    value !== undefined &&
    /^(?=.*\d)(?:[\p{L}\d._/#-]{3,40}|(?=.*\p{L})[\p{L}\d]{2})$/u.test(value) &&
    !/^(?:19|20)\d{6}(?:\d{4,6})?$/.test(value)
  );
}
