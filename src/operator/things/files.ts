import { problemSentence, shownProblem } from "../../core/failures.ts";
import type { Verdict } from "../../core/intake.ts";
import { parseId } from "../../ledger/ids.ts";
import { type FileView, findFile } from "../../ledger/messages/file-views.ts";
import { listFileMessageViews } from "../../ledger/messages/views.ts";
import { listFileDeliveries } from "../../ledger/operator/views.ts";
import type { Viewer } from "../column.ts";
import { ageColumn, type Column, forPrograms, type Paint } from "../column.ts";
import { FILE_MESSAGE_COLUMNS } from "../message-columns.ts";
import { DELIVERY_COLUMNS, PAINT_BY_VERDICT } from "../order-columns.ts";
import { type Details, fieldsPart, tablePart } from "../parts.ts";
import type { Place } from "../place.ts";
import { countsInWords } from "../text.ts";
import type { DetailsPart, Thing } from "../thing.ts";

/** What becomes of a file, in words. */
export const FILE_STATUS_WORDS: Readonly<Record<FileView["status"], string>> = {
  reading: "being read",
  taken: "taken",
  refused: "refused",
  duplicate: "duplicate",
};

/** How a file's status is coloured; of one that was taken, by what became of its messages. */
function paintOfFile({ status, verdicts, ordersParked }: FileView): Paint | undefined {
  if (status === "taken" && (ordersParked > 0 || verdicts.waiting || verdicts.refused)) return "yellow";
  return PAINT_BY_FILE_STATUS[status];
}

const PAINT_BY_FILE_STATUS: Readonly<Record<FileView["status"], Paint | undefined>> = {
  reading: undefined,
  taken: "green",
  refused: "red",
  duplicate: "yellow",
};

/** The values of a dropped file, in lists and in its details. */
export const FILE_COLUMNS: readonly Column<FileView>[] = [
  { key: "fileId", title: "id", only: "list", link: ({ fileId }) => `/files/${fileId}` },
  { key: "connector", title: "connector" },
  { key: "fileName", title: "file", isFlexible: true },
  { key: "sizeBytes", title: "size", only: "details", show: ({ sizeBytes }) => `${sizeBytes} bytes` },
  {
    key: "status",
    title: "status",
    only: "list",
    show: ({ status }) => FILE_STATUS_WORDS[status],
    paint: paintOfFile,
  },
  {
    key: "firstFileId",
    title: "duplicate of",
    isLesser: true,
    link: ({ firstFileId }) => firstFileId && `/files/${firstFileId}`,
  },
  { key: "receivedAt", title: "received" },
  ageColumn(({ receivedAt }) => receivedAt),
  { key: "closedAt", title: "done with", only: "details" },
  { key: "verdicts", title: "messages", isFlexible: true, show: messagesOf },
  ...forPrograms<FileView>("isCut", "ordersDone", "ordersOpen", "ordersParked", "resultsSent", "resultsOpen"),
  {
    title: "orders",
    isFlexible: true,
    show: ({ ordersDone, ordersOpen, ordersParked }) =>
      countsInWords({ done: ordersDone, open: ordersOpen, parked: ordersParked }, ""),
  },
  {
    title: "results",
    show: ({ resultsSent, resultsOpen }) =>
      countsInWords({ sent: resultsSent, "to be sent": resultsOpen }, ""),
  },
  {
    key: "problems",
    title: "problem",
    only: "list",
    isFlexible: true,
    value: ({ problems }) => problems.map(shownProblem),
    show: ({ problems: [first] }) => first && problemSentence(first),
  },
];

/** Counts of very many messages are those of the first of them. */
function messagesOf({ verdicts, isCut }: FileView): string {
  const inOrder = Object.keys(PAINT_BY_VERDICT).map((verdict) => [
    verdict,
    verdicts[verdict as Verdict] ?? 0,
  ]);
  const words = countsInWords(Object.fromEntries(inOrder), "");
  return isCut ? `of the first ones ${words}` : words;
}

/** A dropped file. */
export const FILES = {
  ...{ kind: "f", noun: "file", path: "/files" },
  find: findFile,
  numberOf,
  details: {
    help: "Show a file: what is wrong with it, its messages, and the newest results about it.",
    read,
  },
  acts: {},
} as const satisfies Thing<FileView>;

function numberOf({ fileId }: FileView): number {
  return parseId("f", fileId) ?? 0;
}

/** Results that are shown, the newest. */
const RESULTS = 20;

async function read(
  { pool }: Place,
  file: FileView,
  viewer: Viewer,
  { limit, after }: DetailsPart = { limit: 50, after: 0 },
): Promise<Details> {
  const { fileId, fileName, status, problems } = file;
  const number = numberOf(file);
  const [found, results] = await Promise.all([
    listFileMessageViews(pool, number, after, limit + 1),
    listFileDeliveries(pool, number, RESULTS),
  ]);
  const messages = found.slice(0, limit);
  const last = messages.at(-1);
  const hasMore = found.length > limit;
  const words = `There are more than these ${limit}: --limit shows more.`;
  return {
    heading: {
      ...{ name: `File ${fileId}, ${fileName}`, state: FILE_STATUS_WORDS[status], paint: paintOfFile(file) },
    },
    parts: [
      fieldsPart(FILE_COLUMNS, file, viewer),
      {
        ...{ kind: "problems", name: "problems", title: "What is wrong with it", problems },
      },
      tablePart(
        "messages",
        {
          title: after > 0 ? `Messages after the first ${after}` : "Messages",
          ...{ columns: FILE_MESSAGE_COLUMNS, rows: messages, nothing: "No message was taken of it." },
          more: hasMore && last ? { words, after: String(last.ordinal) } : undefined,
        },
        viewer,
      ),
      { kind: "json", name: "more", json: { hasMore } },
      tablePart(
        "results",
        {
          ...{ title: "The newest results about it", columns: DELIVERY_COLUMNS, rows: results },
          nothing: "Nothing was sent.",
        },
        viewer,
      ),
    ],
  };
}
