import {
  type Job,
  LIST_LAG_MS,
  local,
  type Person,
  type Straw,
  since,
  statusAt,
  type World,
} from "./world.ts";

/** How Cedar writes things: every field always there, `null` when it has no value, some ids as text. */

export const personPage = ({ id, site, code, firstName, lastName, dateOfBirth, bornAt }: Person) => ({
  id,
  facilityId: site,
  code,
  firstName,
  lastName,
  dateOfBirth,
  createdAt: local(bornAt),
});

export function requestPage(job: Job, at: number) {
  const word = statusAt(job, at);
  const isOpen = word === "PENDING";
  const isRefused = word === "REJECTED";
  const isAccepted = !isOpen && !isRefused;
  return {
    id: job.requestId,
    type: job.type,
    status: isOpen ? "PENDING" : isRefused ? "REJECTED" : "ACCEPTED",
    facilityId: job.site,
    subjectCode: job.person.code,
    sampleContainers:
      job.type === "STORE"
        ? job.straws.map(({ label, description }) => ({ sampleContainerId: label, description }))
        : null,
    procedureId: isAccepted ? String(job.id) : null,
    createdAt: local(job.bornAt),
    acceptedAt: isAccepted ? local(job.steps[1]?.[0]) : null,
    acceptedBy: isAccepted ? "C. Cedar" : null,
  };
}

export function procedurePage(job: Job, at: number) {
  const status = statusAt(job, at);
  const endedAt = local(since(job, "COMPLETED"));
  return {
    id: String(job.id),
    type: job.type === "STORE" ? "storage" : "Retrieval",
    status,
    facilityId: job.site,
    storageId: "900",
    sampleContainerIds: job.straws.map((straw) => String(straw.id)),
    requestId: job.requestId === undefined ? null : String(job.requestId),
    performedBy: null,
    createdAt: local(job.steps[1]?.[0]),
    startedAt: status === "COMPLETED" ? endedAt : null,
    completedAt: status === "COMPLETED" ? endedAt : null,
    error: status === "FAILED" ? "cane not found" : null,
  };
}

export const strawPage = ({ id, label, person, description, storedAt }: Straw, at: number) => ({
  id: String(id),
  sampleContainerId: label,
  subjectCode: person.code,
  description,
  storedAt: storedAt <= at ? local(storedAt) : null,
});

export function externalSummary(job: Job, at: number) {
  const status = statusAt(job, at);
  return {
    id: job.id,
    code: `C/${job.id}`,
    type: job.type,
    status,
    facility: { id: job.site, name: null },
    subject: { id: job.person.id, code: job.person.code },
    createdAt: local(job.bornAt),
    completedAt: status === "COMPLETED" ? local(since(job, "COMPLETED")) : null,
  };
}

export function externalPage(job: Job, at: number) {
  const isStored = job.type === "STORE" && statusAt(job, at) === "COMPLETED";
  const location = { storage: { id: 900, name: "Cryo 900" }, canister: "7", cane: "blue" };
  const sampleContainers = job.straws.map(({ id, label: name, description, storedAt }) => ({
    id,
    name,
    description,
    location: isStored ? location : null,
    storedAt: isStored ? local(storedAt) : null,
  }));
  return { ...externalSummary(job, at), sampleContainers };
}

export const externalStraw = ({ id, label: name, person, description, storedAt }: Straw, at: number) => ({
  id,
  name,
  subject: { id: person.id, code: person.code },
  description,
  storedAt: storedAt <= at ? local(storedAt) : null,
});

/** What a list shows: the world a moment ago. */
export const lagging = (): number => Date.now() - LIST_LAG_MS;

/** Ten at a time whatever is asked for, in an order that means nothing, under `results`. */
export function tenOf<T extends { id: number; bornAt: number }>(
  all: readonly T[],
  page: string | null,
  write: (one: T, at: number) => object,
): object {
  const at = lagging();
  const there = all
    .filter(({ bornAt }) => bornAt <= at)
    .sort((a, b) => ((a.id * 7919) % 4093) - ((b.id * 7919) % 4093));
  const number = Math.max(1, Number(page ?? 1) || 1);
  const results = there.slice((number - 1) * 10, number * 10).map((one) => write(one, at));
  return { results, page: number, total: there.length };
}

export const ofSite =
  (world: World, sites: readonly number[]) =>
  <K extends "people" | "straws" | "jobs">(kind: K): World[K][number][] =>
    (world[kind] as World[K][number][]).filter(({ site }) => sites.includes(site));
