import type { Hl7Message } from "../../formats/hl7/message.ts";
import type { ProfileDefinition, ValueDefinition } from "../../mapping/profile/schema.ts";
import { counted } from "../../operator/text.ts";
import { typeOfMessage } from "./hl7-sample.ts";

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
    messages.map((message) => `${typeOfMessage(message)} ${message.codes.version ?? ""}`.trim()),
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
