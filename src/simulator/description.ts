import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { findPath } from "../core/service-catalogue.ts";
import { EDITION_PARTS, type Edition } from "./options.ts";

type Section = Readonly<Record<string, unknown>>;

/** An OpenAPI 3.1 document, ready to be written as JSON. */
export type OpenApiDocument = Section & {
  readonly paths: Readonly<Record<string, Section>>;
};

/**
 * The OpenAPI 3.1 description of an edition as it is without any setting. Its server is wherever it is read from;
 * tests hold it against the simulator's answers and against the client's calls.
 */
export function openApiDocument(edition: Edition = "specification"): OpenApiDocument {
  const specification = read("openapi.yaml") as OpenApiDocument;
  return edition === "public" ? publicDocument(specification) : specification;
}

function read(name: string): Section {
  return parse(readFileSync(new URL(`./${name}`, import.meta.url), "utf8"));
}

/** Operations that are the specification's: they lie elsewhere, wrap their lists, and may say that it is too often. */
function publicDocument(specification: OpenApiDocument): OpenApiDocument {
  const { paths: own, components: ownComponents, ...rest } = read("openapi-public.yaml");
  const moved = Object.entries(specification.paths).flatMap(([path, operations]) => {
    const elsewhere = findPath(EDITION_PARTS.public.paths, path);
    if (elsewhere === undefined) return [];
    return [[elsewhere, mapValues(operations, (operation) => toPublic(operation as Operation))]];
  });
  const components = mergeSections(specification.components as Section, ownComponents as Section);
  const document = {
    ...specification,
    ...rest,
    paths: { ...Object.fromEntries(moved), ...(own as Section) },
    components,
  };
  return { ...document, components: withoutUnused(document) };
}

interface Operation {
  readonly responses: Readonly<Record<string, Section>>;
}

function toPublic(operation: Operation): Section {
  const { 200: found, ...others } = operation.responses;
  const limited = { 429: { $ref: "#/components/responses/TooOften" } };
  const responses = { ...(found === undefined ? {} : { 200: wrapped(found) }), ...others, ...limited };
  return { ...operation, tags: ["External surface"], responses };
}

/** An answer whose list is wrapped; any other answer as it is. */
function wrapped(response: Section): Section {
  const { content } = response as {
    readonly content?: Readonly<Record<string, { readonly schema?: Section }>>;
  };
  const schema = content?.["application/json"]?.schema;
  if (schema?.type !== "array") return response;
  const list = {
    type: "object",
    properties: { data: schema, meta: { $ref: "#/components/schemas/Paging" } },
    required: ["data", "meta"],
    additionalProperties: false,
  };
  return { ...response, content: { "application/json": { schema: list } } };
}

/** Both, section by section: what stands in `other` goes before. */
function mergeSections(one: Section, other: Section): Section {
  const merged = Object.entries(other).map(([name, section]) => [
    name,
    { ...(one[name] as Section), ...(section as Section) },
  ]);
  return { ...one, ...Object.fromEntries(merged) };
}

/** The components without schemas that nothing refers to any more. */
function withoutUnused(document: { readonly paths: Section; readonly components: Section }): Section {
  const { schemas, ...others } = document.components as { readonly schemas: Section };
  const used = new Set<string>();
  const follow = (value: unknown) => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      follow(schemas[name]);
    }
  };
  follow([document.paths, others]);
  return {
    ...others,
    schemas: Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name))),
  };
}

function mapValues(section: Section, change: (value: unknown) => unknown): Section {
  return Object.fromEntries(Object.entries(section).map(([key, value]) => [key, change(value)]));
}
