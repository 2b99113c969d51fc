import { isUtf8 } from "node:buffer";
import { Failure } from "../../core/failures.ts";
import { decodeBytes } from "../../formats/encoding.ts";
import { decodeHl7 } from "../../formats/hl7/charset.ts";
import { splitHl7File } from "../../formats/hl7/file.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { ProfileDefinition, ValueDefinition } from "../../mapping/profile/schema.ts";
import { counted } from "../../operator/text.ts";

interface Hl7Sample {
  readonly messages: readonly Hl7Message[];
  /** For a profile: undefined where messages say it themselves, or are UTF-8. */
  readonly encoding: string | undefined;
}

/** Larger samples are read no further. */
const MOST_MESSAGES = 2_000;

/**
 * Reads the messages of a file. Where an empty MSH-18 leaves it open and the bytes are no UTF-8, they are Latin-1, or
 * Windows-1252 where Latin-1 lacks one of them. A message that can't be read is left out; the preview says why.
 *
 * @param encoding what somebody says it is
 */
export function readSample(bytes: Buffer, encoding: string | undefined): Hl7Sample {
  const raws = splitHl7File(bytes)
    .parts.slice(0, MOST_MESSAGES)
    .map(({ raw }) => raw);
  const read = raws.map((raw) => readMessage(raw, encoding));
  if (encoding !== undefined || read.every((message) => message !== undefined)) {
    return { messages: read.filter((message) => message !== undefined), encoding };
  }
  const plain = raws.filter((raw) => !isUtf8(raw));
  const found = plain.every((raw) => decodeBytes(raw, "iso-8859-1").ok) ? "iso-8859-1" : "windows-1252";
  const again = raws.map((raw, n) => read[n] ?? readMessage(raw, found));
  const isBetter = again.some((message, n) => message !== undefined && read[n] === undefined);
  return {
    messages: again.filter((message) => message !== undefined),
    encoding: isBetter && plain.length > 0 ? found : undefined,
  };
}

function readMessage(raw: Buffer, encoding: string | undefined): Hl7Message | undefined {
  try {
    return Hl7Message.parse(decodeHl7(raw, { fallback: encoding }).text);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return undefined;
  }
}

/** The type of a message, such as `ORM^O01`. */
export function typeOfMessage({ header }: Hl7Message): string {
  return [header.messageCode, header.triggerEvent].filter(Boolean).join("^");
}

/** The segments of orders: from the first ORC, OBR or specimen on. */
export function orderSegments({ segments }: Hl7Message): readonly Segment[] {
  const begin = segments.findIndex(({ name }) => name === "ORC" || name === "OBR" || name === "SPM");
  return begin === -1 ? [] : segments.slice(begin);
}

/** The filled values of a field's component in all segments of a name. */
export function valuesIn(
  messages: readonly Hl7Message[],
  name: string,
  field: number,
  component = 1,
): string[] {
  return messages
    .flatMap((message) => message.all(name))
    .map((segment) => segment.get(field, 1, component)?.trim() ?? "")
    .filter((value) => value !== "" && value !== '""');
}

/**
 * What was found in messages, for people: types, places by their names for `--place`, and codes, never values of patients.
 *
 * @param builtin where the profile that is extended looks
 * @param isLabelGiven whether somebody said where the label stands
 */
export function findingsOf(
  messages: readonly Hl7Message[],
  definition: ProfileDefinition,
  builtin: ProfileDefinition,
  isLabelGiven: boolean,
): string[] {
  const types = new Set(
    messages.map((message) => `${typeOfMessage(message)} ${message.header.version ?? ""}`.trim()),
  );
  const { containers, orders, subject, encoding } = definition;
  const places = {
    encoding,
    order_number: orders?.each
      ? `each ${orders.each}`
      : (definition.placerOrderNumber ?? builtin.placerOrderNumber),
    operation: definition.operation ?? builtin.operation,
    facility: definition.facility ?? builtin.facility,
    subject_code: subject?.code ?? builtin.subject?.code,
    date_of_birth: subject?.dateOfBirth ?? builtin.subject?.dateOfBirth,
  };
  return [
    `HL7: ${counted(messages.length, "message")} (${[...types].join(", ")})`,
    ...Object.entries(places).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${shownPlace(value)}`],
    ),
    containers === undefined
      ? "container: where the built-in profile looks for them (SAC, SPM, OBX, OBR)"
      : `container: ${[containers.each ?? []].flat().join(", ")}, label ${shownPlace(containers.label ?? "")}${isLabelGiven ? "" : "; where it is another: --place container_label=PATH"}`,
  ];
}

/** The places of a value, and how its dates are written. */
export function shownPlace(value: ValueDefinition): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(placeOf).join(", ");
  const place = [value.from ?? value.value ?? ""].flat().map(placeOf).join(", ");
  const steps = [value.as ?? []].flat();
  const dates = steps.flatMap((step) =>
    typeof step === "object" && "date" in step ? [step.date].flat() : [],
  );
  return dates.length === 0 ? place : `${place} as ${dates.join(", ")}`;
}

function placeOf(source: unknown): string {
  if (typeof source === "string") return source;
  const isOnly = typeof source === "object" && source !== null && "only" in source;
  return isOnly ? `${source.only} alone` : JSON.stringify(source);
}
