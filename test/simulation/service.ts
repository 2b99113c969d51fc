import { isMatch } from "./list-filter.ts";
import type { World } from "./world.ts";

/** The service as its specification describes it, and nothing else: written apart from the program, to judge it by. */

export interface Subject {
  readonly id: number;
  readonly facilityId: number;
  readonly code: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly dateOfBirth: string;
  readonly createdAt: number;
  readonly madeAt: number;
}

export interface Container {
  readonly id: number;
  readonly label: string;
  readonly description: string;
  readonly subjectCode: string;
  storedAt?: number;
  /** Since when it is there, whatever the service's clock said. */
  thereSince?: number;
}

/** A procedure request; on the external surface there is none, and its procedure stands for itself. */
export interface Request {
  readonly id: number;
  readonly surface: "request" | "external";
  readonly type: "STORE" | "RETRIEVAL";
  readonly facilityId: number;
  readonly subjectCode: string;
  readonly containers: readonly Container[];
  readonly createdAt: number;
  /** When it was made, whatever the service's clock said. */
  readonly madeAt: number;
  /** By which call it was made, and whether that is a copy that the network made of a call. */
  readonly call: number;
  readonly isCopy: boolean;
  /** Whether others made it by themselves. */
  readonly isOthers: boolean;
  /** How many containers of the subject with its label were in storage when it came, and had been for so long that everybody could know. */
  readonly sameThere: number;
  status: "PENDING" | "ACCEPTED" | "REJECTED" | "CANCELLED";
  acceptedAt?: number;
  procedure?: Procedure;
}

export interface Procedure {
  readonly id: number;
  readonly createdAt: number;
  status: "PENDING" | "CREATED" | "IN_PROGRESS" | "COMPLETED" | "CANCELLED" | "FAILED";
  startedAt?: number;
  completedAt?: number;
}

/** How this service is where its specification leaves it open, and how its staff and devices are. */
export interface ServiceTraits {
  readonly envelope: "array" | "data";
  readonly mostPerPage: number;
  readonly newestFirst: boolean;
  /** How long a list lags behind what was done, ms. */
  readonly listLagMs: number;
  readonly tokenLifeMs: number;
  /** Ms until staff review a request, and until a device is done. */
  readonly staffMs: number;
  readonly deviceMs: number;
  /** How the reviews of staff end in turn, and how the procedures do. */
  readonly reviews: readonly ("accept" | "reject" | "cancel")[];
  readonly ends: readonly ("COMPLETED" | "FAILED" | "CANCELLED")[];
  readonly hasCancel: boolean;
  /** Whether others make a request whenever somebody reads the first page of several, so that the next one has moved. */
  readonly isBusy: boolean;
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** What the network brings. */
export interface Arrival {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly token: string | undefined;
  readonly call: number;
  readonly isCopy: boolean;
}

/** A container that is none of the lab's. */
export const OTHERS = "O-1";
/** No call arrives so long after the look that it goes by, ms: a late one, of a worker that was frozen for as long as it stays sure. */
const SINCE_LOOK_MS = 15_000;
/** Requests that others make while a list is read. */
const MOST_OF_OTHERS = 8;
const FACILITY = { id: 12, name: "North" };
const STORAGE = { id: 7, name: "Tank 7" };

const refused = (status: number, code: string): Reply => ({
  status,
  body: { error: { code, message: code } },
});

export class SimulatedService {
  readonly requests: Request[] = [];
  readonly subjects: Subject[] = [];
  readonly containers: Container[] = [];
  readonly #world: World;
  readonly #traits: ServiceTraits;
  readonly #staff = { name: "staff", state: "up" } as const;
  readonly #tokens = new Map<string, number>();
  #id = 100;
  #reviews = 0;
  #ends = 0;
  #othersMade = 0;
  /** How far its clock is ahead, ms. */
  aheadMs = 0;

  constructor(world: World, traits: ServiceTraits) {
    this.#world = world;
    this.#traits = traits;
  }

