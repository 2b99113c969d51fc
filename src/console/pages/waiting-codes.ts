import { listWaitingCodes, type WaitingCode } from "../../ledger/messages/waiting.ts";
import type { Mapped, ReleaseFilter } from "../../operator/acts.ts";
import { whatFor, whyStillWaiting } from "../../operator/message-columns.ts";
import { counted, countsInWords } from "../../operator/text.ts";
import { confirmPage } from "../acts.ts";
import { lasting } from "../ages.ts";
import { actForm, whoActs } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import { withCommands } from "../page-of-command.ts";
import type { Notice } from "../session.ts";
import type { Answer, Site, Submission, Visit } from "../site.ts";
import type { BeginWork } from "../work.ts";

const PATH = "/messages";

/** What messages wait for, each with what to do about it. */
export function waitingList(
  waiting: readonly WaitingCode[],
  visit: Visit,
  connectors: readonly string[],
): Html {
  return html`<ul class="attention">${waiting.map((each) => {
    const { kind, code, connector, messages, since } = each;
    const why = whyStillWaiting(each, connectors);
    // What waits for an earlier message comes along when that is released.
    const release =
      kind === "earlier" || code === undefined
        ? ""
        : actForm(
            { action: `${PATH}/release/choose`, label: "Release…", fields: { code, connector } },
            visit,
          );
    return html`<li class="act"><div class="grow"><div class="what">${counted(messages, "message")} through ${connector} ${messages === 1 ? "waits" : "wait"} for ${whatFor(each)} ${lasting(since, visit.viewer.clock.now())}</div>${why === undefined ? "" : html`<div class="note">${withCommands(why)}</div>`}<a href="${PATH}?${new URLSearchParams({ verdict: "waiting", connector }).toString()}">The messages, to choose and discard</a></div>${release}</li>`;
  })}</ul>${whoActs(visit)}`;
}

/** Releasing what waits for a code: what that will do, and then the act. */
export function addRelease(site: Site, records: Records, beginWork: BeginWork): void {
  site.form(`${PATH}/release/choose`, async (submission) => {
    const filter = filterOf(submission);
    const { meant, count, title } = await findMeant(filter, records);
    const [first] = meant;
    if (first === undefined) return { to: PATH, notice: { isDone: false, lines: [NONE_WAITS] } };
    const { code = "", connector = "" } = filter;
    return confirmPage(
      {
        ...{ section: PATH, back: PATH, action: `${PATH}/release`, what: title },
        explains: `${count === 1 ? "It waits" : "They wait"} for ${whatFor(first)}. The configuration that runs maps ${count === 1 ? "it" : "them, in the order of receipt"}. Orders that come of ${count === 1 ? "it" : "them"} go to the service, and the lab is answered; a message whose code is still unknown goes on waiting. Messages that wait for an earlier one are released with it.`,
        fields: { code, connector },
      },
      submission,
    );
  });
  site.form(`${PATH}/release`, (submission) => release(submission, records, beginWork));
}

const NONE_WAITS = "No message waits for that any more.";

function filterOf({ form }: Submission): ReleaseFilter {
  return { code: form.get("code") || undefined, connector: form.get("connector") || undefined };
}

async function findMeant({ code, connector }: ReleaseFilter, { pool }: Records) {
  const waiting = (await listWaitingCodes(pool)).filter((each) => each.connector === connector);
  const meant = waiting.filter((each) => each.kind !== "earlier" && each.code === code);
  const count = sum(meant);
  return {
    meant,
    count,
    title: `Release ${counted(count, "message")} through ${connector}`,
    /** With those that may come along. */
    atMost: count + sum(waiting.filter(({ kind }) => kind === "earlier")),
  };
}

const sum = (waiting: readonly WaitingCode[]) => waiting.reduce((all, { messages }) => all + messages, 0);

async function release(submission: Submission, records: Records, beginWork: BeginWork): Promise<Answer> {
  const filter = filterOf(submission);
  const { title, atMost } = await findMeant(filter, records);
  const run = async (onEach: () => void) => {
    const counts: Partial<Record<Mapped["verdict"], number>> = {};
    const { before, left } = await records.acts.releaseMessages(filter, submission.act, ({ verdict }) => {
      counts[verdict] = (counts[verdict] ?? 0) + 1;
      onEach();
    });
    return describeReleased(counts, before, left);
  };
  return beginWork({ title, section: PATH, total: atMost, back: PATH, run }, submission);
}

/** What a release did, and what it left waiting. */
function describeReleased(
  counts: Readonly<Partial<Record<Mapped["verdict"], number>>>,
  before: readonly WaitingCode[],
  left: readonly WaitingCode[],
): Notice {
  const released = Object.values(counts).reduce((all, count) => all + count, 0);
  const done =
    released > 0
      ? `${counted(released, "message")} mapped again: ${countsInWords(counts, "none")}.`
      : before.length > 0
        ? "No message was released: what they wait for is not known to the configuration that runs. Once it is in the file, reload the configuration on the page Workers."
        : NONE_WAITS;
  return {
    isDone: released > 0 && counts.refused === undefined,
    lines: [
      done,
      // What to do about each stands above the list.
      ...left.map(
        (each) => `Still waiting through ${each.connector}: ${each.messages} for ${whatFor(each)}.`,
      ),
    ],
  };
}
