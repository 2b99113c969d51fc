import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { OpenApiDocument } from "../../src/simulator/description.ts";

/** One call as it went over the wire. */
export interface Exchange {
  readonly method: string;
  /** Path and query as they were sent. */
  readonly target: string;
  readonly requestHeaders: Readonly<Record<string, string | string[] | undefined>>;
  readonly requestBody: string;
  readonly status: number;
  readonly responseHeaders: Readonly<Record<string, string | string[] | undefined>>;
  readonly responseBody: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: { readonly type?: string };
}
interface Media {
  readonly content?: Readonly<Record<string, unknown>>;
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Media;
  readonly responses: Readonly<Record<string, Media>>;
  readonly security: readonly Readonly<Record<string, unknown>>[];
}

/** The operation that a call belongs to: `GET /api/subjects/{id}`. */
interface Found {
  readonly name: string;
  readonly pointer: string;
  readonly operation: Operation;
  readonly id: string | undefined;
}

const ROOT = "https://contract.example/service";

/**
 * Holds calls and answers against an OpenAPI document, member by member, with a validator that knows nothing of this
 * project. Each check gives what is wrong, in words; an empty list means that the description allows it.
 */
export class Contract {
  readonly #document: OpenApiDocument;
  readonly #ajv: Ajv2020;
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: OpenApiDocument) {
    this.#document = withoutSharedResponses(document);
    this.#ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
    // biome-ignore lint/complexity/useLiteralKeys: the module's default export has no better name.
    addFormats["default"](this.#ajv);
    this.#ajv.addSchema({ ...this.#document, $id: ROOT });
  }

  /** Every operation of the document: `GET /api/subjects`. */
  operations(): string[] {
    return Object.entries(this.#document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
  }

  /** The operation of a call; undefined when the document has none. */
  operationOf({ method, target }: Pick<Exchange, "method" | "target">): string | undefined {
    return this.#find(method, target)?.name;
  }

  /** What the description doesn't allow in a request. */
  checkRequest(exchange: Exchange): string[] {
    const found = this.#find(exchange.method, exchange.target);
    if (!found) return [`${exchange.method} ${pathOf(exchange.target)}: not in the description`];
    const problems = [
      ...this.#checkQuery(found, exchange),
      ...this.#checkRequestBody(found, exchange),
      ...checkSecurity(found.operation, exchange),
    ];
    return problems.map((problem) => `${found.name}: ${problem}`);
  }

  /** What the description doesn't allow in an answer. */
  checkAnswer(exchange: Exchange): string[] {
    const found = this.#find(exchange.method, exchange.target);
    if (!found) return [`${exchange.method} ${pathOf(exchange.target)}: not in the description`];
    const response = found.operation.responses[String(exchange.status)];
    if (!response) return [`${found.name}: status ${exchange.status} is not described`];
    const pointer = `${found.pointer}/responses/${exchange.status}`;
    const problems = this.#checkBody(pointer, response, exchange.responseHeaders, exchange.responseBody);
    return problems.map((problem) => `${found.name} ${exchange.status}: ${problem}`);
  }

  #find(method: string, target: string): Found | undefined {
    const path = pathOf(target);
    const candidates = Object.entries(this.#document.paths).flatMap(([template, item]): Found[] => {
      const key = method.toLowerCase();
      const operation = item[key] as Operation | undefined;
      const match = new RegExp(`^${template.replace("{id}", "([^/]+)")}$`).exec(path);
      if (!operation || !match) return [];
      const pointer = `/paths/${template.replaceAll("~", "~0").replaceAll("/", "~1")}/${key}`;
      return [{ name: `${method} ${template}`, pointer, operation, id: match[1] }];
    });
    return candidates[0];
  }

  #checkQuery({ operation, pointer, id }: Found, { target }: Exchange): string[] {
    const query = new URL(target, "http://service").searchParams;
    const parameters = operation.parameters ?? [];
    const sent = [...query].map(([name, value]) => ({ name, value, in: "query" }));
    if (id !== undefined) sent.push({ name: "id", value: decodeURIComponent(id), in: "path" });
    return sent.flatMap(({ name, value, in: place }) => {
      const index = parameters.findIndex((each) => each.name === name && each.in === place);
      if (index < 0) return [`${place} parameter ${name} is not described`];
      if (place === "query" && query.getAll(name).length > 1) return [`query parameter ${name} stands twice`];
      const isNumber = parameters[index]?.schema.type === "integer" && /^-?\d+$/.test(value);
      const problems = this.#validate(
        `${pointer}/parameters/${index}/schema`,
        isNumber ? Number(value) : value,
      );
      return problems.map((problem) => `${place} parameter ${name}: ${problem}`);
    });
  }

  #checkRequestBody({ operation, pointer }: Found, exchange: Exchange): string[] {
    const { requestBody } = operation;
    if (!requestBody) return exchange.requestBody === "" ? [] : ["a body that is not described"];
    return this.#checkBody(
      `${pointer}/requestBody`,
      requestBody,
      exchange.requestHeaders,
      exchange.requestBody,
    );
  }

  #checkBody(pointer: string, media: Media, headers: Exchange["requestHeaders"], text: string): string[] {
    if (!media.content) return text === "" ? [] : ["a body that is not described"];
    const type = String(headers["content-type"] ?? "")
      .split(";", 1)[0]
      ?.trim()
      .toLowerCase();
    if (type === undefined || !(type in media.content)) return [`content type ${type} is not described`];
    const value = readBody(type, text);
    if (value === undefined) return ["a body that is not what its content type says"];
    return this.#validate(`${pointer}/content/${type.replaceAll("/", "~1")}/schema`, value);
  }

  #validate(pointer: string, value: unknown): string[] {
    let validate = this.#compiled.get(pointer);
    if (!validate) {
      validate = this.#ajv.compile({ $ref: `${ROOT}#${pointer}` });
      this.#compiled.set(pointer, validate);
    }
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  }
}

/** The document with the responses of `components` in the places that refer to them. */
function withoutSharedResponses(document: OpenApiDocument): OpenApiDocument {
  const { responses } = document.components as { readonly responses: Readonly<Record<string, unknown>> };
  const prefix = "#/components/responses/";
  const resolved = (_key: string, value: unknown) => {
    const ref = typeof value === "object" && value !== null && "$ref" in value ? String(value.$ref) : "";
    return ref.startsWith(prefix) ? responses[ref.slice(prefix.length)] : value;
  };
  return JSON.parse(JSON.stringify(document, resolved)) as OpenApiDocument;
}

function pathOf(target: string): string {
  return new URL(target, "http://service").pathname;
}

function readBody(type: string, text: string): unknown {
  if (type === "application/x-www-form-urlencoded") return Object.fromEntries(new URLSearchParams(text));
  if (!type.endsWith("json")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether the call carries a credential of one of the described forms; whether it is good shows in the answer. */
function checkSecurity({ security }: Operation, { requestHeaders }: Exchange): string[] {
  const authorization = String(requestHeaders.authorization ?? "");
  const isMet = security.some((requirement) => {
    const [scheme] = Object.keys(requirement);
    if (scheme === undefined) return true;
    return scheme === "clientBasic"
      ? /^Basic \S+$/i.test(authorization)
      : /^Bearer \S+$/i.test(authorization);
  });
  return isMet ? [] : ["no credential of a described form"];
}
