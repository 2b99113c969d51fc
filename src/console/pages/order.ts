import { isTerminal } from "../../core/order-state.ts";
import { formatId } from "../../ledger/ids.ts";
import { findMessage } from "../../ledger/messages/views.ts";
import { isUncompared } from "../../ledger/restored/restore.ts";
import { ORDERS } from "../../operator/things/orders.ts";
import { RELEASE_AFTER_RESTORE } from "../../operator/things/restored.ts";
import { listSent } from "../../operator/things/results.ts";
import { findNamed, formOf, pathOf } from "../act-forms.ts";
import { actForm, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { addDetails } from "../details.ts";
import { type Html, html } from "../html.ts";
import type { Site, Visit } from "../site.ts";
import { messageContent } from "./message-text.ts";

/** The page of an order. */
export function addOrderPage(site: Site, records: Records): void {
  const { pool, acts } = records;
  addDetails(site, ORDERS, records, {
    alsoSeen: ({ messageId }) => formatId("m", messageId),
    arrange: (at) =>
      html`${at("timeline")}<div class="columns">${at("facts")}${at("containers")}</div>${at("controls")}${at("tasks")}${at("original")}${at("calls")}${at("answers")}${at("results")}`,
    forms: async (order, _details, visit) => [
      !isTerminal(order.state) &&
        (await isUncompared(pool)) &&
        (await releaseAfterRestoreForm(visit, records)),
      (await listSent(pool, order)).length > 0 && resendForm(pathOf(ORDERS, order), visit),
    ],
    below: (order) =>
      acts.mayCancel(order) || isTerminal(order.state)
        ? ""
        : html`<p class="note">It can't be cancelled here: the service has it, and the configuration has no cancel call (<code>service.cancel</code>). The facility's staff can still stop it.</p>`,
    instead: async ({ messageId }, { viewer, isRefresh }) => {
      const message = await findMessage(pool, messageId);
      if (message === undefined) return {};
      const shown = isRefresh ? "" : await messageContent(message, viewer.mayShowPhi);
      const original = html`<details id="original" class="act" hx-morph-skip><summary class="small">Show it here</summary>${shown}</details>`;
      return { original: section("The message as it came", original) };
    },
  });
  site.form("/orders/:id/resend", async (submission) => {
    const order = await findNamed(ORDERS, submission, records);
    if (order === undefined) return undefined;
    const lines: string[] = [];
    let isDone = true;
    for (const result of await listSent(pool, order)) {
      const [isSentAgain, words] = await acts.result("resend", result, submission.act);
      isDone &&= isSentAgain;
      lines.push(`${result.deliveryId} ${words}`);
    }
    if (lines.length === 0) return { to: pathOf(ORDERS, order), notice: NOTHING_SENT };
    return { to: pathOf(ORDERS, order), notice: { isDone, lines } };
  });
}

const NOTHING_SENT = { isDone: false, lines: ["Nothing was sent about the order yet."] };

/** Goes on after a restore without comparing anything more. */
export async function releaseAfterRestoreForm(visit: Visit, { pool }: Pick<Records, "pool">): Promise<Html> {
  const warnings = await RELEASE_AFTER_RESTORE.warnings({ pool });
  return formOf(RELEASE_AFTER_RESTORE, RELEASED_AT, {}, visit, { warnings });
}

/** Where its form leads. */
export const RELEASED_AT = "/orders/release-after-restore";

function resendForm(path: string, visit: Visit): Html {
  const explains = "All results that the lab had of the order, with the names and bytes that they had.";
  const label = "Send its results again";
  return actForm({ action: `${path}/resend`, label, explains, reason: "optional" }, visit);
}
