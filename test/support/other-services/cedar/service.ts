import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Disturbance, OtherService } from "../other-service.ts";
import {
  externalPage,
  externalStraw,
  externalSummary,
  ofSite,
  personPage,
  procedurePage,
  requestPage,
  strawPage,
  tenOf,
} from "./pages.ts";
import { createWorld, type Job, type Person, type Straw } from "./world.ts";

/** What Cedar's gateway throws: a status and a page of HTML. */
class Page extends Error {
  readonly status: number;
  readonly isShape: boolean;
  constructor(status: number, words: string, isShape = false) {
    super(words);
    this.status = status;
    this.isShape = isShape;
  }
}

const SITES: Record<string, readonly number[]> = { ours: [501, 502], theirs: [503] };

/**
 * Cedar: pages of `{results, page, total}` have ten entries whatever is asked for, in no order, without any filter, and
 * a quarter of a second behind; ids are text in some places; times carry an offset; every refusal is an HTML page; a
 * status goes from PENDING to the end at once, or stands on ON_HOLD for a while. Tokens for the request surface come
 * from another host, the external surface takes a fixed API token, and neither takes the other's.
 */
export async function startCedar(disturbance: Disturbance): Promise<OtherService> {
  const world = createWorld();
  const misshapen: string[] = [];
  const made = new Map<string, number>();
  const grants = new Map<string, { who: string; until: number }>();
  let calls = 0;
  let creations = 0;
  let lost = 0;

  const tokenServer = await listen(async (request, response) => {
    const form = new URLSearchParams((await buffer(request)).toString());
    const basic = Buffer.from((request.headers.authorization ?? "").slice(6), "base64")
      .toString()
      .split(":");
    const [id, secret] = form.has("client_id") ? [form.get("client_id"), form.get("client_secret")] : basic;
    const isRight = request.method === "POST" && request.url === "/token" && secret === `pw-${id}`;
    if (!isRight || form.get("grant_type") !== "client_credentials")
      misshapen.push(`token: ${request.method}`);
    if (!isRight)
      return void response.writeHead(401, { "content-type": "text/html" }).end("<h1>Who are you?</h1>");
    const token = `${Math.random()}`.slice(2).padEnd(20, "x");
    grants.set(token, { who: String(id), until: Date.now() + 3_000 });
    // The lifetime as text, and no token type's usual spelling: both are met in the field.
    response.writeHead(200, { "content-type": "application/json; charset=UTF-8" });
    response.end(JSON.stringify({ access_token: token, token_type: "BEARER", expires_in: "3" }));
  });

  function sitesOf(request: IncomingMessage, isExternal: boolean): readonly number[] {
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const grant = grants.get(token);
    const fixed = token.startsWith("cedar-api-") ? token.slice(10) : undefined;
    const isOther = isExternal ? grant !== undefined : fixed !== undefined;
    if (isOther) throw new Page(401, "this token is for the other surface", true);
    const who = isExternal ? fixed : grant && grant.until > Date.now() ? grant.who : undefined;
    if (who === undefined || !SITES[who]) throw new Page(401, "Unauthorized");
    return SITES[who];
  }

  async function create(request: IncomingMessage, sites: readonly number[], path: string): Promise<object> {
    if (!String(request.headers["content-type"]).startsWith("application/json"))
      throw new Page(415, "not JSON", true);
    let given: Record<string, unknown>;
    try {
      given = JSON.parse((await buffer(request)).toString());
    } catch {
      throw new Page(400, "not JSON", true);
    }
    const site = given.facilityId as number;
    if (typeof site !== "number") throw new Page(400, "facilityId", true);
    if (!sites.includes(site)) throw new Page(403, "Forbidden");
    if (path === "/api/subjects") {
      const { code, firstName, lastName, dateOfBirth } = given as unknown as Person;
      for (const value of [code, firstName, lastName, dateOfBirth]) {
        if (typeof value !== "string" || value === "") throw new Page(400, "a field of a person", true);
      }
      if (world.people.some((person) => person.site === site && person.code === code))
        throw new Page(409, "exists");
      return personPage(world.addPerson(site, { code, firstName, lastName, dateOfBirth }));
    }
    const { type, subjectCode } = given;
    if (type !== "STORE" && type !== "RETRIEVAL") throw new Page(400, `type ${type}`, true);
    const person = world.people.find((one) => one.site === site && one.code === subjectCode);
    if (!person) throw new Page(400, "nobody has this code");
    const isReviewed = path === "/api/procedure-requests";
    const straws = type === "STORE" ? added(given, person, isReviewed) : held(given, person);
    const what = `${site} ${type} ${straws
      .map(({ label }) => label)
      .sort()
      .join(" ")}`;
    made.set(what, (made.get(what) ?? 0) + 1);
    const job = world.addJob(type, person, straws, isReviewed);
    return isReviewed ? requestPage(job, job.bornAt) : externalPage(job, job.bornAt);
  }

  function added(given: Record<string, unknown>, person: Person, isReviewed: boolean): Straw[] {
    const list = given.sampleContainers as Record<string, string>[];
    if (!Array.isArray(list) || list.length === 0) throw new Page(400, "sampleContainers", true);
    const name = isReviewed ? "sampleContainerId" : "name";
    return list.map((one) => {
      const { [name]: label, description } = one;
      if (!label || typeof description !== "string") throw new Page(400, `${name}, description`, true);
      return world.addStraw(person, label, description);
    });
  }

  function held(given: Record<string, unknown>, person: Person): Straw[] {
    const ids = given.sampleContainerIds;
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === "number")) throw new Page(400, "ids", true);
    const found = world.straws.filter((straw) => ids.includes(straw.id) && straw.person === person);
    if (found.length !== ids.length) throw new Page(400, "VALIDATION_ERROR");
    return found;
  }

  function read(path: string, query: URLSearchParams, sites: readonly number[]): object {
    const seen = ofSite(world, sites);
    const page = query.get("page");
    const now = Date.now();
    const found = <T extends { id: number }>(all: readonly T[], id: string | undefined): T => {
      const one = all.find((candidate) => String(candidate.id) === id);
      if (!one) throw new Page(404, "Not Found");
      return one;
    };
    const reviewed = () => seen("jobs").filter((job) => job.requestId !== undefined);
    const [, list, id, part] =
      /^\/api\/((?:v1\/external\/)?[a-z-]+)(?:\/(\d+)(?:\/([a-z]+))?)?$/.exec(path) ?? [];
    const asked = `${list}${id ? "/id" : ""}${part ? `/${part}` : ""}`;
    const answers: Record<string, () => object> = {
      subjects: () => tenOf(seen("people"), page, personPage),
      "subjects/id": () => personPage(found(seen("people"), id)),
      "procedure-requests": () => tenOf(reviewed(), page, requestPage),
      "procedure-requests/id": () => {
        const job = reviewed().find(({ requestId }) => String(requestId) === id);
        if (!job) throw new Page(404, "Not Found");
        return requestPage(job, now);
      },
      procedures: () => tenOf(seen("jobs").filter(isBegun), page, procedurePage),
      "procedures/id": () => procedurePage(found(seen("jobs").filter(isBegun), id), now),
      "sample-containers": () => tenOf(seen("straws"), page, strawPage),
      "sample-containers/id/location": () => {
        const straw = found(seen("straws"), id);
        if (straw.storedAt > now) throw new Page(404, "Not Found");
        const place = { storageId: "900", storageName: "Cryo 900", position: "can 7 / cane blue / slot 2" };
        return { sampleContainerId: id, ...place, storedAt: new Date(straw.storedAt).toISOString() };
      },
      storage: () => tenOf([{ id: 900, bornAt: 0 }], page, () => ({ id: "900", name: "Cryo 900" })),
      "storage/id/inventory": () => ({ total: seen("straws").length }),
      "v1/external/procedures": () => tenOf(seen("jobs"), page, externalSummary),
      "v1/external/procedures/id": () => externalPage(found(seen("jobs"), id), now),
      "v1/external/sample-containers": () => tenOf(seen("straws"), page, externalStraw),
    };
    const answer = answers[asked];
    if (!answer) throw new Page(404, "no such page", true);
    return answer();
  }

  const server = await listen(async (request, response) => {
    calls += 1;
    const isLate = disturbance.lateEvery > 0 && calls % disturbance.lateEvery === 0;
    const url = new URL(request.url ?? "/", "http://cedar");
    const named = `${request.method} ${url.pathname}${url.search}`;
    const html = (status: number, words: string) =>
      response
        .writeHead(status, { "content-type": "text/html; charset=utf-8" })
        .end(`<html><h1>${words}</h1></html>`);
    try {
      const sites = sitesOf(request, url.pathname.startsWith("/api/v1/external/"));
      const creates = ["/api/subjects", "/api/procedure-requests", "/api/v1/external/procedures"];
      const isCreation = request.method === "POST" && creates.includes(url.pathname);
      if (!isCreation && request.method !== "GET") throw new Page(405, "Method Not Allowed", true);
      const body = isCreation
        ? await create(request, sites, url.pathname)
        : read(url.pathname, url.searchParams, sites);
      if (isLate) await new Promise((resolve) => setTimeout(resolve, disturbance.lateByMs));
      if (isCreation) {
        creations += 1;
        if (disturbance.loseEvery > 0 && creations % disturbance.loseEvery === 0) {
          lost += 1;
          return void html(502, "Bad Gateway");
        }
      }
      response.writeHead(isCreation ? 202 : 200, { "content-type": "application/json; charset=utf-8" });
      response.end(JSON.stringify(body));
    } catch (page) {
      if (!(page instanceof Page)) throw page;
      if (page.isShape) misshapen.push(`${named}: ${page.message}`);
      html(page.status, page.message);
    }
  });

  const portOf = (one: Server) => (one.address() as AddressInfo).port;
  return {
    baseUrl: `http://127.0.0.1:${portOf(server)}`,
    facilities: { NORTH: 501, SOUTH: 502, FOREIGN: 503 },
    credentials: (organization) => ({
      auth: {
        tokenUrl: `http://localhost:${portOf(tokenServer)}/token`,
        clientId: organization,
        clientSecret: `pw-${organization}`,
      },
      externalAuth: { apiToken: `cedar-api-${organization}` },
    }),
    manual: () => ({
      listEnvelope: { key: "results" },
      perPage: 10,
      errors: [
        { status: 403, body: "html", means: "refused" },
        { status: 404, body: "html", means: "notFound" },
      ],
    }),
    knownBeforehand: {},
    misshapen,
    made: () => made,
    lost: () => lost,
    close: async () => {
      for (const one of [server, tokenServer]) {
        one.closeAllConnections();
        one.close();
        await once(one, "close");
      }
    },
  };
}

/** A procedure of the request surface exists once staff have reviewed its request; one of the other surface at once. */
function isBegun(job: Job): boolean {
  const step = job.steps[1];
  return (
    job.requestId === undefined || (step !== undefined && step[0] <= Date.now() && step[1] !== "REJECTED")
  );
}

async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}
