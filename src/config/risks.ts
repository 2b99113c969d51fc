import { isLoopbackHost } from "../core/loopback.ts";
import type { Finding } from "./folder-rules.ts";
import type { Path } from "./problem.ts";
import { at } from "./rules.ts";

const SECRETS: readonly Path[] = [
  ["service", "auth", "clientSecret"],
  ["service", "auth", "apiToken"],
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
  return [...clearTextFindings(value, isFromEnvironment), ...plainLinkFindings(value)];
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

function urlAt(value: unknown, path: Path): URL | undefined {
  const text = at(value, path);
  return typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
}
