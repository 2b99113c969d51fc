import type { Records, Subject, Work } from "./records.ts";
import {
  demandFull,
  demandShort,
  externalSummary,
  externalVial,
  externalWork,
  subjectJson,
  vialJson,
  workJson,
} from "./shapes.ts";

/** A refusal of Alder's; `isShape` when no honest caller would have sent the call like this. */
export class Problem extends Error {
  readonly status: number;
  readonly isShape: boolean;
  readonly code: string | undefined;

  constructor(status: number, detail: string, isShape = false, code?: string) {
    super(detail);
    this.status = status;
    this.isShape = isShape;
    this.code = code;
  }
}

export interface Call {
  readonly records: Records;
  readonly organization: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly tankOf: (facilityId: number) => number;
  readonly made: (facilityId: number, type: string, labels: readonly string[]) => void;
}

type Handler = (call: Call, id: number) => object;

const shape = (detail: string) => new Problem(422, detail, true);

function page<T extends { id: number }>(
  { query }: Call,
  found: Iterable<T>,
  write: (one: T) => object,
): object[] {
  const number = (name: string, otherwise: number) => {
    const given = query.get(name) ?? String(otherwise);
    if (!/^[1-9]\d*$/.test(given)) throw shape(`${name} is no positive number`);
    return Number(given);
  };
  const perPage = Math.min(50, number("perPage", 10));
  const from = (number("page", 1) - 1) * perPage;
  const newestFirst = [...found].sort((a, b) => b.id - a.id);
  return newestFirst.slice(from, from + perPage).map(write);
}

function integer(given: unknown, name: string): number {
  if (!Number.isSafeInteger(given)) throw shape(`${name} is no integer`);
  return given as number;
}

function word(given: unknown, name: string): string {
  if (typeof given !== "string") throw shape(`${name} is no text`);
  return given;
}

function fields(given: unknown): Record<string, unknown> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw shape("no JSON object");
  return given as Record<string, unknown>;
}

function facility({ records, organization, query }: Call, given: unknown = query.get("facilityId")): number {
  const id = integer(typeof given === "string" ? Number(given) : given, "facilityId");
  if (!records.isSeenBy(organization, id)) throw new Problem(404, "no such facility");
  return id;
}

function seen<T>(call: Call, one: T | undefined, facilityIdOf: (one: T) => number): T {
  if (one && call.records.isSeenBy(call.organization, facilityIdOf(one))) return one;
  throw new Problem(404, "not found");
}

const own = <T>(call: Call, all: Iterable<T>, facilityIdOf: (one: T) => number) =>
  [...all].filter((one) => call.records.isSeenBy(call.organization, facilityIdOf(one)));

/** The parts that both surfaces' creating calls share: who, where, and for a retrieval which containers. */
function ordered(call: Call) {
  const body = fields(call.body);
  const type = word(body.type, "type");
  if (type !== "STORE" && type !== "RETRIEVAL") throw shape("type is neither STORE nor RETRIEVAL");
  const facilityId = facility(call, integer(body.facilityId, "facilityId"));
  const code = word(body.subjectCode, "subjectCode");
  const subject = [...call.records.subjects.values()].find(
    (s) => s.facilityId === facilityId && s.code === code,
  );
  const store = type === "STORE" ? body.sampleContainers : [];
  const retrieval = type === "RETRIEVAL" ? body.sampleContainerIds : [];
  if (!Array.isArray(store) || !Array.isArray(retrieval)) throw shape(`no containers for a ${type}`);
  if (store.length + retrieval.length === 0) throw shape("an empty array of containers");
  if (!subject) throw new Problem(422, "no such subject");
  const vials = retrieval.map((id: unknown) => {
    const vial = call.records.vials.get(integer(id, "sampleContainerIds"));
    if (vial?.subject.id === subject.id) return vial;
    throw new Problem(422, "a container is not the subject's", false, "VALIDATION_ERROR");
  });
  return { type, facilityId, subject, store: store.map(fields), vials } as const;
}

const createSubject: Handler = (call) => {
  const body = fields(call.body);
  const facilityId = facility(call, integer(body.facilityId, "facilityId"));
  const dateOfBirth = word(body.dateOfBirth, "dateOfBirth");
  if (!/^\d{4}-\d{2}-\d{2}$/.test(dateOfBirth)) throw shape("dateOfBirth is no date");
  const code = word(body.code, "code");
  const all = [...call.records.subjects.values()];
  if (all.some((s) => s.facilityId === facilityId && s.code === code))
    throw new Problem(409, "code is taken");
  const firstName = word(body.firstName, "firstName");
  const lastName = word(body.lastName, "lastName");
  return subjectJson(call.records.addSubject(facilityId, { code, firstName, lastName, dateOfBirth }));
};

const createRequest: Handler = (call) => {
  const { type, facilityId, subject, store, vials } = ordered(call);
  const wanted = store.map((one) => ({
    sampleContainerId: word(one.sampleContainerId, "sampleContainerId"),
    description: word(one.description, "description"),
  }));
  call.made(facilityId, type, [...wanted.map((one) => one.sampleContainerId), ...vials.map((v) => v.name)]);
  return demandShort(call.records.addDemand({ type, subject, wanted, vials }));
};

