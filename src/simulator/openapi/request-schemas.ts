import type { Behaviour } from "../behaviour.ts";
import {
  type AnswerSchemas,
  count,
  date,
  listOf,
  type Members,
  nullable,
  optional,
  ref,
  type Schema,
  text,
} from "./answer-schemas.ts";

export const REQUEST_STATUSES = ["PENDING", "ACCEPTED", "REJECTED", "CANCELLED"] as const;
export const PROCEDURE_STATUSES = [
  "PENDING",
  "CREATED",
  "IN_PROGRESS",
  "COMPLETED",
  "CANCELLED",
  "FAILED",
] as const;
/** The sample of the specification writes `storage`; the other words follow its small letters. */
export const PROCEDURE_TYPES = ["storage", "retrieval", "transfer", "refill", "register storage"] as const;
export const ORDER_TYPES = ["STORE", "RETRIEVAL"] as const;

/** What the request surface answers with. */
export function requestSchemas(answers: AnswerSchemas, behaviour: Behaviour): Record<string, Schema> {
  const { id, moment, word, object } = answers;
  const request = {
    id: id("Of the procedure request."),
    type: word(ORDER_TYPES, "What was asked for."),
    status: word(REQUEST_STATUSES, "Where the review stands."),
  };
  const procedureId = nullable(id("Of the procedure; null until the request is accepted."));
  const createdAt = moment("When it was created.");
  const accepted = {
    acceptedAt: moment("When it was accepted."),
    acceptedBy: text("Name of the web-app user who accepted it."),
  };
  const sampleContainers = listOf(
    object({ sampleContainerId: text("The lab's own label."), description: text("Free text.") }),
    { minItems: 1 },
  );
  const full = (types: readonly string[], held: Members) =>
    object({
      ...request,
      type: word(types, "What was asked for."),
      facilityId: id("The facility."),
      subjectCode: text("The subject."),
      ...held,
      procedureId,
      createdAt,
      acceptedAt: optional(accepted.acceptedAt),
      acceptedBy: optional(accepted.acceptedBy),
    });
  const procedure = {
    id: id("Of the procedure."),
    type: word(PROCEDURE_TYPES, "What the device does."),
    status: word(PROCEDURE_STATUSES, "Where it stands."),
  };
  const subject = {
    id: id("Assigned by the service."),
    facilityId: id("The facility that owns the subject."),
    code: text("Names the subject in other calls."),
  };
  return {
    Subject: object({
      ...subject,
      firstName: optional(text("First name.")),
      lastName: optional(text("Last name.")),
      dateOfBirth: optional(date("Date of birth.")),
      createdAt,
    }),
    SubjectShort: object(subject),
    ProcedureRequest: { oneOf: [full(["STORE"], { sampleContainers }), full(["RETRIEVAL"], {})] },
    ProcedureRequestShort: {
      oneOf: [
        object({ ...request, procedureId, createdAt }, "Until it is accepted."),
        object({ ...request, procedureId, ...accepted }, "Once it is accepted."),
      ],
    },
    Procedure: object({
      ...procedure,
      facilityId: id("The facility."),
      storageId: id("The storage solution used."),
      sampleContainerIds: listOf(id("Of a sample container.")),
      requestId: nullable(id("The request that led to it; null for others.")),
      performedBy: optional(text("Name of the user at the device.")),
      createdAt,
      startedAt: optional(moment("When a device began.")),
      completedAt: optional(moment("When it was done.")),
      error: nullable(text("Why it failed.")),
    }),
    ProcedureShort: object({ ...procedure, createdAt }),
    SampleContainer: containerSchema(answers, behaviour.containerLabel),
    SampleContainerLocation: object({
      sampleContainerId: id("The sample container."),
      storageId: id("The storage solution."),
      storageName: text("Its name."),
      position: text("Canister, cane and slot in words."),
      storedAt: moment("When it was stored."),
    }),
    StorageSolution: object({ id: id("Of the storage solution."), name: text("Its name.") }),
    Inventory: inventorySchema(answers, behaviour),
  };
}

/** A sample container as lists show it, with its label under the given member. */
export function containerSchema({ id, moment, object }: AnswerSchemas, labelKey: string): Schema {
  return object({
    id: id("Of the sample container."),
    [labelKey]: text("The lab's own label."),
    subject: object({ id: id("Of the subject."), code: text("Its code.") }),
    description: text("Free text."),
    storedAt: optional(moment("When it was stored; absent while it is not in storage.")),
  });
}

function inventorySchema(answers: AnswerSchemas, { inventory }: Behaviour): Schema {
  const { id, moment, object } = answers;
  const placed = object({
    id: id("Of the sample container."),
    name: text("The lab's own label."),
    subject: object({ id: id("Of the subject."), code: text("Its code.") }),
    description: text("Free text."),
    storedAt: moment("When it was stored."),
    position: text("Canister, cane and slot in words."),
  });
  switch (inventory) {
    case "containers":
      return object({
        storageId: id("The storage solution."),
        storageName: text("Its name."),
        count: count("Containers in it."),
        sampleContainers: listOf(placed),
      });
    case "list":
      return listOf(placed);
    case "tree": {
      const held = object({ id: id("Of the container."), name: text("Its label."), slot: count("Slot.") });
      const cane = object({ cane: text("Label of the cane."), sampleContainers: listOf(held) });
      const canister = object({ canister: text("Label of the canister."), canes: listOf(cane) });
      return object({ storage: ref("StorageSolution"), canisters: listOf(canister) });
    }
    case "counts":
      return object({
        storageId: id("The storage solution."),
        total: count("Containers in it."),
        byCanister: { type: "object", description: "Containers by label of the canister." },
      });
  }
}
