import type { AddressInfo } from "node:net";
import cookie from "@fastify/cookie";
import helmet from "@fastify/helmet";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import {
  type AddressList,
  bareHost,
  hostAndPortOf,
  ownAddressOf,
  readAddressList,
} from "../core/address-list.ts";
import { asFailure, codeOf, Failure } from "../core/failures.ts";
import { asSentence } from "../operator/text.ts";
import { askOnceAtATime } from "../standing/ask.ts";
import { addWorkPage } from "./act-on-many.ts";
import { addAssets } from "./assets.ts";
import { limitConnections } from "./connections.ts";
import type { ConsoleDeps, ConsoleSettings } from "./deps.ts";
import { Guard, type Refusal } from "./guard.ts";
import { loginPage, troublePage } from "./layout.ts";
import { addAlertPages } from "./pages/alerts.ts";
import { addFilePages } from "./pages/files.ts";
import { addMessagePages } from "./pages/messages.ts";
import { addOrderPages } from "./pages/orders.ts";
import { addOverview } from "./pages/overview.ts";
import { addPlainLists } from "./pages/plain-lists.ts";
import { addQueuePage } from "./pages/queue.ts";
import { addRefillPage } from "./pages/refills.ts";
import { addReportPage } from "./pages/reports.ts";
import { addResultPages } from "./pages/results.ts";
import { addSearch } from "./pages/search.ts";
import { addRelease } from "./pages/waiting-codes.ts";
import { addWorkerPage } from "./pages/workers.ts";
import { addressOf, trustOf } from "./peer.ts";
import { addProgramRoutes, addSignIn, errorBody, TOO_MANY_TRIES } from "./routes.ts";
import { SESSION_COOKIE } from "./session.ts";
import { openSite, REFRESH_HEADER, sendHtml } from "./site.ts";

/** A console that is listening. */
export interface RunningConsole {
  /** Address to open, such as `http://127.0.0.1:8088`. */
  readonly url: string;
  /** Stops listening and ends all connections. */
  close(): Promise<void>;
}

/** Tokens and forms are small; there is nothing to upload. */
const MAX_BODY_BYTES = 4_096;
const MAX_CONNECTIONS = 200;
/** For a request's headers from the connection's beginning, and for the whole request, ms. */
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** How long a connection stays open between two requests, ms: longer than the page's own pause. */
const KEEP_ALIVE_MS = 10_000;
/** After so long without a byte either way a connection is closed, ms: an answer takes 5 s at most. */
const SILENCE_TIMEOUT_MS = 30_000;

/**
 * Starts the console. That one which other machines reach has a token or users is the configuration's rule.
 * @throws Failure CONSOLE_PORT_TAKEN or CONSOLE_NOT_LISTENING
 */
export async function startConsole(settings: ConsoleSettings, deps: ConsoleDeps): Promise<RunningConsole> {
  const app = Fastify({
    logger: false,
    trustProxy: trustOf(readProxies(settings.trustedProxies ?? [])),
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionTimeout: SILENCE_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: 1_000 },
    forceCloseConnections: true,
  });
  limitConnections(app.server, MAX_CONNECTIONS);
  app.decorateRequest("session", undefined);
  const guard = new Guard(settings, deps);
  addPlumbing(app);
  addSafety(app, guard, deps);
  const asked = askOnceAtATime(deps);
  addProgramRoutes(app, settings, asked);
  addAssets(app);
  addSignIn(app, guard);
  const site = openSite(app, { version: settings.version, hasUsers: settings.users.length > 0 }, asked);
  addOverview(site, asked);
  if (asked.records) {
    const beginWork = addWorkPage(site, asked);
    addAlertPages(site, asked.records);
    addFilePages(site, asked, asked.records);
    addMessagePages(site, asked.records, beginWork);
    addRelease(site, asked.records, beginWork);
    addSearch(site, asked.records);
    addOrderPages(site, asked.records, beginWork);
    addResultPages(site, asked.records);
    addQueuePage(site, asked.records, beginWork);
    addRefillPage(site, asked.records);
    addReportPage(site, asked.records);
    addWorkerPage(site, asked.records);
    await addPlainLists(site, asked.records);
  }
  try {
    await app.listen({ host: bareHost(settings.host), port: settings.port });
  } catch (error) {
    await app.close();
    throw listenFailure(error, settings);
  }
  const { port } = app.server.address() as AddressInfo;
  return { url: `http://${ownAddressOf(settings.host, port)}`, close: () => app.close() };
}

/** @throws Failure CONFIG_INVALID for an entry that is no address */
function readProxies(entries: readonly string[]): AddressList | undefined {
  if (entries.length === 0) return undefined;
  try {
    return readAddressList(entries);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Failure("CONFIG_INVALID", `console.trustedProxies: ${error.message}`);
  }
}

