import type { FastifyRequest } from "fastify";

/** A refusal in Birch's error shape; `isShape` when the call itself was malformed. */
export class Refusal extends Error {
  readonly statusCode: number;
  readonly code: string;
  readonly isShape: boolean;

  constructor(statusCode: number, code: string, message: string, isShape = false) {
    super(message);
    this.statusCode = statusCode;
    this.code = code;
    this.isShape = isShape;
  }
}

const malformed = (message: string) => new Refusal(400, "BAD_REQUEST", message, true);

type Kind = "integer" | "text" | "date" | "integers" | readonly [string, string];

/** The body of a creating call: exactly these properties, each of its kind, none empty. */
export function body(
  request: FastifyRequest,
  expected: Readonly<Record<string, Kind>>,
): Record<string, unknown> {
  const type = request.headers["content-type"];
  if (type !== "application/json") throw malformed(`Content-Type is ${type}, not application/json`);
  return object(request.body, expected, "body");
}

function object(
  given: unknown,
  expected: Readonly<Record<string, Kind>>,
  at: string,
): Record<string, unknown> {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw malformed(`${at} is no object`);
  const unknown = Object.keys(given).find((name) => !(name in expected));
  if (unknown) throw malformed(`${at} has an unknown property ${unknown}`);
  const record = given as Record<string, unknown>;
  for (const [name, kind] of Object.entries(expected)) check(record[name], kind, `${at}.${name}`);
  return record;
}

function check(value: unknown, kind: Kind, at: string): void {
  if (Array.isArray(kind)) {
    if (!Array.isArray(value) || value.length === 0) throw malformed(`${at} is no array with entries`);
    const parts = Object.fromEntries(kind.map((name: string) => [name, "text" as const]));
    for (const [index, one] of value.entries()) object(one, parts, `${at}[${index}]`);
    return;
  }
  const isRight = {
    integer: Number.isSafeInteger(value) && Number(value) > 0,
    text: typeof value === "string" && value.trim() === value && value !== "",
    date: typeof value === "string" && /^\d{4}-(0[1-9]|1[0-2])-([0-2]\d|3[01])$/.test(value),
    integers: Array.isArray(value) && value.length > 0 && value.every(Number.isSafeInteger),
  }[kind as "integer" | "text" | "date" | "integers"];
  if (!isRight) throw malformed(`${at} is no ${kind}`);
}

/**
 * What a list may be asked: paging, the parameters of its row, and the filters of its own fields; or, where only `named`
 * ones are taken, not even those.
 */
export function query(
  request: FastifyRequest,
  fields: readonly string[],
  {
    required = [],
    named,
  }: { readonly required?: readonly string[]; readonly named?: readonly string[] } = {},
): Record<string, string> {
  const given = request.query as Record<string, unknown>;
  for (const [name, value] of Object.entries(given)) {
    const field = name.replace(/_(like|from|to)$/, "");
    const isPaging = name === "page" || name === "perPage";
    if (!isPaging && (named ? !named.includes(name) : !fields.includes(field)))
      throw malformed(`unknown query parameter ${name}`);
    if (typeof value !== "string" || value === "") throw malformed(`${name} is empty or there twice`);
    if (isPaging && !/^[1-9]\d*$/.test(value)) throw malformed(`${name}=${value}`);
  }
  const asked = given as Record<string, string>;
  if (Number(asked.perPage ?? 10) > 100) throw malformed(`perPage=${asked.perPage} is more than 100`);
  const missing = required.find((name) => asked[name] === undefined);
  if (missing) throw malformed(`${missing} is missing`);
  return asked;
}

/** One page in Birch's envelope, by id, after its filters: equal, like, from and to, each compared as numbers or text. */
export function listed(asked: Readonly<Record<string, string>>, all: readonly Record<string, unknown>[]) {
  const { page = "1", perPage = "10", ...filters } = asked;
  const matching = all.filter((row) =>
    Object.entries(filters).every(([name, value]) => holds(row, name, value)),
  );
  const from = (Number(page) - 1) * Number(perPage);
  const data = matching.slice(from, from + Number(perPage));
  return { data, meta: { page: Number(page), perPage: Number(perPage), total: matching.length } };
}

function holds(row: Record<string, unknown>, name: string, value: string): boolean {
  const [, field = name, how] = /^(.*?)(?:_(like|from|to))?$/.exec(name) ?? [];
  const has = row[field];
  if (how === "like") return String(has).toLowerCase().includes(value.toLowerCase());
  if (how === undefined) return String(has) === value;
  const [left, right] = typeof has === "number" ? [has, Number(value)] : [String(has), value];
  return how === "from" ? left >= right : left <= right;
}