  #next(): number {
    this.#id += 1;
    return this.#id;
  }

  get now(): number {
    return this.#world.now + this.aheadMs;
  }

  /** What others have stored before the history begins. */
  addStored(subject: Omit<Subject, "id" | "createdAt" | "madeAt">, label: string): void {
    if (!this.subjects.some(({ code }) => code === subject.code))
      this.subjects.push({ ...subject, id: this.#next(), createdAt: this.now - 86_400_000, madeAt: 0 });
    this.containers.push({
      ...{ id: this.#next(), label, description: "from before", subjectCode: subject.code },
      storedAt: this.now - 86_400_000,
      thereSince: 0,
    });
  }

  /** Somebody else has registered the code of a subject before the history begins. */
  addNamesake(code: string): void {
    const who = { firstName: "Bea", lastName: "Other", dateOfBirth: "1971-12-01" };
    this.subjects.push({
      ...{ id: this.#next(), facilityId: FACILITY.id, code, ...who },
      ...{ createdAt: this.now - 86_400_000, madeAt: 0 },
    });
  }

  /** All tokens end. */
  revokeTokens(): void {
    this.#tokens.clear();
  }

  act(arrival: Arrival): Reply {
    const { method, path, token } = arrival;
    if (method === "POST" && path === "/oauth/token") {
      const value = `token-${this.#next()}`;
      this.#tokens.set(value, this.#world.now + this.#traits.tokenLifeMs);
      return {
        status: 200,
        body: { access_token: value, token_type: "Bearer", expires_in: this.#traits.tokenLifeMs / 1_000 },
      };
    }
    if ((this.#tokens.get(token ?? "") ?? 0) <= this.#world.now) return refused(401, "UNAUTHORIZED");
    const [, head = path, id, tail = ""] =
      /^(\/api(?:\/v1\/external)?\/[a-z-]+)(?:\/(\d+))?(\/[a-z]+)?$/.exec(path) ?? [];
    const route = `${method} ${head}${id === undefined ? "" : "/{id}"}${tail}`;
    return this.#routes[route]?.(arrival, Number(id)) ?? refused(404, "NOT_FOUND");
  }

  readonly #routes: Readonly<Record<string, (arrival: Arrival, id: number) => Reply | undefined>> = {
    "POST /api/subjects": ({ body }) => this.#register(body as Record<string, unknown>),
    "GET /api/subjects": ({ query }) => this.#list(this.subjects, (each) => this.#subject(each), query),
    "GET /api/subjects/{id}": (_, id) => found(this.subjects, id, (each) => this.#subject(each)),
    "POST /api/procedure-requests": (arrival) => this.#create("request", arrival),
    "GET /api/procedure-requests": ({ query }) =>
      this.#list(this.#of("request"), (each) => this.#request(each), query),
    "GET /api/procedure-requests/{id}": (_, id) =>
      found(this.#of("request"), id, (each) => this.#request(each)),
    "POST /api/procedure-requests/{id}/cancel": (_, id) => this.#cancel(this.#of("request"), id),
    "GET /api/procedures": ({ query }) =>
      this.#list(this.#procedures(), (each) => this.#procedure(each), query),
    "GET /api/procedures/{id}": (_, id) =>
      found(
        this.#procedures().map((request) => ({ id: request.procedure.id, request })),
        id,
        ({ request }) => this.#procedure(request),
      ),
    "GET /api/sample-containers": ({ query }) =>
      this.#list(this.containers, (each) => this.#container(each), query),
    "GET /api/sample-containers/{id}/location": (_, id) =>
      found(
        this.containers.filter(({ storedAt }) => storedAt !== undefined),
        id,
        (each) => ({
          ...{ sampleContainerId: each.id, storageId: STORAGE.id, storageName: STORAGE.name },
          ...{ position: `Canister 1, cane 2, slot ${each.id % 10}`, storedAt: iso(each.storedAt) },
        }),
      ),
    "GET /api/storage": ({ query }) => this.#list([STORAGE], (each) => each, query),
    "POST /api/v1/external/procedures": (arrival) => this.#create("external", arrival),
    "GET /api/v1/external/procedures": ({ query }) =>
      this.#list(this.#of("external"), (each) => omit(this.#external(each), "sampleContainers"), query),
    "GET /api/v1/external/procedures/{id}": (_, id) =>
      found(this.#of("external"), id, (each) => this.#external(each)),
    "POST /api/v1/external/procedures/{id}/cancel": (_, id) => this.#cancel(this.#of("external"), id),
    "GET /api/v1/external/sample-containers": ({ query }) =>
      this.#list(this.containers, (each) => this.#container(each), query),
  };

  #of(surface: Request["surface"]): Request[] {
    return this.requests.filter((each) => each.surface === surface);
  }

  #procedures(): (Request & { procedure: Procedure })[] {
    return this.#of("request").filter(
      (each): each is Request & { procedure: Procedure } => each.procedure !== undefined,
    );
  }

  #register(body: Record<string, unknown>): Reply {
    const code = String(body.code);
    if (this.subjects.some((each) => each.code === code)) return refused(409, "DUPLICATE");
    const subject: Subject = {
      ...{ id: this.#next(), facilityId: Number(body.facilityId), code, createdAt: this.now },
      madeAt: this.#world.now,
      ...{ firstName: String(body.firstName), lastName: String(body.lastName) },
      dateOfBirth: String(body.dateOfBirth),
    };
    this.subjects.push(subject);
    return { status: 201, body: this.#subject(subject) };
  }

  #create(surface: Request["surface"], { body, call, isCopy }: Arrival): Reply {
    const given = body as {
      type: Request["type"];
      facilityId: number;
      subjectCode: string;
      sampleContainers?: { sampleContainerId?: string; name?: string; description: string }[];
      sampleContainerIds?: number[];
    };
    const { type, facilityId, subjectCode } = given;
    if (facilityId !== FACILITY.id) return refused(422, "VALIDATION_ERROR");
    if (!this.subjects.some(({ code }) => code === subjectCode)) return refused(422, "VALIDATION_ERROR");
    let containers: Container[];
    if (type === "STORE") {
      containers = (given.sampleContainers ?? []).map((each) => ({
        ...{
          id: this.#next(),
          label: each.sampleContainerId ?? each.name ?? "",
          description: each.description,
        },
        subjectCode,
      }));
    } else {
      const wanted = given.sampleContainerIds ?? [];
      containers = this.containers.filter(({ id }) => wanted.includes(id));
      const isTheirs = containers.every(
        (each) => each.subjectCode === subjectCode && each.storedAt !== undefined,
      );
      if (containers.length !== wanted.length || !isTheirs) return refused(422, "VALIDATION_ERROR");
    }
    const request = this.#make({
      ...{ surface, type, facilityId, subjectCode, containers, call, isCopy, isOthers: false },
    });
    return { status: 201, body: surface === "external" ? this.#external(request) : this.#request(request) };
  }

  #make(given: Omit<Request, "id" | "createdAt" | "madeAt" | "status" | "sameThere">): Request {
    const knownFrom = this.#world.now - this.#traits.listLagMs - SINCE_LOOK_MS;
    const sameThere = this.containers.filter(
      ({ label, subjectCode, thereSince = Number.POSITIVE_INFINITY }) =>
        subjectCode === given.subjectCode && label === given.containers[0]?.label && thereSince <= knownFrom,
    ).length;
    const request: Request = {
      ...{ id: this.#next(), ...given, createdAt: this.now, madeAt: this.#world.now, status: "PENDING" },
      sameThere,
    };
    if (request.surface === "external")
      request.procedure = { id: request.id, createdAt: this.now, status: "PENDING" };
    this.requests.push(request);
    this.#world.say("service", `makes ${nameOf(request)}${request.isCopy ? ", a copy" : ""}`);
    this.#world.later(this.#staff, this.#traits.staffMs, () => this.#review(request));
    return request;
  }

  /** Others have a container retrieved that is there since before the history. */
  retrieveForOthers(surface: Request["surface"], subjectCode: string): void {
    const there = this.containers.find((each) => each.subjectCode === subjectCode && each.label === OTHERS);
    if (there === undefined) return;
    this.#make({
      ...{ surface, type: "RETRIEVAL", facilityId: FACILITY.id, subjectCode, containers: [there], call: 0 },
      ...{ isCopy: false, isOthers: true },
    });
  }

  /** Others have a container stored, with whatever label. */
  storeForOthers(surface: Request["surface"], subjectCode: string, label: string): void {
    if (!this.subjects.some(({ code }) => code === subjectCode)) return;
    const containers = [{ id: this.#next(), label, description: "Oocyte", subjectCode }];
    this.#make({
      ...{ surface, type: "STORE", facilityId: FACILITY.id, subjectCode, containers, call: 0 },
      ...{ isCopy: false, isOthers: true },
    });
  }

  #review(request: Request): void {
    if (request.status !== "PENDING") return;
    const review = this.#traits.reviews[this.#reviews++ % this.#traits.reviews.length];
    if (review === "accept") {
      request.status = "ACCEPTED";
      request.acceptedAt = this.now;
      request.procedure ??= { id: this.#next(), createdAt: this.now, status: "CREATED" };
      request.procedure.status = "CREATED";
      if (request.type === "STORE") this.containers.push(...request.containers);
      this.#world.later(this.#staff, this.#traits.deviceMs, () => this.#run(request));
    } else {
      request.status = review === "reject" ? "REJECTED" : "CANCELLED";
      if (request.procedure) request.procedure.status = "CANCELLED";
    }
    this.#world.say("staff", `${review} ${nameOf(request)}`);
  }

  #run(request: Request): void {
    const { procedure } = request;
    if (procedure?.status !== "CREATED") return;
    const end = this.#traits.ends[this.#ends++ % this.#traits.ends.length] ?? "COMPLETED";
    procedure.status = end;
    procedure.startedAt = this.now;
    procedure.completedAt = this.now;
    if (end === "COMPLETED") {
      for (const each of request.containers) {
        if (request.type === "STORE") {
          each.storedAt = this.now;
          each.thereSince = this.#world.now;
        } else {
          delete each.storedAt;
          delete each.thereSince;
          this.containers.splice(this.containers.indexOf(each), 1);
        }
      }
    } else if (request.type === "STORE") {
      for (const each of request.containers) this.containers.splice(this.containers.indexOf(each), 1);
    }
    this.#world.say("device", `${end} ${nameOf(request)}`);
  }

  #cancel(requests: readonly Request[], id: number): Reply {
    const request = requests.find((each) => each.id === id);
    if (!this.#traits.hasCancel || !request) return refused(404, "NOT_FOUND");
    if (request.status === "PENDING") {
      request.status = "CANCELLED";
      if (request.procedure) request.procedure.status = "CANCELLED";
      this.#world.say("service", `cancels ${nameOf(request)}`);
    } else if (request.status !== "CANCELLED") return refused(409, "NOT_PENDING");
    return {
      status: 200,
      body: request.surface === "external" ? this.#external(request) : this.#request(request),
    };
  }

  #subject({ createdAt, madeAt: _, ...rest }: Subject) {
    return { ...rest, createdAt: iso(createdAt) };
  }

  #request({
    id,
    type,
    status,
    facilityId,
    subjectCode,
    containers,
    procedure,
    createdAt,
    acceptedAt,
  }: Request) {
    return {
      ...{
        id,
        type,
        status,
        facilityId,
        subjectCode,
        procedureId: procedure?.id ?? null,
        createdAt: iso(createdAt),
      },
      ...(type === "STORE" && {
        sampleContainers: containers.map(({ label, description }) => ({
          sampleContainerId: label,
          description,
        })),
      }),
      ...(acceptedAt !== undefined && { acceptedAt: iso(acceptedAt), acceptedBy: "A. Staff" }),
    };
  }

  #procedure(request: Request & { procedure?: Procedure }) {
    const { procedure } = request;
    return {
      ...{
        id: procedure?.id ?? 0,
        type: request.type === "STORE" ? "store" : "retrieval",
        status: procedure?.status,
      },
      ...{
        facilityId: request.facilityId,
        storageId: STORAGE.id,
        requestId: request.id,
        performedBy: "A. Staff",
      },
      ...{
        sampleContainerIds: request.containers.map(({ id }) => id),
        error: procedure?.status === "FAILED" ? "E7" : null,
      },
      ...{ createdAt: iso(procedure?.createdAt), startedAt: iso(procedure?.startedAt) },
      completedAt: iso(procedure?.completedAt),
    };
  }

  #external(request: Request) {
    const { id, type, procedure, subjectCode, containers, createdAt } = request;
    const isStored = type === "STORE" && procedure?.status === "COMPLETED";
    return {
      ...{ id, code: `PR-${id}`, type, status: procedure?.status, facility: FACILITY },
      subject: { id: this.subjects.find(({ code }) => code === subjectCode)?.id ?? 0, code: subjectCode },
      sampleContainers: containers.map((each) => ({
        ...{ id: each.id, name: each.label, description: each.description },
        ...(isStored && {
          location: { storage: STORAGE, canister: "1", cane: "2" },
          storedAt: iso(procedure?.completedAt),
        }),
      })),
      createdAt: iso(createdAt),
      ...(procedure?.completedAt !== undefined && { completedAt: iso(procedure.completedAt) }),
    };
  }

  #container(each: Container) {
    const subject = this.subjects.find(({ code }) => code === each.subjectCode);
    return {
      ...{ id: each.id, name: each.label, description: each.description },
      subject: { id: subject?.id ?? 0, code: each.subjectCode },
      ...(each.storedAt !== undefined && { storedAt: iso(each.storedAt) }),
    };
  }

  #list<T extends object>(all: readonly T[], show: (each: T) => object, query: URLSearchParams): Reply {
    const { listLagMs, mostPerPage, newestFirst, envelope } = this.#traits;
    const made = (each: T) => ("madeAt" in each ? Number(each.madeAt) : 0);
    const listed = all.filter((each) => made(each) + listLagMs <= this.#world.now).map(show);
    const rows = listed.filter((each) => [...query].every(([key, value]) => isMatch(each, key, value)));
    if (newestFirst) rows.reverse();
    const perPage = Math.min(Number(query.get("perPage") ?? 10), mostPerPage);
    const page = Number(query.get("page") ?? 1);
    if (page === 1 && rows.length > perPage && this.#traits.isBusy && this.#othersMade < MOST_OF_OTHERS) {
      const surface = this.requests[0]?.surface ?? "request";
      this.#othersMade += 1;
      this.storeForOthers(surface, this.requests[0]?.subjectCode ?? "", `X-${this.#othersMade}`);
    }
    const data = rows.slice((page - 1) * perPage, page * perPage);
    return {
      status: 200,
      body: envelope === "array" ? data : { data, meta: { page, perPage, total: rows.length } },
    };
  }
}

const iso = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());

function omit<T extends object>(from: T, key: keyof T): Omit<T, typeof key> {
  const { [key]: _, ...rest } = from;
  return rest;
}

function found<T extends { readonly id: number }>(
  all: readonly T[],
  id: number,
  show: (each: T) => unknown,
): Reply {
  const one = all.find((each) => each.id === id);
  return one ? { status: 200, body: show(one) } : refused(404, "NOT_FOUND");
}

/** Such as `STORE request 105 of S-1 (V-1)`. */
export function nameOf({ type, surface, id, subjectCode, containers, isOthers }: Request): string {
  const what = surface === "external" ? "procedure" : "request";
  return `${isOthers ? "another's " : ""}${type} ${what} ${id} of ${subjectCode} (${containers.map(({ label }) => label).join(", ")})`;
}