/** Cookies and headers by plugins of Fastify, forms by its own parser. */
function addPlumbing(app: FastifyInstance): void {
  app.register(cookie);
  app.register(helmet, {
    // What is no page shows nothing; a page has a policy of its own.
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    frameguard: { action: "deny" },
    // Without any referrer a browser names no origin with a form either, by plain HTTP the only sign that it is ours.
    referrerPolicy: { policy: "same-origin" },
    // That all of a host is asked by TLS alone is for the proxy to say, which has it.
    strictTransportSecurity: false,
  });
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string" },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
}

function addSafety(app: FastifyInstance, guard: Guard, deps: ConsoleDeps): void {
  app.addHook("onRequest", async (request, reply) => {
    reply.header("cache-control", "no-store");
    const { method, headers, ip, cookies } = request;
    const isRefresh = REFRESH_HEADER in headers;
    const admission = guard.admit({
      ...{ method, path: pathOf(request), headers, address: addressOf(ip), isRefresh },
      sessionNumber: cookies[SESSION_COOKIE],
    });
    if (admission.refusal !== undefined) return turnAway(admission.refusal, request, reply);
    request.session = admission.session;
  });
  const { mask } = deps;
  if (mask !== undefined) {
    // Answers about orders and calls; pages and scripts are the program's own.
    app.addHook("onSend", async (_request, reply, payload) => {
      const isData = /^(application\/json|text\/(plain|csv))/.test(
        String(reply.getHeader("content-type") ?? ""),
      );
      return isData && typeof payload === "string" ? mask(payload) : payload;
    });
  }
  app.setNotFoundHandler((request, reply) =>
    refuse(request, reply.code(404), {
      code: "NOT_FOUND",
      message: "there is no such page",
      title: "Not found",
    }),
  );
  app.setErrorHandler((error, request, reply) => {
    const status = clientErrorStatus(error);
    if (status !== undefined)
      return refuse(request, reply.code(status), {
        code: "BAD_REQUEST",
        message: "the request is not understood",
        title: "Not done",
      });
    const failure = asFailure(error);
    deps.logger.error({ err: failure }, "console: a request failed");
    const { code } = failure;
    const message = deps.mask?.(failure.message) ?? failure.message;
    const isPassing = failure.class === "transient";
    const title = isPassing ? "Not now" : "Something went wrong";
    return refuse(request, reply.code(isPassing ? 503 : 500), { code, message, title, hint: failure.hint });
  });
}

/** Says why nothing comes of a request: a page for people, JSON for programs. */
function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    code,
    message,
    title,
    hint,
  }: {
    readonly code: string;
    readonly message: string;
    readonly title: string;
    /** What to do about it, of what may be over when the page is asked for again. */
    readonly hint?: string;
  },
): FastifyReply {
  if (!isForPeople(request)) return reply.send(errorBody(code, message));
  const words = asSentence(`${message} (${code})`);
  const again = hint !== undefined && request.method === "GET" ? request.url : undefined;
  return sendHtml(reply, troublePage(title, words, { hint, again }));
}

function turnAway(refusal: Refusal, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  switch (refusal) {
    case "host":
      return refuse(request, reply.code(421), {
        code: "HOST_REFUSED",
        message: "this console answers to localhost and 127.0.0.1 only",
        title: "Not here",
      });
    case "cross-site":
      return refuse(request, reply.code(403), {
        code: "CROSS_SITE",
        message: "the form was sent by another site",
        title: "Nothing was done",
      });
    case "too many":
      reply.code(429).header("retry-after", "60");
      if (isForPeople(request)) return sendHtml(reply, loginPage(TOO_MANY_TRIES));
      return reply.send(errorBody("TOO_MANY_TRIES", TOO_MANY_TRIES));
    case "token":
      reply.code(401).header("www-authenticate", 'Bearer realm="cryobridge"');
      if (isForPeople(request))
        return sendHtml(reply, loginPage("", request.method === "GET" ? request.url : ""));
      return reply.send(errorBody("TOKEN_NEEDED", "send the console's token: Authorization: Bearer TOKEN"));
  }
}

/** A browser that opens a page, not a program or a page that refreshes itself. */
function isForPeople({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes("text/html") === true && !(REFRESH_HEADER in headers);
}

function pathOf(request: FastifyRequest): string {
  return request.url.replace(/[?#].*$/, "");
}

/** The status of an error that the request itself caused (too large, not understood), from the HTTP library. */
function clientErrorStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("statusCode" in error)) return undefined;
  const status = Number(error.statusCode);
  return status >= 400 && status < 500 ? status : undefined;
}

function listenFailure(error: unknown, { host, port }: ConsoleSettings): Failure {
  const code = codeOf(error) ?? "unknown error";
  const address = hostAndPortOf(host, port);
  if (code === "EADDRINUSE") {
    return new Failure("CONSOLE_PORT_TAKEN", {
      message: `${address} is in use by another program`,
      cause: error,
    });
  }
  return new Failure("CONSOLE_NOT_LISTENING", {
    message: `can't listen on ${address} (${code})`,
    cause: error,
  });
}
