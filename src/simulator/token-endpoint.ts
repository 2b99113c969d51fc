import type { Caller, Credentials } from "./credentials.ts";
import type { Answer, Call, Route } from "./exchange.ts";
import type { TokenOptions } from "./options.ts";
import { json } from "./refusal.ts";

/** The token endpoint: the client credentials grant of OAuth 2.0 (RFC 6749, section 4.4). */
export function tokenEndpoint(credentials: Credentials, options: TokenOptions): Route[] {
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
  return [{ method: "POST", path: options.path, access: "open", handle }];
}

/** An error of the token endpoint keeps OAuth's own shape (RFC 6749, section 5.2), whatever the service's errors look like. */
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
