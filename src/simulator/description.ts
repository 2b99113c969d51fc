import { readFileSync } from "node:fs";
import { parse } from "yaml";
import {
  EXTERNAL_BASE,
  filterFields,
  findListAt,
  findPath,
  LISTS,
  type ServiceList,
} from "../core/service-catalogue.ts";
import { procedureType } from "./http/request-surface.ts";
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
  const { paths, ...rest } = read("openapi.yaml") as OpenApiDocument;
  const specification = { ...rest, paths: wholePaths(paths) };
  return edition === "public" ? publicDocument(specification) : specification;
}

function read(name: string): Section {
  return parse(readFileSync(new URL(`./${name}`, import.meta.url), "utf8"));
}

/** The paths with all that operations of a kind have in common. */
function wholePaths(paths: Section): OpenApiDocument["paths"] {
  const whole = Object.entries(paths).map(([path, operations]) => [
    path,
    mapValues(operations as Section, (operation) => wholeOperation(path, operation as ShortOperation)),
  ]);
  return Object.fromEntries(whole);
}

/** An operation in short: which schema it lists or reads, or of which it makes which. One that is written out says all of it. */
interface ShortOperation extends Section {
  readonly "x-lists"?: string;
  readonly "x-reads"?: string;
  readonly "x-creates"?: { readonly from: string; readonly answer: string };
  readonly responses?: Section;
}

const ID = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

function wholeOperation(path: string, operation: ShortOperation): Section {
  const { "x-lists": listed, "x-reads": found, "x-creates": made, responses, ...rest } = operation;
  const shared = {
    ...{ tags: [path.startsWith(EXTERNAL_BASE) ? "External surface" : "Request surface"] },
    security: [{ accessToken: [] }, { apiToken: [] }],
    ...rest,
  };
  const list = findListAt(path);
  if (listed !== undefined && list !== undefined) {
    const page = answer("The entries of this page.", { type: "array", items: schema(listed) });
    return {
      ...shared,
      parameters: [...PAGING, ...filtersOf(list)],
      responses: { 200: page, ...refusals(401, 422) },
    };
  }
  if (found !== undefined) {
    const parameters = [{ name: "id", in: "path", required: true, schema: { ...ID, format: "int64" } }];
    const there = answer("It is there.", schema(found));
    return { ...shared, parameters, responses: { 200: there, ...refusals(401, 404) } };
  }
  if (made !== undefined) {
    const requestBody = { required: true, content: json(schema(made.from)) };
    const created = { 201: answer("It was created.", schema(made.answer)) };
    const refused = refusals(400, 401, 403, 413, 415, 422);
    return { ...shared, requestBody, responses: { ...created, ...refused, ...responses } };
  }
  return { ...shared, responses };
}

/** The components that describe refusals, by their status. */
const REFUSALS: Readonly<Record<number, string>> = {
  ...{ 400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound" },
  ...{ 413: "TooLarge", 415: "NotJson", 422: "Invalid" },
};

function refusals(...statuses: readonly number[]): Section {
  const entries = statuses.map((status) => [status, { $ref: `#/components/responses/${REFUSALS[status]}` }]);
  return Object.fromEntries(entries);
}

const schema = (name: string): Section => ({ $ref: `#/components/schemas/${name}` });
const json = (of: Section): Section => ({ "application/json": { schema: of } });
const answer = (description: string, of: Section): Section => ({ description, content: json(of) });

const POSITIVE = { type: "integer", minimum: 1, maximum: 999_999_999 };
const PAGING = [
  { name: "page", in: "query", description: "From 1.", schema: { ...POSITIVE, default: 1 } },
  {
    ...{ name: "perPage", in: "query", description: "Entries on a page; more than 100 gives 100." },
    schema: { ...POSITIVE, default: 10 },
  },
];

/** Every filter of a list, in all four forms. */
function filtersOf(list: ServiceList): Section[] {
  return filterFields(list).flatMap((field) => {
    const exact = filterSchema(field, list);
    const { enum: _, ...range } = exact;
    const forms = { "": exact, _like: { type: "string" }, _from: range, _to: range };
    return Object.entries(forms).map(([form, of]) => ({ name: `${field}${form}`, in: "query", schema: of }));
  });
}

function filterSchema(field: string, list: ServiceList): Section {
  if (/^id$|Id$/.test(field)) return ID;
  if (/At$|^dateOf/.test(field)) return { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}" };
  if (field === "status") return { type: "string", enum: list.statuses };
  if (field !== "type") return { type: "string" };
  const isSpelled = list === LISTS.procedures;
  return { type: "string", enum: isSpelled ? list.types.map((type) => procedureType({ type })) : list.types };
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
    paths: { ...Object.fromEntries(moved), ...wholePaths(own as Section) },
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
