import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Failure } from "../core/failures.ts";
import { patiently } from "../core/within.ts";
import { type Act, IN_CONSOLE } from "../ledger/operator/audit.ts";
import type { Viewer } from "../operator/column.ts";
import { asSentence } from "../operator/text.ts";
import { pageOfRecord } from "../operator/things.ts";
import { withDeadline } from "../standing/ask.ts";
import { readStatus } from "../standing/status.ts";
import type { Status } from "../standing/status-document.ts";
import type { ConsoleDeps, ConsoleUser } from "./deps.ts";
import { html } from "./html.ts";
import { KeptWords } from "./kept-words.ts";
import { CONTENT_SECURITY_POLICY, layOut, type Page } from "./layout.ts";
import { type Section, sectionOf } from "./sections.ts";
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
  /** Whether the page refreshes itself: what it skips then, it need not be given. */
  readonly isRefresh: boolean;
  /** What the person searched for, by keys. */
  readonly words: Words;
  /** How things stand: asked once for a page, whose strip then says the same. */
  status(): Promise<Status>;
}

/** What was searched for may name a patient, so no address has it. */
export interface Words {
  /** The key that stands for a word in an address, as `find`. */
  keep(word: string): string;
  /** The word that an address stands for: empty without one, undefined when it is not kept any more. */
  of(query: URLSearchParams): string | undefined;
}

/** Somebody sends a form. */
export interface Submission extends Visit {
  readonly form: URLSearchParams;
  /** Who acts and why, for the audit. */
  readonly act: Act;
}

/** Somebody sends a form that wants a reason, and gave one. */
interface ReasonedSubmission extends Submission {
  readonly act: Act & { readonly reason: string };
}

/** Somebody searches. */
export interface Search extends Submission {
  readonly word: string;
}

/** What a form leads to: a page of its own, or another page that says what became of it. */
export type Answer = Page | { readonly to: string; readonly notice?: Notice };

