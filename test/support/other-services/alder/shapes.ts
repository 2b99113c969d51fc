import type { Demand, Subject, Vial, Work } from "./records.ts";

/** How Alder writes its records: a full list entry and, in a single read, only what the row of that call names. */

export const subjectJson = ({
  id,
  facilityId,
  code,
  firstName,
  lastName,
  dateOfBirth,
  createdAt,
}: Subject) => ({
  id,
  facilityId,
  code,
  firstName,
  lastName,
  dateOfBirth,
  createdAt,
});

/** The five fields of a pending request, or the six of an accepted one. */
export function demandShort({ id, type, status, procedureId, createdAt, acceptedAt }: Demand) {
  return status === "ACCEPTED"
    ? { id, type, status, procedureId, acceptedAt, acceptedBy: "Robin Alder" }
    : { id, type, status, procedureId, createdAt };
}

export function demandFull(demand: Demand) {
  const { facilityId, code: subjectCode } = demand.subject;
  const containers = demand.type === "STORE" ? { sampleContainers: demand.wanted } : {};
  return { ...demandShort(demand), facilityId, subjectCode, createdAt: demand.createdAt, ...containers };
}

const OWN_WORDS = { STORE: "storage", RETRIEVAL: "retrieval", REFILL: "refill" } as const;

export function workJson(work: Work, storageId: number) {
  const { id, status, facilityId, createdAt, startedAt, completedAt, demandId } = work;
  return {
    id,
    type: OWN_WORDS[work.type],
    status,
    facilityId,
    storageId,
    sampleContainerIds: work.vials.map((vial) => vial.id),
    ...(demandId === undefined ? {} : { requestId: demandId }),
    performedBy: "Robin Alder",
    createdAt,
    ...(startedAt ? { startedAt } : {}),
    ...(completedAt ? { completedAt } : {}),
    error: status === "FAILED" ? "Gripper lost the vial" : null,
  };
}

export const vialJson = ({ id, facilityId, subject, name, description, place }: Vial) => ({
  id,
  name,
  facilityId,
  subjectCode: subject.code,
  description,
  storedAt: place?.storedAt,
});

/** A procedure of the external surface without its containers, as its list shows it. */
export function externalSummary(work: Work) {
  const { id, type, status, facilityId, subject, createdAt, completedAt } = work;
  return {
    id,
    code: `PR-${id.toString(36).toUpperCase()}`,
    type,
    status,
    facility: { id: facilityId, name: `House ${facilityId % 100}` },
    ...(subject ? { subject: { id: subject.id, code: subject.code } } : {}),
    createdAt,
    ...(completedAt ? { completedAt } : {}),
  };
}

export function externalWork(work: Work, storageId: number) {
  if (work.type === "REFILL") return externalSummary(work);
  const isStored = work.type === "STORE" && work.status === "COMPLETED";
  const sampleContainers = work.vials.map(({ id, name, description, place }) => ({
    id,
    name,
    description,
    ...(isStored && place
      ? {
          location: {
            storage: { id: storageId, name: "Dewar North" },
            canister: place.canister,
            cane: place.cane,
          },
          storedAt: place.storedAt,
        }
      : {}),
  }));
  return { ...externalSummary(work), sampleContainers };
}

export const externalVial = ({ id, name, subject, description, place }: Vial) => ({
  id,
  name,
  subject,
  description,
  storedAt: place?.storedAt,
});
