import type { FastifyInstance, FastifyRequest } from "fastify";
import { askAll, askOwn, isReady, reasonsOf } from "../standing/ask.ts";
import { conditionsOf, readStatus } from "../standing/status.ts";
import type { ConsoleDeps, ConsoleSettings } from "./deps.ts";
import type { Guard } from "./guard.ts";
import { loginPage, troublePage } from "./layout.ts";
import { addressOf } from "./peer.ts";
import { SESSION_COOKIE, SESSION_SECONDS } from "./session.ts";
import { isOwnPath, OLD_FORM, sendHtml } from "./site.ts";

/** What an error answer holds, in JSON. */
export function errorBody(code: string, message: string) {
  return { error: { code, message } };
}

/** Health, metrics and the status document: what programs ask for. */
export function addProgramRoutes(app: FastifyInstance, settings: ConsoleSettings, deps: ConsoleDeps): void {
  app.get("/healthz", async () => ({ alive: true }));
  app.get("/readyz", async (_request, reply) => {
    const own = await askOwn(deps);
    const ready = isReady(own);
    return reply.code(ready ? 200 : 503).send({ ready, reasons: reasonsOf(own) });
  });
  app.get("/metrics", async (_request, reply) => {
    const answers = await askAll(deps);
    const { own, counts, refills, waiting, orphaned } = answers;
    const nowMs = deps.clock.now();
    const text = await deps.metrics.render({
      isReady: isReady(own),
      counts,
      refills,
      untaken: deps.untaken?.(),
      listeners: deps.listeners?.(),
      waiting,
      orphaned,
      conditions: conditionsOf(deps, answers),
      connections: deps.records?.pool,
      service: deps.service?.(counts),
      nowMs,
    });
    return reply.type(deps.metrics.contentType).send(text);
  });
  app.get("/api/status", () => readStatus(deps, settings.version));
}

export const TOO_MANY_TRIES = "Too many tries. Wait a minute.";

/** Signing in and out. */
export function addSignIn(app: FastifyInstance, guard: Guard): void {
  app.get("/login", (_request, reply) => sendHtml(reply, loginPage()));
  app.post("/login", (request: FastifyRequest, reply) => {
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const to = form.get("to") ?? "";
    const answer = guard.signIn(form.get("token") ?? "", addressOf(request.ip));
    if ("session" in answer) {
      const options = { ...cookieFor(request), maxAge: SESSION_SECONDS };
      return reply.setCookie(SESSION_COOKIE, answer.session, options).redirect(isOwnPath(to) ? to : "/", 303);
    }
    if (answer.refusal === "too many") {
      return sendHtml(reply.code(429).header("retry-after", "60"), loginPage(TOO_MANY_TRIES, to));
    }
    return sendHtml(reply.code(401), loginPage("That is not a token of the console.", to));
  });
  app.post("/logout", (request, reply) => {
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    if (!guard.signOut(request.cookies[SESSION_COOKIE], form.get("formToken") ?? ""))
      return sendHtml(reply.code(403), troublePage("Nothing was done", OLD_FORM));
    return reply.clearCookie(SESSION_COOKIE, cookieFor(request)).redirect("/login", 303);
  });
}

/** Where the browser speaks TLS, as a trusted proxy says, it never sends the session without it. */
function cookieFor(request: FastifyRequest) {
  const secure = request.protocol.toLowerCase() === "https";
  return { path: "/", httpOnly: true, sameSite: "strict", secure } as const;
}
