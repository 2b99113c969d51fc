import type { Behaviour } from "../behaviour.ts";
import { date, integerId, listOf, type Schema, text } from "./answer-schemas.ts";

/** The bodies that the service takes. Members beside these mean nothing to it. */
export function bodySchemas(behaviour: Behaviour): Record<string, Schema> {
  const { requiredSubjectFields, requiredDescription } = behaviour;
  const required = new Set(["facilityId", "code", ...requiredSubjectFields]);
  const filled = (description: string, isRequired = true): Schema => ({
    ...text(description),
    ...(isRequired ? { minLength: 1 } : {}),
    maxLength: 1_000,
  });
  const order = (type: string, member: string, held: Schema): Schema =>
    body({
      type: { const: type },
      facilityId: integerId("One of the caller's own facilities."),
      subjectCode: filled("A subject of that facility."),
      [member]: held,
    });
  const labelled = (labelKey: string) => {
    const container = body(
      {
        [labelKey]: filled("The lab's own label, once in each order."),
        description: filled("Free text.", requiredDescription),
      },
      requiredDescription ? [labelKey, "description"] : [labelKey],
    );
    return listOf(container, { minItems: 1, maxItems: 1_000 });
  };
  const ids = listOf(integerId("A container of the subject."), {
    minItems: 1,
    maxItems: 1_000,
    uniqueItems: true,
  });
  const ordered = (labelKey: string): Schema => ({
    oneOf: [
      order("STORE", "sampleContainers", labelled(labelKey)),
      order("RETRIEVAL", "sampleContainerIds", ids),
    ],
  });
  return {
    NewSubject: body(
      {
        facilityId: integerId("One of the caller's own facilities."),
        code: filled("Names the subject in other calls."),
        firstName: filled("First name.", required.has("firstName")),
        lastName: filled("Last name.", required.has("lastName")),
        dateOfBirth: date("Date of birth."),
      },
      [...required],
    ),
    NewProcedureRequest: ordered("sampleContainerId"),
    NewExternalProcedure: ordered("name"),
  };
}

/** An object that a caller sends; every member is required unless others are told. */
function body(properties: Readonly<Record<string, Schema>>, required = Object.keys(properties)): Schema {
  return { type: "object", properties, required, additionalProperties: false };
}
