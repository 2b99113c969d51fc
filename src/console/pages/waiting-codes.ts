import type { WaitingCode } from "../../ledger/messages/waiting.ts";
import { whatFor, whyStillWaiting } from "../../operator/message-words.ts";
import { counted } from "../../operator/text.ts";
import { RELEASE } from "../../operator/things/waiting.ts";
import type { BeginWork } from "../act-on-many.ts";
import { lasting } from "../ages.ts";
import { actForm, whoActs } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import { withCommands } from "../page-of-command.ts";
import type { Site, Visit } from "../site.ts";
import { addManySiteAct } from "../site-act-forms.ts";

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
            { action: `${RELEASE.path}/choose`, label: RELEASE.button, fields: { code, connector } },
            visit,
          );
    return html`<li class="act"><div class="grow"><div class="what">${counted(messages, "message")} through ${connector} ${messages === 1 ? "waits" : "wait"} for ${whatFor(each)} ${lasting(since, visit.viewer.clock.now())}</div>${why === undefined ? "" : html`<div class="note">${withCommands(why)}</div>`}<a href="${PATH}?${new URLSearchParams({ verdict: "waiting", connector }).toString()}">The messages, to choose and discard</a></div>${release}</li>`;
  })}</ul>${whoActs(visit)}`;
}

/** Releasing what waits for a code: what that will do, and then the act. */
export function addRelease(site: Site, records: Records, beginWork: BeginWork): void {
  addManySiteAct(site, RELEASE, { records, beginWork }, ({ form }) => ({
    code: form.get("code") || undefined,
    connector: form.get("connector") || undefined,
  }));
}
