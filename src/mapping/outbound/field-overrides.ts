import { asFailure, Failure } from "../../core/failures.ts";
import type { LabText } from "../../core/lab-text.ts";
import type { OutcomeContainer, OutcomeOrder } from "../../core/outcome.ts";
import { escapeText } from "../../formats/hl7/delimiters.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import { type FieldPath, parsePath, selectSegments } from "../../formats/hl7/path.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import { isFixedField } from "../../formats/hl7/sent-segments.ts";
import { OF_CONTAINER, OF_ORDER } from "./codes.ts";
import { formatServiceTimestamp } from "./timestamp.ts";

/** A field of what is sent that the site wants otherwise. */
export interface FieldOverride {
  readonly path: FieldPath;
  /** What is to stand there when this state is reported; undefined to leave it as it is. */
  readonly templateFor: (state: string | undefined) => Template | undefined;
  /** What of the message that is answered is put in, in any state. */
  readonly reads: readonly FieldPath[];
  /** Whether it may hold a patient's value, in any state. */
  readonly isPersonal: boolean;
  /** Whether it stands in segments of an order, of a container, or of both. */
  readonly isOf: { readonly order: boolean; readonly container: boolean };
}

/** Text with values put in. */
type Template = readonly (string | { readonly name: ValueName } | { readonly path: FieldPath })[];

/** What a text of the profile may be filled with. */
export interface Fillings {
  /** The answer, decision or state that is sent; undefined where it is several. */
  readonly state: string | undefined;
  /** The order that it is about, where that is one. */
  readonly order: OutcomeOrder | undefined;
  readonly orderNumber: string | undefined;
  /** Why it is not done, in the lab's words. */
  readonly reason: { readonly code?: string | undefined; readonly text: LabText } | undefined;
  readonly fillerOrderNumber: string | undefined;
  /** The moment, as HL7 writes it. */
  readonly time: string;
  readonly timeZone: string;
  /** Whether segments of the message stand for the order's containers. */
  readonly hasContainers: boolean;
  /** A value of the message that is answered, of the order's own segments, or of the container's. */
  readonly find: (path: FieldPath, container: OutcomeContainer | undefined) => string | undefined;
}

interface Place {
  readonly fillings: Fillings;
  readonly container: OutcomeContainer | undefined;
  /** What stands there now, as it is written. */
  readonly present: string;
}

const VALUES = {
  this: ({ present }: Place) => present,
  state: ({ fillings }: Place) => fillings.state,
  time: ({ fillings }: Place) => fillings.time,
  orderNumber: ({ fillings }: Place) => fillings.orderNumber,
  fillerNumber: ({ fillings }: Place) => fillings.fillerOrderNumber,
  operation: ({ fillings }: Place) => fillings.order?.operation,
  facility: ({ fillings }: Place) => fillings.order?.facilityCode,
  subjectCode: ({ fillings }: Place) => fillings.order?.subjectCode.reveal(),
  requestId: ({ fillings }: Place) => fillings.order?.requestId,
  procedureId: ({ fillings }: Place) => fillings.order?.procedureId,
  procedureCode: ({ fillings }: Place) => fillings.order?.procedureCode,
  reason: ({ fillings }: Place) => fillings.reason?.text,
  reasonCode: ({ fillings }: Place) => fillings.reason?.code,
  label: ({ container }: Place) => container?.label,
  description: ({ container }: Place) => container?.description,
  containerId: ({ container }: Place) => container?.containerId,
  storageId: ({ container }: Place) => container?.location?.storageId,
  storage: ({ container }: Place) => container?.location?.storageName,
  canister: ({ container }: Place) => container?.location?.canister,
  cane: ({ container }: Place) => container?.location?.cane,
  position: ({ container }: Place) => container?.location?.position,
  storedAt: ({ container, fillings }: Place) =>
    container?.location?.storedAt && formatServiceTimestamp(container.location.storedAt, fillings.timeZone),
} as const satisfies Record<string, (place: Place) => string | number | undefined>;
type ValueName = keyof typeof VALUES;

/** Values of a patient. */
const PERSONAL: ReadonlySet<ValueName> = new Set(["subjectCode", "description"]);