const createProcedure: Handler = (call) => {
  const { type, facilityId, subject, store, vials } = ordered(call);
  const wanted = store.map((one) => ({
    name: word(one.name, "name"),
    description: word(one.description, "description"),
  }));
  const all = type === "STORE" ? call.records.addVials(subject, wanted) : vials;
  call.made(
    facilityId,
    type,
    all.map((vial) => vial.name),
  );
  const work = call.records.addWork({ type, status: "PENDING", facilityId, subject, vials: all });
  return externalWork(work, call.tankOf(facilityId));
};

const ofSubject = (call: Call) => {
  const code = call.query.get("subjectCode");
  const stored = own(call, call.records.vials.values(), (vial) => vial.facilityId).filter(
    (vial) => vial.place,
  );
  return code === null ? stored : stored.filter((vial) => vial.subject.code === code);
};

const facilityOf = (one: Work) => one.facilityId;
const facilityOfSubject = (one: Subject) => one.facilityId;

export const routes: readonly (readonly ["GET" | "POST", RegExp, Handler])[] = [
  ["POST", /^\/api\/subjects$/, createSubject],
  [
    "GET",
    /^\/api\/subjects$/,
    (call) => page(call, own(call, call.records.subjects.values(), facilityOfSubject), subjectJson),
  ],
  [
    "GET",
    /^\/api\/subjects\/(\d+)$/,
    (call, id) => subjectJson(seen(call, call.records.subjects.get(id), facilityOfSubject)),
  ],
  ["POST", /^\/api\/procedure-requests$/, createRequest],
  [
    "GET",
    /^\/api\/procedure-requests\/(\d+)$/,
    (call, id) => demandShort(seen(call, call.records.demands.get(id), (one) => one.subject.facilityId)),
  ],
  [
    "GET",
    /^\/api\/procedure-requests$/,
    (call) => {
      const status = call.query.get("status");
      const all = own(call, call.records.demands.values(), (one) => one.subject.facilityId);
      return page(call, status === null ? all : all.filter((one) => one.status === status), demandFull);
    },
  ],
  [
    "GET",
    /^\/api\/procedures\/(\d+)$/,
    (call, id) => {
      const work = seen(call, call.records.works.get(id), facilityOf);
      return workJson(work, call.tankOf(work.facilityId));
    },
  ],
  [
    "GET",
    /^\/api\/procedures$/,
    (call) => {
      const facilityId = call.query.has("facilityId") ? facility(call) : undefined;
      const all = own(call, call.records.works.values(), facilityOf);
      const there = all.filter((one) => facilityId === undefined || one.facilityId === facilityId);
      return page(call, there, (work) => workJson(work, call.tankOf(work.facilityId)));
    },
  ],
  ["GET", /^\/api\/sample-containers$/, (call) => page(call, ofSubject(call), vialJson)],
  [
    "GET",
    /^\/api\/sample-containers\/(\d+)\/location$/,
    (call, id) => {
      const vial = seen(call, call.records.vials.get(id), (one) => one.facilityId);
      if (!vial.place) throw new Problem(404, "not stored");
      const { canister, cane, storedAt } = vial.place;
      const storageId = call.tankOf(vial.facilityId);
      const position = `Canister ${canister}, ${cane}, top slot`;
      return { sampleContainerId: id, storageId, storageName: "Dewar North", position, storedAt };
    },
  ],
  [
    "GET",
    /^\/api\/storage$/,
    (call) => {
      const facilityId = facility(call);
      return page(call, [{ id: call.tankOf(facilityId), name: "Dewar North" }], (tank) => tank);
    },
  ],
  [
    "GET",
    /^\/api\/storage\/(\d+)\/inventory$/,
    () => ({ canisters: { C3: { canes: { "Cane 1": ["top"] } } } }),
  ],
  ["POST", /^\/api\/v1\/external\/procedures$/, createProcedure],
  [
    "GET",
    /^\/api\/v1\/external\/procedures\/(\d+)$/,
    (call, id) => {
      const work = seen(call, call.records.works.get(id), facilityOf);
      return externalWork(work, call.tankOf(work.facilityId));
    },
  ],
  [
    "GET",
    /^\/api\/v1\/external\/procedures$/,
    (call) => {
      const facilityId = call.query.has("facilityId") ? facility(call) : undefined;
      const type = call.query.get("type");
      if (type !== null && !["STORE", "RETRIEVAL", "REFILL"].includes(type))
        throw shape("type is none of the three");
      const all = own(call, call.records.works.values(), facilityOf);
      const there = all.filter((one) => facilityId === undefined || one.facilityId === facilityId);
      return page(call, type === null ? there : there.filter((one) => one.type === type), externalSummary);
    },
  ],
  ["GET", /^\/api\/v1\/external\/sample-containers$/, (call) => page(call, ofSubject(call), externalVial)],
];
