import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Failure } from "../core/failures.ts";
import type { Act } from "../ledger/operator/audit.ts";
import type { Viewer } from "../operator/column.ts";
import type { ConsoleDeps, ConsoleUser } from "./deps.ts";
import { html } from "./html.ts";
import { CONTENT_SECURITY_POLICY, layOut, type Page, type Section } from "./layout.ts";
import { isEqual, type Notice, type Session } from "./session.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Of the person who asks; undefined where nobody has to sign in, and for programs. */
    session: Session | undefined;
  }
}

/** Somebody opens a page. */
export interface Visit {
  /** The variable parts of the path, such as `id`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Patients' values stay hidden, unless the page was asked for them. */
  readonly viewer: Viewer;
  readonly user: ConsoleUser | undefined;
  /** Whether the user may act, and ask for patients' values. */
  readonly mayAct: boolean;
  /** Stands in each form as `formToken`. */
  readonly formToken: string;
}

/** Somebody sends a form. */
export interface Submission extends Visit {
  readonly form: URLSearchParams;
  /** Who acts and why, for the audit. */
  readonly act: Act;
}

/** What a form leads to: a page of its own, or another page that says what became of it. */
export type Answer = Page | { readonly to: string; readonly notice: Notice };

/** A file that a browser saves. */
export interface Download {
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

/** The console's pages. */
export interface Site {
  /** A page; undefined when there is no such record. */
  page(path: string, build: (visit: Visit) => Promise<Page | undefined>): void;
  /** What a page shows, as a file; undefined when there is no such record. */
  file(path: string, build: (visit: Visit) => Promise<Download | undefined>): void;
  /** What a form does; only for users who may act. Undefined when there is no such record. */
  form(path: string, act: (submission: Submission) => Promise<Answer | undefined>): void;
}

/** The ids of a thousand records that were chosen together, and a reason. */
const MAX_FORM_BYTES = 32_768;

/** What is done to a thousand records takes longer than a page may, ms. */
const FORM_TIMEOUT_MS = 300_000;

/** A page says so of itself when it refreshes. */
export const REFRESH_HEADER = "cryobridge-refresh";

/** Adds pages and forms to the server, within the console's frame. */
export function openSite(
  app: FastifyInstance,
  { version, hasUsers }: { readonly version: string; readonly hasUsers: boolean },
  deps: ConsoleDeps,
): Site {
  const visitOf = (request: FastifyRequest, mayShowPhi = false): Visit => {
    const session = request.session;
    return {
      params: request.params as Record<string, string>,
      query: readable(new URLSearchParams(request.query as Record<string, string>)),
      viewer: { clock: deps.clock, mayShowPhi },
      user: session?.user,
      mayAct: session?.user.role === "operator",
      formToken: session?.formToken ?? "",
    };
  };
  const send = (request: FastifyRequest, reply: FastifyReply, page: Page) => {
    const session = request.session;
    const notice = session?.notice;
    if (session) session.notice = undefined;
    const frame = {
      version,
      user: session?.user,
      formToken: session?.formToken ?? "",
      path: request.url,
      notice,
    };
    return sendHtml(reply.code(page.status ?? 200), layOut(page, frame));
  };
  const missing = (section: Section): Page => ({
    title: "Not found",
    section,
    status: 404,
    body: html`<h1>Not found</h1><p>There is no such record; it may have been pruned by retention.</p>`,
  });
  return {
    page: (path, build) => {
      app.get(path, async (request, reply) =>
        send(request, reply, (await build(visitOf(request))) ?? missing(sectionOf(path))),
      );
    },
    file: (path, build) => {
      app.get(path, async (request, reply) => {
        const download = await build(visitOf(request));
        if (download === undefined) return send(request, reply, missing(sectionOf(path)));
        return reply
          .type(download.type)
          .header("content-disposition", `attachment; filename="${download.name}"`)
          .send(download.text);
      });
    },
    form: (path, act) => {
      app.post(path, { bodyLimit: MAX_FORM_BYTES }, async (request, reply) => {
        request.raw.socket.setTimeout(FORM_TIMEOUT_MS);
        const session = request.session;
        const form = readable(request.body instanceof URLSearchParams ? request.body : new URLSearchParams());
        const section = sectionOf(path);
        const refusal = refuse(session, form, hasUsers);
        if (refusal !== undefined || session === undefined) {
          return send(request, reply, {
            title: "Not done",
            section,
            status: 403,
            body: html`<h1>Nothing was done</h1><p>${refusal}</p>`,
          });
        }
        const reason = form.get("reason")?.trim() || undefined;
        // Only who asked for patients' values sees any, which the form's own act records.
        const visit = visitOf(request, path.endsWith("/show"));
        const answer = await act({
          ...visit,
          form,
          act: { actor: `${session.user.name} (console)`, reason },
        }).catch((error: unknown): Answer => {
          // What a person asked for and can't be: the words of a command say why.
          if (!(error instanceof Failure) || !error.code.startsWith("CLI_")) throw error;
          return { to: backOf(request), notice: { isDone: false, lines: [error.message] } };
        });
        if (answer === undefined) return send(request, reply, missing(section));
        if (!("to" in answer)) return send(request, reply, answer);
        session.notice = answer.notice;
        return reply.redirect(answer.to, 303);
      });
    },
  };
}

/** The database knows no text with a zero byte, so what somebody typed has none either. */
function readable(values: URLSearchParams): URLSearchParams {
  return new URLSearchParams(
    [...values].map(([name, value]): [string, string] => [name, value.replaceAll("\0", "")]),
  );
}

/** Why a form does nothing; undefined when it may. */
function refuse(session: Session | undefined, form: URLSearchParams, hasUsers: boolean): string | undefined {
  if (session === undefined)
    return hasUsers
      ? "Sign in first."
      : "Nobody can act here, since the console has no users: set console.token or console.users in the configuration. The command line can do the same.";
  if (session.user.role !== "operator")
    return `${session.user.name} may look and not act (role viewer in console.users).`;
  if (!isEqual(form.get("formToken") ?? "", session.formToken))
    return "The form is old or was sent by another page: open the page again.";
  return undefined;
}

/** The page that a form stands on, for words about what could not be done. */
function backOf({ headers }: FastifyRequest): string {
  const { referer } = headers;
  return referer !== undefined && URL.canParse(referer) ? new URL(referer).pathname : "/";
}

function sectionOf(path: string): Section {
  return `/${path.split("/")[1] ?? ""}` as Section;
}

/** Sends a page with its security policy. */
export function sendHtml(reply: FastifyReply, text: string): FastifyReply {
  return reply
    .type("text/html; charset=utf-8")
    .header("content-security-policy", CONTENT_SECURITY_POLICY)
    .send(text);
}