/** A file that a browser saves. */
interface Download {
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

/** The console's pages. */
export interface Site {
  /** A page; undefined when there is no such record. */
  page(path: string, build: (visit: Visit) => Promise<Page | undefined>): void;
  /** Whether there is such a page. */
  has(path: string): boolean;
  /** What a page shows, as a file; undefined when there is no such record. */
  file(path: string, build: (visit: Visit) => Promise<Download | undefined>): void;
  /**
   * What a form does; only for users who may act. Undefined when there is no such record. What can't be done is said on the
   * nearest page above the form's path. A form with a field `back` leads to that page instead of where the act would lead.
   */
  form(path: string, act: (submission: Submission) => Promise<Answer | undefined>): void;
  /** The same for a form that does nothing without a reason. */
  reasonedForm(path: string, act: (submission: ReasonedSubmission) => Promise<Answer | undefined>): void;
  /** Where a search is posted, by everybody who may look. */
  search(path: string, find: (search: Search) => Promise<Answer>): void;
  /** Where the filter of a list is posted, by everybody who may look; it leads to the list, with a key for what was typed. */
  filter(list: string): void;
}

/** The ids of a thousand records that were chosen together, and a reason. */
const MAX_FORM_BYTES = 32_768;

/** What is done to a thousand records takes longer than a page may, ms. */
const FORM_TIMEOUT_MS = 300_000;

/** So long a page waits for how the parts stand, and an earlier answer stands in for it, ms. */
const PARTS_WITHIN_MS = 500;
const PARTS_GOOD_FOR_MS = 30_000;

/** A page says so of itself when it refreshes. */
export const REFRESH_HEADER = "cryobridge-refresh";

/** Adds pages and forms to the server, within the console's frame. */
export function openSite(
  app: FastifyInstance,
  { version, hasUsers }: { readonly version: string; readonly hasUsers: boolean },
  deps: ConsoleDeps,
): Site {
  const words = new KeptWords();
  const askedFor = new WeakMap<FastifyRequest, Promise<Status>>();
  /** The paths of pages, as they were added. */
  const pages = new Set<string>();
  const visitOf = (request: FastifyRequest, mayShowPhi = false): Visit => {
    const session = request.session;
    return {
      words: {
        keep: (word) => words.keep(word, session),
        of: (query) => {
          const key = query.get("find") || undefined;
          return key === undefined ? "" : words.find(key, session);
        },
      },
      params: request.params as Record<string, string>,
      query: readable(new URLSearchParams(request.query as Record<string, string>)),
      viewer: {
        ...{ clock: deps.clock, mayShowPhi, mayAskPhi: session?.user.role === "operator" },
        pageOf: (id) => pageOfRecord(id)?.to,
      },
      user: session?.user,
      isRefresh: REFRESH_HEADER in request.headers,
      mayAct: session?.user.role === "operator",
      formToken: session?.formToken ?? "",
      status: () => {
        const status = askedFor.get(request) ?? readStatus(deps, version);
        askedFor.set(request, status);
        return status;
      },
    };
  };
  // A page doesn't wait for what stands above it: it has what was known before then.
  const readParts = patiently(() => readStatus(deps, version), PARTS_WITHIN_MS, deps.clock);
  const partsNow = async () => {
    const status = (await readParts().catch(() => undefined))?.value;
    const isOld = status && deps.clock.now() - Date.parse(status.generatedAt) > PARTS_GOOD_FOR_MS;
    return status && !isOld ? status.parts : [];
  };
  const send = async (request: FastifyRequest, reply: FastifyReply, page: Page) => {
    const session = request.session;
    // A page that refreshes itself has shown its notice, and another one's is not for it.
    const notice = REFRESH_HEADER in request.headers ? undefined : session?.notice;
    if (session && notice) session.notice = undefined;
    const frame = {
      version,
      user: session?.user,
      formToken: session?.formToken ?? "",
      path: request.url,
      notice,
      parts: (await askedFor.get(request))?.parts ?? (await partsNow()),
      nowMs: deps.clock.now(),
    };
    return sendHtml(reply.code(page.status ?? 200), layOut(page, frame));
  };
  const missing = (section: Section): Page => ({
    title: "Not found",
    section,
    status: 404,
    body: html`<h1>Not found</h1><p>There is no such record; it may have been pruned by retention.</p><p class="more"><a href="${section}">To the list</a></p>`,
  });
  /** The nearest page above a form's path: that of its record, or of its list. */
  const pageAbove = (path: string, { url }: FastifyRequest) => {
    const parts = path.split("/");
    const [given = ""] = url.split("?", 1);
    for (let count = parts.length - 1; count > 1; count -= 1)
      if (pages.has(parts.slice(0, count).join("/"))) return given.split("/").slice(0, count).join("/");
    return "/";
  };
  const addForm: Site["form"] = (path, act) => {
    app.post(path, { bodyLimit: MAX_FORM_BYTES }, async (request, reply) => {
      request.raw.socket.setTimeout(FORM_TIMEOUT_MS);
      const session = request.session;
      const form = formOf(request);
      const section = sectionOf(path);
      const refusal = refuse(session, form, hasUsers);
      if (refusal !== undefined || session === undefined)
        return send(request, reply, notDone(section, refusal));
      const reason = form.get("reason")?.trim() || undefined;
      // Only who asked for patients' values sees any, which the form's own act records.
      const visit = visitOf(request, path.endsWith("/show"));
      const answer = await act({
        ...visit,
        form,
        act: { actor: actorOf(session), reason },
      }).catch((error: unknown): Answer => {
        // What a person asked for and can't be: the words of a command, or of the service, say why.
        if (!(error instanceof Failure) || !/^(CLI|SERVICE)_/.test(error.code)) throw error;
        const { code } = error;
        const message = deps.mask?.(error.message) ?? error.message;
        const words = code.startsWith("CLI_") ? message : asSentence(`${message} (${code})`);
        return { to: pageAbove(path, request), notice: { isDone: false, lines: [words] } };
      });
      if (answer === undefined) return send(request, reply, missing(section));
      if (!("to" in answer)) return send(request, reply, answer);
      if (answer.notice) session.notice = answer.notice;
      const back = form.get("back") ?? "";
      return reply.redirect(isOwnPath(back) ? back : answer.to, 303);
    });
  };
  const addSearch: Site["search"] = (path, find) => {
    app.post(path, { bodyLimit: MAX_FORM_BYTES }, async (request, reply) => {
      const session = request.session;
      const form = formOf(request);
      if (session && !isOwnForm(form, session))
        return send(request, reply, notDone(sectionOf(path), OLD_FORM));
      const word = form.get("find")?.trim() ?? "";
      const answer = await find({ ...visitOf(request), form, word, act: { actor: actorOf(session) } });
      return "to" in answer ? reply.redirect(answer.to, 303) : send(request, reply, answer);
    });
  };
  return {
    page: (path, build) => {
      pages.add(path);
      app.get(path, async (request, reply) => {
        const page = await withDeadline(build(visitOf(request)), deps.clock);
        return send(request, reply, page ?? missing(sectionOf(path)));
      });
    },
    has: (path) => pages.has(path),
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
    form: addForm,
    reasonedForm: (path, act) =>
      addForm(path, async (submission) => {
        const { reason, ...by } = submission.act;
        if (reason === undefined) throw new Failure("CLI_USAGE", "Say why: nothing was done.");
        return act({ ...submission, act: { ...by, reason } });
      }),
    search: addSearch,
    filter: (list) =>
      addSearch(`${list}/filter`, async ({ form, word, words: { keep } }) => {
        const query = new URLSearchParams(
          [...form].filter(([name, value]) => name !== "formToken" && value !== ""),
        );
        query.delete("find");
        if (word !== "") query.set("find", keep(word));
        return { to: query.size === 0 ? list : `${list}?${query}` };
      }),
  };
}

function formOf({ body }: FastifyRequest): URLSearchParams {
  return readable(body instanceof URLSearchParams ? body : new URLSearchParams());
}

function actorOf(session: Session | undefined): string {
  return session ? `${session.user.name}${IN_CONSOLE}` : "console";
}

function notDone(section: Section, why: string | undefined): Page {
  return {
    ...{ title: "Not done", section, status: 403 },
    body: html`<h1>Nothing was done</h1><p>${why}</p>`,
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
  return isOwnForm(form, session) ? undefined : OLD_FORM;
}

/** Why a form without its session's token does nothing. */
export const OLD_FORM = "The form is old or was sent by another page: open the page again.";

function isOwnForm(form: URLSearchParams, session: Session): boolean {
  return isEqual(form.get("formToken") ?? "", session.formToken);
}

/** A whole number that somebody sent, of so many digits at most; undefined for anything else. */
export function wholeNumber(text: string | null, digits: number): number | undefined {
  return text !== null && text.length <= digits && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** A path of the console, and not of another site, such as `//example.org`. */
export function isOwnPath(to: string): boolean {
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(to);
}

/** Sends a page with its security policy. */
export function sendHtml(reply: FastifyReply, text: string): FastifyReply {
  return reply
    .type("text/html; charset=utf-8")
    .header("content-security-policy", CONTENT_SECURITY_POLICY)
    .send(text);
}
