import { EXTERNAL_BASE } from "../../core/service-catalogue.ts";
import type { Behaviour } from "../behaviour.ts";
import { type EncodedBody, invalid, json, Refusal } from "./refusal.ts";

/** A call as a surface sees it: who calls, with what, under which behaviour. */
export interface Call {
  /** Path parameters by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as it came; empty when there was none. */
  readonly text: string;
  readonly behaviour: Behaviour;
}

/** Who makes a call: an integration of one organization. */
export interface Caller {
  readonly clientId: string;
  readonly organizationId: number;
}

/** A call whose credential was good. */
export interface AuthorizedCall extends Call {
  readonly caller: Caller;
}

/** What the service answers, before faults get hold of it. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: EncodedBody;
}

/**
 * One operation of the service. Handlers run in one go, without waiting: a call is either executed or not, never
 * half. They throw {@link Refusal}.
 */
export type Route = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with `:id` where an id stands. */
  readonly path: string;
  /** What kind of row the path's `:id` names, for the tally. */
  readonly names?: "request" | "procedure" | "container";
} & (
  | { readonly access: "bearer"; readonly handle: (call: AuthorizedCall) => Answer }
  | { readonly access: "open"; readonly handle: (call: Call) => Answer }
);

/** Whether a path belongs to the external surface. */
export function isExternalPath(path: string): boolean {
  return path.startsWith(EXTERNAL_BASE);
}

/** Keys whose values are ids, on either surface. The label of a request's container is a string of its own kind. */
const ID_KEY = /^id$|Ids?$/;

/** A JSON answer, written as the behaviour wants it: words for statuses and types, ids as strings, further fields. */
export function answerJson(status: number, value: unknown, behaviour: Behaviour): Answer {
  return { status, body: json(shape(value, behaviour)) };
}

/** Whether answers have to be rewritten at all: 10,000 rows should not be walked for nothing. */
function isPlain({ words, extraFields, ids }: Behaviour): boolean {
  return ids === "number" && Object.keys(words).length === 0 && Object.keys(extraFields).length === 0;
}

function shape(value: unknown, behaviour: Behaviour): unknown {
  return isPlain(behaviour) ? value : reshape(value, "", behaviour);
}

function reshape(value: unknown, key: string, behaviour: Behaviour): unknown {
  if (Array.isArray(value)) return value.map((entry) => reshape(entry, key, behaviour));
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([name, member]) => [name, reshape(member, name, behaviour)]);
    return { ...Object.fromEntries(entries), ...behaviour.extraFields };
  }
  if (typeof value === "number" && behaviour.ids === "string" && ID_KEY.test(key)) return String(value);
  if (typeof value === "string" && (key === "status" || key === "type"))
    return behaviour.words[value] ?? value;
  return value;
}

/** The JSON object of a body. Throws a Refusal: 415 for another content type, 400 for anything but an object. */
export function readJsonObject(call: Call): Record<string, unknown> {
  const contentType = String(call.headers["content-type"] ?? "");
  if (!/^application\/json\b/i.test(contentType)) {
    throw new Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "the body must be application/json");
  }
  let value: unknown;
  try {
    value = JSON.parse(call.text);
  } catch {
    throw invalid(400, "the body is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(400, "the body must be a JSON object");
  }
  return { ...value };
}

/** The integer id of a path. Throws a 404 Refusal for anything else. */
export function readId(call: Call): number {
  const text = call.params.id ?? "";
  const id = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw new Refusal(404, "NOT_FOUND", "no such id");
  return id;
}
