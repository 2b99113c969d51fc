import { parseId } from "../../ledger/ids.ts";
import {
  findMessage,
  findMessageAnswer,
  type MessageAnswer,
  type StoredMessage,
} from "../../ledger/messages/views.ts";
import { recordAudit } from "../../ledger/operator/audit.ts";
import { listMessageDeliveries } from "../../ledger/operator/views.ts";
import { readOrders } from "../../ledger/orders/row.ts";
import type { Column } from "../../operator/column.ts";
import { MESSAGE_COLUMNS } from "../../operator/message-columns.ts";
import type { ListedOrder } from "../../operator/order-columns.ts";
import { DELIVERY_COLUMNS, ORDER_COLUMNS, PAINT_BY_VERDICT } from "../../operator/order-columns.ts";
import {
  actForm,
  age,
  badge,
  details,
  hideLink,
  listTable,
  problemBox,
  section,
  whoActs,
} from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import type { Notice } from "../session.ts";
import type { Site, Visit } from "../site.ts";
import { answerContent, messageContent } from "./message-text.ts";
import { describeDiscarded, describeReplayed } from "./messages.ts";

/** Rows of a list within the page. */
const A_LIST = 50;

/** What has room beside the message. */
const BESIDE = ["orderId", "placerOrderNumber", "operation", "facilityCode", "state"];
const ORDERS_BESIDE: readonly Column<ListedOrder>[] = [
  ...ORDER_COLUMNS.filter(({ key = "" }) => BESIDE.includes(key)),
  {
    title: "containers",
    isFlexible: true,
    show: ({ containers }) => containers.map(({ label }) => label).join(", "),
  },
];

/** The page of one message, and what can be done to it. */
export function addMessagePage(site: Site, records: Records): void {
  const { pool, acts } = records;
  const find = async ({ params: { id = "" } }: Visit) => {
    const number = parseId("m", id);
    return number === undefined ? undefined : findMessage(pool, number);
  };
  const answer = ({ messageId }: StoredMessage, notice: Notice) => ({
    to: `/messages/${messageId}`,
    notice,
  });
  site.page("/messages/:id", async (visit) => {
    const message = await find(visit);
    return message && messagePage(message, visit, records);
  });
  site.form("/messages/:id/show", async (submission) => {
    const message = await find(submission);
    if (!message) return undefined;
    // A table as answer may be about others, too.
    const { deliveryId } = (await findMessageAnswer(pool, parseId("m", message.messageId) ?? 0)) ?? {};
    const seen = [message.messageId, deliveryId].filter((target) => target !== undefined);
    await recordAudit(
      pool,
      submission.act,
      "show-phi",
      seen.map((target) => ({ target })),
    );
    return messagePage(message, submission, records);
  });
  site.form("/messages/:id/replay", async (submission) => {
    const message = await find(submission);
    return message && answer(message, describeReplayed(await acts.replay([message], submission.act)));
  });
  site.reasonedForm("/messages/:id/discard", async (submission) => {
    const message = await find(submission);
    if (!message) return undefined;
    const done = await acts.discardMessages([message], submission.act);
    return answer(message, describeDiscarded([message], done));
  });
}

async function messagePage(message: StoredMessage, visit: Visit, { pool }: Records): Promise<Page> {
  const { viewer } = visit;
  const { messageId, verdict, connector, messageType, orderIds, receivedAt } = message;
  const number = parseId("m", messageId) ?? 0;
  const [orders, deliveries, answer, content] = await Promise.all([
    readOrders(
      pool,
      orderIds.slice(0, A_LIST).flatMap((id) => parseId("o", id) ?? []),
    ),
    listMessageDeliveries(pool, number, A_LIST),
    findMessageAnswer(pool, number),
    messageContent(message, viewer.mayShowPhi),
  ]);
  return {
    title: `Message ${messageId}`,
    section: "/messages",
    body: html`
<div class="title"><h1>Message ${messageId}</h1>${badge(verdict, PAINT_BY_VERDICT[verdict])}<span class="note">${messageType ? html`${messageType} ` : ""}through ${connector}, ${age(receivedAt, viewer)}</span></div>
${problemBox(verdict === "waiting" ? "Why is it waiting?" : "What is wrong with it", message.problems)}
<div class="acts">${formsFor(message, visit)}</div>
${message.problems.length > 0 ? whoActs(visit) : ""}
<section><h2>About it</h2>${details(MESSAGE_COLUMNS, message, viewer)}</section>
<div class="columns wide">
<section><h2>The message</h2>${content}</section>
<div>
${section(orderIds.length > A_LIST ? `The first ${A_LIST} of its ${orderIds.length} orders` : "Orders that came of it", listTable<ListedOrder>(ORDERS_BESIDE, orders, viewer, { nothing: "No order came of it." }))}
${section("The answer", answerPart(answer, viewer.mayShowPhi))}
</div>
</div>
${section("Sent to the lab about it", listTable(DELIVERY_COLUMNS, deliveries, viewer, { nothing: "Nothing yet." }))}`,
  };
}

function answerPart(answer: MessageAnswer | undefined, mayShowPhi: boolean): Html {
  if (answer === undefined)
    return html`<p class="nothing">Nothing was answered, or it is not kept any more.</p>`;
  const { deliveryId, isReply } = answer;
  const how = isReply
    ? html`Answered on the connection that it came by.`
    : html`Sent as result <a href="/results/${deliveryId}">${deliveryId}</a>.`;
  return html`<p class="note">${how}</p>${answerContent(answer, mayShowPhi)}`;
}

/** The forms that this message has a use for. */
function formsFor({ messageId, verdict, raw }: StoredMessage, visit: Visit): Html[] {
  const path = `/messages/${messageId}`;
  const forms: Html[] = [];
  const add = (form: Parameters<typeof actForm>[0]) => forms.push(actForm(form, visit));
  if (verdict !== "waiting" && raw !== undefined)
    add({
      action: `${path}/replay`,
      label: "Replay",
      reason: "optional",
      explains:
        "It is mapped again by the configuration that runs, as a new message; orders that exist already are not made twice.",
    });
  if (verdict === "waiting")
    add({
      action: `${path}/discard`,
      label: "Discard",
      reason: "required",
      isDangerous: true,
      explains: "It is given up, and the lab is sent a refusal.",
    });
  if (visit.viewer.mayShowPhi) forms.push(hideLink(path));
  else add({ action: `${path}/show`, label: "Show the patient's data (is recorded)" });
  return forms;
}
