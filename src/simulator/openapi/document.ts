import type { Behaviour } from "../behaviour.ts";
import type { ResolvedOptions } from "../options.ts";
import { answerSchemas, type Schema } from "./answer-schemas.ts";
import { bodySchemas } from "./body-schemas.ts";
import { externalSchemas } from "./external-schemas.ts";
import type { Paths, SurfaceWords } from "./operations.ts";
import { requestSchemas } from "./request-schemas.ts";
import { errorSchema } from "./responses.ts";
import { cancelPath, externalPaths, requestPaths } from "./surface-paths.ts";
import { tokenPath, tokenSchemas } from "./token-path.ts";

/** An OpenAPI 3.1 document, ready to be written as JSON. */
export type OpenApiDocument = Readonly<Record<string, unknown>> & {
  readonly paths: Paths;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
};

const ABOUT = `Both surfaces of the Sample Storage Integration Service and the token endpoint, as this simulator plays them now. What the
specification leaves open (envelopes, paging, filters, statuses and bodies of errors, required members) is described as this
simulator decides it by its settings; other services may decide otherwise. What scripted faults and staff's changes against the
rules make of an answer is not described. There are no webhooks: status is followed by polling.`;

/**
 * The description of a simulator with these options and this behaviour. `baseUrl` is where it listens, without a
 * slash at its end.
 */
export function describeService(
  options: Pick<ResolvedOptions, "tokens" | "cancelRoutes">,
  behaviour: Behaviour,
  baseUrl: string,
): OpenApiDocument {
  const { tokens, cancelRoutes } = options;
  const answers = answerSchemas(behaviour);
  const isSeparate = behaviour.credentials === "separate";
  const common = { behaviour, answers };
  const accessToken = { accessToken: tokens.scope === undefined ? [] : [tokens.scope] };
  const apiToken = { apiToken: [] };
  const request: SurfaceWords = {
    ...common,
    tag: "Request surface",
    envelope: behaviour.listEnvelope,
    paging: "paged",
    security: isSeparate ? [accessToken] : [accessToken, apiToken],
  };
  const external: SurfaceWords = {
    ...common,
    tag: "External surface",
    envelope: behaviour.externalEnvelope,
    paging: behaviour.externalPaging,
    security: isSeparate ? [apiToken] : [accessToken, apiToken],
  };
  const cancels = cancelRoutes.map((route, ordinal) =>
    cancelPath(route, ordinal, route.surface === "external" ? external : request),
  );
  const error = errorSchema(behaviour);
  const scopes = tokens.scope === undefined ? {} : { [tokens.scope]: "Required by this simulator." };
  return {
    openapi: "3.1.1",
    jsonSchemaDialect: "https://spec.openapis.org/oas/3.1/dialect/base",
    info: { title: "Sample Storage Integration Service (simulator)", version: "1", description: ABOUT },
    servers: [{ url: baseUrl }],
    tags: [
      { name: "Authentication", description: "OAuth 2.0 client credentials, or a static API token." },
      { name: "Request surface", description: "Requests that a web-app user reviews, and all reads." },
      { name: "External surface", description: "Procedures that facility staff act on." },
    ],
    paths: mergePaths([tokenPath(tokens), requestPaths(request), externalPaths(external), ...cancels]),
    components: {
      schemas: {
        ...tokenSchemas(tokens),
        ...bodySchemas(behaviour),
        ...requestSchemas(answers, behaviour),
        ...externalSchemas(answers),
        ...(error === undefined ? {} : { Error: error }),
      },
      securitySchemes: {
        accessToken: {
          type: "oauth2",
          flows: { clientCredentials: { tokenUrl: `${baseUrl}${tokens.path}`, scopes } },
        },
        apiToken: { type: "http", scheme: "bearer", description: "A static token of an integration." },
        clientBasic: {
          type: "http",
          scheme: "basic",
          description: "Client id and secret (RFC 6749, 2.3.1).",
        },
      },
    },
  };
}

/** A cancel call may share its path with a read. */
function mergePaths(parts: readonly Paths[]): Paths {
  const merged: Record<string, Paths[string]> = {};
  for (const part of parts) {
    for (const [path, operations] of Object.entries(part)) {
      merged[path] = { ...merged[path], ...operations };
    }
  }
  return merged;
}
