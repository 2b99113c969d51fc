import { randomBytes } from "node:crypto";
import { asFailure } from "../core/failures.ts";
import { within } from "../core/within.ts";
import type { ConsoleDeps } from "./deps.ts";
import { html } from "./html.ts";
import { Latest } from "./latest.ts";
import type { Page } from "./layout.ts";
import { withCommands } from "./page-of-command.ts";
import type { Section } from "./sections.ts";
import type { Notice } from "./session.ts";
import type { Answer, Site, Submission } from "./site.ts";

/** What is done to many records. */
export interface Work {
  /** Such as `Replay 200 messages`. */
  readonly title: string;
  readonly section: Section;
  readonly total: number;
  /** The list to go back to. */
  readonly back: string;
  /** Does it, and calls `onEach` after each record. */
  readonly run: (onEach: () => void) => Promise<Notice>;
}

/** What stays of it once it has ended: what it was done to is not held for that. */
interface Begun extends Omit<Work, "run"> {
  done: number;
  notice: Notice | undefined;
}

/** What takes longer gets a page that shows how far it is, ms. */
const SHORT_MS = 1_000;
/** Of this many the outcome can still be seen. */
const KEPT = 100;
const PATH = "/work";

/** Begins work on many records, once for each form of {@link newWorkId}: a second click leads to what the first one began. */
export type BeginWork = (work: Work, submission: Submission) => Promise<Answer>;

/** Stands as `work` in a form that begins some. */
export function newWorkId(): string {
  return randomBytes(12).toString("base64url");
}

/**
 * Work that goes on while its page shows how far it is, also when nobody looks; what is done to each record is written down by
 * itself, so a daemon that stops in between leaves the others as they were.
 */
export function addWorkPage(site: Site, { logger, clock }: Pick<ConsoleDeps, "logger" | "clock">): BeginWork {
  const begunById = new Latest<string, Begun>(KEPT);
  site.page(`${PATH}/:id`, async ({ params: { id = "" } }) => {
    const begun = begunById.get(id);
    return begun && workPage(begun);
  });
  return async ({ run, ...work }, { form }) => {
    const id = /^[\w-]{16}$/.exec(form.get("work") ?? "")?.[0] ?? newWorkId();
    if (begunById.has(id)) return { to: `${PATH}/${id}` };
    const begun: Begun = { ...work, done: 0, notice: undefined };
    begunById.set(id, begun);
    const ended = run(() => {
      begun.done += 1;
    })
      .catch((error: unknown): Notice => {
        const failure = asFailure(error);
        logger.error({ err: failure }, "console: work on many records broke off");
        const line = `It broke off after ${begun.done} of ${work.total}: ${failure.message} (${failure.code}).`;
        return { isDone: false, lines: [line] };
      })
      .then((notice) => {
        begun.notice = notice;
      });
    await within(ended, SHORT_MS, clock);
    const { notice } = begun;
    if (notice === undefined) return { to: `${PATH}/${id}` };
    return { to: work.back, notice };
  };
}

function workPage({ title, section, total, done, back, notice }: Begun): Page {
  const more = html`<p class="more"><a href="${back}">Back to the list</a></p>`;
  if (notice !== undefined)
    return {
      title,
      section,
      body: html`
<h1>${title}</h1>
<div class="banner ${notice.isDone ? "good" : "bad"}" role="status"><ul>${notice.lines.map((line) => html`<li>${withCommands(line)}</li>`)}</ul></div>
${more}`,
    };
  return {
    title: `${done} of ${total}: ${title}`,
    section,
    isLive: true,
    refreshSeconds: 1,
    body: html`
<h1>${title}</h1>
<p><label for="progress">${done} of ${total}</label> <progress id="progress" max="${total}" value="${done}"></progress></p>
<p class="note">It goes on when you leave this page.</p>
${more}`,
  };
}
