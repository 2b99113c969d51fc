import type { KeptAnswer } from "../../core/failures.ts";
import { type Phi, phi } from "../../core/phi.ts";
import { RECORDS_OF } from "../../core/service-catalogue.ts";
import type { Surface } from "../../core/surface.ts";
import { isObject } from "../values.ts";
import type { Answer } from "./answer.ts";
import type { CallKind } from "./classify.ts";
import { maskJson, maskKeptText } from "./mask.ts";
import { type KnownCodes, plainCodes } from "./refusal.ts";

/** Characters of a body that are kept. */
const LONGEST_BODY = 4_096;
const LONGEST_TEXT = 1_000;

/**
 * Makes of an answer what is kept for an operator: its body without the patient's values, dates, quoted words, and
 * whatever text stands under a key that nobody knows to be harmless. Of an HTML page, which comes from a gateway, the
 * title and the headings are kept.
 */
export function keepAnswer(
  call: CallKind,
  answer: Answer,
  sensitive: readonly Phi[],
  known: KnownCodes,
): KeptAnswer {
  const [code] = plainCodes(answer, known, sensitive);
  const contentType = CONTENT_TYPE.exec(answer.headers.mediaType ?? "")?.[0];
  const body = maskBody(answer, sensitive);
  return {
    method: call.method,
    route: call.route,
    status: answer.status,
    shape: answer.shape,
    contentType,
    errorCode: code,
    body: body === undefined || body === "" ? undefined : phi(body),
  };
}

/** Media types that answers have; a made-up one says nothing. */
const CONTENT_TYPE =
  /^(application|text)\/(json|problem\+json|hal\+json|vnd\.api\+json|html|xhtml\+xml|xml|plain|octet-stream)(?![\w.+-])/i;

/**
 * Why a procedure failed, as the service says it, kept like an answer: those words are for an operator who asks for them,
 * and for nobody else.
 */
export function keepProcedureError(error: Phi, surface: Surface, sensitive: readonly Phi[]): KeptAnswer {
  const route = RECORDS_OF.procedure[surface];
  const text = maskKeptText(error.reveal(), sensitive, LONGEST_TEXT);
  return {
    ...{ method: "GET", route, status: 200, shape: "json" },
    body: phi(JSON.stringify({ status: "FAILED", error: text }, null, 2)),
  };
}

function maskBody(answer: Answer, sensitive: readonly Phi[]): string | undefined {
  switch (answer.shape) {
    case "json": {
      const text = JSON.stringify(maskJson(answer.json, sensitive), null, 2);
      return text.length > LONGEST_BODY ? `${text.slice(0, LONGEST_BODY).toWellFormed()}…` : text;
    }
    case "html":
      return answer.text === undefined
        ? undefined
        : maskKeptText(headlines(answer.text), sensitive, LONGEST_TEXT);
    case "other":
      return answer.text === undefined ? undefined : maskKeptText(answer.text, sensitive, LONGEST_TEXT);
    case "empty":
      return undefined;
  }
}

/** What a page calls itself: `502 Bad Gateway`, `Request blocked`. */
function headlines(html: string): string {
  const found = html.slice(0, 65_536).matchAll(/<(title|h1|h2)\b[^>]*>([^<]{1,300})/gi);
  return [...new Set([...found].map((match) => match[2]?.trim() ?? ""))].slice(0, 5).join(" / ");
}

/** Keys of our own bodies and queries under which patients' values, or free text about them, stand. */
const PERSONAL_KEYS = new Set(["code", "subjectCode", "firstName", "lastName", "dateOfBirth", "description"]);

/** The patients' values that a call carries in its body and query, whichever call it is. */
export function personalValues(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(personalValues);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, field]) => {
    if (PERSONAL_KEYS.has(key) && (typeof field === "string" || typeof field === "number")) {
      // A description ends with our own mark, which a service may leave away.
      return [String(field), String(field).replace(/ ?\[ref [^\]]*\]$/, "")];
    }
    return personalValues(field);
  });
}
