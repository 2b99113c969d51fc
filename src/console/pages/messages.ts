import { problemSentence } from "../../core/failures.ts";
import { placeText } from "../../core/place.ts";
import { parseId } from "../../ledger/ids.ts";
import { listMessagesById, listStoredMessages, type MessageView } from "../../ledger/messages/views.ts";
import { listWaitingCodes } from "../../ledger/messages/waiting.ts";
import type { Acted, Mapped, Replayed } from "../../operator/acts.ts";
import { MESSAGE_LIST } from "../../operator/lists/messages.ts";
import { MESSAGE_COLUMNS } from "../../operator/message-columns.ts";
import { counted, countsInWords } from "../../operator/text.ts";
import {
  type Choice,
  chooseBox,
  chooseForm,
  confirmChoice,
  MOST_AT_ONCE,
  notDone,
  readChoice,
} from "../bulk.ts";
import { listTable, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { filterValues, placeOf, readListPage } from "../listing.ts";
import type { Notice } from "../session.ts";
import type { Answer, Site, Submission, Visit } from "../site.ts";
import type { BeginWork, Work } from "../work.ts";
import { waitingList } from "./waiting-codes.ts";

const PATH = "/messages";

/** The list of messages, and what can be done with many of them. */
export function addMessageList(site: Site, records: Records, beginWork: BeginWork): void {
  site.filter(PATH);
  site.page(PATH, (visit) => listPage(visit, records));
  site.form(`${PATH}/choose`, (submission) => choose(submission, records));
  site.form(`${PATH}/replay`, (submission) => act("replay", submission, records, beginWork));
  site.reasonedForm(`${PATH}/discard`, (submission) => act("discard", submission, records, beginWork));
}

async function listPage(visit: Visit, records: Records): Promise<Page> {
  const { viewer, mayAct } = visit;
  const [{ rows, nothing, form, more }, waiting] = await Promise.all([
    readListPage(MESSAGE_LIST, PATH, visit, records),
    listWaitingCodes(records.pool),
  ]);
  const before = { title: "choose", cell: ({ messageId }: MessageView) => chooseBox(messageId) };
  const table = listTable(MESSAGE_COLUMNS, rows, viewer, { nothing, ...(mayAct ? { before } : {}) });
  const acts = { path: PATH, acts: { replay: "Replay…", discard: "Discard…" } };
  return {
    title: "Messages",
    section: PATH,
    isLive: true,
    body: html`
<h1>Messages</h1>
${waiting.length === 0 ? "" : section("Waiting for a code", waitingList(waiting, visit, records.connectors))}
${form}
${mayAct && rows.length > 0 ? chooseForm(acts, table, visit) : table}
${more}`,
  };
}

const ACTS = {
  replay: {
    verb: "Replay",
    reason: "optional",
    explains:
      "They are mapped again by the configuration that runs, in the order in which they were received. Each becomes a new message; orders that exist already are not made twice.",
    isMeant: ({ verdict }: MessageView) => verdict !== "waiting",
    leftOut: "left out: a message that waits is not replayed but released, once its code is known.",
  },
  discard: {
    verb: "Discard",
    reason: "required",
    explains: "They are given up, and the lab is sent a refusal of each.",
    isMeant: ({ verdict }: MessageView) => verdict === "waiting",
    leftOut: "left out: only a message that waits can be discarded.",
  },
} as const;
type ActName = keyof typeof ACTS;

/** Says what would be done with the messages that were chosen. */
async function choose(submission: Submission, records: Records): Promise<Answer> {
  const choice = readChoice(submission, PATH);
  const { act: name, back } = choice;
  if (!isAct(name)) return notDone(choice, "Choose what to do with the messages.");
  const chosen = await findChosen(choice, submission, records);
  if (chosen.length === 0) return notDone(choice, "Choose messages first, by the boxes before them.");
  if (chosen.length > MOST_AT_ONCE)
    return notDone(
      choice,
      `More than ${MOST_AT_ONCE} messages are found, and no more than that are changed at once: narrow the filter.`,
    );
  const { isMeant, leftOut, ...words } = ACTS[name];
  const meant = chosen.filter(isMeant);
  const others = chosen.length - meant.length;
  const without = others === 0 ? [] : [`${counted(others, "message")} ${leftOut}`];
  if (meant.length === 0) return { to: back, notice: { isDone: false, lines: without } };
  const named = meant.map((message) => ({ id: message.messageId, name: nameOf(message) }));
  const asked = {
    ...words,
    section: PATH,
    action: `${PATH}/${name}`,
    noun: "message",
    leftOut: without,
    isDangerous: name === "discard",
  } as const;
  return confirmChoice(asked, named, choice, submission);
}

function isAct(name: string): name is ActName {
  return Object.hasOwn(ACTS, name);
}

/** In the order of receipt. */
async function findChosen(
  { ids, filter }: Choice,
  visit: Visit,
  records: Records,
): Promise<readonly MessageView[]> {
  if (filter === undefined) return listMessagesById(records.pool, numbersOf(ids));
  const meant = filterValues(MESSAGE_LIST, filter, visit);
  if (meant === undefined) return [];
  return (await MESSAGE_LIST.read(placeOf(records, visit), meant, { limit: MOST_AT_ONCE + 1 })).toReversed();
}

function nameOf({ messageId, connector, fileName, place, messageControlId }: MessageView): string {
  const from = fileName === undefined ? `through ${connector}` : `${fileName}, ${placeText(place)}`;
  return [messageId, messageControlId, from].filter((each) => each !== undefined).join(" · ");
}

/** So many messages are held in memory at once. */
const BATCH = 100;

/** Does what was confirmed, in the order of receipt. */
async function act(
  name: ActName,
  submission: Submission,
  { pool, acts }: Records,
  beginWork: BeginWork,
): Promise<Answer> {
  const choice = readChoice(submission, PATH);
  const ids = numbersOf(choice.ids).slice(0, MOST_AT_ONCE);
  const work: Work = {
    title: `${ACTS[name].verb} ${counted(ids.length, "message")}`,
    ...{ section: PATH, total: ids.length, back: choice.back },
    run: async (onEach) => {
      if (name === "discard") {
        const messages = await listMessagesById(pool, ids);
        return describeDiscarded(messages, await acts.discardMessages(messages, submission.act, onEach));
      }
      const replayed: Replayed[] = [];
      for (let from = 0; from < ids.length; from += BATCH) {
        const messages = await listStoredMessages(pool, ids.slice(from, from + BATCH));
        replayed.push(...(await acts.replay(messages, submission.act, onEach)));
      }
      return describeReplayed(replayed);
    },
  };
  return beginWork(work, submission);
}

const LINES = 20;

/** What became of messages that were mapped again. */
export function describeReplayed(all: readonly Replayed[]): Notice {
  const mapped = all.filter((each): each is Mapped => !("refusal" in each));
  const refusals = all.flatMap((each) => ("refusal" in each ? [each.refusal] : []));
  const counts = countsInWords(countBy(mapped.map(({ verdict }) => verdict)), "none");
  const problems = mapped.flatMap(({ messageId, problems: [first] }) =>
    first === undefined ? [] : [`${messageId}: ${problemSentence(first)} (${first.code})`],
  );
  const lines = [...refusals.map((why) => `Not replayed: ${why}`), ...problems];
  return {
    isDone: refusals.length === 0 && mapped.every(({ verdict }) => verdict !== "refused"),
    lines: [`${counted(mapped.length, "message")} mapped again: ${counts}.`, ...firstOf(lines)],
  };
}

/** What became of messages that were given up. */
export function describeDiscarded(messages: readonly MessageView[], done: readonly Acted[]): Notice {
  const lines = done.map(([, words], index) => `${messages[index]?.messageId} ${words}`);
  const count = done.filter(([isDone]) => isDone).length;
  return {
    isDone: count === done.length,
    lines: [`${counted(count, "message")} discarded.`, ...firstOf(lines)],
  };
}

function firstOf(lines: readonly string[]): string[] {
  const others = lines.length - LINES;
  return [...lines.slice(0, LINES), ...(others > 0 ? [`And ${others} more.`] : [])];
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Their numbers, in the order of receipt. */
function numbersOf(ids: readonly string[]): number[] {
  return [...new Set(ids.flatMap((id) => parseId("m", id) ?? []))].sort((a, b) => a - b);
}