/** Reads one entry of `results.fields`. @throws Failure that says what is wrong with it. */
export function compileOverride(
  place: string,
  text: string | Readonly<Record<string, string | undefined>>,
): FieldOverride {
  const path = parsePath(place);
  if (isFixedField(path.segment, path.field)) {
    const what = path.segment === "MSH" ? `MSH-${path.field}` : path.segment;
    throw new Failure("CONFIG_INVALID", `${what} can't be changed: receivers read or match messages by it`);
  }
  if (path.whichRepetition?.kind === "where") {
    throw new Failure(
      "CONFIG_INVALID",
      `expected a repetition's number in brackets, such as ${path.segment}-${path.field}[2]`,
    );
  }
  const isComponents = (value: string | undefined) => value?.replace(/\{[^{}]*\}/g, "").includes("^");
  if ([text].flatMap((one) => (typeof one === "string" ? [one] : Object.values(one))).some(isComponents)) {
    const field = place.replace(/(?:\.\d+)+$/, "");
    const hint = `write a line for each component: "${field}.1", "${field}.2" and so on`;
    throw new Failure("CONFIG_INVALID", `^ would be sent as a character, not as a separator; ${hint}`);
  }
  const texts = Object.entries(typeof text === "string" ? { "": text } : text);
  const templates = new Map(
    texts.flatMap(([state, value]) => (value === undefined ? [] : [[state, compileTemplate(value)]])),
  );
  const parts = [...templates.values()].flat().filter((part) => typeof part === "object");
  return {
    path,
    templateFor: (state = "") => templates.get(typeof text === "string" ? "" : state),
    reads: parts.flatMap((part) => ("path" in part ? [part.path] : [])),
    isPersonal: parts.some((part) => "path" in part || PERSONAL.has(part.name)),
    isOf: ownerOf(path),
  };
}

/** The segments of all messages that are sent. */
const SENT = ["MSH", "PID", "ORC", "OBR", "NTE", "OBX", "EQU", "SAC", "SPM"];

/** What a field stands for. @throws Failure where no message that is sent has it */
function ownerOf({ path, segment, whichSegment }: FieldPath): FieldOverride["isOf"] {
  const never = (what: string, expected: string) => {
    const message = `${path}: no message that is sent has ${what}; expected ${expected}`;
    return new Failure("CONFIG_INVALID", message);
  };
  if (!SENT.includes(segment)) throw never(segment, SENT.join(", "));
  if (segment === "SAC" || segment === "SPM") return { order: false, container: true };
  if (segment !== "OBX") return { order: true, container: false };
  if (whichSegment?.kind !== "where") return { order: true, container: true };
  const ofOrder = Object.values(OF_ORDER).map(([code]) => code);
  const ofContainer = Object.values(OF_CONTAINER).map(([code]) => code);
  const isMeant = (code: string) =>
    whichSegment.conditions.every(({ at: [field, component = 1, ...more], operator, value }) => {
      if (field !== 3 || component !== 1 || more.length > 0) return true;
      return operator === "^=" ? code.startsWith(value) : (code === value) === (operator === "=");
    });
  if (![...ofOrder, ...ofContainer].some(isMeant))
    throw never("such an OBX", [...ofOrder, ...ofContainer].join(", "));
  return { order: ofOrder.some(isMeant), container: ofContainer.some(isMeant) };
}

/** `{name}` and `{PID-5.1}` are put in; `{{` and `}}` stand for the braces themselves. */
function compileTemplate(text: string): Template {
  const parts: Template[number][] = [];
  for (const [part] of text.matchAll(/\{\{|\}\}|\{[^{}]*\}|[^{}]+|[{}]/g)) {
    if (part === "{{" || part === "}}") parts.push(part.charAt(0));
    else if (part === "{" || part === "}") {
      throw new Failure(
        "CONFIG_INVALID",
        `a single ${part}; expected {name}, or ${part}${part} for the brace itself`,
      );
    } else if (part.startsWith("{")) parts.push(compilePlaceholder(part.slice(1, -1)));
    else parts.push(part);
  }
  return parts;
}

function compilePlaceholder(name: string): Template[number] {
  if (Object.hasOwn(VALUES, name)) return { name: name as ValueName };
  try {
    return { path: parsePath(name) };
  } catch (error) {
    if (!/^[A-Z][A-Z0-9]{2}\W/.test(name)) {
      const known = Object.keys(VALUES).join(", ");
      throw new Failure(
        "CONFIG_INVALID",
        `{${name}} is not known; expected a path such as {PV1-3.4}, or one of ${known}`,
      );
    }
    throw new Failure("CONFIG_INVALID", asFailure(error).message);
  }
}

