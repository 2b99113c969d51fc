import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { askCounts, askLeftBehind, askReadiness, askRefills, askServiceChanges, askWaiting } from "./ask.ts";
import { LoginAttempts } from "./attempts.ts";
import type { ConsoleDeps, ConsoleSettings } from "./deps.ts";
import { CONTENT_SECURITY_POLICY, loginPage, statusPage } from "./pages.ts";
import { isEqual, issueSession, SESSION_COOKIE, SESSION_SECONDS } from "./session.ts";
import { readStatus } from "./status.ts";

/** What an error answer holds, in JSON. */
export function errorBody(code: string, message: string) {
  return { error: { code, message } };
}

/** Health, metrics and the status document: what programs ask for. */
export function addProgramRoutes(app: FastifyInstance, settings: ConsoleSettings, deps: ConsoleDeps): void {
  app.get("/healthz", async () => ({ alive: true }));
  app.get("/readyz", async (_request, reply) => {
    const { ready, reasons } = await askReadiness(deps);
    return reply.code(ready ? 200 : 503).send({ ready, reasons });
  });
  app.get("/metrics", async (_request, reply) => {
    const [readiness, counts, refills, serviceChanges, waiting, leftBehind] = await Promise.all([
      askReadiness(deps),
      askCounts(deps),
      askRefills(deps),
      askServiceChanges(deps),
      askWaiting(deps),
      askLeftBehind(deps),
    ]);
    const nowMs = deps.clock.now();
    const text = await deps.metrics.render({
      isReady: readiness.ready,
      counts,
      refills,
      serviceChanges,
      listeners: deps.listeners?.(),
      waiting,
      leftBehind,
      nowMs,
    });
    return reply.type(deps.metrics.contentType).send(text);
  });
  app.get("/api/status", () => readStatus(deps, settings.version));
}

/** The page and its login: what people open. */
export function addPageRoutes(app: FastifyInstance, settings: ConsoleSettings, deps: ConsoleDeps): void {
  const { token, version } = settings;
  const attempts = new LoginAttempts(deps.clock);
  app.get("/", (_request, reply) => sendPage(reply, statusPage({ version, hasLogin: token !== undefined })));
  if (token === undefined) return;

  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string" },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
  app.post("/login", (request: FastifyRequest, reply) => {
    if (attempts.isBlocked(request.ip)) {
      return sendPage(
        reply.code(429).header("retry-after", "60"),
        loginPage("Too many tries. Wait a minute."),
      );
    }
    const given = request.body instanceof URLSearchParams ? request.body.get("token") : null;
    if (given === null || !isEqual(given, token)) {
      attempts.recordFailure(request.ip);
      deps.logger.warn({ peer: request.ip }, "console: a wrong token was given");
      return sendPage(reply.code(401), loginPage("That is not the token."));
    }
    const session = issueSession(token, deps.clock.now());
    return reply.header("set-cookie", sessionCookie(session, SESSION_SECONDS)).redirect("/", 303);
  });
  app.post("/logout", (_request, reply) =>
    reply.header("set-cookie", sessionCookie("", 0)).redirect("/", 303),
  );
}

/** Sends a page with its security policy. */
export function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply
    .type("text/html; charset=utf-8")
    .header("content-security-policy", CONTENT_SECURITY_POLICY)
    .send(html);
}

function sessionCookie(value: string, maxAgeSeconds: number): string {
  return `${SESSION_COOKIE}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
}
