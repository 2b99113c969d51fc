import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Disturbance, OtherService } from "../other-service.ts";
import { HOUSES, type House, type Person, type Straw, type Task, Vault } from "./vault.ts";

/** An answer that is an error; `isMisuse` where the call itself was wrong. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly isMisuse: boolean;

  constructor(status: number, code: string, message: string, isMisuse = false) {
    super(message);
    this.status = status;
    this.code = code;
    this.isMisuse = isMisuse;
  }
}

const misuse = (why: string) => new Refusal(400, "BAD_REQUEST", why, true);

/** How many calls Elm answers in each window of time; the others are 429. */
export interface Limit {
  readonly calls: number;
  readonly windowMs: number;
  /** Whether answers say how many calls are left (`X-RateLimit-…`). */
  readonly isShown: boolean;
  /** Whether a 429 says when to come again. */
  readonly hasRetryAfter: boolean;
}

/** What a test may want otherwise. */
export interface ElmOptions {
  readonly limit?: Limit | undefined;
  /** How long each step of staff and device takes, ms. */
  readonly stepMs?: number;
}

/** Elm with the tally that it keeps of calls: method and path with `{id}`, how often, and how many were refused for their number. */
export interface Elm extends OtherService {
  readonly calls: ReadonlyMap<string, number>;
  readonly refusedAt: readonly number[];
}

const ROOT = "/api/v1/external";
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  subjects: ["code"],
  storage: [],
  inventory: [],
  procedures: ["type"],
  "sample-containers": ["subjectCode"],
};
const PATHS = {
  subjects: `${ROOT}/subjects`,
  procedureRequests: "none",
  procedures: "none",
  containers: `${ROOT}/sample-containers`,
  storage: `${ROOT}/storage`,
};
const PAGING = ["page", "perPage", "facilityId"];

/**
 * Elm: the form of the service that is described in public. Every call lies under `/api/v1/external`; lists are `{ data, meta }`
 * with a total, newest last, of at most 50 a page; errors are `{ error: { code, message } }`; credentials go as form fields to
 * `/oauth/token`. A subject shows its facility nested and no birth date. The inventory of a dewar lists its straws with canister and
 * cane, in pages. There is a limit of calls in fixed windows. Filters that it doesn't know are ignored.
 */
