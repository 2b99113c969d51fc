import type { KeptAnswer } from "../../core/failures.ts";
import { type Phi, phi } from "../../core/phi.ts";
import { SecretMask } from "../../core/secret-mask.ts";
import { RECORDS_OF } from "../../core/service-catalogue.ts";
import type { Surface } from "../../core/surface.ts";
import type { Answer } from "./answer.ts";
import type { CallKind } from "./classify.ts";
import { type KnownCodes, plainCodes } from "./refusal.ts";

/** Characters of a body that are kept. */
const LONGEST_BODY = 4_096;

/**
 * Makes of an answer what is kept for an operator. What the service says may be about anybody, so its body is a patient's value as a
 * whole: it is shown to whoever asks for it, which is recorded, and to nobody else. Of an HTML page, which comes from a gateway, the title and
 * the headings are kept.
 *
 * @param token what the call was made with; nothing that is kept quotes it
 */
export function keepAnswer(call: CallKind, answer: Answer, known: KnownCodes, token: Phi): KeptAnswer {
  const [code] = plainCodes(answer, known);
  const contentType = CONTENT_TYPE.exec(answer.headers.mediaType ?? "")?.[0];
  const body = bodyOf(answer, token);
  return {
    method: call.method,
    route: call.route,
    status: answer.status,
    shape: answer.shape,
    contentType,
    errorCode: code,
    body: body === undefined || body === "" ? undefined : phi(shortened(body)),
  };
}

/** Media types that answers have; a made-up one says nothing. */
const CONTENT_TYPE =
  /^(application|text)\/(json|problem\+json|hal\+json|vnd\.api\+json|html|xhtml\+xml|xml|plain|octet-stream)(?![\w.+-])/i;

/** Why a procedure failed, as the service says it, kept like an answer. */
export function keepProcedureError(error: Phi, surface: Surface): KeptAnswer {
  const route = RECORDS_OF.procedure[surface];
  return {
    ...{ method: "GET", route, status: 200, shape: "json" },
    body: phi(shortened(JSON.stringify({ status: "FAILED", error: error.reveal() }, null, 2))),
  };
}

/** What commands a terminal, but for line ends. */
const COMMANDS = /(?!\n)[\p{Cc}\p{Cf}]/gu;

/** Characters of a text that are looked at. */
const LONGEST_READ = 65_536;

/** A token that the end cuts is left out with what is before it. */
function withoutToken(text: string, token: Phi): string {
  const secrets = new SecretMask();
  secrets.add(token.reveal());
  const masked = secrets.mask(text.slice(0, LONGEST_READ).toWellFormed());
  return text.length > LONGEST_READ ? masked.slice(0, -token.reveal().length * 6) : masked;
}

function bodyOf(answer: Answer, token: Phi): string | undefined {
  if (answer.shape === "json")
    return withoutToken(JSON.stringify(answer.json, null, 2), token).replace(COMMANDS, "?");
  if (answer.shape === "empty" || answer.text === undefined) return undefined;
  const text = withoutToken(answer.text, token);
  return inOneLine(answer.shape === "html" ? headlines(text) : text);
}

/** Text that a terminal and a database take. */
function inOneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
}

function shortened(text: string): string {
  return text.length > LONGEST_BODY ? `${text.slice(0, LONGEST_BODY).toWellFormed()}…` : text;
}

/** What a page calls itself: `502 Bad Gateway`, `Request blocked`. */
function headlines(html: string): string {
  const found = html.slice(0, 65_536).matchAll(/<(title|h1|h2)\b[^>]*>([^<]{1,300})/gi);
  return [...new Set([...found].map((match) => match[2]?.trim() ?? ""))].slice(0, 5).join(" / ");
}
