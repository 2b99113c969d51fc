import type { Behaviour } from "../behaviour.ts";

/** One field of a body or query that the service did not take. */
export interface FieldError {
  readonly field: string;
  readonly message: string;
}

/** A call that the simulated service refuses: the HTTP status and the service's own error code. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly code: string;
  readonly fields: readonly FieldError[];

  constructor(status: number, code: string, message: string, fields: readonly FieldError[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.fields = fields;
  }
}

/** The refusal of a body, a query or a container list that breaks a rule. */
export function invalid(status: number, message: string, fields: readonly FieldError[] = []): Refusal {
  return new Refusal(status, "VALIDATION_ERROR", message, fields);
}

/** The refusal of a row that is not there, or that belongs to another organization. */
export function notFound(what: string): Refusal {
  return new Refusal(404, "NOT_FOUND", `${what} not found`);
}

/** A body and its content type, ready to be sent. */
export interface EncodedBody {
  readonly contentType: string;
  readonly text: string;
}

/** A refusal as bytes, in the shape of the behaviour. */
export function encodeRefusal(refusal: Refusal, behaviour: Pick<Behaviour, "errorBody">): EncodedBody {
  const { status, code, message, fields } = refusal;
  const details = fields.length > 0 ? { details: fields } : {};
  switch (behaviour.errorBody) {
    case "code":
      return json({ code, message, ...details });
    case "nested":
      return json({ error: { code, message, ...details } });
    case "problem":
      return {
        contentType: "application/problem+json",
        text: JSON.stringify({
          type: `urn:error:${code.toLowerCase().replaceAll("_", "-")}`,
          title: code,
          status,
          detail: message,
          errors: fields,
        }),
      };
    case "html":
      return htmlPage(status, message);
  }
}

/** A page such as a gateway in front of the service shows. */
export function htmlPage(status: number, message: string): EncodedBody {
  const escaped = message.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return {
    contentType: "text/html; charset=utf-8",
    text: `<!doctype html><html><head><title>${status}</title></head><body><h1>${status}</h1><p>${escaped}</p></body></html>\n`,
  };
}

/** A value as a JSON body. */
export function json(value: unknown): EncodedBody {
  return { contentType: "application/json; charset=utf-8", text: JSON.stringify(value) };
}
