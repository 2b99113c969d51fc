import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Disturbance, OtherService } from "../other-service.ts";
import { Desk, type Procedure, type Tube } from "./desk.ts";

interface Refused {
  readonly status: number;
  /** Dogwood's error code; an answer without one has no body. */
  readonly code?: string;
  /** What was wrong with the call itself. */
  readonly misuse?: string;
}

const misuse = (why: string): Refused => ({ status: 400, code: "INVALID_REQUEST", misuse: why });
const isRefused = (answer: object): answer is Refused =>
  "status" in answer && typeof answer.status === "number";

const HOUSES = [
  { id: 9, name: "Dogwood North", owner: "ours" },
  { id: 10, name: "Dogwood South", owner: "ours" },
  { id: 11, name: "Far Away", owner: "theirs" },
];

/**
 * Dogwood: the external surface and nothing else, under a path of its own; lists come whole and take exactly the
 * parameters of their row; there is no call for subjects, whoever is named exists; tags come before the robot; places
 * come a while after COMPLETED and are null until then; somebody else's container is 409 with VALIDATION_ERROR; 401, 403
 * and 404 have no body. A lost answer is one that never comes.
 */
export async function startDogwood(disturbance: Disturbance): Promise<OtherService> {
  const desk = new Desk();
  const misshapen: string[] = [];
  const made = new Map<string, number>();
  let calls = 0;
  let creations = 0;
  let lost = 0;
  for (const { owner, ...facility } of HOUSES) desk.receive({ owner, facility, type: "REFILL", tubes: [] });

  function exactly(given: unknown, names: readonly string[]): Record<string, unknown> | undefined {
    if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
    const isExact = Object.keys(given).sort().join() === [...names].sort().join();
    return isExact ? (given as Record<string, unknown>) : undefined;
  }

  function create(owner: string, given: unknown): object {
    const type = (given as { type?: unknown } | null)?.type;
    const own =
      type === "STORE" ? "sampleContainers" : type === "RETRIEVAL" ? "sampleContainerIds" : undefined;
    if (own === undefined) return misuse("type");
    const order = exactly(given, ["type", "facilityId", "subjectCode", own]);
    if (!order) return misuse(`properties ${Object.keys(given as object)}`);
    const { facilityId, subjectCode } = order;
    if (typeof facilityId !== "number") return misuse("facilityId");
    if (typeof subjectCode !== "string" || subjectCode === "") return misuse("subjectCode");
    const house = HOUSES.find((one) => one.id === facilityId && one.owner === owner);
    if (!house) return { status: 403 };
    const list = order[own];
    if (!Array.isArray(list) || list.length === 0) return misuse(own);
    const tubes: Tube[] = [];
    for (const one of list) {
      if (type === "RETRIEVAL") {
        if (!Number.isInteger(one)) return misuse(own);
        const tube = desk.tubes.find(({ id }) => id === one);
        if (tube?.owner !== owner || tube.subjectCode !== subjectCode)
          return { status: 409, code: "VALIDATION_ERROR" };
        tubes.push(tube);
        continue;
      }
      const { name, description } = exactly(one, ["name", "description"]) ?? {};
      if (typeof name !== "string" || !/^\S.{0,63}$/.test(name)) return misuse("name");
      if (typeof description !== "string" || description.length < 1 || description.length > 200)
        return misuse("description");
      tubes.push({ id: desk.nextId(), name, description, subjectCode, owner });
    }
    if (type === "STORE") desk.tubes.push(...tubes);
    const what = `${facilityId} ${type} ${tubes
      .map(({ name }) => name)
      .sort()
      .join(" ")}`;
    made.set(what, (made.get(what) ?? 0) + 1);
    const facility = { id: house.id, name: house.name };
    return detail(desk.receive({ owner, facility, type: type as "STORE" | "RETRIEVAL", subjectCode, tubes }));
  }

  const person = (owner: string, code: string) => ({ id: desk.subjectId(owner, code), code });

  function summary({ id, owner, facility, type, subjectCode, createdAt, status, completedAt }: Procedure) {
    const subject = subjectCode === undefined ? {} : { subject: person(owner, subjectCode) };
    const end = completedAt === undefined ? {} : { completedAt };
    return { id, code: `DW${String(id).slice(-6)}`, type, status, facility, ...subject, createdAt, ...end };
  }

  function detail(procedure: Procedure): object {
    if (procedure.type === "REFILL") return summary(procedure);
    const isDone = procedure.type === "STORE" && procedure.status === "COMPLETED";
    const sampleContainers = procedure.tubes.map(({ id, name, description, place, storedAt }) => {
      const location = place ? { storage: { id: 1, name: "Robot 1" }, ...place } : null;
      return { id, name, description, ...(isDone ? { location, storedAt: storedAt ?? null } : {}) };
    });
    return { ...summary(procedure), sampleContainers };
  }

  function list(owner: string, name: string, query: URLSearchParams): object {
    const takes = name === "procedures" ? ["facilityId", "type"] : ["subjectCode"];
    const odd = [...query.keys()].find((key) => !takes.includes(key));
    if (odd !== undefined) return misuse(`query parameter ${odd}`);
    if (name === "procedures") {
      const facilityId = query.get("facilityId");
      const type = query.get("type");
      if (facilityId !== null && !/^\d+$/.test(facilityId)) return misuse("facilityId");
      if (type !== null && !["STORE", "RETRIEVAL", "REFILL"].includes(type)) return misuse(`type=${type}`);
      return desk.procedures
        .filter(
          (one) => one.owner === owner && (facilityId === null || one.facility.id === Number(facilityId)),
        )
        .filter((one) => type === null || one.type === type)
        .map(summary);
    }
    const code = query.get("subjectCode");
    if (code === null) return misuse("subjectCode is missing");
    return desk.tubes
      .filter((tube) => tube.owner === owner && tube.subjectCode === code && tube.storedAt !== undefined)
      .map(({ id, name, description, storedAt }) => ({
        id,
        name,
        subject: person(owner, code),
        description,
        storedAt,
      }));
  }

  async function answer(request: IncomingMessage): Promise<object> {
    const owner = /^Bearer dw_live_(ours|theirs)$/.exec(request.headers.authorization ?? "")?.[1];
    if (owner === undefined) return { status: 401 };
    const url = new URL(request.url ?? "/", "http://dogwood");
    const [, name, id] =
      /^\/cryo\/api\/v1\/external\/(procedures|sample-containers)(?:\/(\d+))?$/.exec(url.pathname) ?? [];
    // Of the other surface Dogwood has nothing, and says so.
    if (
      /^\/cryo\/api\/(subjects|procedure-requests|procedures|sample-containers|storage)\b/.test(url.pathname)
    ) {
      return { status: 404 };
    }
    if (name === undefined || (id !== undefined && name !== "procedures"))
      return { status: 404, misuse: "no such path" };
    if (request.method === "POST" && name === "procedures" && id === undefined) {
      if (request.headers["content-type"]?.split(";")[0] !== "application/json")
        return misuse("content type");
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      return create(owner, JSON.parse(body));
    }
    if (request.method !== "GET") return { status: 405, misuse: "method" };
    if (id === undefined) return list(owner, name, url.searchParams);
    if (url.search !== "") return misuse("a query on a single read");
    const found = desk.procedures.find((one) => one.owner === owner && String(one.id) === id);
    return found ? detail(found) : { status: 404 };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    calls += 1;
    const isLate = disturbance.lateEvery > 0 && calls % disturbance.lateEvery === 0;
    const body = await answer(request);
    if (isLate) await new Promise((resolve) => setTimeout(resolve, disturbance.lateByMs));
    if (isRefused(body)) {
      if (body.misuse) misshapen.push(`${request.method} ${request.url}: ${body.misuse}`);
      response.writeHead(body.status, body.code ? { "content-type": "application/json" } : {});
      response.end(body.code ? JSON.stringify({ errorCode: body.code, errors: [] }) : "");
      return;
    }
    if (request.method === "POST") {
      creations += 1;
      if (disturbance.loseEvery > 0 && creations % disturbance.loseEvery === 0) {
        lost += 1;
        return;
      }
    }
    response.writeHead(request.method === "POST" ? 201 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  }

  const server = createServer(serve);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/cryo/`,
    facilities: { NORTH: 9, SOUTH: 10, FOREIGN: 11 },
    credentials: (organization) => ({ auth: { apiToken: `dw_live_${organization}` } }),
    manual: () => ({
      listEnvelope: "array",
      subjects: "none",
      filters: "none",
      unpaged: ["externalProcedures", "externalContainers"],
    }),
    knownBeforehand: { subjects: "none" },
    misshapen,
    made: () => made,
    lost: () => lost,
    close: async () => {
      desk.close();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
