import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import type { Random } from "../chance.ts";
import type { OrganizationOptions, TokenOptions } from "../options.ts";
import type { Answer, Call, Caller, Route } from "./exchange.ts";
import { json } from "./refusal.ts";

/** Clients and the tokens that are out. */
export class Credentials {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #lifetimeMs: number;
  readonly #clients = new Map<string, { readonly caller: Caller; readonly secret: string }>();
  readonly #apiTokens = new Map<string, Caller>();
  readonly #issued = new Map<string, { caller: Caller; expiresAt: number }>();

  constructor(
    organizations: readonly OrganizationOptions[],
    options: { readonly clock: Clock; readonly random: Random; readonly tokens: TokenOptions },
  ) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#lifetimeMs = options.tokens.lifetimeMs;
    for (const organization of organizations) {
      for (const client of organization.clients) {
        if (this.#clients.has(client.clientId) || this.#apiTokens.has(client.apiToken ?? "")) {
          throw new Failure("CONFIG_INVALID", "two clients of the simulator share an id or an API token");
        }
        const caller = { clientId: client.clientId, organizationId: organization.id };
        this.#clients.set(client.clientId, { caller, secret: client.clientSecret });
        if (client.apiToken !== undefined) this.#apiTokens.set(client.apiToken, caller);
      }
    }
  }

  /** The client with an id and its secret; undefined when either is wrong. */
  findClient(clientId: string, secret: string): Caller | undefined {
    const entry = this.#clients.get(clientId);
    return entry && entry.secret === secret ? entry.caller : undefined;
  }

  /** A new access token, good for the lifetime of the options from now on. */
  issue(caller: Caller): string {
    const token = `at_${this.#random.hex(40)}`;
    this.#issued.set(token, { caller, expiresAt: this.#clock.monotonic() + this.#lifetimeMs });
    return token;
  }

  /**
   * Who holds this access token or API token (`kind` lets one of them pass only); undefined when it is unknown,
   * expired or revoked.
   */
  findCaller(token: string, kind?: "accessToken" | "apiToken"): Caller | undefined {
    const issued = this.#issued.get(token);
    if (issued && issued.expiresAt <= this.#clock.monotonic()) {
      this.#issued.delete(token);
      return undefined;
    }
    if (kind !== "apiToken" && issued) return issued.caller;
    return kind === "accessToken" ? undefined : this.#apiTokens.get(token);
  }

  /** One token is good no longer. */
  revoke(token: string): void {
    this.#issued.delete(token);
    this.#apiTokens.delete(token);
  }

  /** All access tokens are good no longer; API tokens stay. */
  revokeIssued(): void {
    this.#issued.clear();
  }
}

/** The token endpoint: the client credentials grant of OAuth 2.0 (RFC 6749, section 4.4). */
export function tokenEndpoint(credentials: Credentials, options: TokenOptions): Route {
  const handle = (call: Call): Answer => {
    const form = new URLSearchParams(call.text);
    const basic = readBasic(call.headers.authorization);
    const clientId = basic?.clientId ?? form.get("client_id");
    const secret = basic?.secret ?? form.get("client_secret");
    if (!/^application\/x-www-form-urlencoded\b/i.test(String(call.headers["content-type"] ?? ""))) {
      return oauthError(400, "invalid_request", "the body must be a form");
    }
    const repeated = [...form.keys()].find((name) => form.getAll(name).length > 1);
    if (repeated !== undefined) return oauthError(400, "invalid_request", `${repeated} stands twice`);
    // RFC 6749, section 2.3: a client must not use more than one way of authentication.
    if (basic && form.has("client_secret")) {
      return oauthError(400, "invalid_request", "credentials were sent twice");
    }
    const isMethodTaken = options.methods.includes(basic ? "basic" : "post");
    const caller: Caller | undefined =
      clientId !== null && secret !== null && isMethodTaken
        ? credentials.findClient(clientId, secret)
        : undefined;
    if (!caller) return oauthError(401, "invalid_client", "the client is not known by these credentials");
    const grant = form.get("grant_type");
    if (grant === null) return oauthError(400, "invalid_request", "grant_type is missing");
    if (grant !== "client_credentials") {
      return oauthError(400, "unsupported_grant_type", "only client_credentials is offered");
    }
    const scope = form.get("scope");
    if (options.scope !== undefined && !(scope ?? "").split(" ").includes(options.scope)) {
      return oauthError(400, "invalid_scope", `the scope must name ${options.scope}`);
    }
    // The audience is no parameter of RFC 6749; its section 5.2 calls an unsupported value an invalid request.
    if (options.audience !== undefined && form.get("audience") !== options.audience) {
      return oauthError(400, "invalid_request", `the audience must be ${options.audience}`);
    }
    const lifetimeSeconds = Math.floor(options.lifetimeMs / 1000);
    const expiresIn = {
      number: { expires_in: lifetimeSeconds },
      string: { expires_in: String(lifetimeSeconds) },
      absent: {},
    }[options.expiresIn];
    return {
      status: 200,
      headers: { "cache-control": "no-store" },
      body: json({
        access_token: credentials.issue(caller),
        token_type: "Bearer",
        ...expiresIn,
        ...(scope === null ? {} : { scope }),
      }),
    };
  };
  return { method: "POST", path: options.path, access: "open", handle };
}

/** An error of the token endpoint keeps OAuth's own shape (RFC 6749, section 5.2), whatever shape the service's errors have. */
function oauthError(status: number, error: string, description: string): Answer {
  return {
    status,
    headers: {
      "cache-control": "no-store",
      ...(status === 401 ? { "www-authenticate": 'Basic realm="simulator"' } : {}),
    },
    body: json({ error, error_description: description }),
  };
}

/** Client id and secret of a Basic header: both were form-encoded before they were joined (RFC 6749, section 2.3.1). */
function readBasic(
  header: string | string[] | undefined,
): { readonly clientId: string; readonly secret: string } | undefined {
  const encoded = /^Basic\s+([A-Za-z0-9+/=]+)$/i.exec(String(header ?? ""))?.[1];
  if (encoded === undefined) return undefined;
  const [clientId, ...rest] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  return { clientId: formDecode(clientId ?? ""), secret: formDecode(rest.join(":")) };
}

function formDecode(text: string): string {
  return new URLSearchParams(`v=${text}`).get("v") ?? "";
}
