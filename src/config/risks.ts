import { isLoopbackHost } from "../core/address-list.ts";
import { areExceptions, readExceptions } from "../core/proxy-exceptions.ts";
import type { Finding } from "./folder-rules.ts";
import type { Path } from "./problems.ts";
import { connectorsOf, isReachedByOthers, servicePeers, subjectRiskFindings } from "./rules.ts";
import { isCredential } from "./scalars.ts";
import { fileSchema } from "./schema.ts";
import { childOf, heldValues, valueAt } from "./schema-at.ts";

/**
 * What works but is unwise. `isFromEnvironment` says whether a value was put in from outside, which is how
 * credentials belong into a configuration that others read, copy and mail.
 */
export function riskFindings(
  value: unknown,
  isFromEnvironment: (path: Path) => boolean,
  env: Readonly<Record<string, string | undefined>>,
): Finding[] {
  return [
    ...unusedProxyFindings(value, env),
    ...clearTextFindings(value, isFromEnvironment),
    ...plainLinkFindings(value),
    ...baseUrlFindings(value),
    ...openListenerFindings(value),
    ...plainConsoleFindings(value),
    ...ruleRisks(value),
    ...notExecutedRisks(value),
    ...subjectRiskFindings(value),
  ];
}

function clearTextFindings(value: unknown, isFromEnvironment: (path: Path) => boolean): Finding[] {
  const message = `a credential stands here in clear text; write it as \${NAME} and set NAME, or NAME_FILE, in the environment`;
  return [...heldValues(fileSchema, value)]
    .filter(({ path, value: text, schemas }) => {
      const isClear = typeof text === "string" && !isFromEnvironment(path);
      return isClear && schemas.some((schema) => isCredential(schema, text));
    })
    .map(({ path }) => ({ path, message }));
}

function alertPlacesOf(value: unknown): Path[] {
  const places = valueAt(value, ["alerts", "to"]);
  return Array.isArray(places) ? places.map((_, index) => ["alerts", "to", index]) : [];
}

/** A proxy that others on this machine go through, and Cryobridge does not, since a daemon has the environment by chance. */
function unusedProxyFindings(value: unknown, env: Readonly<Record<string, string | undefined>>): Finding[] {
  const name = ["HTTPS_PROXY", "https_proxy"].find((each) => env[each]);
  if (name === undefined || childOf(value, "proxy") !== undefined) return [];
  const entries = (env.NO_PROXY ?? env.no_proxy ?? "").split(/[\s,]+/);
  const except = readExceptions(entries.filter((entry) => entry !== "" && areExceptions([entry])));
  const message = `is reached directly, although ${name} is set in the environment: write proxy: { url: "\${${name}}" }, or proxy: none where no proxy is needed`;
  return servicePeers(value)
    .filter(({ url }) => !except.includes(url.hostname, url.port || "443"))
    .slice(0, 1)
    .map(({ path }) => ({ path, message }));
}

