import type { Behaviour } from "../behaviour.ts";
import { Refusal, statusOf } from "../refusal.ts";
import { listOf, nullable, ref, type Schema, text } from "./answer-schemas.ts";

/** A response object of OpenAPI. */
export type Response = Readonly<Record<string, unknown>>;

/** Why a call may be refused; each has a status and a code of its own. */
const REASONS = {
  malformed: [400, "VALIDATION_ERROR", "The body is no JSON object, or a filter is unknown and refused."],
  unauthorized: [401, "UNAUTHORIZED", "The token is missing, unknown, expired or revoked."],
  forbidden: [403, "FORBIDDEN", "The token gives no access to this facility."],
  notFound: [404, "NOT_FOUND", "There is no such row, or it is another organization's."],
  subjectExists: [409, "DUPLICATE_SUBJECT", "The facility has a subject of this code."],
  containerExists: [409, "DUPLICATE_CONTAINER", "The subject has a container of this label."],
  wrongState: [409, "INVALID_STATE", "Its status doesn't allow it any more."],
  tooLarge: [413, "BAD_REQUEST", "The body is larger than 4 MiB."],
  notJson: [415, "UNSUPPORTED_MEDIA_TYPE", "The body must be application/json."],
  invalid: [422, "VALIDATION_ERROR", "The body or the query breaks a rule."],
} as const;

export type Reason = keyof typeof REASONS;

/** The refusals of an operation, by status. */
export function refusals(reasons: readonly Reason[], behaviour: Behaviour): Record<string, Response> {
  const wordsByStatus = new Map<number, string[]>();
  for (const reason of reasons) {
    const [usual, code, words] = REASONS[reason];
    const own = reason === "invalid" ? behaviour.validationStatus : usual;
    const given = reason === "forbidden" ? 403 : own;
    // A body that is too large is refused before the service's own words are chosen.
    const status = reason === "tooLarge" ? given : statusOf(new Refusal(given, code, ""), behaviour);
    wordsByStatus.set(status, [...(wordsByStatus.get(status) ?? []), words]);
  }
  return Object.fromEntries(
    [...wordsByStatus].map(([status, words]) => [
      String(status),
      { description: [...new Set(words)].join(" "), ...errorContent(behaviour) },
    ]),
  );
}

/** An answer with a JSON body. */
export function jsonResponse(description: string, schema: Schema): Response {
  return { description, content: { "application/json": { schema } } };
}

function errorContent({ errorBody }: Behaviour): Response {
  switch (errorBody) {
    case "empty":
      return {};
    case "html":
      return { content: { "text/html": { schema: { type: "string" } } } };
    case "text":
      return { content: { "text/plain": { schema: { type: "string" } } } };
    case "problem":
      return { content: { "application/problem+json": { schema: ref("Error") } } };
    default:
      return { content: { "application/json": { schema: ref("Error") } } };
  }
}

const code = text("A word for programs, such as VALIDATION_ERROR.");
const message = text("A sentence for people.");
const closed = (
  properties: Readonly<Record<string, Schema>>,
  required = Object.keys(properties),
): Schema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/** The body of refusals; undefined where they have none, or one that is no JSON. */
export function errorSchema({ errorBody }: Behaviour): Schema | undefined {
  const details = listOf(closed({ field: text("The member that is wrong."), message }));
  const entry = closed({ code, field: nullable(text("The member that is wrong.")), message });
  const plain = closed({ code, message, details }, ["code", "message"]);
  switch (errorBody) {
    case "code":
      return plain;
    case "nested":
      return closed({ error: plain });
    case "flat":
      return closed({ error: code, message });
    case "list":
      return closed({ errors: listOf(entry, { minItems: 1 }) });
    case "array":
      return listOf(entry, { minItems: 1 });
    case "problem":
      return closed({
        type: { type: "string", format: "uri" },
        title: code,
        status: { type: "integer" },
        detail: message,
        errors: details,
      });
    default:
      return undefined;
  }
}
