import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  customFetch,
} from "oauth4webapi";
import { Failure } from "../../core/failures.ts";
import { SecretMask } from "../../core/secret-mask.ts";
import { asSentence } from "../../core/tls-trouble.ts";
import type { ServiceAuth } from "../settings.ts";
import { isObject } from "../values.ts";
import { type Answer, parseAnswer, parseRetryAfter } from "./answer.ts";
import { readReport } from "./refusal.ts";
import { reasonOf, SERVICE_TLS, type Wire } from "./wire.ts";

/** A bearer token as it was issued. */
export interface IssuedToken {
  readonly value: string;
  /** Undefined when the answer didn't say, or said nonsense. */
  readonly lifeMs: number | undefined;
  /** Scopes that were asked for and are not granted; none when the answer doesn't say (RFC 6749, 5.1). */
  readonly missingScopes: readonly string[];
}

/** What a token is asked for with. */
interface Asking {
  readonly auth: OAuth;
  /** Where `auth` stands in the configuration, such as `service.auth`. */
  readonly key: string;
  /** The client's secret as it is now. */
  readonly secret: string;
  readonly wire: Wire;
  readonly now: () => number;
}

type OAuth = Extract<ServiceAuth, { tokenUrl: string }>;

/** Error codes of RFC 6749, 5.2 that only a change of credentials or settings can fix. */
const REFUSALS = new Set([
  "invalid_client",
  "invalid_grant",
  "invalid_request",
  "invalid_scope",
  "invalid_target",
  "unauthorized_client",
  "unsupported_grant_type",
  "access_denied",
]);

/** How long an endpoint that is asked too often, and doesn't say for how long, is left alone. */
const BUSY_MS = 1_000;
/** Those that pass by themselves (RFC 6749, 4.1.2.1). */
const BUSY = new Set(["server_error", "temporarily_unavailable", "slow_down"]);

/**
 * Asks the token endpoint for a token by client credentials (RFC 6749, 4.4; there is no refresh token, 4.4.3).
 * oauth4webapi builds the request with its proper encodings; the answer is read here, since services differ from
 * the letter of the standard in ways that do no harm (201, no `token_type`, `expires_in` as text).
 * @throws Failure SERVICE_TOKEN_UNAVAILABLE or SERVICE_CREDENTIALS_REFUSED; SERVICE_STOPPED when `signal` aborts.
 */
export async function requestToken(asking: Asking, signal: AbortSignal): Promise<IssuedToken> {
  const { auth, key, secret, wire } = asking;
  let answer: Answer | undefined;
  await clientCredentialsGrantRequest(
    { issuer: auth.tokenUrl, token_endpoint: auth.tokenUrl },
    { client_id: auth.clientId },
    auth.method === "basic" ? byBasic(secret) : ClientSecretPost(secret),
    {
      ...(auth.scope === undefined ? {} : { scope: auth.scope }),
      ...(auth.audience === undefined ? {} : { audience: auth.audience }),
      ...(auth.resource === undefined ? {} : { resource: auth.resource }),
    },
    {
      // The address was judged when the settings were read.
      [allowInsecureRequests]: true,
      [customFetch]: async (url, { headers, body }) => {
        answer = await exchange(wire, key, url, { ...headers }, String(body), signal);
        return new Response(null);
      },
    },
  );
  if (!answer) throw new Failure("SERVICE_TOKEN_UNAVAILABLE", "the token endpoint was not asked");
  return readToken(answer, asking);
}

/**
 * HTTP Basic with id and secret form-encoded first (RFC 6749, 2.3.1). Only what has to be is encoded: servers that
 * don't decode, and there are some, then still understand ids and secrets of letters, digits, `-`, `_`, `.` and `*`.
 */
function byBasic(secret: string): ClientAuth {
  return (_server, client, _body, headers) => {
    const credentials = `${formEncode(client.client_id)}:${formEncode(secret)}`;
    headers.set("authorization", `Basic ${Buffer.from(credentials).toString("base64")}`);
  };
}

function formEncode(text: string): string {
  return new URLSearchParams({ _: text }).toString().slice("_=".length);
}

