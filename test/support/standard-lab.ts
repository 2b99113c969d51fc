import { createRequire } from "node:module";
import type { Reading } from "./peer-readings.ts";

/** What hl7-standard has of a field: a value, components by `PID.5.1`, or several of either. */
type StandardField = string | StandardComponents | readonly (string | StandardComponents)[];
type StandardComponents = Readonly<Record<string, string | readonly string[]>>;

/** A segment as hl7-standard has it. */
export interface StandardSegment {
  readonly type: string;
  /** Where it stands in the message, from 0. */
  readonly index: number;
  readonly data: Readonly<Record<string, StandardField>>;
  set(path: string, value: unknown): unknown;
}

/** A message as hl7-standard reads and builds it; of a batch, `container` has the messages. */
export interface StandardMessage {
  readonly container: readonly StandardMessage[];
  isBatch(): boolean;
  transform(): void;
  build(): string;
  get(path: string, segment?: number, repetition?: number, subcomponent?: number): unknown;
  getSegments(name?: string): readonly StandardSegment[];
  createSegment(name: string): StandardSegment;
}

const StandardMessage = createRequire(import.meta.url)("hl7-standard") as new (
  text?: string,
  options?: { readonly lineEndings: string },
) => StandardMessage;

/** A message that hl7-standard read; throws its Error for what it takes for none. */
export function readStandard(text: string): StandardMessage {
  const message = new StandardMessage(text, { lineEndings: "\r" });
  message.transform();
  return message;
}

/**
 * A message that hl7-standard built, CR ended.
 *
 * @param segments name and fields of each, the first MSH from MSH-3 on; a field is a text, or its components
 */
export function buildStandard(
  segments: readonly (readonly [name: string, ...fields: readonly (string | readonly string[])[]])[],
): string {
  const message = new StandardMessage("", { lineEndings: "\r" });
  for (const [name, ...fields] of segments) {
    const segment = message.createSegment(name);
    const firstField = name === "MSH" ? 3 : 1;
    if (name === "MSH") segment.set("MSH.2", "^~\\&");
    fields.forEach((field, i) => {
      const path = `${name}.${firstField + i}`;
      const isText = typeof field === "string";
      segment.set(
        path,
        isText ? field : Object.fromEntries(field.map((text, c) => [`${path}.${c + 1}`, text])),
      );
    });
  }
  return `${message.build()}\r`;
}

/** As hl7-standard reads it, which leaves escapes as they stand: those for delimiters are undone here. */
export function standardReading(message: StandardMessage): Reading {
  const ordinals = new Map<string, number>();
  const lines: string[] = [];
  for (const { type, data } of message.getSegments().toSorted((a, b) => a.index - b.index)) {
    const ordinal = (ordinals.get(type) ?? 0) + 1;
    ordinals.set(type, ordinal);
    for (const [path, value] of Object.entries(data)) {
      const field = Number(path.split(".")[1]);
      if (type === "MSH" && field <= 2) continue;
      partsOf(value).forEach((repetition, r) => {
        repetition.forEach((component, c) => {
          component.forEach((text, s) => {
            if (text !== "")
              lines.push(
                `${type}[${ordinal}]-${field}[${r + 1}].${c + 1}.${s + 1}: ${unescapeDelimiters(text)}`,
              );
          });
        });
      });
    }
  }
  return lines;
}

/** Repetitions of components of subcomponents. A list of bare values are the subcomponents of a field that has nothing else. */
function partsOf(field: StandardField): readonly (readonly (readonly string[])[])[] {
  if (typeof field === "string") return [[[field]]];
  const repetitions: readonly (string | StandardComponents)[] = Array.isArray(field) ? field : [field];
  const texts = repetitions.filter((one) => typeof one === "string");
  if (texts.length > 0) return [[texts]];
  return repetitions.map((components) => Object.values(components).map((one) => [one].flat()));
}

const DELIMITERS: Readonly<Record<string, string>> = { F: "|", S: "^", T: "&", R: "~", E: "\\" };

const unescapeDelimiters = (text: string) =>
  text.replace(/\\([FSTRE])\\/g, (_, name: string) => DELIMITERS[name] ?? "");
