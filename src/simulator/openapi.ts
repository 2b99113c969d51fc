import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** An OpenAPI 3.1 document, ready to be written as JSON. */
export type OpenApiDocument = Readonly<Record<string, unknown>> & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

/**
 * The OpenAPI 3.1 description of the simulator as it is without any setting. Its server is wherever it is read from;
 * tests hold it against the simulator's answers and against the client's calls.
 */
export function openApiDocument(): OpenApiDocument {
  return parse(readFileSync(new URL("./openapi.yaml", import.meta.url), "utf8")) as OpenApiDocument;
}
