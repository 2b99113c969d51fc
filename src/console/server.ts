import type { AddressInfo } from "node:net";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { asFailure, Failure } from "../core/failures.ts";
import { bareHost, isLoopbackHost } from "../core/loopback.ts";
import type { ConsoleDeps, ConsoleSettings } from "./deps.ts";
import { type Refusal, refuse } from "./guard.ts";
import { askOnceAtATime } from "./one-at-a-time.ts";
import { loginPage } from "./pages.ts";
import { addPageRoutes, addProgramRoutes, errorBody, sendPage } from "./routes.ts";

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

/**
 * Starts the console.
 * @throws Failure CONSOLE_TOKEN_MISSING, CONSOLE_PORT_TAKEN or CONSOLE_NOT_LISTENING
 */
export async function startConsole(settings: ConsoleSettings, deps: ConsoleDeps): Promise<RunningConsole> {
  if (settings.token === undefined && !isLoopbackHost(settings.host)) {
    throw new Failure(
      "CONSOLE_TOKEN_MISSING",
      `console.host ${settings.host} can be reached by other machines`,
    );
  }
  const app = Fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: 10_000,
    forceCloseConnections: true,
  });
  app.server.maxConnections = MAX_CONNECTIONS;
  addSafety(app, settings, deps);
  addProgramRoutes(app, settings, askOnceAtATime(deps));
  addPageRoutes(app, settings, deps);
  try {
    await app.listen({ host: bareHost(settings.host), port: settings.port });
  } catch (error) {
    await app.close();
    throw listenFailure(error, settings);
  }
  return { url: addressOf(app, settings.host), close: () => app.close() };
}

function addSafety(app: FastifyInstance, settings: ConsoleSettings, deps: ConsoleDeps): void {
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    });
    const refusal = refuse(
      { method: request.method, path: pathOf(request), headers: request.headers },
      settings,
      deps.clock.now(),
    );
    return refusal === undefined ? undefined : turnAway(refusal, request, reply);
  });
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send(errorBody("NOT_FOUND", "there is no such page")),
  );
  app.setErrorHandler((error, _request, reply) => {
    const status = clientErrorStatus(error);
    if (status !== undefined)
      return reply.code(status).send(errorBody("BAD_REQUEST", "the request is not understood"));
    const failure = asFailure(error);
    deps.logger.error({ err: failure }, "console: a request failed");
    return reply
      .code(failure.class === "transient" ? 503 : 500)
      .send(errorBody(failure.code, failure.message));
  });
}

function turnAway(refusal: Refusal, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  switch (refusal) {
    case "host":
      return reply
        .code(421)
        .send(errorBody("HOST_REFUSED", "this console answers to localhost and 127.0.0.1 only"));
    case "cross-site":
      return reply.code(403).send(errorBody("CROSS_SITE", "the form was sent by another site"));
    case "token":
      reply.code(401).header("www-authenticate", 'Bearer realm="cryobridge"');
      if (pathOf(request) === "/") return sendPage(reply, loginPage());
      return reply.send(errorBody("TOKEN_NEEDED", "send the console's token: Authorization: Bearer TOKEN"));
  }
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
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  const address = `${host}:${port}`;
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

function addressOf(app: FastifyInstance, host: string): string {
  const { port } = app.server.address() as AddressInfo;
  const name = bareHost(host);
  // The wildcard is no address to open.
  if (name === "0.0.0.0" || name === "::") return `http://localhost:${port}`;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
