import { isLoopbackHost } from "../core/loopback.ts";
import { errorRiskFindings } from "./error-risks.ts";
import { subjectRiskFindings } from "./facility-rules.ts";
import type { Finding } from "./folder-rules.ts";
import type { Path } from "./problem.ts";
import { at } from "./rules.ts";

const SECRETS: readonly Path[] = [
  ["service", "auth", "clientSecret"],
  ["service", "auth", "apiToken"],
  ["service", "externalAuth", "clientSecret"],
  ["service", "externalAuth", "apiToken"],
  ["queue", "password"],
  ["console", "token"],
];
const URLS_WITH_SECRETS: readonly Path[] = [
  ["database", "url"],
  ["queue", "url"],
];

/**
 * What works but is unwise. `isFromEnvironment` tells whether a value was put in from outside, which is how
 * credentials belong into a configuration that others read, copy and mail.
 */
export function riskFindings(value: unknown, isFromEnvironment: (path: Path) => boolean): Finding[] {
  return [
    ...clearTextFindings(value, isFromEnvironment),
    ...plainLinkFindings(value),
    ...baseUrlFindings(value),
    ...openListenerFindings(value),
    ...plainConsoleFindings(value),
    ...errorRiskFindings(value),
    ...subjectRiskFindings(value),
  ];
}

function clearTextFindings(value: unknown, isFromEnvironment: (path: Path) => boolean): Finding[] {
  const withPassword = URLS_WITH_SECRETS.filter((path) => (urlAt(value, path)?.password ?? "") !== "");
  return [...SECRETS, ...withPassword]
    .filter((path) => typeof at(value, path) === "string" && !isFromEnvironment(path))
    .map((path) => ({
      path,
      message: `a credential stands here in clear text; write it as \${NAME} and set NAME, or NAME_FILE, in the environment`,
    }));
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
  if (at(value, ["service", "allowInsecure"]) === true) {
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
  return findings;
}

/** Messages and their patients cross the network in clear, and anybody there may send orders. */
function openListenerFindings(value: unknown): Finding[] {
  const connectors = at(value, ["connectors"]);
  return (Array.isArray(connectors) ? connectors : []).flatMap((connector: unknown, index): Finding[] => {
    if (at(connector, ["type"]) !== "mllp") return [];
    const host = at(connector, ["listen", "host"]);
    if (typeof host !== "string" || isLoopbackHost(host) || at(connector, ["listen", "tls"]) !== undefined)
      return [];
    const message =
      "other machines send to this port without TLS; set listen.tls, and listen.allow for who may connect";
    return [{ path: ["connectors", index, "listen", "host"], message }];
  });
}

/** The console speaks plain HTTP: its token, and what it shows, can be read on the way. */
function plainConsoleFindings(value: unknown): Finding[] {
  const path = ["console", "host"];
  const host = at(value, path);
  if (typeof host !== "string" || isLoopbackHost(host)) return [];
  const message =
    "other machines reach the console over plain HTTP, on which its token can be read; leave it at 127.0.0.1 and put a proxy with TLS on this machine before it (console.trustedProxies), or keep others from the port, as a container does that publishes it to its host alone";
  return [{ path, message }];
}

function urlAt(value: unknown, path: Path): URL | undefined {
  const text = at(value, path);
  return typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
}
