import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Disturbance, OtherService } from "../other-service.ts";
import { Records } from "./records.ts";
import { type Call, Problem, routes } from "./routes.ts";

/**
 * Alder: lists are bare arrays of at most 50, newest first, whatever `perPage` says; filters that are not in an
 * endpoint's row are ignored; ids are close to 2^53; a created thing answers 201, a request in its five fields; errors
 * are problem documents with 422; what is another organisation's does not exist (404); tokens come by
 * client_secret_basic only, look like JWTs, and tell how long they last.
 */
export async function startAlder(disturbance: Disturbance): Promise<OtherService> {
  const NORTH = Number.MAX_SAFE_INTEGER - 110;
  const SOUTH = Number.MAX_SAFE_INTEGER - 108;
  const ELSEWHERE = 77;
  const records = new Records(
    new Map([
      [NORTH, "ours"],
      [SOUTH, "ours"],
      [ELSEWHERE, "theirs"],
    ]),
  );
  const misshapen: string[] = [];
  const made = new Map<string, number>();
  const tokens = new Map<string, { organization: string; until: number }>();
  const key = randomBytes(32);
  let calls = 0;
  let creations = 0;
  let lost = 0;

  const clients: Record<string, { secret: string; organization: string }> = {
    "lab%ours": { secret: "s3cr:t/+ ours", organization: "ours" },
    "lab-theirs": { secret: "theirs", organization: "theirs" },
  };

  /** RFC 6749, 2.3.1 and 4.4: credentials in the header, form-encoded, and nowhere else. */
  async function grant(request: IncomingMessage): Promise<[number, object]> {
    const refuse = (error: string, why: string, status = 400): [number, object] => {
      misshapen.push(`POST token: ${why}`);
      return [status, { error, error_description: why }];
    };
    if (request.method !== "POST") return refuse("invalid_request", "not a POST");
    const type = request.headers["content-type"]?.split(";")[0];
    if (type !== "application/x-www-form-urlencoded")
      return refuse("invalid_request", `content type ${type}`);
    const form = new URLSearchParams(await text(request));
    if (form.get("grant_type") !== "client_credentials")
      return refuse("unsupported_grant_type", "grant type");
    if (form.has("client_secret")) return refuse("invalid_request", "a secret in the body");
    const [scheme, code = ""] = (request.headers.authorization ?? "").split(" ");
    if (scheme?.toLowerCase() !== "basic") return refuse("invalid_client", "no basic credentials", 401);
    const decode = (part: string | undefined) => decodeURIComponent((part ?? "").replaceAll("+", " "));
    const [id, secret] = Buffer.from(code, "base64").toString("utf8").split(":");
    const client = clients[decode(id)];
    if (!client || client.secret !== decode(secret)) return refuse("invalid_client", "unknown client", 401);
    const claims = Buffer.from(JSON.stringify({ jti: randomBytes(6).toString("hex") })).toString("base64url");
    const signed = `eyJhbGciOiJIUzI1NiJ9.${claims}`;
    const token = `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`;
    tokens.set(token, { organization: client.organization, until: Date.now() + 4_000 });
    return [200, { access_token: token, token_type: "bearer", expires_in: 4 }];
  }

  async function answer(request: IncomingMessage): Promise<[number, object, string?]> {
    const url = new URL(request.url ?? "/", "http://alder");
    if (url.pathname === "/oauth2/v1/token") return grant(request);
    const named = `${request.method} ${url.pathname}${url.search}`;
    try {
      const accepts = request.headers.accept ?? "*/*";
      if (!/\*\/\*|application\/(\*|json)/.test(accepts))
        throw new Problem(406, `can't answer as ${accepts}`, true);
      const [scheme, token = ""] = (request.headers.authorization ?? "").split(" ");
      if (scheme !== "Bearer") throw new Problem(401, "no bearer token", true);
      const holder = tokens.get(token);
      if (!holder || holder.until < Date.now()) throw new Problem(401, "token expired");
      const call: Call = {
        records,
        organization: holder.organization,
        query: url.searchParams,
        body: request.method === "POST" ? await readJson(request) : undefined,
        tankOf: (facilityId) => (facilityId % 1_000) + 1,
        made: (facilityId, type, labels) => {
          const what = `${facilityId} ${type} ${[...labels].sort().join(" ")}`;
          made.set(what, (made.get(what) ?? 0) + 1);
        },
      };
      records.catchUp();
      for (const [method, pattern, handle] of routes) {
        const match = pattern.exec(url.pathname);
        if (match && method === request.method)
          return [method === "POST" ? 201 : 200, handle(call, Number(match[1]))];
      }
      throw new Problem(404, "no such call", true);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (problem.isShape) misshapen.push(`${named}: ${problem.message}`);
      const { status, message: detail, code } = problem;
      const document = {
        type: "about:blank",
        title: "Request not served",
        status,
        detail,
        ...(code ? { code } : {}),
      };
      return [status, document, "application/problem+json"];
    }
  }

  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    calls += 1;
    const isLate = disturbance.lateEvery > 0 && calls % disturbance.lateEvery === 0;
    const [status, body, type = "application/json"] = await answer(request);
    if (isLate) await new Promise((resolve) => setTimeout(resolve, disturbance.lateByMs));
    if (status === 201) {
      creations += 1;
      if (disturbance.loseEvery > 0 && creations % disturbance.loseEvery === 0) {
        lost += 1;
        request.socket.destroy();
        return;
      }
    }
    const headers = status === 401 ? { "www-authenticate": 'Bearer error="invalid_token"' } : {};
    response.writeHead(status, { "content-type": type, "cache-control": "no-store", ...headers });
    response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    baseUrl,
    facilities: { NORTH, SOUTH, FOREIGN: ELSEWHERE },
    credentials: (organization) => {
      const clientId = organization === "ours" ? "lab%ours" : "lab-theirs";
      const clientSecret = clients[clientId]?.secret;
      return { auth: { tokenUrl: `${baseUrl}/oauth2/v1/token`, clientId, clientSecret } };
    },
    manual: () => ({ listEnvelope: "array", perPage: 50 }),
    knownBeforehand: {},
    misshapen,
    made: () => made,
    lost: () => lost,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = (request.headers["content-type"] ?? "").split(";")[0]?.trim();
  if (type !== "application/json") throw new Problem(415, `content type ${type}`, true);
  try {
    return JSON.parse(await text(request));
  } catch {
    throw new Problem(400, "the body is no JSON", true);
  }
}