export async function startElm(disturbance: Disturbance, options: ElmOptions = {}): Promise<Elm> {
  const { limit, stepMs = 40 } = options;
  const vault = new Vault(stepMs);
  const owners = new Map<string, string>();
  const misshapen: string[] = [];
  const made = new Map<string, number>();
  const calls = new Map<string, number>();
  const refusedAt: number[] = [];
  let received = 0;
  let creations = 0;
  let lost = 0;
  let window = { number: 0, used: 0 };

  const houseOf = (owner: string, id: unknown): House => {
    if (typeof id !== "number") throw misuse("facilityId");
    const house = HOUSES.find((one) => one.id === id && one.owner === owner);
    if (!house) throw new Refusal(403, "FORBIDDEN", "not your facility");
    return house;
  };
  const requireText = (value: unknown, name: string): string => {
    if (typeof value !== "string" || value.trim() === "") throw misuse(name);
    return value;
  };
  const requireKeys = (given: unknown, names: readonly string[]): Record<string, unknown> => {
    if (typeof given !== "object" || given === null || Array.isArray(given)) throw misuse("body");
    const odd = Object.keys(given).find((key) => !names.includes(key));
    if (odd !== undefined) throw misuse(`property ${odd}`);
    return given as Record<string, unknown>;
  };
  const shortOf = ({ id, code }: Person) => ({ id, code });
  const houseShape = ({ id, name }: House) => ({ id, name });

  const showPerson = ({ id, code, firstName, lastName, house, createdAt }: Person) => ({
    ...{ id, code, firstName, lastName, createdAt },
    facility: houseShape(house),
  });

  const showStraw = ({ id, name, description, person, storedAt }: Straw) => ({
    ...{ id, name, description },
    subject: shortOf(person),
    storedAt: storedAt ?? null,
  });

  const placeOf = ({ place, person }: Straw) =>
    place && { storage: person.house.tank, canister: place.canister, cane: place.cane };

  const summary = ({ id, type, status, house, person, createdAt, completedAt }: Task) => ({
    ...{ id, code: `ELM-${id}`, type, status, createdAt },
    facility: houseShape(house),
    subject: shortOf(person),
    ...(completedAt === undefined ? {} : { completedAt }),
  });

  const detail = (task: Task) => ({
    ...summary(task),
    sampleContainers: task.straws.map((straw) => {
      const { id, name, description, storedAt } = straw;
      const isDone = task.type === "STORE" && task.status === "COMPLETED";
      return { id, name, description, ...(isDone ? { location: placeOf(straw), storedAt } : {}) };
    }),
  });

  function register(owner: string, given: unknown): object {
    const body = requireKeys(given, ["facilityId", "code", "firstName", "lastName", "dateOfBirth"]);
    const house = houseOf(owner, body.facilityId);
    const code = requireText(body.code, "code");
    if (vault.people.some((one) => one.house === house && one.code === code))
      throw new Refusal(409, "CONFLICT", "there is such a subject");
    if (!/^\d{4}-\d{2}-\d{2}$/.test(requireText(body.dateOfBirth, "dateOfBirth")))
      throw misuse("dateOfBirth");
    const person: Person = {
      ...{ id: vault.nextId(), house, code },
      firstName: requireText(body.firstName, "firstName"),
      lastName: requireText(body.lastName, "lastName"),
      createdAt: new Date().toISOString(),
    };
    vault.people.push(person);
    return showPerson(person);
  }

  function order(owner: string, given: unknown): object {
    const { type } = requireKeys(given, [
      ...["type", "facilityId", "subjectCode", "sampleContainers", "sampleContainerIds"],
    ]);
    if (type !== "STORE" && type !== "RETRIEVAL") throw misuse("type");
    const list = type === "STORE" ? "sampleContainers" : "sampleContainerIds";
    const body = requireKeys(given, ["type", "facilityId", "subjectCode", list]);
    const house = houseOf(owner, body.facilityId);
    const code = requireText(body.subjectCode, "subjectCode");
    const person = vault.people.find((one) => one.house === house && one.code === code);
    if (!person) throw new Refusal(422, "VALIDATION_ERROR", "no such subject");
    const wanted = body[list];
    if (!Array.isArray(wanted) || wanted.length === 0) throw misuse(list);
    const straws = wanted.map((one: unknown): Straw => {
      if (type === "STORE") {
        const { name, description } = requireKeys(one, ["name", "description"]);
        if (typeof description !== "string") throw misuse("description");
        return { id: vault.nextId(), name: requireText(name, "name"), description, person };
      }
      const straw = vault.straws.find(({ id }) => id === one);
      if (straw?.person !== person)
        throw new Refusal(422, "VALIDATION_ERROR", "not that subject's container");
      return straw;
    });
    if (type === "STORE") vault.straws.push(...straws);
    const labels = straws.map(({ name }) => name).toSorted();
    const what = `${house.id} ${type} ${labels.join(" ")}`;
    made.set(what, (made.get(what) ?? 0) + 1);
    return detail(vault.receive({ house, type, person, straws }));
  }

  function list(owner: string, name: string, query: URLSearchParams, id: number | undefined): object {
    for (const key of query.keys()) {
      // What it doesn't know it ignores; what it does know has to be written well.
      const isKnown = PAGING.includes(key) || PARAMETERS[name]?.includes(key);
      if (isKnown && query.get(key) === "") throw misuse(`${key} is empty`);
    }
    const numberOf = (key: string, otherwise: number) => {
      const given = query.get(key);
      if (given === null) return otherwise;
      if (!/^[1-9]\d{0,8}$/.test(given)) throw misuse(`${key}=${given}`);
      return Number(given);
    };
    const page = numberOf("page", 1);
    const perPage = Math.min(50, numberOf("perPage", 10));
    const facilityId = query.has("facilityId") ? numberOf("facilityId", 0) : undefined;
    const isHere = (house: House) =>
      house.owner === owner && (facilityId === undefined || facilityId === house.id);
    const rows = ((): readonly object[] => {
      switch (name) {
        case "subjects":
          return vault.people
            .filter(({ house, code }) => isHere(house) && (query.get("code") ?? code) === code)
            .map(showPerson);
        case "storage":
          return HOUSES.filter(isHere).map(({ tank, ...house }) => ({
            ...tank,
            facility: houseShape(house as House),
          }));
        case "inventory": {
          const house = HOUSES.find(({ tank, owner: whose }) => tank.id === id && whose === owner);
          if (!house) throw new Refusal(404, "NOT_FOUND", "no such storage");
          return vault.straws
            .filter(({ person, place }) => person.house === house && place !== undefined)
            .map((straw) => ({ ...showStraw(straw), ...straw.place }));
        }
        case "procedures":
          return vault.tasks
            .filter(({ house, type }) => isHere(house) && (query.get("type") ?? type) === type)
            .map(summary);
        default:
          return vault.straws
            .filter(({ person, storedAt }) => isHere(person.house) && storedAt !== undefined)
            .filter(({ person }) => (query.get("subjectCode") ?? person.code) === person.code)
            .map(showStraw);
      }
    })();
    const data = rows.slice((page - 1) * perPage, page * perPage);
    return { data, meta: { page, perPage, total: rows.length } };
  }

  function record(owner: string, name: string, id: number): object {
    const notFound = new Refusal(404, "NOT_FOUND", "no such thing");
    switch (name) {
      case "subjects": {
        const person = vault.people.find((one) => one.id === id && one.house.owner === owner);
        if (!person) throw notFound;
        return showPerson(person);
      }
      case "procedures": {
        const task = vault.tasks.find((one) => one.id === id && one.house.owner === owner);
        if (!task) throw notFound;
        return detail(task);
      }
      case "location": {
        const straw = vault.straws.find((one) => one.id === id && one.person.house.owner === owner);
        if (!straw?.place) throw notFound;
        return { sampleContainerId: id, ...placeOf(straw), storedAt: straw.storedAt };
      }
      default:
        throw new Refusal(404, "NOT_FOUND", "no such path", true);
    }
  }

  async function token(request: IncomingMessage): Promise<object> {
    if (request.method !== "POST") throw misuse("method");
    const type = request.headers["content-type"]?.split(";")[0];
    if (type !== "application/x-www-form-urlencoded") throw misuse("content type");
    if (request.headers.authorization !== undefined) throw misuse("credentials in a header");
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    const { grant_type: grant, client_id: client = "", client_secret: secret } = form;
    if (grant !== "client_credentials") throw misuse("grant_type");
    if (secret !== `elm-secret-of-${client}`) throw new Refusal(401, "INVALID_CLIENT", "unknown client");
    const accessToken = randomUUID();
    owners.set(accessToken, client);
    return { access_token: accessToken, token_type: "Bearer", expires_in: 3_600 };
  }

  /** Counts a call in its window; throws where there are too many. */
  function admit(response: ServerResponse): void {
    if (!limit) return;
    const number = Math.floor(Date.now() / limit.windowMs);
    if (number !== window.number) window = { number, used: 0 };
    window.used += 1;
    const resetS = Math.ceil(((number + 1) * limit.windowMs - Date.now()) / 1_000);
    if (limit.isShown) {
      response.setHeader("x-ratelimit-limit", limit.calls);
      response.setHeader("x-ratelimit-remaining", Math.max(0, limit.calls - window.used));
      response.setHeader("x-ratelimit-reset", resetS);
    }
    if (window.used <= limit.calls) return;
    refusedAt.push(Date.now());
    if (limit.hasRetryAfter) response.setHeader("retry-after", resetS);
    throw new Refusal(429, "RATE_LIMITED", "too many calls");
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<object> {
    const { method = "GET" } = request;
    const url = new URL(request.url ?? "/", "http://elm");
    const route = `${method} ${url.pathname.replaceAll(/\d+/g, "{id}")}`.replace("v{id}", "v1");
    calls.set(route, (calls.get(route) ?? 0) + 1);
    admit(response);
    if (url.pathname === "/oauth/token") return await token(request);
    const [, bearer = ""] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "") ?? [];
    const owner = owners.get(bearer);
    if (owner === undefined) throw new Refusal(401, "UNAUTHORIZED", "no such token");
    const pattern =
      /^\/(subjects|storage|procedures|sample-containers)(?:\/(\d+)(?:\/(inventory|location))?)?$/;
    const isUnderRoot = url.pathname.startsWith(`${ROOT}/`);
    const [, name = "", digits, part] =
      pattern.exec(isUnderRoot ? url.pathname.slice(ROOT.length) : "") ?? [];
    if (name === "") throw new Refusal(404, "NOT_FOUND", "no such path", true);
    vault.catchUp();
    if (method === "POST" && digits === undefined && (name === "subjects" || name === "procedures")) {
      if (request.headers["content-type"]?.split(";")[0] !== "application/json") throw misuse("content type");
      const body: unknown = JSON.parse(await text(request));
      return name === "subjects" ? register(owner, body) : order(owner, body);
    }
    if (method !== "GET") throw new Refusal(405, "METHOD_NOT_ALLOWED", "method", true);
    const id = digits === undefined ? undefined : Number(digits);
    if (id === undefined || part === "inventory") return list(owner, part ?? name, url.searchParams, id);
    return record(owner, part ?? name, id);
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    received += 1;
    const isLate = disturbance.lateEvery > 0 && received % disturbance.lateEvery === 0;
    const send = (status: number, body: object) => {
      response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
      response.end(JSON.stringify(body));
    };
    try {
      const body = await answer(request, response);
      if (isLate) await new Promise((resolve) => setTimeout(resolve, disturbance.lateByMs));
      const isCreation = request.method === "POST" && request.url?.startsWith(ROOT) === true;
      if (isCreation) creations += 1;
      if (isCreation && disturbance.loseEvery > 0 && creations % disturbance.loseEvery === 0) {
        lost += 1;
        request.socket.destroy();
        return;
      }
      send(isCreation ? 201 : 200, body);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(500, "INTERNAL", String(error), true);
      const { status, code, message, isMisuse } = refusal;
      if (isMisuse) misshapen.push(`${request.method} ${request.url}: ${message}`);
      send(status, { error: { code, message } });
    }
  }

  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrl,
    facilities: { NORTH: 501, SOUTH: 502, FOREIGN: 503 },
    credentials: (organization) => ({
      auth: {
        tokenUrl: `${baseUrl}/oauth/token`,
        clientId: organization,
        clientSecret: `elm-secret-of-${organization}`,
        method: "post",
      },
    }),
    manual: () => ({ paths: PATHS, listEnvelope: "data", filters: "none" }),
    knownBeforehand: { paths: PATHS },
    misshapen,
    made: () => made,
    lost: () => lost,
    calls,
    refusedAt,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
