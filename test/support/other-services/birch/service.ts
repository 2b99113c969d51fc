import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { fastify } from "fastify";
import type { Disturbance, OtherService } from "../other-service.ts";
import { externalSurface } from "./external.ts";
import { requestSurface } from "./requests.ts";
import { openStore } from "./store.ts";
import { Refusal } from "./strict.ts";

/** What the two surfaces of Birch are given. */
export interface House {
  readonly store: ReturnType<typeof openStore>;
  /** Whether lists take only the filters that the specification names for them. */
  readonly isNarrow: boolean;
  /** The tenant who calls. */
  tenant(request: object): string;
  /** Throws the refusal of a facility that is not the caller's. */
  mayUse(request: object, facilityId: number): void;
  note(facilityId: number, type: string, labels: readonly string[]): void;
}

const TENANTS = new Map([
  [1, "ours"],
  [2, "ours"],
  [3, "theirs"],
]);

/** Calls and not seconds: on a busy machine a token would be over before it is used. */
const CALLS_OF_A_TOKEN = 100;

/**
 * Birch: lists are `{data, meta}` by id, `perPage` over 100 and query parameters that are not the endpoint's are refused
 * with 400; so are unknown or empty properties and any other content type than exactly application/json. Foreign data is
 * forbidden (403). Tokens come by client_secret_post with scope and audience, last for so many calls and don't say so. Every
 * answer is 200 and carries fields of Birch's own. A narrow one takes no filter but those that the specification names.
 */
export async function startBirch(
  disturbance: Disturbance,
  { isNarrow = false }: { readonly isNarrow?: boolean } = {},
): Promise<OtherService> {
  const store = openStore();
  const app = fastify({ forceCloseConnections: true });
  const misshapen: string[] = [];
  const made = new Map<string, number>();
  const tenantByToken = new Map<string, { readonly tenant: string; callsLeft: number }>();
  const tenants = new WeakMap<object, string>();
  let calls = 0;
  let creations = 0;
  let lost = 0;

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/json/,
    { parseAs: "string" },
    app.getDefaultJsonParser("error", "error"),
  );
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string" },
    (_request, text, done) => done(null, Object.fromEntries(new URLSearchParams(String(text)))),
  );
  app.setNotFoundHandler((request) => {
    throw new Refusal(404, "NO_ROUTE", `nothing at ${request.method} ${request.url}`, true);
  });
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const refusal =
      error instanceof Refusal
        ? error
        : new Refusal(error.statusCode ?? 500, "BAD_REQUEST", error.message, true);
    if (refusal.isShape) misshapen.push(`${request.method} ${request.url}: ${refusal.message}`);
    return reply.code(refusal.statusCode).send({ error: { code: refusal.code, message: refusal.message } });
  });

  app.post("/connect/token", async (request, reply) => {
    const form = (request.body ?? {}) as Record<string, string>;
    const expected = ["grant_type", "client_id", "client_secret", "scope", "audience"];
    const refuse = (error: string, why: string) => {
      misshapen.push(`POST /connect/token: ${why}`);
      return reply.code(400).send({ error, error_description: why });
    };
    const odd = Object.keys(form).find((name) => !expected.includes(name));
    if (odd) return refuse("invalid_request", `unknown parameter ${odd}`);
    if (request.headers.authorization) return refuse("invalid_request", "credentials in the header");
    if (form.grant_type !== "client_credentials") return refuse("unsupported_grant_type", "grant type");
    if (form.scope !== "storage.read storage.order") return refuse("invalid_scope", "scope");
    if (form.audience !== "urn:birch:storage") return refuse("invalid_target", "audience");
    const tenant = form.client_id?.replace("@birch", "") ?? "";
    if (form.client_secret !== `${tenant}&=+%`) return refuse("invalid_client", "secret");
    const token = randomUUID();
    tenantByToken.set(token, { tenant, callsLeft: CALLS_OF_A_TOKEN });
    return { access_token: token, token_type: "Bearer", scope: form.scope };
  });

  app.addHook("onRequest", async (request, reply) => {
    calls += 1;
    if (request.url.startsWith("/connect/")) return;
    const token = /^Bearer ([\w.~+/-]+=*)$/.exec(request.headers.authorization ?? "")?.[1];
    if (token === undefined) throw new Refusal(401, "NO_TOKEN", "no bearer token", true);
    const found = tenantByToken.get(token);
    if (!found || found.callsLeft <= 0) throw new Refusal(401, "TOKEN_INVALID", "token unknown or expired");
    found.callsLeft -= 1;
    if (request.method === "GET" && request.headers["content-length"]) {
      throw new Refusal(400, "BAD_REQUEST", "a GET with a body", true);
    }
    tenants.set(request, found.tenant);
    reply.header("x-birch-trace", randomUUID());
  });
  app.addHook("onSend", async (request, reply, payload) => {
    if (disturbance.lateEvery > 0 && calls % disturbance.lateEvery === 0) {
      await new Promise((resolve) => setTimeout(resolve, disturbance.lateByMs));
    }
    if (request.method !== "POST" || request.url.startsWith("/connect/") || reply.statusCode >= 300)
      return payload;
    creations += 1;
    if (disturbance.loseEvery === 0 || creations % disturbance.loseEvery !== 0) return payload;
    lost += 1;
    // A front that promises the whole answer and gives up after a few bytes.
    const text = String(payload);
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n`;
    request.raw.socket.end(head + text.slice(0, 9));
    return payload;
  });

  const house: House = {
    store,
    isNarrow,
    tenant: (request) => tenants.get(request) ?? "",
    mayUse: (request, facilityId) => {
      if (TENANTS.get(facilityId) !== tenants.get(request)) {
        throw new Refusal(403, "FORBIDDEN", "the facility is not yours");
      }
    },
    note: (facilityId, type, labels) => {
      const what = `${facilityId} ${type} ${labels.toSorted().join(" ")}`;
      made.set(what, (made.get(what) ?? 0) + 1);
    },
  };
  requestSurface(app, house);
  externalSurface(app, house);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const baseUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/tenants/api-gateway`;

  return {
    baseUrl,
    facilities: { NORTH: 1, SOUTH: 2, FOREIGN: 3 },
    credentials: (organization) => ({
      auth: {
        tokenUrl: `${new URL(baseUrl).origin}/connect/token`,
        clientId: `${organization}@birch`,
        clientSecret: `${organization}&=+%`,
        method: "post",
        scope: "storage.read storage.order",
        audience: "urn:birch:storage",
      },
    }),
    manual: (surface) => ({
      listEnvelope: "data",
      perPage: 100,
      containerLabelFields: ["externalId", "name"],
      filters:
        isNarrow || surface === "external" ? "none" : ["id", "code", "facilityId", "type", "subjectCode"],
    }),
    knownBeforehand: { containerLabelFields: ["externalId", "name"] },
    misshapen,
    made: () => made,
    lost: () => lost,
    close: async () => {
      store.close();
      await app.close();
    },
  };
}