/**
 * A composed message with the fields that the site wants otherwise. Every value is escaped, so none can add a field or
 * a segment. A path without brackets after the segment's name means every segment of that name; segments that the
 * message doesn't have are not made. A text without any value leaves its field empty.
 */
export function overrideFields(
  text: string,
  overrides: readonly FieldOverride[],
  fillings: Fillings,
): string {
  if (overrides.length === 0) return text;
  const message = Hl7Message.parse(text, { isComposed: true });
  const { delimiters } = message;
  const containers = fillings.hasContainers ? containersBySegment(message, fillings.order) : undefined;
  const raws = message.segments.map(({ raw }) => raw);
  for (const { path, templateFor } of overrides) {
    const template = templateFor(fillings.state);
    if (template === undefined) continue;
    const named = message.all(path.segment);
    // What is selected, and what stands there now, is asked of the message as it was composed.
    for (const segment of path.whichSegment ? selectSegments(path.whichSegment, named) : named) {
      const place = {
        fillings,
        container: containers?.get(segment),
        present: presentText(segment, path, delimiters),
      };
      const value = fill(template, place, delimiters);
      raws[segment.index] = replaceField(raws[segment.index] ?? "", path, value, delimiters);
    }
  }
  return raws.map((raw) => `${raw}\r`).join("");
}

/** What stands at a path now, as it is written, so that it can be put back with its components and repetitions. */
function presentText(segment: Segment, path: FieldPath, separators: Separators): string {
  const { field, whichRepetition, component, subcomponent } = path;
  const repetition = whichRepetition?.kind === "nth" ? whichRepetition.n : undefined;
  const whole = segment.field(field);
  if (repetition === undefined && component === undefined) return whole;
  const one = whole.split(separators.repetition)[(repetition ?? 1) - 1] ?? "";
  if (component === undefined) return one;
  const part = one.split(separators.component)[component - 1] ?? "";
  return subcomponent === undefined ? part : (part.split(separators.subcomponent)[subcomponent - 1] ?? "");
}

/** A template's text as it is to be written: what is put in is escaped, what stands there is written so already. */
function fill(template: Template, place: Place, separators: Separators): string {
  return template
    .map((part) => {
      if (typeof part === "string") return escapeText(part, separators);
      if ("name" in part && part.name === "this") return place.present;
      const value =
        "name" in part ? VALUES[part.name](place) : place.fillings.find(part.path, place.container);
      return value === undefined ? "" : escapeText(String(value), separators);
    })
    .join("");
}

/** Which container a segment stands for: SAC by its position, what follows it with it, an OBX of a result by its OBX-4. */
function containersBySegment(
  message: Hl7Message,
  order: OutcomeOrder | undefined,
): ReadonlyMap<Segment, OutcomeContainer> {
  const found = new Map<Segment, OutcomeContainer>();
  let position: number | undefined;
  for (const segment of message.segments) {
    if (segment.name === "SAC") position = segment.ordinal;
    const own = position ?? (segment.name === "OBX" ? Number(segment.get(4) ?? 0) : 0);
    const container = order?.containers[own - 1];
    if (container !== undefined) found.set(segment, container);
  }
  return found;
}

type Separators = Hl7Message["delimiters"];

function replaceField(raw: string, path: FieldPath, value: string, separators: Separators): string {
  const { segment, field, whichRepetition, component, subcomponent } = path;
  const repetition = whichRepetition?.kind === "nth" ? whichRepetition.n : undefined;
  const isWhole = repetition === undefined && component === undefined;
  // MSH-1 is the separator itself, so what follows it is one place nearer.
  return replacePart(raw, separators.field, segment === "MSH" ? field : field + 1, (old) =>
    isWhole
      ? value
      : replacePart(old, separators.repetition, repetition ?? 1, (one) =>
          component === undefined
            ? value
            : replacePart(one, separators.component, component, (part) =>
                subcomponent === undefined
                  ? value
                  : replacePart(part, separators.subcomponent, subcomponent, () => value),
              ),
        ),
  );
}

/** The text with its nth part, from 1, replaced; parts before it are made where there are none. */
function replacePart(text: string, separator: string, n: number, change: (old: string) => string): string {
  const parts = text.split(separator);
  while (parts.length < n) parts.push("");
  parts[n - 1] = change(parts[n - 1] ?? "");
  while (parts.length > 1 && parts.at(-1) === "") parts.pop();
  return parts.join(separator);
}
