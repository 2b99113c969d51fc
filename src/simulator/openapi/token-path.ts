import type { TokenOptions } from "../options.ts";
import { type Schema, text } from "./answer-schemas.ts";
import type { Paths } from "./operations.ts";
import { jsonResponse } from "./responses.ts";

/** The token endpoint: its address, its scope and the lifetime of tokens are not in the specification. */
export function tokenPath({ path, methods, scope, audience }: TokenOptions): Paths {
  const isPost = methods.includes("post");
  const security = [
    ...(methods.includes("basic") ? [{ clientBasic: [] }] : []),
    // With client_secret_post the credentials stand in the form.
    ...(isPost ? [{}] : []),
  ];
  const form: Schema = {
    type: "object",
    properties: {
      grant_type: { const: "client_credentials" },
      ...(isPost ? { client_id: text("With client_secret_post."), client_secret: text("The same.") } : {}),
      scope: text(scope === undefined ? "Any." : `Must name ${scope}.`),
      audience: audience === undefined ? text("Any.") : { const: audience },
    },
    required: [
      "grant_type",
      ...(scope === undefined ? [] : ["scope"]),
      ...(audience === undefined ? [] : ["audience"]),
    ],
    additionalProperties: false,
  };
  const noStore = { "cache-control": { schema: { const: "no-store" } } };
  const refused = jsonResponse("Refused, in the words of RFC 6749, section 5.2.", {
    $ref: "#/components/schemas/TokenError",
  });
  return {
    [path]: {
      post: {
        operationId: "issueToken",
        summary: "An access token by client credentials",
        tags: ["Authentication"],
        security,
        requestBody: {
          required: true,
          content: { "application/x-www-form-urlencoded": { schema: form } },
        },
        responses: {
          200: {
            ...jsonResponse("A new token.", { $ref: "#/components/schemas/AccessToken" }),
            headers: noStore,
          },
          400: { ...refused, headers: noStore },
          401: { ...refused, headers: noStore },
        },
      },
    },
  };
}

/** Bodies of the token endpoint. */
export function tokenSchemas({ expiresIn, lifetimeMs, type }: TokenOptions): Record<string, Schema> {
  const seconds = Math.floor(lifetimeMs / 1000);
  const lifetime = {
    number: { expires_in: { const: seconds } },
    string: { expires_in: { const: String(seconds) } },
    absent: {},
  }[expiresIn];
  return {
    AccessToken: {
      type: "object",
      properties: {
        access_token: { type: "string" },
        token_type: { const: type },
        ...lifetime,
        scope: text("As it was asked for."),
      },
      required: ["access_token", "token_type", ...Object.keys(lifetime)],
      additionalProperties: false,
    },
    TokenError: {
      type: "object",
      properties: {
        error: {
          enum: ["invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope"],
        },
        error_description: { type: "string" },
      },
      required: ["error"],
      additionalProperties: false,
    },
  };
}