async function exchange(
  wire: Wire,
  key: string,
  url: string,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<Answer> {
  const result = await wire.exchange(
    { method: "POST", url: new URL(url), headers: { ...headers, "accept-encoding": "identity" }, body },
    signal,
  );
  if (result.kind === "answer") return parseAnswer(result.status, result.headers, result.body);
  if (result.why === "stopped") throw new Failure("SERVICE_STOPPED", "stopped while asking for a token");
  const what = result.isSent ? "gave no whole answer" : "could not be reached";
  const reason = reasonOf(result.why, result.error, { ...SERVICE_TLS, name: `\`${key}.tokenUrl\`` });
  const why = result.why === "timeout" ? " in time" : `: ${reason.why}`;
  throw new Failure("SERVICE_TOKEN_UNAVAILABLE", {
    message: `the token endpoint at ${new URL(url).host} ${what}${why}`,
    hint: reason.lead && asSentence(reason.lead),
    cause: result.error,
  });
}

function readToken(answer: Answer, { auth, key, secret, now }: Asking): IssuedToken {
  const object = (answer.shape === "json" ? answer.json : {}) as Readonly<Record<string, unknown>>;
  const isSuccess = answer.status >= 200 && answer.status < 300;
  const token = object.access_token;
  if (isSuccess && typeof token === "string") {
    const type = object.token_type;
    // Some gateways call it BearerToken, and an empty one says nothing.
    if (typeof type === "string" && !/^\s*(bearer|$)/i.test(type)) {
      throw new Failure(
        "SERVICE_TOKEN_UNAVAILABLE",
        "the token endpoint issued a token that is no bearer token",
      );
    }
    if (!isHeaderSafe(token)) {
      throw new Failure(
        "SERVICE_TOKEN_UNAVAILABLE",
        "the token endpoint issued a token that no header can hold",
      );
    }
    const asked = auth.scope?.split(/\s+/).filter((each) => each !== "") ?? [];
    const granted = typeof object.scope === "string" ? new Set(object.scope.split(/\s+/)) : undefined;
    return {
      value: token,
      lifeMs: parseExpiresIn(object.expires_in),
      missingScopes: granted ? asked.filter((each) => !granted.has(each)) : [],
    };
  }
  const detail = `${detailOf(answer, key)}${saidBy(answer, auth, secret)}`;
  const what = whatToSet(answer, auth, key);
  const hint = what && `${what} Then restart the daemon; a secret file is read again by itself.`;
  if (isRefusal(answer)) {
    throw new Failure("SERVICE_CREDENTIALS_REFUSED", {
      message: `the token endpoint refused the client (status ${answer.status}${detail})`,
      hint,
    });
  }
  throw new Failure("SERVICE_TOKEN_UNAVAILABLE", {
    message: `the token endpoint issued no token (status ${answer.status}${detail})`,
    hint,
    retryAfterMs: parseRetryAfter(answer.headers, now()) ?? (answer.status === 429 ? BUSY_MS : undefined),
  });
}

/** Whether the client itself was refused; a gateway's page, and "not now", say nothing about it. */
function isRefusal(answer: Answer): boolean {
  if (answer.status >= 500 || answer.status === 429) return false;
  const { codes } = readReport(answer);
  if (codes.length > 0) return codes.some((code) => REFUSALS.has(code));
  return answer.status === 401 && answer.shape !== "html";
}

function detailOf(answer: Answer, key: string): string {
  if (answer.status >= 300 && answer.status < 400) {
    return `: a redirect, which is not followed (is ${key}.tokenUrl right?)`;
  }
  if (answer.shape === "html") return ": an HTML page";
  if (answer.unread !== undefined) return `: the answer is ${answer.unread}`;
  // Of its codes only the standard's own: an endpoint may quote the credentials that it was sent.
  const codes = readReport(answer).codes.filter((code) => REFUSALS.has(code) || BUSY.has(code));
  return codes.length === 0 ? "" : `: ${codes.join(" ")}`;
}

/** Keys under which endpoints say in words what is wrong; the first is the standard's (RFC 6749, 5.2). */
const SAID_UNDER = ["error_description", "errorDescription", "message", "detail", "error_message"];
const LONGEST_SAID = 200;
/** Words of the standard, which an endpoint puts in quotes. */
const STANDARD_WORD =
  /^(audience|resource|scope|client_(id|secret|credentials)|grant_type|authorization|basic|bearer)$/i;

/**
 * What the endpoint said in words: `, "Unknown client"`; empty where it said nothing. No patient's value was sent to it, but
 * our secret was: that is masked in every form, and so is what stands in quotes and is neither a word of the standard nor one
 * of our settings.
 */
function saidBy(answer: Answer, { clientId, scope, audience, resource }: OAuth, secret: string): string {
  if (answer.shape !== "json" || !isObject(answer.json)) return "";
  const { json } = answer;
  const text = SAID_UNDER.map((name) => json[name]).find((each) => typeof each === "string");
  if (typeof text !== "string" || text.trim() === "") return "";
  const own = new Set([clientId, audience, resource, ...(scope?.split(/\s+/) ?? [])]);
  const secrets = new SecretMask();
  secrets.add(secret);
  const isShown = (quoted: string) => STANDARD_WORD.test(quoted) || own.has(quoted);
  const plain = secrets.mask(text).replace(/\b(Basic|Bearer)\s+\S+/gi, `$1 ${MASK}`);
  return `; it says: ${withoutQuotes(plain, isShown)}`;
}

const MASK = "[masked]";
/** What is between other quotes than `"`; an apostrophe inside a word opens and closes none. One that is never closed goes on to the end. */
const OTHER_QUOTES = [
  "(?<![\\p{L}\\p{N}])['‘’]((?:[^'‘’]|(?<=[\\p{L}\\p{N}])['’](?=[\\p{L}\\p{N}])){1,200})['’](?![\\p{L}\\p{N}])",
  "[`“«]([^`”»]{1,200})[`”»]",
];
const ANY_QUOTES = new RegExp(['"((?:[^"\\\\]|\\\\.)*)(?:"|\\\\?$)', ...OTHER_QUOTES].join("|"), "gsu");

function withoutQuotes(text: string, isShown: (quoted: string) => boolean): string {
  const plain = text
    .slice(0, LONGEST_SAID * 10)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  const masked = plain.replace(ANY_QUOTES, (whole: string, ...groups: readonly unknown[]) =>
    isShown(String(groups.slice(0, 3).find((group) => typeof group === "string") ?? ""))
      ? whole
      : `"${MASK}"`,
  );
  return masked.length > LONGEST_SAID ? `${masked.slice(0, LONGEST_SAID).toWellFormed()}…` : masked;
}

/** What a person sets where a token was not issued, by what the endpoint said; undefined where only its code says it. */
function whatToSet(answer: Answer, auth: OAuth, key: string): string | undefined {
  const { status } = answer;
  const codes = new Set(readReport(answer).codes);
  const has = (...each: readonly string[]) => each.some((code) => codes.has(code));
  if (status >= 500 || status === 429 || answer.shape === "html") return undefined;
  const other = auth.method === "basic" ? "post" : "basic";
  const method = `\`${key}.method: ${other}\` where it wants the client's secret ${other === "post" ? "in the form" : "by HTTP Basic"}, which comes ${auth.method === "basic" ? "by HTTP Basic" : "in the form"} now`;
  if (has("invalid_scope"))
    return `Correct \`${key}.scope\`: the endpoint's operator knows which this client may have.`;
  if (has("invalid_target", "access_denied"))
    return `Set \`${key}.audience\` or \`${key}.resource\` to what the service is called at the endpoint; its operator knows which of them, and lets this client have it.`;
  if (has("unauthorized_client", "unsupported_grant_type"))
    return `Have the endpoint's operator allow \`${key}.clientId\` the grant \`client_credentials\`.`;
  if (has("invalid_client") || (codes.size === 0 && status === 401))
    return `Correct \`${key}.clientId\` and \`${key}.clientSecret\`, or set ${method}.`;
  if (has("invalid_request") || (codes.size === 0 && status === 400))
    return `Set what the endpoint misses: \`${key}.audience\`, \`${key}.resource\` or \`${key}.scope\`; or ${method}. Its operator knows which.`;
  return undefined;
}

/** Whether a header can carry the token: visible ASCII only, so no line break can slip another header in. */
export function isHeaderSafe(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}

const SHORTEST_LIFE_MS = 1_000;
const LONGEST_LIFE_MS = 86_400_000;

/**
 * A token's life from `expires_in`, ms: whole or fractional seconds as a number or as digits; undefined when it is
 * missing, zero, negative or anything else. Held within 1 s and a day: a longer promise is not relied upon.
 */
function parseExpiresIn(value: unknown): number | undefined {
  const seconds = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds <= 0) return undefined;
  return Math.min(LONGEST_LIFE_MS, Math.max(SHORTEST_LIFE_MS, seconds * 1_000));
}

/**
 * When a token is renewed ahead of its end, ms after it was asked for: a minute before the end, but for lives under four
 * minutes at three quarters; and up to a tenth of its life, a minute at most, earlier by chance, so that workers whose tokens
 * end at the same time don't all ask at once. 3600 s -> 3480 to 3540 s, 240 s -> 156 to 180 s, 60 s -> 39 to 45 s.
 */
export function renewalAfter(lifeMs: number, random: number): number {
  return Math.max(lifeMs * 0.75, lifeMs - 60_000) - random * Math.min(lifeMs * 0.1, 60_000);
}

/**
 * The next assumption for a service that never shows a life. A token that worked and was refused at some age
 * teaches a shorter one; each renewal that came in time tries twice as long again, up to `mostMs`.
 */
export function assumeLife(
  current: number,
  seen: { readonly refusedAtAgeMs: number } | "renewed",
  mostMs: number,
): number {
  if (seen === "renewed") return Math.min(mostMs, current * 2);
  return Math.max(2_000, Math.min(current, seen.refusedAtAgeMs * 0.9));
}
