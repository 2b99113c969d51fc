import { createPublicKey, generateKeyPairSync, type JsonWebKey, verify } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Provider, { type Adapter, type AdapterPayload, errors, type ResourceServer } from "oidc-provider";

/** The resource that tokens are asked for. */
export const RESOURCE = "https://storage.example.org/api";

const SCOPES = ["storage:read", "storage:write"];

export interface OAuthClient {
  readonly id: string;
  readonly secret: string;
  readonly method?: "basic" | "post";
  /** Scopes that it may have; all by default. */
  readonly scope?: string;
}

/** What the token endpoint was sent. */
export interface TokenRequest {
  readonly headers: IncomingMessage["headers"];
  readonly form: Readonly<Record<string, string>>;
}

/** Answers a token request instead of the authorization server; `pass` lets that one answer, changed or not. */
export type TokenFront = (
  pass: (change?: (answer: Record<string, unknown>) => Record<string, unknown>) => Promise<void>,
  response: ServerResponse,
) => void | Promise<void>;

/** A certified authorization server, with a front before its token endpoint that tests can get in the way with. */
export interface AuthorizationServer {
  readonly tokenUrl: string;
  readonly tokenRequests: readonly TokenRequest[];
  front: TokenFront;
  /** Makes a client, or changes its secret. */
  register(client: OAuthClient): void;
  /** Revokes a token as an administrator would. */
  revoke(token: string): Promise<void>;
  /** What a resource server finds out about a token; undefined when it isn't valid. */
  inspect(token: string): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** Opaque tokens are introspected by the resource server, JWTs verified with the published keys. */
export type TokenKind = "opaque" | "jwt";

const SIGNING_KEY = {
  ...generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey.export({ format: "jwk" }),
  kid: "test",
  alg: "RS256",
  use: "sig",
};

const WATCHER = { id: "resource-server", secret: "resource-server-secret" };

/** Gives a test an authorization server and takes it away afterwards. */
export async function withAuthorizationServer<T>(
  options: { readonly tokens?: TokenKind; readonly lifeSeconds?: number },
  test: (server: AuthorizationServer) => Promise<T>,
): Promise<T> {
  const records = new Map<string, AdapterPayload>();
  let provider: Provider | undefined;
  const inner = await listen((request, response) => provider?.callback()(request, response));
  const issuer = addressOf(inner);
  provider = createProvider(issuer, records, options);
  const seen: TokenRequest[] = [];
  const outer = await listen((request, response) => void handle(request, response));
  const server: AuthorizationServer = {
    tokenUrl: `${addressOf(outer)}/token`,
    tokenRequests: seen,
    front: (pass) => pass(),
    register: (client) => records.set(`Client:${client.id}`, metadata(client)),
    revoke: async (token) => {
      await post(`${issuer}/token/revocation`, { token }, WATCHER);
      for (const [key, record] of records) if (record.jti === token) records.delete(key);
      revoked.add(token);
    },
    inspect: async (token) => {
      if (revoked.has(token)) return undefined;
      if (options.tokens === "jwt") return verifyJwt(token, issuer);
      const answer = await post(`${issuer}/token/introspection`, { token }, WATCHER);
      const found = (await answer.json()) as Record<string, unknown>;
      return found.active === true ? found : undefined;
    },
  };
  const revoked = new Set<string>();
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    seen.push({ headers: request.headers, form: Object.fromEntries(new URLSearchParams(body)) });
    await server.front(async (change = (answer) => answer) => {
      const answer = await fetch(`${issuer}/token`, {
        method: "POST",
        headers: {
          "content-type": request.headers["content-type"] ?? "",
          ...(request.headers.authorization ? { authorization: request.headers.authorization } : {}),
        },
        body,
      });
      const json = (await answer.json()) as Record<string, unknown>;
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(JSON.stringify(change(json)));
    }, response);
  };
  server.register(WATCHER);
  try {
    return await test(server);
  } finally {
    await close(outer);
    await close(inner);
  }
}

function createProvider(
  issuer: string,
  records: Map<string, AdapterPayload>,
  { tokens = "opaque", lifeSeconds = 600 }: { readonly tokens?: TokenKind; readonly lifeSeconds?: number },
): Provider {
  const resource: ResourceServer = {
    audience: RESOURCE,
    scope: SCOPES.join(" "),
    accessTokenFormat: tokens,
    accessTokenTTL: lifeSeconds,
    jwt: { sign: { alg: "RS256" } },
  };
  return new Provider(issuer, {
    adapter: (model: string) => createAdapter(model, records),
    scopes: SCOPES,
    responseTypes: [],
    jwks: { keys: [SIGNING_KEY] },
    ttl: { ClientCredentials: lifeSeconds },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => (tokens === "jwt" ? RESOURCE : []),
        getResourceServerInfo: (_context, indicator) => {
          if (indicator === RESOURCE) return resource;
          throw new errors.InvalidTarget("unknown resource");
        },
      },
    },
  });
}

function metadata({ id, secret, method = "basic", scope = SCOPES.join(" ") }: OAuthClient): AdapterPayload {
  return {
    client_id: id,
    client_secret: secret,
    token_endpoint_auth_method: `client_secret_${method}`,
    grant_types: ["client_credentials"],
    response_types: [],
    redirect_uris: [],
    scope,
  };
}

function createAdapter(model: string, records: Map<string, AdapterPayload>): Adapter {
  const find = async (id: string) => records.get(`${model}:${id}`);
  return {
    find,
    findByUid: find,
    findByUserCode: find,
    upsert: async (id, payload) => void records.set(`${model}:${id}`, payload),
    destroy: async (id) => void records.delete(`${model}:${id}`),
    consume: async () => {},
    revokeByGrantId: async () => {},
  };
}

async function verifyJwt(token: string, issuer: string): Promise<Record<string, unknown> | undefined> {
  const [head = "", claims = "", signature = ""] = token.split(".");
  const { keys } = (await (await fetch(`${issuer}/jwks`)).json()) as {
    keys: (JsonWebKey & { kid: string })[];
  };
  const { kid } = parsePart(head);
  const key = keys.find((each) => each.kid === kid);
  if (!key) return undefined;
  const isGenuine = verify(
    "RSA-SHA256",
    Buffer.from(`${head}.${claims}`),
    createPublicKey({ key, format: "jwk" }),
    Buffer.from(signature, "base64url"),
  );
  const parsed = parsePart(claims);
  return isGenuine && Number(parsed.exp) * 1_000 > Date.now() ? parsed : undefined;
}

function parsePart(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
}

function post(url: string, form: Record<string, string>, client: OAuthClient): Promise<Response> {
  const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString("base64")}`;
  return fetch(url, { method: "POST", headers: { authorization }, body: new URLSearchParams(form) });
}

async function listen(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Server> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
