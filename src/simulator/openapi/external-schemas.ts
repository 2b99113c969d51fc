import { type AnswerSchemas, listOf, type Members, optional, type Schema, text } from "./answer-schemas.ts";
import { containerSchema, ORDER_TYPES, PROCEDURE_STATUSES } from "./request-schemas.ts";

/** What the external surface answers with. */
export function externalSchemas(answers: AnswerSchemas): Record<string, Schema> {
  const { id, moment, word, object } = answers;
  const named = (what: string) => object({ id: id(`Of the ${what}.`), name: text("Its name.") });
  const procedure = (types: readonly string[], more: Members) =>
    object({
      id: id("Of the procedure."),
      code: text("For people to say."),
      type: word(types, "What the device does."),
      status: word(PROCEDURE_STATUSES, "Where it stands."),
      facility: named("facility"),
      ...more,
      createdAt: moment("When it was created."),
      completedAt: optional(moment("When it was done.")),
    });
  const subject = { subject: object({ id: id("Of the subject."), code: text("Its code.") }) };
  const container = {
    id: id("Of the sample container."),
    name: text("The lab's own label."),
    description: text("Free text."),
  };
  const location = object({
    storage: named("storage solution"),
    canister: text("Label of the canister."),
    cane: text("Label of the cane."),
  });
  const storedAt = moment("When it was stored.");
  const sampleContainers = listOf({
    oneOf: [
      object(container),
      object({ ...container, location, storedAt }, "In a COMPLETED storage procedure."),
    ],
  });
  const refill = procedure(["REFILL"], {});
  return {
    ExternalProcedure: { oneOf: [procedure(ORDER_TYPES, { ...subject, sampleContainers }), refill] },
    ExternalProcedureSummary: { oneOf: [procedure(ORDER_TYPES, subject), refill] },
    ExternalSampleContainer: containerSchema(answers, "name"),
  };
}