/** Every path of the specification begins with /api, so a base address that ends so is most likely one part too long. */
function baseUrlFindings(value: unknown): Finding[] {
  const path = ["service", "baseUrl"];
  const end = /\/api(?:\/v1\/external)?\/*$/.exec(urlAt(value, path)?.pathname ?? "")?.[0];
  if (end === undefined) return [];
  const message = `ends with ${end}, and Cryobridge adds /api itself; leave ${end} out, unless the service's paths begin with /api/api`;
  return [{ path, message }];
}

function plainLinkFindings(value: unknown): Finding[] {
  const findings: Finding[] = [];
  if (valueAt(value, ["service", "allowInsecure"]) === true) {
    findings.push({
      path: ["service", "allowInsecure"],
      message:
        "calls to the service may go over http://, unprotected; meant for networks that nobody else can reach",
    });
  }
  const queue = urlAt(value, ["queue", "url"]);
  if (queue?.protocol === "redis:" && !isLoopbackHost(queue.hostname)) {
    findings.push({
      path: ["queue", "url"],
      message: "the link to the queue is not encrypted; rediss:// is",
    });
  }
  const database = urlAt(value, ["database", "url"]);
  const mode = database?.searchParams.get("sslmode") ?? "disable";
  const isLocal = database === undefined || database.hostname === "" || isLoopbackHost(database.hostname);
  if (!isLocal && ["disable", "allow", "prefer"].includes(mode)) {
    findings.push({
      path: ["database", "url"],
      message: "the link to the database is not encrypted; add ?sslmode=verify-full",
    });
  }
  const headers = Object.keys(valueAt(value, ["tracing", "headers"]) ?? {});
  if (headers.length > 0 && isPlainHttp(value, ["tracing", "endpoint"])) {
    findings.push({
      path: ["tracing", "endpoint"],
      message: "the headers go to the collector without encryption; https:// has it",
    });
  }
  return [...findings, ...alertPlacesOf(value).flatMap((place) => plainPlaceFindings(value, place))];
}

function plainPlaceFindings(value: unknown, place: Path): Finding[] {
  if (isPlainHttp(value, [...place, "url"]))
    return [
      { path: [...place, "url"], message: "alerts go to the webhook without encryption; https:// has it" },
    ];
  const [host, tls, password] = ["host", "tls", "password"].map((key) => valueAt(value, [...place, key]));
  const isPlain = tls === "none" && password !== undefined && typeof host === "string";
  if (!isPlain || isLoopbackHost(host)) return [];
  const message = "the password goes to the mail server without encryption; starttls and tls have it";
  return [{ path: [...place, "tls"], message }];
}

/** Whether an address leads to another machine over http://. */
function isPlainHttp(value: unknown, path: Path): boolean {
  const url = urlAt(value, path);
  return url?.protocol === "http:" && !isLoopbackHost(url.hostname);
}

/** Messages and their patients cross the network in clear, and anybody there may send orders. */
function openListenerFindings(value: unknown): Finding[] {
  return connectorsOf(value).flatMap(({ connector, path }): Finding[] => {
    if (childOf(connector, "type") !== "mllp") return [];
    const hasTls = valueAt(connector, ["listen", "tls"]) !== undefined;
    if (hasTls || !isReachedByOthers(valueAt(connector, ["listen", "host"]))) return [];
    const message =
      "other machines send to this port without TLS; set listen.tls, and listen.allow for who may connect";
    return [{ path: [...path, "listen", "host"], message }];
  });
}

/** The console speaks plain HTTP: its token, and what it shows, can be read on the way. */
function plainConsoleFindings(value: unknown): Finding[] {
  if (!isReachedByOthers(valueAt(value, ["console", "host"]))) return [];
  const message =
    "other machines reach the console over plain HTTP, on which its token can be read; leave it at 127.0.0.1 and put a proxy with TLS on this machine before it (console.trustedProxies), or keep others from the port, as a container does that publishes it to its host alone";
  return [{ path: ["console", "host"], message }];
}

function urlAt(value: unknown, path: Path): URL | undefined {
  const text = valueAt(value, path);
  return typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
}

/** Statuses below 500 of which nobody can say that nothing was done: time-outs, also those that gateways make up. */
const UNSURE = [408, 444, 460, 499];
/** Meanings that say that nothing was done, after which a call may be sent again or its order be given up. */
const SAYS_NOTHING_DONE = ["refused", "notExecuted", "credentials", "notFound"];

/**
 * Rules under which an order could be lost or sent twice: that a call which changes the service had no effect, by an
 * answer that a gateway may give after it has passed the call on. Allowed, since a site may know better.
 */
function ruleRisks(value: unknown): Finding[] {
  const rules = valueAt(value, ["service", "errors"]);
  if (!Array.isArray(rules)) return [];
  return rules.flatMap((rule: unknown, index) => {
    const means = childOf(rule, "means");
    const method = childOf(rule, "method");
    const mayBeWrite = method !== "read" && method !== "GET";
    if (!mayBeWrite || typeof means !== "string" || !SAYS_NOTHING_DONE.includes(means)) return [];
    const status = childOf(rule, "status");
    const listed: unknown[] = Array.isArray(status) ? status : [status];
    // Without a status it is about all of them; an error code then shows that it was the service itself that spoke.
    const isAboutAll = status === undefined && childOf(rule, "code") === undefined;
    if (!isAboutAll && !listed.some(isUnsure)) return [];
    const path: Path = ["service", "errors", index, "means"];
    const message = `"${means}" says that a call which changes the service had no effect, but a gateway may give such an answer after it has passed the call on, and an order could then be lost or sent twice; say unknown, or method: read, unless you are sure`;
    return [{ path, message }];
  });
}

function notExecutedRisks(value: unknown): Finding[] {
  const statuses = valueAt(value, ["service", "notExecuted"]);
  if (!Array.isArray(statuses)) return [];
  return statuses.flatMap((status: unknown, index) => {
    if (!isUnsure(status)) return [];
    const message = `a gateway may answer ${String(status)} after it has passed a call on; the service is checked before the call is repeated, but a list that lags would hide what it did, and the order would be sent twice; leave it out unless you are sure`;
    return [{ path: ["service", "notExecuted", index], message }];
  });
}

function isUnsure(status: unknown): boolean {
  // 2xx counts only together with an error code in a body without a record: the service's own word.
  if (typeof status === "number") return status >= 500 || UNSURE.includes(status) || isRedirect(status);
  return status === "5xx";
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}
